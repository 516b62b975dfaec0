//! Threads for large tensors: how many, and loops that are split among them.
//!
//! The number of threads is the first of these that is given:
//!
//! 1. the call's own ([`with_num_threads`]);
//! 2. the process's ([`set_num_threads`]);
//! 3. the environment variable `DLBRIDGE_NUM_THREADS`;
//! 4. the environment variable `OMP_NUM_THREADS`;
//! 5. the CPUs that the process may use, by its affinity and its control group.
//!
//! The thread that calls does its share of the work. Where several threads call at the same time
//! they share the other threads, so that as many run as the number says, or as call. The child of
//! a fork starts threads of its own.

use super::pool;
use std::cell::Cell;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The largest number of threads; larger numbers count as this one.
pub const MAX_THREADS: usize = 1024;

/// What [`set_num_threads`] was called with; 0 if it wasn't.
static SET: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    /// The number of threads of the call that this thread is in; 0 if it has none of its own.
    static OF_CALL: Cell<usize> = const { Cell::new(0) };
}

/// Returns the number of threads that a loop started on this thread may use.
#[inline]
pub fn num_threads() -> usize {
    let number = match (OF_CALL.get(), SET.load(Ordering::Relaxed)) {
        (0, 0) => default_num_threads(),
        (0, set) => set,
        (of_call, _) => of_call,
    };
    number.min(MAX_THREADS)
}

/// Sets the number of threads for the process; 0 returns to the default.
pub fn set_num_threads(number: usize) {
    SET.store(number, Ordering::Relaxed);
}

/// Runs a function whose loops use this number of threads; 0 means no number of its own.
///
/// # Examples
///
/// ```
/// use dlbridge::compute::threads;
///
/// assert_eq!(threads::with_num_threads(3, threads::num_threads), 3);
/// ```
pub fn with_num_threads<R>(number: usize, function: impl FnOnce() -> R) -> R {
    struct Restore(usize);
    impl Drop for Restore {
        fn drop(&mut self) {
            OF_CALL.set(self.0);
        }
    }
    let _restore = Restore(OF_CALL.replace(number));
    function()
}

fn default_num_threads() -> usize {
    // No lock that the child of a fork could find locked: threads may find the same number twice.
    static DEFAULT: AtomicUsize = AtomicUsize::new(0);
    let known = DEFAULT.load(Ordering::Relaxed);
    if known > 0 {
        return known;
    }
    let variables = ["DLBRIDGE_NUM_THREADS", "OMP_NUM_THREADS"];
    let given = variables
        .iter()
        .find_map(|name| number_of_threads(&std::env::var(name).ok()?));
    let number =
        given.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    DEFAULT.store(number, Ordering::Relaxed);
    number
}

/// Returns the number in a variable's value. OpenMP's may be a list, by nesting level.
fn number_of_threads(value: &str) -> Option<usize> {
    let first = value.split(',').next()?.trim();
    first.parse().ok().filter(|number| *number > 0)
}

/// Calls a function with each number below `parts`, on several threads where
/// [`num_threads`] allows it, and returns after all calls.
///
/// # Panics
///
/// When the function panics, after all calls under way have returned.
pub fn for_each_part(parts: usize, function: impl Fn(usize) + Sync) {
    let threads = if parts > 1 {
        num_threads().min(parts)
    } else {
        1
    };
    if threads > 1 {
        return pool::run(parts, threads, &function);
    }
    (0..parts).for_each(function);
}

/// Calls a function with ranges that together are `0..len`, on several threads if there are at
/// least two ranges of `least` indices. Ranges begin at multiples of `least`.
///
/// # Panics
///
/// When the function panics, after all calls under way have returned.
pub fn for_each_range(len: usize, least: usize, function: impl Fn(Range<usize>) + Sync) {
    let least = least.max(1);
    let units = len.div_ceil(least);
    let threads = if units > 1 {
        num_threads().min(units)
    } else {
        1
    };
    if threads == 1 {
        return function(0..len);
    }
    // More parts than threads, for threads that begin later or are interrupted.
    let parts = units.min(4 * threads);
    for_each_part(parts, |part| {
        // The product of both may be more than a `usize` holds.
        let border = |part: usize| (units as u128 * part as u128 / parts as u128) as usize;
        let end = border(part + 1).saturating_mul(least).min(len);
        function(border(part) * least..end);
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn number_of_threads_reads_the_first_of_a_list() {
        assert_eq!(number_of_threads("3"), Some(3));
        assert_eq!(number_of_threads(" 4,2"), Some(4));
        for value in ["0", "", "all", "-1"] {
            assert_eq!(number_of_threads(value), None, "{value:?}");
        }
    }

    #[test]
    fn for_each_range_covers_every_index_once() {
        for threads in [1, 2, 5] {
            for (len, least) in [(0, 4), (1, 4), (7, 4), (8, 4), (1000, 7), (65, 64), (3, 0)] {
                let seen = Mutex::new(vec![0; len]);
                with_num_threads(threads, || {
                    for_each_range(len, least, |range| {
                        range.for_each(|at| seen.lock().unwrap()[at] += 1);
                    });
                });
                assert_eq!(seen.into_inner().unwrap(), vec![1; len], "{len} by {least}");
            }
        }
    }

    #[test]
    fn for_each_range_covers_huge_lengths() {
        for (len, least) in [
            (1 << 62, 1),
            (usize::MAX, 1),
            (usize::MAX, 3),
            (usize::MAX, 1 << 60),
        ] {
            let seen = Mutex::new(Vec::new());
            with_num_threads(2, || {
                for_each_range(len, least, |range| seen.lock().unwrap().push(range));
            });
            let mut ranges = seen.into_inner().unwrap();
            ranges.sort_by_key(|range| range.start);
            let end = ranges.iter().fold(0, |end, range| {
                assert_eq!(range.start, end);
                range.end
            });
            assert_eq!(end, len);
        }
    }

    #[test]
    fn for_each_part_runs_on_several_threads() {
        // Tests beside this one may have the other threads for a while.
        for _ in 0..1000 {
            let seen = Mutex::new(std::collections::HashSet::new());
            with_num_threads(3, || {
                for_each_part(6, |_| {
                    seen.lock().unwrap().insert(std::thread::current().id());
                    std::thread::sleep(std::time::Duration::from_millis(5));
                });
            });
            if seen.into_inner().unwrap().len() > 1 {
                return;
            }
        }
        panic!("no other thread helped in 1000 tries");
    }
}
