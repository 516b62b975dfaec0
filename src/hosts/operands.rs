//! Tensors of a host on the CPU, as the operands of a call.

use super::problem::{Class, Problem};
use crate::device::Device;
use crate::dtype::DType;
use crate::kernel::{Attribute, CallHost, Frame, OpHandle, Operand, Operands};
use crate::layout::{Layout, LayoutError};
use smallvec::{Array, SmallVec};

/// A tensor of a host: its memory, layout and dtype.
pub(super) struct Described {
    pub(super) first: *mut u8,
    pub(super) layout: Layout,
    pub(super) dtype: DType,
    /// Whether elements of less than a byte each take a byte of their own.
    pub(super) is_padded: bool,
}

/// The tensors of a call's inputs.
#[derive(Default)]
pub(super) struct Inputs {
    pub(super) tensors: SmallVec<[Described; 4]>,
    /// Which input each of the tensors is: several for a variadic one, none for one that is left
    /// out.
    pub(super) places: SmallVec<[usize; 4]>,
}

/// Appends a tensor of rank, sizes and strides, or NULL if it is row-major, whose elements of less
/// than a byte are packed. It is built in the list, as moving a layout takes longer.
///
/// # Errors
///
/// When there can't be such a layout; then the list isn't to be used.
///
/// # Safety
///
/// Sizes and strides are each NULL or as many numbers as the rank says.
#[inline]
pub(super) unsafe fn describe_in_place<A: Array<Item = Described>>(
    list: &mut SmallVec<A>,
    first: *mut u8,
    dtype: DType,
    (rank, sizes, strides): (i32, *const i64, *const i64),
) -> Result<(), LayoutError> {
    list.reserve(1);
    let at = list.len();
    // SAFETY: there is room for one more, all of whose fields are written before it counts.
    unsafe {
        let place = list.as_mut_ptr().add(at);
        (&raw mut (*place).first).write(first);
        (&raw mut (*place).dtype).write(dtype);
        (&raw mut (*place).is_padded).write(false);
        (&raw mut (*place).layout).write(Layout::scalar());
        list.set_len(at + 1);
    }
    // SAFETY: sizes and strides are as this function requires.
    unsafe { list[at].layout.become_c(rank, sizes, strides) }
}

/// Runs a call. `outputs` are those that the caller gave: all, or none.
///
/// # Safety
///
/// Until the call is over, the tensors have the elements of their layouts. What the op doesn't
/// write is written by no other code meanwhile, and what it writes is used by no other code.
pub(super) unsafe fn run(
    handle: &OpHandle,
    inputs: &Inputs,
    outputs: &[Described],
    attributes: &[Attribute],
    host: &mut impl CallHost,
) -> Result<(), Problem> {
    let op = handle.definition();
    let mut operands = Operands::new();
    operands.resize_with(op.parameters().count(), || Operand::ABSENT);
    let mut present = 0;
    for (tensor, at) in inputs.tensors.iter().zip(&inputs.places) {
        // SAFETY: elements and other code's accesses are as this function requires.
        let operand = unsafe { tensor.operand(op.writes(*at)) };
        if operands[*at].is_absent() {
            operands[*at] = operand;
            present |= 1 << at;
        } else if op.variadic() == Some(*at) {
            operands.push(operand);
        } else {
            let (name, argument) = (op.name(), op.argument_name(*at));
            let given = inputs.places.iter().filter(|place| *place == at).count();
            let text =
                format!("{name}: argument {argument:?} takes 1 tensor but {given} were given");
            return Err(Problem::new(Class::Type, text));
        }
    }
    for (at, tensor) in (op.given()..).zip(outputs) {
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
    /// Returns how many bytes the elements have.
    pub(super) fn nbytes(&self) -> usize {
        self.layout.len() * self.dtype.item_bytes().unwrap_or(0)
    }

    /// Returns whether another tensor has the same shape and dtype.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.dtype == other.dtype && self.layout.shape() == other.layout.shape()
    }

    /// Returns the tensor as an operand.
    ///
    /// # Safety
    ///
    /// While the operand is used, the tensor has the elements of its layout, no other code writes
    /// them, and none reads them either if `writes` is true.
    #[inline]
    pub(super) unsafe fn operand(&self, writes: bool) -> Operand<'_> {
        let (first, layout, dtype) = (self.first, self.layout.as_ref(), self.dtype);
        // SAFETY: elements and accesses are as this function requires.
        unsafe { Operand::from_raw(first, layout, dtype, Device::CPU, self.is_padded, writes) }
    }
}
