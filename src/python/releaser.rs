//! Queue of releases that need Python, for threads that aren't attached to it.
//!
//! ```text
//!  a thread without the GIL ──▶ queue ──▶ a pending call of Python, on its main thread
//!        returns at once            └───▶ the releaser thread, where that comes too late
//! ```
//!
//! A thread that waited for the GIL while it holds a lock which the GIL's holder wants would wait
//! forever, so none waits. Python's main thread runs the queue with its next function call or jump,
//! or, where Python hasn't told it of the pending call, after it next takes the GIL.
//! The releaser thread looks at the queue once a [`TICK`], and takes the GIL for what it found
//! there twice: the main thread may sleep. It ends soon after the last release.

use crate::dlpack::contain_panics;
use crate::dlpack::python::foreign::hang_on_unwind;
use crate::dlpack::python::{interpreter, keeping_exception};
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::mem::transmute;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};
use std::thread;
use std::time::Duration;

/// Time between two looks of the releaser thread at the queue.
const TICK: Duration = Duration::from_millis(1);

/// Length of the queue from which on a thread that pushes sleeps a tick, so that it can't grow
/// faster than it is run.
const LONG: usize = 4096;

/// Number of ticks without a release after which the releaser thread ends.
const IDLE_TICKS: u32 = 200;

type Release = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Queue(Mutex<State>);

#[derive(Default)]
struct State {
    pending: Vec<Release>,
    /// Number of releases that were taken out of the queue.
    taken: u64,
    has_thread: bool,
    /// Whether Python was given the pending call that runs the queue.
    is_scheduled: bool,
}

/// Whether the queue may have releases.
static PENDING: AtomicBool = AtomicBool::new(false);

impl State {
    fn take(&mut self) -> Vec<Release> {
        PENDING.store(false, Ordering::Relaxed);
        self.taken += self.pending.len() as u64;
        std::mem::take(&mut self.pending)
    }
}

/// Queues a release, which soon runs on a thread that is attached. Never waits for one.
#[cold]
pub(super) fn push(release: impl FnOnce() + Send + 'static) {
    if interpreter::is_finalizing() {
        return std::mem::forget(release);
    }
    let queue = Queue::get();
    let mut state = queue.lock();
    state.pending.push(Box::new(release));
    PENDING.store(true, Ordering::Relaxed);
    if !state.is_scheduled {
        // SAFETY: any thread may call this, attached or not; the function has the signature that
        // Python calls.
        state.is_scheduled =
            unsafe { ffi::Py_AddPendingCall(Some(run_queue), ptr::null_mut()) } == 0;
    }
    if !state.has_thread {
        let builder = thread::Builder::new().name("dlbridge-release".to_owned());
        state.has_thread = builder.spawn(|| queue.work()).is_ok();
    }
    let is_long = state.pending.len() >= LONG;
    drop(state);
    if is_long && interpreter::is_attached() == Some(false) {
        thread::sleep(TICK);
    }
}

/// Runs the queue on this thread, which is attached and holds no lock that a release may want.
#[inline]
pub(super) fn drain(py: Python<'_>) {
    if PENDING.load(Ordering::Relaxed) {
        drain_all(py);
    }
}

#[cold]
fn drain_all(py: Python<'_>) {
    let all = Queue::get().lock().take();
    keeping_exception(py, || run(all));
}

/// Returns the pending call.
extern "C" fn run_queue(_: *mut c_void) -> c_int {
    let queue = Queue::get();
    let all = {
        let mut state = queue.lock();
        state.is_scheduled = false;
        state.take()
    };
    // SAFETY: Python makes pending calls on a thread that is attached.
    let py = unsafe { Python::assume_attached() };
    keeping_exception(py, || run(all));
    0
}

fn run(all: Vec<Release>) {
    for release in all {
        contain_panics(release);
    }
}

/// Attaches this thread, which may wait for the GIL for as long as another one has it, and releases
/// something. Where the interpreter is gone, or going, it is kept for good.
///
/// PyO3 counts attachments by itself, and doesn't see when a library that is called meanwhile gives
/// the GIL up, as PyTorch does while it destroys tensors. Python itself does.
#[cold]
pub(super) fn attach_and(release: impl FnOnce()) {
    if interpreter::is_finalizing() {
        return std::mem::forget(release);
    }
    type Ensure = unsafe extern "C-unwind" fn() -> ffi::PyGILState_STATE;
    type Declared = unsafe extern "C" fn() -> ffi::PyGILState_STATE;
    let ensure: Declared = ffi::PyGILState_Ensure;
    // SAFETY: the types differ only in whether unwinding is expected, which the compiler mustn't
    // know better: before Python 3.14, a thread that waits for the GIL of an interpreter that goes
    // is ended by unwinding.
    let ensure = unsafe { transmute::<Declared, Ensure>(black_box(ensure)) };
    // SAFETY: there is an interpreter; the thread is attached until the state is given back.
    unsafe {
        let state = hang_on_unwind(|| ensure());
        keeping_exception(Python::assume_attached(), release);
        ffi::PyGILState_Release(state);
    }
}

/// The queue of this process: a forked child has none of the threads, and perhaps a lock that stays
/// locked.
static QUEUE: AtomicPtr<Queue> = AtomicPtr::new(ptr::null_mut());

impl Queue {
    fn get() -> &'static Self {
        let found = QUEUE.load(Ordering::Acquire);
        // SAFETY: NULL, or a queue that was leaked after it was made.
        unsafe { found.as_ref() }.unwrap_or_else(Self::make)
    }

    #[cold]
    fn make() -> &'static Self {
        #[cfg(unix)]
        {
            unsafe extern "C" fn start_anew() {
                QUEUE.store(ptr::null_mut(), Ordering::Release);
            }
            static WATCH: Once = Once::new();
            // SAFETY: the function stays, as libraries with Python modules are never unloaded.
            WATCH.call_once(|| unsafe {
                libc::pthread_atfork(None, None, Some(start_anew));
            });
        }
        let new = Box::into_raw(Box::<Self>::default());
        let order = Ordering::AcqRel;
        match QUEUE.compare_exchange(ptr::null_mut(), new, order, Ordering::Acquire) {
            // SAFETY: it is leaked from here on.
            Ok(_) => unsafe { &*new },
            Err(found) => {
                // SAFETY: no other thread has seen the new one; the other one is leaked.
                unsafe {
                    drop(Box::from_raw(new));
                    &*found
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs on the releaser thread.
    fn work(&'static self) {
        let mut seen = 0;
        let mut idle = 0;
        loop {
            thread::sleep(TICK);
            let mut state = self.lock();
            let pushed = state.taken + state.pending.len() as u64;
            if state.taken < seen {
                // The main thread has had a whole tick for them. They stay in the queue while this
                // thread waits for the GIL, as its holder may come to them first.
                drop(state);
                attach_and(|| {
                    let all = self.lock().take();
                    run(all);
                });
            } else if pushed == seen {
                idle += 1;
                if idle == IDLE_TICKS {
                    state.has_thread = false;
                    return;
                }
                continue;
            }
            seen = pushed;
            idle = 0;
        }
    }
}
