//! Observers of calls.

use super::operand::Operand;
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// A call that was made.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Record<'a> {
    /// The op.
    pub op: &'a str,
    /// The kernel that was chosen, as it is listed.
    pub kernel: &'a str,
    /// Its arguments, inputs first, as the kernel saw them, without those that were left out.
    pub operands: &'a [Operand<'a>],
    /// How long the kernel took.
    pub time: Duration,
    /// Whether it gave up, or panicked.
    pub failed: bool,
}

impl Record<'_> {
    /// Returns how many bytes the arguments' elements take in contiguous memory, all together.
    pub fn nbytes(&self) -> usize {
        self.operands
            .iter()
            .fold(0, |sum, operand| sum.saturating_add(operand.nbytes()))
    }
}

type Watch = dyn Fn(&Record<'_>) + Send + Sync;

static WATCHES: RwLock<Vec<(usize, Arc<Watch>)>> = RwLock::new(Vec::new());
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Watches calls until it is dropped.
#[must_use = "dropping it ends the watch"]
#[derive(Debug)]
pub struct Observer(usize);

/// Registers a function that is called after each op call, of any thread.
///
/// The function is called by the thread that made the call, which waits for it. Of calls that it
/// makes itself no observer is called.
///
/// # Examples
///
/// A line in a log for each call:
///
/// ```
/// use dlbridge::kernel::observe;
///
/// let _observer = observe(|call| {
///     eprintln!("{} by {}: {:?}", call.op, call.kernel, call.time);
/// });
/// ```
pub fn observe(watch: impl Fn(&Record<'_>) + Send + Sync + 'static) -> Observer {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    let mut watches = WATCHES.write().unwrap_or_else(PoisonError::into_inner);
    watches.push((id, Arc::new(watch)));
    COUNT.store(watches.len(), Ordering::Release);
    Observer(id)
}

impl Drop for Observer {
    fn drop(&mut self) {
        let mut watches = WATCHES.write().unwrap_or_else(PoisonError::into_inner);
        let at = watches.iter().position(|(id, _)| *id == self.0);
        let ended = at.map(|at| watches.remove(at));
        COUNT.store(watches.len(), Ordering::Release);
        // Not under the lock: what the function holds may be an observer, too.
        drop(watches);
        drop(ended);
    }
}

thread_local! {
    static IS_TELLING: Cell<bool> = const { Cell::new(false) };
}

/// Ends the telling, even by a panic.
struct Telling;

impl Drop for Telling {
    fn drop(&mut self) {
        IS_TELLING.set(false);
    }
}

/// Returns whether an observer is registered.
#[inline]
pub(super) fn is_observed() -> bool {
    COUNT.load(Ordering::Acquire) != 0
}

#[cold]
pub(super) fn tell(record: &Record<'_>) {
    if IS_TELLING.replace(true) {
        return;
    }
    let _telling = Telling;
    // Without the lock: an observer may remove itself.
    let watches = WATCHES
        .read()
        .unwrap_or_else(PoisonError::into_inner)
        .clone();
    for (_, watch) in watches {
        watch(record);
    }
}
