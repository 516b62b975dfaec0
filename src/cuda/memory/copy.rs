//! Copies between the host and GPUs, and from one GPU to another.

mod checks;
mod failure;
mod host;
mod place;
mod plan;
mod transfer;

use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::memory::array::empty;
use crate::cuda::memory::tensor_uses::{is_ordered, use_on};
use crate::cuda::stream::Stream;
use crate::cuda::stream::deferred::release_after;
use crate::cuda::stream::last_writer::Use;
use crate::layout::LayoutRef;
use crate::tensor::Tensor;
use checks::{check_elements, refused};
use failure::let_go;
pub use host::copy_on_host;
use host::write_rows;
use place::Place;
use std::cmp::Reverse;
use transfer::transfer;

/// Copies a tensor of the host or any GPU to a stream's GPU, where it is row-major, and ready on
/// that stream.
///
/// The CPU waits only for what it must read itself: memory of the host that isn't pinned.
///
/// # Errors
///
/// Fails if there is not enough memory, the elements can't be copied, or a graph is captured.
pub fn to_device(tensor: &Tensor, stream: &Stream) -> Result<Tensor, CudaError> {
    let mut sent = empty(tensor.shape(), tensor.dtype(), stream)?;
    copy_into(&mut sent, tensor, stream)?;
    Ok(copied(sent))
}

/// Copies a tensor of a GPU to the host, where it is row-major, and waits until it is there.
///
/// It is copied in the order of the stream on which it was last written, where that is known, and
/// else of the thread's current one.
///
/// # Errors
///
/// Fails if there is not enough memory, the elements can't be copied, work failed, or a graph is
/// captured.
pub fn to_host(tensor: &Tensor) -> Result<Tensor, CudaError> {
    if tensor.device().is_host_accessible() {
        return Ok(tensor.copy()?);
    }
    let stream = match crate::cuda::memory::tensor_uses::writer_of(tensor) {
        Some(stream) => stream,
        None => Stream::current(Gpu::from_device(tensor.device())?),
    };
    let mut fetched = Tensor::zeroed(tensor.shape(), tensor.dtype())?;
    copy_into(&mut fetched, tensor, &stream)?;
    Ok(copied(fetched))
}

/// Marks a tensor as a copy.
fn copied(tensor: Tensor) -> Tensor {
    // SAFETY: the memory and what leads to its elements stay.
    unsafe { tensor.with_parts(|parts| parts.copied = true) }
}

/// Copies one tensor's elements into another one's memory, in a stream's order. At least one of
/// them is on a GPU.
///
/// The CPU waits when one of them is memory of the host that isn't pinned, or the target came from
/// another library and wasn't [imported](crate::cuda::import); otherwise the copy is done later,
/// and a view of pinned memory by a [`Tensor`] waits for it.
///
/// The stream may be one of another GPU than the memory's. The memory's own GPU then makes the
/// copy, and the two wait for each other.
///
/// # Errors
///
/// Fails if the shapes or types differ, one of them can't be written, they overlap, or a graph is
/// captured and a copy can't be part of it.
pub fn copy_into(to: &mut Tensor, from: &Tensor, stream: &Stream) -> Result<(), CudaError> {
    to.check_exclusive()?;
    // SAFETY: no other code uses its memory.
    unsafe { copy_elements(to, from, stream) }
}

/// Copies like [`copy_into`], to memory that others may use too.
///
/// # Safety
///
/// No code uses the target's memory meanwhile; if it isn't on a GPU, until the stream's work is
/// done.
pub(crate) unsafe fn copy_elements(
    to: &Tensor,
    from: &Tensor,
    stream: &Stream,
) -> Result<(), CudaError> {
    let (from_place, to_place) = (Place::of(from)?, Place::of(to)?);
    check(to, from, from_place, to_place)?;
    if from.is_empty() {
        return Ok(());
    }
    let _context = stream.gpu().enter()?;
    let waits = from_place == Place::Pageable || to_place == Place::Pageable;
    let is_captured = stream.is_capturing()?;
    if is_captured && waits {
        return Err(CudaError::Capturing {
            what: "memory of the host that isn't pinned can't be copied",
        });
    }
    let on_gpu = if to_place == Place::Pageable {
        from
    } else {
        to
    };
    if waits && let Some(axes) = row_major_order(on_gpu.layout()) {
        let (to, from) = (to.permute(&axes)?, from.permute(&axes)?);
        // SAFETY: a permutation has the same elements, whose memory is valid by this function's
        // contract.
        return unsafe { copy_elements(&to, &from, stream) };
    }
    use_on(from, stream, Use::Read)?;
    use_on(to, stream, Use::Write)?;
    // A row's bytes are where they are on both sides, as types and shapes are the same.
    if from_place == Place::Pageable && !from.layout().is_contiguous() {
        // SAFETY: the same target, which is valid by this function's contract; the source is a new
        // copy.
        return unsafe { copy_elements(to, &from.copy()?, stream) };
    }
    if to_place == Place::Pageable && !to.layout().is_contiguous() {
        // SAFETY: the same tensors and stream, which are valid by this function's contract.
        return unsafe { scatter(to, from, stream) };
    }
    let copied = transfer((to, to_place), (from, from_place), stream);
    let finished = copied.and_then(|()| match (from_place, to_place) {
        _ if is_captured => Ok(()),
        (Place::Pageable, _) | (_, Place::Pageable) => stream.synchronize(),
        // What uses foreign memory next doesn't wait for the copy, and a write needs exclusive
        // access.
        _ if !is_ordered(to) => stream.synchronize(),
        _ if !is_ordered(from) => release_after(stream, from.clone()),
        _ => Ok(()),
    });
    // Some of the copies may be under way, and memory of unknown stream order may go, or be used,
    // as soon as this returns.
    if finished.is_err() && !is_captured && !(is_ordered(to) && is_ordered(from)) {
        let_go(stream, || (to.clone(), from.clone()));
    }
    finished
}

fn check(to: &Tensor, from: &Tensor, from_place: Place, to_place: Place) -> Result<(), CudaError> {
    let is_of_host = |place| matches!(place, Place::Pageable | Place::Pinned);
    if is_of_host(from_place) && is_of_host(to_place) {
        return refused("neither of the tensors is on a GPU".to_owned());
    }
    check_elements(to, from)
}

/// Returns the dimensions in the order in which a layout without gaps is row-major, where that
/// isn't their own.
///
/// So a matrix that is transposed on a GPU crosses in one piece, and the CPU, which waits for it
/// anyway, puts the elements in their places. Row by row it would cross in pieces of one element.
fn row_major_order(layout: LayoutRef<'_>) -> Option<Vec<usize>> {
    if layout.is_contiguous() || !layout.is_dense() {
        return None;
    }
    let mut axes: Vec<usize> = (0..layout.rank()).collect();
    axes.sort_by_key(|axis| Reverse(layout.strides()[*axis]));
    Some(axes)
}

/// Copies to strided host memory, by way of a contiguous buffer.
///
/// # Safety
///
/// See [`copy_elements`].
unsafe fn scatter(to: &Tensor, from: &Tensor, stream: &Stream) -> Result<(), CudaError> {
    let mut dense = Tensor::zeroed(from.shape(), from.dtype())?;
    copy_into(&mut dense, from, stream)?;
    // SAFETY: no other code uses the target, by this function's contract; `copy_into` waited, so
    // the source is complete.
    unsafe { write_rows(to, &dense) };
    Ok(())
}
