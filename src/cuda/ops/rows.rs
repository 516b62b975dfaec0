//! [`Lines`]: the rows that softmax and rms_norm work on.

use super::groups::Groups;
use super::strided::Strided;
use super::type_names::bytes_of;
use crate::cuda::driver::error::CudaError;
use crate::cuda::module::function::Function;
use crate::kernel::Operand;

/// Tensors of one shape, seen as lines along an axis.
pub(super) struct Lines {
    /// All other dimensions, of out and x.
    pub(super) kept: Strided<2>,
    pub(super) rows: usize,
    pub(super) length: usize,
    pub(super) out_stride: i64,
    pub(super) x_stride: i64,
}

impl Lines {
    pub(super) fn of(x: &Operand<'_>, out: &Operand<'_>, axis: usize) -> Result<Self, CudaError> {
        let kept = Strided::over([out, x], |other| other != axis)?;
        let stride = |operand: &Operand<'_>| operand.layout().strides()[axis] as i64;
        Ok(Self {
            kept,
            rows: kept.count(),
            length: x.shape()[axis],
            out_stride: stride(out),
            x_stride: stride(x),
        })
    }

    /// Returns whether lines consist of packs that are loaded at once.
    pub(super) fn are_packed(&self, operands: &[&Operand<'_>], pack: usize) -> bool {
        let is_aligned = |operand: &&Operand<'_>| {
            let bytes = pack * bytes_of(operand.dtype());
            operand.data_ptr().addr().is_multiple_of(bytes)
        };
        let steps = self.kept.strides.iter().flatten();
        (self.x_stride, self.out_stride) == (1, 1)
            && self.length.is_multiple_of(pack)
            && steps.copied().all(|stride| stride % pack as i64 == 0)
            && operands.iter().all(is_aligned)
    }
}

/// Kernels that hold a line in registers: of few packs a thread, several, and many.
pub(super) struct Held([Function; 3]);

/// The most threads of a block.
pub(super) const MOST: usize = 1024;

impl Held {
    pub(super) fn of(unit: &super::compiled_modules::Unit) -> Result<Self, CudaError> {
        Ok(Self([
            unit.function("held_few")?,
            unit.function("held_several")?,
            unit.function("held_many")?,
        ]))
    }

    /// Returns the kernel for lines of a number of packs, and its threads; `None` where lines are
    /// too long for all.
    pub(super) fn choose(&self, length: usize, pack: usize) -> Option<(&Function, Groups)> {
        let packs = length.div_ceil(pack).max(1);
        // How many packs a thread of each kernel holds.
        let few = if pack == 1 { 2 } else { 1 };
        let held = [few, 2 * few, 4 * few];
        // A warp for a line, as long as that does: its threads exchange numbers without waiting.
        let lanes = match packs {
            packs if packs <= 32 * held[2] => packs.div_ceil(held[0]).next_power_of_two().min(32),
            packs => packs.div_ceil(held[1]).next_power_of_two().clamp(64, MOST),
        };
        let of_thread = packs.div_ceil(lanes);
        let at = held.iter().position(|most| of_thread <= *most)?;
        Some((&self.0[at], Groups::of(lanes, MOST)))
    }
}
