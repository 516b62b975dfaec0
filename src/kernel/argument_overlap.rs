//! Alias checks: written arguments of a call against themselves and all others.

use super::choose::Registered;
use super::error::Reason;
use super::op::{Op, Role};
use super::operand::Operand;
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use smallvec::SmallVec;

/// Pairs of an output and an input that are exactly in the same place, which the op allows.
pub(super) type Coincide = SmallVec<[(u32, u32); 1]>;

/// Checks every written argument: that it is writable, doesn't overlap itself, and aliases no other
/// argument.
#[inline]
pub(super) fn check(op: &Op, operands: &[Operand<'_>]) -> Result<Coincide, Reason> {
    let mut coincide = Coincide::new();
    for (at, operand) in operands.iter().enumerate() {
        if !op.writes(at) {
            continue;
        }
        let name = &op.parameters[at].name;
        if !operand.writable {
            let error = Incompatibility::new(Kind::ReadOnly, "read-only", "writable");
            let problem = "is to be written, and is read-only";
            return Err(Reason::incompatible(
                name,
                problem,
                error.with_remedy("pass a copy"),
            ));
        }
        let is_dense = operand.layout.is_contiguous();
        if !is_dense && !operand.layout.overlaps_itself().is_excluded() {
            let (shape, strides) = (operand.shape(), operand.layout.strides());
            let found = format!("shape {shape:?}, strides {strides:?}");
            let error = Incompatibility::new(Kind::Overlap, found, "elements apart");
            let problem = "is to be written, and elements of it are at one place";
            return Err(Reason::incompatible(
                name,
                problem,
                error.with_remedy("pass a copy"),
            ));
        }
        for (other_at, other) in operands.iter().enumerate() {
            // Of two that are both written, the later one is compared with the earlier.
            if other_at == at || other_at > at && op.writes(other_at) {
                continue;
            }
            let (ours, theirs) = (&operand.bytes, &other.bytes);
            if ours.end <= theirs.start || theirs.end <= ours.start {
                continue;
            }
            let is_same = is_same_place(operand, other) && !operand.layout.is_empty();
            if !is_same && are_apart(operand, other) {
                continue;
            }
            if !is_same || !op.may_be_in_place(at, other_at) {
                return Err(aliased(op, at, other_at, operand, other));
            }
            coincide.push((at as u32, other_at as u32));
        }
    }
    Ok(coincide)
}

#[cold]
fn aliased(op: &Op, at: usize, other: usize, operand: &Operand<'_>, with: &Operand<'_>) -> Reason {
    let is_output = op.parameters[at].role == Role::Output;
    let remedy = if is_output && op.may_be_in_place(at, other) && !is_same_place(operand, with) {
        "it can be exactly that tensor, but not another part of its memory; pass a copy"
    } else {
        "pass a copy"
    };
    let other = op.argument_name(other).into_owned();
    Reason::incompatible(
        &op.parameters[at].name,
        &format!("is to be written, and shares memory with {other:?}"),
        Incompatibility::new(Kind::Alias, other.clone(), "memory of its own").with_remedy(remedy),
    )
}

/// Checks that the kernel supports the aliases that the op allows.
#[inline]
pub(super) fn check_for_kernel(
    op: &Op,
    operands: &[Operand<'_>],
    kernel: &Registered,
    coincide: &Coincide,
) -> Result<(), Reason> {
    for (output, input) in coincide {
        let (output, input) = (*output as usize, *input as usize);
        let can = |at: usize| kernel.wants[op.parameter_of(at)].may_coincide;
        if !can(output) || !can(input) {
            return Err(aliased(
                op,
                output,
                input,
                &operands[output],
                &operands[input],
            ));
        }
    }
    Ok(())
}

#[cold]
fn are_apart(a: &Operand<'_>, b: &Operand<'_>) -> bool {
    if a.layout.is_empty() || b.layout.is_empty() {
        return true;
    }
    if !a.device.may_share_memory_with(b.device) {
        return true;
    }
    match a.device.has_addresses() && b.device.has_addresses() {
        true => a.region().overlaps(&b.region()).is_excluded(),
        // Handles: where in its memory an element is, the one that the handle belongs to knows.
        false => a.first != b.first,
    }
}

/// Returns whether elements of the same index have the same address.
fn is_same_place(a: &Operand<'_>, b: &Operand<'_>) -> bool {
    a.first == b.first && is_same_arrangement(a, b)
}

/// Returns whether elements of the same index have the same address, if those of index 0 have.
pub(super) fn is_same_arrangement(a: &Operand<'_>, b: &Operand<'_>) -> bool {
    let strides = || a.layout.strides().iter().zip(b.layout.strides());
    (a.device, a.dtype, a.padded) == (b.device, b.dtype, b.padded)
        && a.shape() == b.shape()
        && (a.shape().iter().zip(strides())).all(|(size, (a, b))| *size < 2 || a == b)
}
