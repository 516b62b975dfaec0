//! [`Places`]: where the arguments of a call like one before may be.

use crate::kernel::argument_overlap::is_same_arrangement;
use crate::kernel::choose::Registered;
use crate::kernel::op::Op;
use crate::kernel::operand::Operand;
use smallvec::SmallVec;

/// What depends on where the arguments of a call are, if all else is as before.
pub(super) struct Places {
    /// Of each argument the bits that its address doesn't have.
    masks: SmallVec<[usize; 6]>,
    /// Each written argument with each other one.
    pairs: SmallVec<[Pair; 4]>,
    /// Whether bytes are checked, too.
    checks_bytes: bool,
}

struct Pair {
    written: u32,
    other: u32,
    /// Whether they may begin at one address.
    may_coincide: bool,
}

impl Places {
    /// Returns what is to be checked of arguments, of which all was checked once.
    pub(super) fn of(op: &Op, operands: &[Operand<'_>], kernel: &Registered) -> Self {
        let wants = |at: usize| &kernel.wants[op.parameter_of(at)];
        let is_empty = |at: usize| operands[at].layout.is_empty();
        let mask = |at: usize| match is_empty(at) {
            true => 0,
            false => wants(at).alignment - 1,
        };
        let pair = |written: usize, other: usize| Pair {
            written: written as u32,
            other: other as u32,
            may_coincide: op.may_be_in_place(written, other)
                && wants(written).may_coincide
                && wants(other).may_coincide
                && !is_empty(written)
                && is_same_arrangement(&operands[written], &operands[other]),
        };
        let all = 0..operands.len();
        let mut pairs = SmallVec::new();
        for written in all.clone().filter(|at| op.writes(*at)) {
            // Of two that are both written, one is compared with the other.
            let others = all.clone().filter(|at| *at < written || !op.writes(*at));
            pairs.extend(
                others
                    .filter(|at| *at != written)
                    .map(|at| pair(written, at)),
            );
        }
        Self {
            masks: all.clone().map(mask).collect(),
            pairs,
            checks_bytes: all.into_iter().any(|at| !wants(at).any_bits),
        }
    }

    /// Returns the arguments that a written one may replace where they [are alone](are_alone), a
    /// bit for each: the kernel reads them from where it writes, which needs no other alignment.
    #[cfg(feature = "hosts")]
    pub(super) fn replaceable(&self, written: usize) -> u32 {
        let pairs = self.pairs.iter().filter(|pair| {
            pair.written as usize == written
                && pair.may_coincide
                && self.masks[written] <= self.masks[pair.other as usize]
        });
        pairs.fold(0, |all, pair| all | 1 << pair.other)
    }

    /// Returns whether arguments are where they may be; if not, or if more is to be checked, the
    /// checks of any call tell.
    #[inline(always)]
    pub(super) fn are_right(&self, operands: &[Operand<'_>]) -> bool {
        let mut odd = 0;
        for (operand, mask) in operands.iter().zip(&*self.masks) {
            odd |= operand.first.addr() & mask;
        }
        let is_right = |pair: &Pair| {
            let written = &operands[pair.written as usize];
            let other = &operands[pair.other as usize];
            are_apart(written, other) || pair.may_coincide && written.first == other.first
        };
        odd == 0 && !self.checks_bytes && self.pairs.iter().all(is_right)
    }
}

#[inline]
fn are_apart(a: &Operand<'_>, b: &Operand<'_>) -> bool {
    a.bytes.end <= b.bytes.start || b.bytes.end <= a.bytes.start
}

/// Returns those of some arguments, a bit for each, with which no other argument overlaps.
#[cfg(feature = "hosts")]
#[inline]
pub(super) fn are_alone(some: u32, operands: &[Operand<'_>]) -> u32 {
    let mut alone = some;
    for (at, one) in operands.iter().enumerate() {
        for (before, other) in operands[..at].iter().enumerate() {
            if !are_apart(one, other) {
                alone &= !(1 << at | 1 << before);
            }
        }
    }
    alone
}
