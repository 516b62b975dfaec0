//! Hook by which devices and streams drain releases that were deferred on a folder above.
//!
//! The queue of deferred releases needs streams, so it is built on them. Whatever synchronises
//! calls this hook instead, which costs one load while nothing was ever deferred.

use std::sync::OnceLock;

static DRAIN: OnceLock<fn()> = OnceLock::new();

/// Registers the function that drains deferred releases. Later calls have no effect.
pub(in crate::cuda) fn register(drain: fn()) {
    DRAIN.get_or_init(|| drain);
}

/// Drains deferred releases, if any were ever deferred.
#[inline]
pub(in crate::cuda) fn drain_deferred() {
    if let Some(drain) = DRAIN.get() {
        drain();
    }
}
