//! The driver's functions, in the order of its documentation.

pub mod allocate;
pub mod context;
pub mod copy;
pub mod copy_strided;
pub mod device;
pub mod event;
pub mod fill;
pub mod general;
pub mod graph;
pub mod host_memory;
pub mod launch;
pub mod module;
pub mod occupancy;
pub mod pointer;
pub mod pool;
pub mod stream;
pub mod unsupported;

/// All functions with their addresses.
pub(crate) fn functions() -> Vec<(&'static str, usize)> {
    [
        allocate::functions(),
        context::functions(),
        copy::functions(),
        copy_strided::functions(),
        device::functions(),
        event::functions(),
        fill::functions(),
        general::functions(),
        graph::functions(),
        host_memory::functions(),
        launch::functions(),
        module::functions(),
        occupancy::functions(),
        pointer::functions(),
        pool::functions(),
        stream::functions(),
        unsupported::functions(),
    ]
    .concat()
}
