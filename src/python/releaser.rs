//! The thread that releases what needs Python, for threads that aren't attached.
//!
//! ```text
//!  a thread without the GIL ──▶ queue ──▶ the releaser: attaches, releases, detaches
//!      waits a moment ◀───────────────────────┘
//! ```
//!
//! A thread that waits for the GIL while it holds a lock that the GIL's holder wants would wait forever. So it doesn't wait
//! for the GIL, but for the releaser, and not for longer than [`Patience`] says: mostly that is enough, so that memory is
//! released when its last user goes, and no faster than it can be. The thread is started when there is something to do, and
//! ends soon after.

use super::attach::attach_and;
use crate::dlpack::contain_panics;
use crate::dlpack::python::interpreter;
use pyo3::prelude::*;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// How long a thread waits for what it gave to be released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// Not at all: the thread holds a lock that the release wants.
    None,
    /// [`A_MOMENT`].
    AMoment,
}

/// Longer than Python's threads have the GIL at a time (5 ms), several of them in turn.
const A_MOMENT: Duration = Duration::from_millis(100);

/// How long the releaser stays when there is nothing to do.
const IDLE: Duration = Duration::from_millis(200);

type Release = Box<dyn FnOnce() + Send>;

/// The queue of one process: a child that was forked has none of the threads, and perhaps a lock that stays locked.
struct Queue {
    process: u32,
    state: Mutex<State>,
    /// Signalled when something was pushed.
    pushed: Condvar,
    /// Signalled when something was released.
    released: Condvar,
}

#[derive(Default)]
struct State {
    pending: Vec<Release>,
    /// How many were ever pushed.
    count: u64,
    /// How many of these were released.
    done: u64,
    has_thread: bool,
    /// Whether a thread lost its patience, so that until the releaser goes on no other one waits.
    is_stuck: bool,
}

/// Whether something may be pending.
static PENDING: AtomicBool = AtomicBool::new(false);

impl State {
    /// Takes what is pending, and how many were ever pushed.
    fn take(&mut self) -> (Vec<Release>, u64) {
        PENDING.store(false, Ordering::Relaxed);
        (std::mem::take(&mut self.pending), self.count)
    }
}

/// Has something released on a thread that is attached.
#[cold]
pub(super) fn push(release: impl FnOnce() + Send + 'static, patience: Patience) {
    if interpreter::is_finalizing() {
        return std::mem::forget(release);
    }
    let queue = Queue::get();
    let mut state = queue.lock();
    state.pending.push(Box::new(release));
    PENDING.store(true, Ordering::Relaxed);
    state.count += 1;
    let number = state.count;
    if state.has_thread {
        queue.pushed.notify_one();
    } else {
        let builder = thread::Builder::new().name("dlbridge-release".to_owned());
        state.has_thread = builder.spawn(|| queue.work()).is_ok();
        if !state.has_thread {
            // No thread can be had, so this one does it, however long it waits for the GIL.
            let (all, _) = state.take();
            drop(state);
            return attach_and(|| run(all));
        }
    }
    if patience == Patience::None || state.is_stuck {
        return;
    }
    let end = Instant::now() + A_MOMENT;
    while state.done < number {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            state.is_stuck = true;
            return;
        }
        let waited = queue.released.wait_timeout(state, left);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Releases what is pending, on this thread, which is attached and inside of nothing that a release may wait for. Without it
/// a thread that keeps the GIL would have to give it up first.
#[inline]
pub(super) fn drain(_: Python<'_>) {
    if PENDING.load(Ordering::Relaxed) {
        drain_all();
    }
}

#[cold]
fn drain_all() {
    let queue = Queue::get();
    let (all, count) = queue.lock().take();
    run(all);
    let mut state = queue.lock();
    state.done = state.done.max(count);
    queue.released.notify_all();
}

fn run(all: Vec<Release>) {
    for release in all {
        contain_panics(release);
    }
}

impl Queue {
    /// The queue of this process.
    fn get() -> &'static Self {
        static QUEUE: AtomicPtr<Queue> = AtomicPtr::new(ptr::null_mut());
        let process = std::process::id();
        loop {
            let found = QUEUE.load(Ordering::Acquire);
            // SAFETY: NULL, or a queue that was leaked after it was made.
            if let Some(queue) = unsafe { found.as_ref() }
                && queue.process == process
            {
                return queue;
            }
            let new = Box::into_raw(Box::new(Self {
                process,
                state: Mutex::default(),
                pushed: Condvar::new(),
                released: Condvar::new(),
            }));
            let exchanged = QUEUE.compare_exchange(found, new, Ordering::AcqRel, Ordering::Acquire);
            if exchanged.is_err() {
                // SAFETY: no other thread has seen it.
                drop(unsafe { Box::from_raw(new) });
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the releaser does.
    fn work(&'static self) {
        let mut state = self.lock();
        loop {
            if state.pending.is_empty() {
                let waited = self.pushed.wait_timeout(state, IDLE);
                let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
                state = guard;
                if state.pending.is_empty() && timeout.timed_out() {
                    state.has_thread = false;
                    return;
                }
                continue;
            }
            let (all, count) = state.take();
            drop(state);
            attach_and(|| run(all));
            state = self.lock();
            state.done = state.done.max(count);
            state.is_stuck = false;
            self.released.notify_all();
        }
    }
}
