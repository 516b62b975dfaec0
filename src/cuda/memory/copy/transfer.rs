//! Copies by a GPU, within its memory, to the host and to peers.
//!
//! A GPU's memory is of a pool that no other GPU reaches, so a copy from or to it is made in its
//! context, and on a stream of its own. Only a copy between two contexts reaches the memory of two
//! GPUs, and it knows no gaps. Managed memory is reached in every context.

use super::failure::let_go;
use super::place::Place;
use super::plan::{Plan, Rectangle};
use crate::cuda::driver::answer::call;
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::memory::array::empty;
use crate::cuda::stream::Stream;
use crate::dtype::DType;
use crate::layout::{Layout, LayoutRef};
use crate::tensor::Tensor;
use cudarc::driver::sys;
use std::ptr;

/// Copies elements in a stream's order, from and to memory that is ready on it.
pub(super) fn transfer(
    to: (&Tensor, Place),
    from: (&Tensor, Place),
    stream: &Stream,
) -> Result<(), CudaError> {
    let gpu = match (to.1, from.1) {
        (Place::Gpu(to_gpu), Place::Gpu(from_gpu)) if to_gpu != from_gpu => {
            return across((to.0, to_gpu), (from.0, from_gpu), stream);
        }
        (Place::Gpu(gpu), _) | (_, Place::Gpu(gpu)) => gpu,
        _ => stream.gpu(),
    };
    let (to, from) = (to.0, from.0);
    let bytes = itemsize(from);
    in_order_of(stream, gpu, (to, from), |stream| {
        if to.layout().is_contiguous() && from.layout().is_contiguous() {
            return run(address(to), address(from), from.nbytes(), stream);
        }
        let (to, from) = ((address(to), to.layout()), (address(from), from.layout()));
        strided(to, from, bytes, stream)
    })
}

fn address(tensor: &Tensor) -> usize {
    tensor.data_ptr().addr()
}

/// Returns how many bytes each element takes, of those that take whole ones.
fn itemsize(tensor: &Tensor) -> usize {
    tensor.dtype().step_bits(tensor.is_padded()) / 8
}

/// Has a GPU copy one tensor into another in a stream's order: on that stream where it is one of
/// this GPU, and otherwise on another one. That one waits for the stream, and the stream for it.
fn in_order_of(
    stream: &Stream,
    gpu: Gpu,
    (to, from): (&Tensor, &Tensor),
    work: impl FnOnce(&Stream) -> Result<(), CudaError>,
) -> Result<(), CudaError> {
    if stream.gpu() == gpu {
        return work(stream);
    }
    // The other stream would become part of the graph, and end before the capture does.
    if stream.is_capturing()? {
        return Err(CudaError::Capturing {
            what: "memory of another GPU than the stream's can't be copied",
        });
    }
    let there = stream.clone().brought_to(gpu)?;
    let outcome = work(&there);
    // After a failure too, as some of the work may be under way.
    let waits = stream.wait_for(&there);
    if waits.is_err() {
        // What releases the memory later waits for the stream alone.
        let_go(&there, || (to.clone(), from.clone()));
    }
    outcome.and(waits)
}

/// Copies from one GPU to another. Each GPU packs or unpacks its own strided memory.
fn across(
    to: (&Tensor, Gpu),
    (from, from_gpu): (&Tensor, Gpu),
    stream: &Stream,
) -> Result<(), CudaError> {
    if from.layout().is_contiguous() {
        return arrive(to, (from, from_gpu), stream);
    }
    in_order_of(stream, from_gpu, (to.0, from), |there| {
        let dense = Dense::of(from, there)?;
        let source = (address(from), from.layout());
        strided(dense.place(), source, itemsize(from), there)?;
        arrive(to, (&dense.memory, from_gpu), there)
    })
}

/// Copies a contiguous tensor from another GPU.
fn arrive(
    (to, to_gpu): (&Tensor, Gpu),
    (from, from_gpu): (&Tensor, Gpu),
    stream: &Stream,
) -> Result<(), CudaError> {
    let (bytes, source) = (to.nbytes(), (address(from), from_gpu));
    if to.layout().is_contiguous() {
        // Either of the two can make the copy.
        let is_of_source = stream.gpu() == from_gpu;
        let gpu = if is_of_source { from_gpu } else { to_gpu };
        return in_order_of(stream, gpu, (to, from), |there| {
            between((address(to), to_gpu), source, bytes, there)
        });
    }
    in_order_of(stream, to_gpu, (to, from), |there| {
        let dense = Dense::of(to, there)?;
        between((dense.place().0, to_gpu), source, bytes, there)?;
        let target = (address(to), to.layout());
        strided(target, dense.place(), itemsize(to), there)
    })
}

/// Memory for a tensor's elements without gaps, which is released in the order of the stream that
/// it is for.
struct Dense {
    memory: Tensor,
    layout: Layout,
}

impl Dense {
    fn of(tensor: &Tensor, stream: &Stream) -> Result<Self, CudaError> {
        Ok(Self {
            memory: empty(&[tensor.nbytes()], DType::U8, stream)?,
            layout: Layout::contiguous(tensor.shape()).map_err(crate::error::Error::from)?,
        })
    }

    fn place(&self) -> (usize, LayoutRef<'_>) {
        (address(&self.memory), self.layout.as_ref())
    }
}

/// Copies elements of a size in bytes from one address and layout to another.
fn strided(
    (to, to_layout): (usize, LayoutRef<'_>),
    (from, from_layout): (usize, LayoutRef<'_>),
    itemsize: usize,
    stream: &Stream,
) -> Result<(), CudaError> {
    let most = stream.gpu().facts().limits.pitch;
    let plan = Plan::new(to_layout, from_layout, itemsize, most);
    for (to_offset, from_offset) in plan.places() {
        let to = to.wrapping_add_signed(to_offset);
        let from = from.wrapping_add_signed(from_offset);
        rectangle(to, from, plan.rectangle, stream)?;
    }
    Ok(())
}

/// Copies contiguous bytes within one address space.
fn run(to: usize, from: usize, bytes: usize, stream: &Stream) -> Result<(), CudaError> {
    let _context = stream.gpu().enter()?;
    // SAFETY: both are memory of that many bytes, the stream waited for what is done with it
    // before, and its owner keeps it until the copy is done.
    unsafe { call!(cuMemcpyAsync(to as u64, from as u64, bytes, stream.raw()?)) }
}

/// Copies contiguous bytes from one GPU's memory to another's.
fn between(
    (to, to_gpu): (usize, Gpu),
    (from, from_gpu): (usize, Gpu),
    bytes: usize,
    stream: &Stream,
) -> Result<(), CudaError> {
    let _context = stream.gpu().enter()?;
    // SAFETY: `to` and `from` have `bytes` bytes each, in memory of the GPU beside them, whose
    // context is retained for the process. The stream waited for earlier work on them, and their
    // owners keep them until the copy is done.
    unsafe {
        call!(cuMemcpyPeerAsync(
            to as u64,
            to_gpu.context(),
            from as u64,
            from_gpu.context(),
            bytes,
            stream.raw()?
        ))
    }
}

fn rectangle(
    to: usize,
    from: usize,
    rectangle: Rectangle,
    stream: &Stream,
) -> Result<(), CudaError> {
    if rectangle.rows == 1 {
        return run(to, from, rectangle.width, stream);
    }
    let _context = stream.gpu().enter()?;
    // Addresses say for themselves where they are; what is for others stays empty.
    let unified = sys::CUmemorytype::CU_MEMORYTYPE_UNIFIED;
    let copy = sys::CUDA_MEMCPY2D {
        srcXInBytes: 0,
        srcY: 0,
        srcMemoryType: unified,
        srcHost: ptr::null(),
        srcDevice: from as u64,
        srcArray: ptr::null_mut(),
        srcPitch: rectangle.from_pitch,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: unified,
        dstHost: ptr::null_mut(),
        dstDevice: to as u64,
        dstArray: ptr::null_mut(),
        dstPitch: rectangle.to_pitch,
        WidthInBytes: rectangle.width,
        Height: rectangle.rows,
    };
    // SAFETY: both have `rows` rows of `width` bytes at their pitch, the stream waited for
    // earlier work on them, and their owners keep them until the copy is done.
    unsafe { call!(cuMemcpy2DAsync_v2(&copy, stream.raw()?)) }
}
