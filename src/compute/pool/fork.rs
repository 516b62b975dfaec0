//! Functions that the child of a fork calls first.

use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

type Handler = extern "C" fn();

unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<Handler>,
        parent: Option<Handler>,
        child: Option<Handler>,
    ) -> c_int;
}

/// Has children of later forks call a function first, which must only write atomics. Later calls
/// are for the same function.
pub(super) fn call_in_children(function: Handler) {
    // No lock that the child of a fork could find locked: registering twice does no harm.
    static REGISTERED: AtomicBool = AtomicBool::new(false);
    if !REGISTERED.load(Ordering::Acquire) {
        // SAFETY: the handler writes atomics and does nothing else, which is allowed in the child
        // of a fork. Without memory for it the child doesn't call it.
        unsafe { pthread_atfork(None, None, Some(function)) };
        REGISTERED.store(true, Ordering::Release);
    }
}
