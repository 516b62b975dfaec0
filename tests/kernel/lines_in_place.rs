//! Kernels that take lines on several threads, with the output exactly where an input is.

use crate::support::{Written, op};
use dlbridge::compute::threads::with_num_threads;
use dlbridge::kernel::{Kernel, Op, Operand, Source, Target};
use dlbridge::layout::Layout;
use dlbridge::{DType, Device};
use std::sync::{Condvar, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;

const ROWS: usize = if cfg!(miri) { 5 } else { 300 };
const COLUMNS: usize = if cfg!(miri) { 7 } else { 400 };

/// The first thread that took a line, and whether another one did; nothing while it isn't asked
/// for.
static SEEN: Mutex<Option<(Option<ThreadId>, bool)>> = Mutex::new(None);
static ANOTHER: Condvar = Condvar::new();

/// Holds the first thread that takes a line, until another one takes one, too.
fn meet() {
    let mut seen = SEEN.lock().unwrap();
    let Some((first, met)) = &mut *seen else {
        return;
    };
    let own = thread::current().id();
    if *first.get_or_insert(own) != own {
        *met = true;
        ANOTHER.notify_all();
        return;
    }
    let is_alone = |seen: &mut Option<(_, bool)>| seen.as_ref().is_some_and(|(_, met)| !met);
    let limit = Duration::from_secs(60);
    drop(ANOTHER.wait_timeout_while(seen, limit, is_alone).unwrap());
}

/// Running sums of each row from its end on: what is written first is read last. Something is done
/// before.
fn running_sums(x: &Source<'_, f32>, y: &Target<'_, f32>, before: fn()) {
    y.map_lines(x, 1, |x, y| {
        before();
        let mut total = 0.0;
        for (y, x) in y.iter_mut().zip(x.iter().rev()) {
            total += x;
            *y = total;
        }
    });
}

/// Calls the kernel on memory of numbers, in place or beside it, and returns the result by rows.
fn called(strides: [isize; 2], in_place: bool, threads: usize, before: fn()) -> Vec<f32> {
    let definition = Op::new("sums").input("x", "T").output("y", "T");
    let kernel = move |x: Source<'_, f32>, y: Target<'_, f32>| running_sums(&x, &y, before);
    let op = op(
        definition.in_place("y", "x"),
        [Kernel::new("sums").function(kernel)],
    );
    let layout = Layout::strided(&[ROWS, COLUMNS], &strides).unwrap();
    let mut memory: Vec<f32> = (0..ROWS * COLUMNS).map(|at| (at % 13) as f32).collect();
    let mut beside = vec![0.0_f32; if in_place { 0 } else { memory.len() }];
    let x = memory.as_mut_ptr();
    let y = if in_place { x } else { beside.as_mut_ptr() };
    // SAFETY: both layouts lead to the elements of a vector, which nothing else uses meanwhile.
    let of = |first: *mut f32, writable| unsafe {
        let layout = layout.as_ref();
        Operand::from_raw(
            first.cast(),
            layout,
            DType::F32,
            Device::CPU,
            false,
            writable,
        )
    };
    let call = || {
        op.call()
            .input(of(x, in_place))
            .output(Written(of(y, true)))
            .run()
    };
    with_num_threads(threads, call).unwrap();
    let result = if in_place { memory } else { beside };
    let at = |row: usize, column: usize| row * strides[0] as usize + column * strides[1] as usize;
    let all = (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| at(row, column)));
    all.map(|at| result[at]).collect()
}

#[test]
fn lines_in_place_equal_a_naive_loop_on_any_number_of_threads() {
    for strides in [[COLUMNS as isize, 1], [1, ROWS as isize]] {
        let mut wanted = Vec::new();
        for row in 0..ROWS {
            let mut total = 0.0;
            for column in (0..COLUMNS).rev() {
                let at = row * strides[0] as usize + column * strides[1] as usize;
                total += (at % 13) as f32;
                wanted.push(total);
            }
        }
        for in_place in [false, true] {
            for threads in [1, 2, 4] {
                let found = called(strides, in_place, threads, || ());
                assert!(
                    found == wanted,
                    "{strides:?}, in place: {in_place}, {threads} threads"
                );
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "so few lines are for one thread")]
fn lines_in_place_are_taken_by_several_threads() {
    *SEEN.lock().unwrap() = Some((None, false));
    called([COLUMNS as isize, 1], true, 4, meet);
    let seen = SEEN.lock().unwrap().take();
    assert!(
        seen.is_some_and(|(_, met)| met),
        "one thread took all lines"
    );
}
