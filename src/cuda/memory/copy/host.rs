//! Copies between tensors that the CPU reads and writes itself.

use super::checks::check_elements;
use super::plan::{Plan, Rectangle};
use crate::cuda::driver::error::CudaError;
use crate::tensor::Tensor;
use std::ptr;

/// Copies elements into other memory that the host reaches, such as pinned one.
///
/// # Errors
///
/// Fails if the shapes or types differ, the target can't be written, or the CPU can't reach one of
/// them.
pub fn copy_on_host(to: &mut Tensor, from: &Tensor) -> Result<(), CudaError> {
    to.check_exclusive()?;
    check_elements(to, from)?;
    for tensor in [&*to, from] {
        tensor.storage().settle()?;
    }
    if !from.is_empty() {
        // SAFETY: no other code uses the target, both are on the host, and the source is borrowed.
        unsafe { write_rows(to, from) };
    }
    Ok(())
}

/// # Safety
///
/// Both are on the host, no other code uses the target's memory, and no code writes the source's.
pub(super) unsafe fn write_rows(to: &Tensor, from: &Tensor) {
    let (target, source) = (to.data_mut(), from.data_ptr());
    if to.layout().is_contiguous() && from.layout().is_contiguous() {
        // SAFETY: both tensors are contiguous and have `from.nbytes()` bytes.
        return unsafe { ptr::copy_nonoverlapping(source, target, from.nbytes()) };
    }
    let itemsize = from.dtype().step_bits(from.is_padded()) / 8;
    // The CPU's rows may be any distance apart.
    let plan = Plan::new(to.layout(), from.layout(), itemsize, isize::MAX as usize);
    let Rectangle {
        width,
        rows,
        to_pitch,
        from_pitch,
    } = plan.rectangle;
    for (to, from) in plan.places() {
        for row in 0..rows {
            // SAFETY: the plan leads to the elements' bytes and no others.
            unsafe {
                let source = source.offset(from).add(row * from_pitch);
                let target = target.offset(to).add(row * to_pitch);
                ptr::copy_nonoverlapping(source, target, width);
            }
        }
    }
}
