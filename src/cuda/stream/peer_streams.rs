//! Current streams of another copy of this crate in the process: extensions, each of which has a
//! copy, ask the package's through a C table.

use super::Stream;
use super::current_stack;
use crate::cuda::driver::gpu::Gpu;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// How one copy asks another, which may be of another version: this never changes.
#[repr(C)]
pub(crate) struct Shared {
    /// Writes what is current on this thread for a GPU, if something is.
    explicit: unsafe extern "C" fn(device: i32, answer: *mut Lent) -> bool,
}

/// A stream of another copy's.
#[repr(C)]
struct Lent {
    handle: *mut c_void,
    /// Whether the stream is there as long as the keeper is.
    is_kept: bool,
    keeper: *mut c_void,
    /// Gives the keeper back.
    release: unsafe extern "C" fn(keeper: *mut c_void),
}

/// Functions that other copies may call.
pub(crate) static OURS: Shared = Shared { explicit: lend };

/// The package's functions; NULL before they are found.
static THEIRS: AtomicPtr<Shared> = AtomicPtr::new(ptr::null_mut());

/// Returns whether it is known whom to ask.
#[inline]
pub(crate) fn is_found() -> bool {
    !THEIRS.load(Ordering::Acquire).is_null()
}

/// Sets the function that returns the current stream, where this copy has none.
pub(crate) fn found(theirs: &'static Shared) {
    THEIRS.store(ptr::from_ref(theirs).cast_mut(), Ordering::Release);
}

/// # Safety
///
/// There is room for an answer.
unsafe extern "C" fn lend(device: i32, answer: *mut Lent) -> bool {
    let Some(stream) = Gpu::new(device).ok().and_then(current_stack::top) else {
        return false;
    };
    // Another thread's own stream would be taken for this thread's.
    let Ok(handle) = stream.raw() else {
        return false;
    };
    let lent = Lent {
        handle: handle.cast(),
        is_kept: stream.outlives_its_uses(),
        keeper: Box::into_raw(Box::new(stream)).cast(),
        release: give_back,
    };
    // SAFETY: the caller lends room for one answer.
    unsafe { answer.write(lent) };
    true
}

/// # Safety
///
/// The keeper is one that [`lend`] gave, and is given back once.
unsafe extern "C" fn give_back(keeper: *mut c_void) {
    // SAFETY: `lend` made it from a box, and the caller gives it back once.
    drop(unsafe { Box::from_raw(keeper.cast::<Stream>()) });
}

/// Keeper of another copy's stream.
struct Keeper {
    keeper: *mut c_void,
    release: unsafe extern "C" fn(*mut c_void),
}

// SAFETY: it is a stream of that copy's, which may be dropped by any thread.
unsafe impl Send for Keeper {}
// SAFETY: a shared reference gives nothing.
unsafe impl Sync for Keeper {}

impl Drop for Keeper {
    fn drop(&mut self) {
        // SAFETY: it is given back once, to its lender, as extensions are never unloaded.
        unsafe { (self.release)(self.keeper) }
    }
}

/// Returns the stream that another copy has current on this thread, if it has one.
pub(in crate::cuda) fn explicit(gpu: Gpu) -> Option<Stream> {
    let theirs = THEIRS.load(Ordering::Acquire);
    if theirs.is_null() || ptr::eq(theirs, &raw const OURS) {
        return None;
    }
    let mut lent = MaybeUninit::uninit();
    // SAFETY: what was found stays. The answer is written where it says so. The stream is there at
    // present, and where it is kept, as long as its keeper.
    unsafe {
        if !((*theirs).explicit)(gpu.id(), lent.as_mut_ptr()) {
            return None;
        }
        let Lent {
            handle,
            is_kept,
            keeper,
            release,
        } = lent.assume_init();
        let keeper = Keeper { keeper, release };
        let stream = Stream::from_raw(gpu, handle);
        Some(match is_kept {
            true => stream.kept(keeper),
            false => stream,
        })
    }
}
