//! Kernels of the crate's ops for GPUs, written in CUDA C++ (`src/cuda/kernels`) and compiled at
//! the first call.
//!
//! Each file here knows the kernels of one `.cu` file: which of them is for which layouts, and in
//! how many threads it runs. They are registered like all kernels, for the device kind CUDA.

mod arithmetic;
mod axpy;
mod cast;
mod compiled_modules;
mod copy;
mod groups;
mod image;
mod map;
mod matmul;
mod reduce;
mod rms_norm;
mod rows;
mod softmax;
mod strided;
mod type_names;

use crate::cuda::driver::gpu::Gpu;

/// Threads per block, unless a kernel says otherwise.
const THREADS: usize = 256;

/// Returns the number of blocks for a number of tasks, with a number of tasks per block, within the
/// limit of a grid.
fn blocks(tasks: usize, of_block: usize) -> u32 {
    let blocks = tasks.div_ceil(of_block).max(1);
    u32::try_from(blocks)
        .unwrap_or(u32::MAX)
        .min(i32::MAX as u32)
}

/// Returns the GPU and stream of a call that is under way.
fn stream_of(gpu: Gpu) -> super::Stream {
    super::Stream::current(gpu)
}
