//! Calls like one before: only what depends on where their arguments are is checked.

use super::places::Places;
use super::recent::Recent;
use super::{CallHost, Frame, Made, argument_overlap, prepare_for_kernel, with_layouts};
use crate::device::Device;
use crate::kernel::choose::Chosen;
use crate::kernel::dispatch_cache::Found;
use crate::kernel::error::Reason;
use crate::kernel::operand::Operand;

impl Frame<'_> {
    /// Executes a call that is like this one.
    #[inline]
    pub(super) fn repeat(
        &self,
        recent: &Recent,
        operands: &mut [Operand<'_>],
        around: &mut impl CallHost,
    ) -> Result<(), Reason> {
        for result in &recent.results {
            let what = (&*result.shape, result.dtype, Device::CPU);
            operands[result.at] = self.make(result.at, what, result.contents, around)?;
        }
        match recent.broadcast.is_empty() {
            true => self.repeat_as(recent, operands, around),
            false => self.repeat_as(recent, &with_layouts(operands, &recent.broadcast), around),
        }
    }

    #[inline]
    fn repeat_as(
        &self,
        recent: &Recent,
        operands: &[Operand<'_>],
        around: &mut impl CallHost,
    ) -> Result<(), Reason> {
        // SAFETY: versions were compared, so the kernel is in the cache of this op, which the frame
        // borrows. What is cleared there when a kernel is added is dropped with the op.
        let chosen = unsafe { recent.chosen.as_ref() };
        self.check_places(&recent.places, chosen, operands)?;
        self.execute(chosen, operands, None, recent.releases, around)?;
        around.keep(Made {
            frame: self,
            operands,
            found: Found::Kept(chosen),
            releases: recent.releases,
            version: recent.version,
        });
        Ok(())
    }

    /// Checks what depends on where the arguments of a call are.
    #[inline(always)]
    pub(super) fn check_places(
        &self,
        places: &Places,
        chosen: &Chosen,
        operands: &[Operand<'_>],
    ) -> Result<(), Reason> {
        match places.are_right(operands) {
            true => Ok(()),
            false => self.check_each_place(chosen, operands),
        }
    }

    #[cold]
    fn check_each_place(&self, chosen: &Chosen, operands: &[Operand<'_>]) -> Result<(), Reason> {
        let op = self.handle.definition();
        let coincide = argument_overlap::check(op, operands)?;
        prepare_for_kernel(op, operands, &chosen.kernel, Device::CPU, &coincide)
    }
}
