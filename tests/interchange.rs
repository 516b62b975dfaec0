//! Tensors in and out through DLPack: what comes back is what went out, what is malformed is
//! refused, and every deleter is called exactly once.
//!
//! The other side is played by Rust here, so that Miri can watch: `cargo miri test --test
//! interchange`. In `c_peer.rs` it is C.

/// Makes a test for each ABI of functions that are generic over it.
macro_rules! for_both_abis {
    ($($test:ident),* $(,)?) => {
        mod versioned {
            $(#[test] fn $test() { super::$test::<dlbridge::dlpack::Versioned>() })*
        }
        mod legacy {
            $(#[test] fn $test() { super::$test::<dlbridge::dlpack::Legacy>() })*
        }
    };
}

#[path = "interchange/access.rs"]
mod access;
#[path = "interchange/consumers.rs"]
mod consumers;
#[path = "interchange/elements.rs"]
mod elements;
#[path = "interchange/exports.rs"]
mod exports;
#[path = "interchange/foreign.rs"]
mod foreign;
#[path = "interchange/handles.rs"]
mod handles;
#[path = "interchange/malformed.rs"]
mod malformed;
#[path = "interchange/owners.rs"]
mod owners;
#[path = "interchange/reexports.rs"]
mod reexports;
#[path = "interchange/returning.rs"]
mod returning;
#[path = "interchange/round_trips.rs"]
mod round_trips;
#[path = "interchange/tolerated.rs"]
mod tolerated;
