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

    /// Returns the inputs that a result may replace, a bit for each: the kernel reads them from
    /// where it writes the result, which needs no other alignment, and of the arguments before the
    /// result no other is there.
    #[cfg(feature = "hosts")]
    #[inline]
    pub(super) fn replaceable(&self, result: usize, operands: &[Operand<'_>]) -> u32 {
        let before = operands[..result].iter().enumerate();
        let is_alone = |pair: &&Pair| {
            let other = pair.other as usize;
            before
                .clone()
                .all(|(at, operand)| at == other || are_apart(operand, &operands[other]))
        };
        let pairs = self.pairs.iter().filter(|pair| {
            pair.written as usize == result
                && pair.may_coincide
                && self.masks[result] <= self.masks[pair.other as usize]
        });
        let bits = pairs.filter(is_alone).map(|pair| 1 << pair.other);
        bits.fold(0, |all, bit: u32| all | bit)
    }

    /// Returns whether arguments are where they may be; if not, or if more is to be checked, the
    /// checks of any call tell.
    #[inline]
    pub(super) fn are_right(&self, operands: &[Operand<'_>]) -> bool {
        let places = operands.iter().zip(&self.masks);
        let odd = places.fold(0, |odd, (operand, mask)| odd | operand.first.addr() & mask);
        let is_right = |pair: &Pair| {
            let (written, other) = (
                &operands[pair.written as usize],
                &operands[pair.other as usize],
            );
            are_apart(written, other) || pair.may_coincide && written.first == other.first
        };
        odd == 0 && !self.checks_bytes && self.pairs.iter().all(is_right)
    }
}

fn are_apart(a: &Operand<'_>, b: &Operand<'_>) -> bool {
    a.bytes.end <= b.bytes.start || b.bytes.end <= a.bytes.start
}
