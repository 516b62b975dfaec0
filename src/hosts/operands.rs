//! Tensors of a host on the CPU, as the operands of a call.

use super::problem::Problem;
use crate::device::Device;
use crate::dtype::DType;
use crate::kernel::{Attribute, CallHost, Frame, OpHandle, Operand, Operands};
use crate::layout::Layout;
use smallvec::SmallVec;

/// A tensor of a host: its memory, layout and dtype.
pub(super) struct Described {
    pub(super) first: *mut u8,
    pub(super) layout: Layout,
    pub(super) dtype: DType,
}

/// The tensors of an input: none for one that is left out, several for a variadic one.
pub(super) type Tensors = SmallVec<[Described; 1]>;

/// Runs a call. `outputs` are those that the caller gave: all, or none.
///
/// # Safety
///
/// Until the call is over, the tensors have the elements of their layouts. What the op doesn't
/// write is written by no other code meanwhile, and what it writes is used by no other code.
pub(super) unsafe fn run(
    handle: &OpHandle,
    inputs: &[Tensors],
    outputs: &[Described],
    attributes: &[Attribute],
    host: &mut impl CallHost,
) -> Result<(), Problem> {
    let op = handle.definition();
    let mut operands = Operands::new();
    operands.resize_with(op.parameters().count(), || Operand::ABSENT);
    let mut present = 0;
    for (at, tensors) in inputs.iter().enumerate() {
        let writes = op.writes(at);
        for (number, tensor) in tensors.iter().enumerate() {
            // SAFETY: elements and other code's accesses are as this function requires.
            let operand = unsafe { tensor.operand(writes) };
            if number == 0 {
                operands[at] = operand;
                present |= 1 << at;
            } else {
                operands.push(operand);
            }
        }
    }
    for (at, tensor) in (inputs.len()..).zip(outputs) {
        // SAFETY: elements and other code's accesses are as this function requires.
        operands[at] = unsafe { tensor.operand(true) };
        present |= 1 << at;
    }
    let frame = Frame {
        handle,
        present,
        attributes,
        label: "",
        threads: 0,
    };
    frame.run(&mut operands, host).map_err(Problem::from)
}

impl Described {
    /// Returns the tensor as an operand.
    ///
    /// # Safety
    ///
    /// While the operand is used, the tensor has the elements of its layout, no other code writes
    /// them, and none reads them either if `writes` is true.
    unsafe fn operand(&self, writes: bool) -> Operand<'_> {
        let (first, layout, dtype) = (self.first, self.layout.as_ref(), self.dtype);
        // SAFETY: elements and accesses are as this function requires.
        unsafe { Operand::from_raw(first, layout, dtype, Device::CPU, false, writes) }
    }
}
