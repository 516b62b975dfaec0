//! Kernels for tests: PTX that tells the double their arguments, and functions that it calls in
//! their place.

use crate::double::{Launched, register};
use dlbridge::cuda::{Function, Gpu, Module};
use std::ffi::{c_int, c_void};

/// Kernels whose code doesn't matter, as the double doesn't run it.
pub(crate) const PTX: &[u8] = b"
.version 8.0
.target sm_80
.address_size 64
.visible .entry axpy(
    .param .u64 count,
    .param .f32 factor,
    .param .u64 x,
    .param .u64 y
) { ret; }
.visible .entry many(
    .param .u64 p0, .param .u64 p1, .param .u64 p2, .param .u64 p3, .param .u64 p4,
    .param .u64 p5, .param .u64 p6, .param .u64 p7, .param .u64 p8, .param .u64 p9,
    .param .u64 p10, .param .u64 p11, .param .u64 p12, .param .u64 p13, .param .u64 p14,
    .param .u64 p15, .param .u64 p16
) { ret; }
.visible .entry mixed(
    .param .u8 flag,
    .param .u16 half,
    .param .f64 wide,
    .param .align 8 .b8 sizes[24]
) { ret; }
.visible .entry nothing() { ret; }
.visible .entry sharing() {
    .shared .align 4 .b8 tile[16384];
    ret;
}
";

/// A kernel of [`PTX`], loaded on a GPU.
pub(crate) fn kernel(gpu: Gpu, name: &str) -> Function {
    Module::load(gpu, PTX).unwrap().function(name).unwrap()
}

/// `axpy`, which the double runs: y = factor * x + y.
pub(crate) fn axpy(gpu: Gpu) -> Function {
    register("axpy", "v8 v4 r rw", run_axpy);
    kernel(gpu, "axpy")
}

extern "C" fn run_axpy(launch: *const Launched, _: *mut c_void) -> c_int {
    // SAFETY: the double passes a launch with these arguments, whose memory is open.
    unsafe {
        let launch = &*launch;
        let (count, factor) = (launch.argument::<u64>(0), launch.argument::<f32>(1));
        let (x, y) = (
            launch.argument::<*const f32>(2),
            launch.argument::<*mut f32>(3),
        );
        for i in 0..count as usize {
            *y.add(i) += factor * *x.add(i);
        }
    }
    0
}
