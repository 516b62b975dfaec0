//! [`Backend`]: what calls on a device that isn't the host's need, from whoever knows that device.

use super::error::Failure;
use super::op::Op;
use super::operand::Operand;
use crate::device::{Device, DeviceKind};
use crate::dtype::DType;
use crate::storage::Storage;
use crate::tensor::Tensor;

/// What is done around the calls of kernels on a kind of device.
pub(crate) struct Backend {
    pub(crate) kind: DeviceKind,
    /// Makes a result, which isn't written yet, where it isn't the frame that makes it.
    pub(crate) make: Option<Make>,
    /// Runs the kernel in the right order with all other work on the arguments' memory.
    pub(crate) run: Run,
}

/// Shape, element type and device.
type Make = fn(&[usize], DType, Device) -> Result<Tensor, Failure>;

/// The device, the arguments, and what runs the kernel.
type Run = fn(Device, Uses<'_>, &mut Body<'_>) -> Result<(), Failure>;

/// Runs a kernel.
pub(crate) type Body<'a> = dyn FnMut() -> Result<(), Failure> + 'a;

inventory::collect!(Backend);

impl Backend {
    /// What there is for a kind of device.
    pub(super) fn of(kind: DeviceKind) -> Option<&'static Self> {
        inventory::iter::<Self>().find(|backend| backend.kind == kind)
    }
}

/// The memory that a call uses, where it is known whose it is.
#[derive(Clone, Copy)]
pub(crate) struct Uses<'a> {
    op: &'a Op,
    operands: &'a [Operand<'a>],
}

impl<'a> Uses<'a> {
    pub(super) fn new(op: &'a Op, operands: &'a [Operand<'a>]) -> Self {
        Self { op, operands }
    }

    /// The memory, and whether it is written.
    #[cfg_attr(
        not(feature = "cuda"),
        expect(dead_code, reason = "there is no backend")
    )]
    pub(crate) fn iter(self) -> impl Iterator<Item = (&'a Storage, bool)> {
        let uses = self.operands.iter().enumerate();
        uses.filter_map(move |(at, operand)| Some((operand.storage?, self.op.writes(at))))
    }
}
