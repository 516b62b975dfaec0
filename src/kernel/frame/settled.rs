//! [`Settled`]: a call that was made, to be made again with other memory.

use super::is_any_bits;
use super::places::{Places, are_alone};
use super::{CallHost, Frame, Made};
use crate::device::Device;
use crate::kernel::choose::Chosen;
use crate::kernel::dispatch_cache::Found;
use crate::kernel::error::{CallError, Reason};
use crate::kernel::handle::{Attributes, OpHandle};
use crate::kernel::op::Role;
use crate::kernel::operand::Operand;
use crate::layout::Layout;
use crate::storage::Contents;
use std::ptr::{self, NonNull};
use std::sync::Arc;

/// A call with its kernel, and all that was checked of its arguments but what depends on where they
/// are in memory.
pub(crate) struct Settled {
    handle: OpHandle,
    attributes: Attributes,
    present: u32,
    /// Bits of the results that are zeros when the kernel gets them.
    cleared: u32,
    /// Where the arguments were; borrowed from `_layouts`.
    operands: Box<[Operand<'static>]>,
    /// What is still to be checked of where they are.
    places: Places,
    /// The arguments that each one may replace, a bit for each: none unless it is a result that
    /// isn't cleared.
    replaceable: Box<[u32]>,
    _layouts: Arc<[Layout]>,
    /// Kept by the handle's cache.
    chosen: NonNull<Chosen>,
    version: u64,
    releases: bool,
}

impl Settled {
    /// Returns a call, if it can be made again: on the CPU, with all arguments, of which none is
    /// both read and written or variadic.
    pub(crate) fn of(made: Made<'_>) -> Option<Self> {
        let Made {
            frame,
            operands,
            found,
            releases,
            version,
        } = made;
        let Found::Kept(chosen) = found else {
            return None;
        };
        let op = frame.handle.definition();
        let is_plain = |(at, operand): (usize, &Operand<'_>)| {
            !operand.is_absent()
                && operand.device == Device::CPU
                && operand.storage.is_none()
                && operand.bytes.start == operand.first.addr()
                && op.parameters[at].role != Role::InOut
        };
        let is_alone = frame.label.is_empty() && frame.threads == 0 && op.variadic().is_none();
        if !is_alone || !operands.iter().enumerate().all(is_plain) {
            return None;
        }
        let layouts: Arc<[_]> = operands.iter().map(|one| one.layout.to_owned()).collect();
        let is_cleared = |operand: &Operand<'_>| {
            operand.writable && !(chosen.kernel.fills_results && is_any_bits(operand.dtype))
        };
        let bits = operands.iter().enumerate();
        let bits = bits.map(|(at, operand)| u32::from(is_cleared(operand)) << at);
        // What the caller gave stays as it is.
        let cleared = bits.fold(0, |all, bit| all | bit) & !frame.present;
        let kept = |(operand, layout): (&Operand<'_>, &Layout)| {
            // SAFETY: the layouts are on the heap, shared and not changed, and are dropped with
            // what is borrowed from them, which no function gives away.
            let layout: &'static Layout = unsafe { &*ptr::from_ref(layout) };
            operand.with_layout(layout.as_ref())
        };
        let places = Places::of(op, operands, &chosen.kernel);
        let replaceable = |at: usize| match cleared & (1 << at) {
            0 => places.replaceable(at),
            _ => 0,
        };
        Some(Self {
            replaceable: (0..operands.len()).map(replaceable).collect(),
            handle: frame.handle.clone(),
            attributes: frame.attributes.iter().cloned().collect(),
            present: frame.present,
            cleared,
            places,
            operands: operands.iter().zip(&*layouts).map(kept).collect(),
            _layouts: layouts,
            chosen: NonNull::from(chosen),
            version,
            releases,
        })
    }

    /// Returns whether the call can be made again with `count` addresses: those of the inputs, or
    /// of all arguments.
    pub(crate) fn takes(&self, count: usize) -> bool {
        count == self.operands.len()
            || count == self.handle.definition().given() && count == self.given()
    }

    fn given(&self) -> usize {
        self.present.count_ones() as usize
    }

    /// Makes the call again, with arguments at these addresses; `None` if there are kernels that it
    /// was not chosen among.
    ///
    /// # Safety
    ///
    /// [`takes`](Self::takes) is true for the number of addresses. While the call lasts, there are
    /// elements of the argument's layout and dtype, no other code writes what the op reads, and
    /// none uses what it writes.
    #[inline]
    pub(crate) unsafe fn run(
        &mut self,
        firsts: &[*mut u8],
        around: &mut impl CallHost,
    ) -> Option<Result<(), CallError>> {
        if self.handle.version() != self.version {
            return None;
        }
        for (operand, first) in self.operands.iter_mut().zip(firsts) {
            operand.move_to(*first);
        }
        if self.cleared != 0 {
            self.clear_results(firsts.len());
        }
        let made = self.make_results(firsts.len(), around);
        let outcome = made.and_then(|()| self.execute(around));
        Some(outcome.map_err(|reason| reason.of(self.handle.name())))
    }

    /// Clears the results whose addresses are given.
    #[cold]
    fn clear_results(&self, given: usize) {
        let cleared = (0..given).filter(|at| self.cleared & (1 << at) != 0);
        for result in cleared.map(|at| &self.operands[at]) {
            let nbytes = result.bytes.len();
            if nbytes > 0 {
                // SAFETY: the result has as many bytes, one after the other, as the host made it,
                // and no other code uses it.
                unsafe { result.first.write_bytes(0, nbytes) };
            }
        }
    }

    /// Makes the results that aren't given.
    #[inline]
    fn make_results(&mut self, given: usize, around: &mut impl CallHost) -> Result<(), Reason> {
        for at in given..self.operands.len() {
            let contents = match self.cleared & (1 << at) != 0 {
                true => Contents::Zeros,
                false => Contents::Arbitrary,
            };
            let replaceable = match self.replaceable[at] {
                0 => 0,
                some => are_alone(some, &self.operands[..at]),
            };
            let result = &self.operands[at];
            let first = around.allocate(result.layout, result.dtype, contents, replaceable);
            let first = first.map_err(|error| self.frame().not_made(at, error))?;
            self.operands[at].move_to(first);
        }
        Ok(())
    }

    #[inline]
    fn execute(&self, around: &mut impl CallHost) -> Result<(), Reason> {
        // SAFETY: the cache of the handle keeps what it found until the handle is dropped.
        let chosen = unsafe { self.chosen.as_ref() };
        let (frame, operands) = (self.frame(), &self.operands);
        frame.check_places(&self.places, chosen, operands)?;
        frame.execute(chosen, operands, None, self.releases, around)
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            handle: &self.handle,
            present: self.present,
            attributes: &self.attributes,
            label: "",
            threads: 0,
        }
    }
}

#[cfg(test)]
mod tests;
