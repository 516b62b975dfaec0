//! Construction of call keys: all that the choice of a kernel depends on.

use super::checks::main_device;
use crate::device::Device;
use crate::kernel::attribute::{Attribute, text_key};
use crate::kernel::call_key::CallKey;
use crate::kernel::handle::OpHandle;
use crate::kernel::op::Op;
use crate::kernel::operand::Operand;

/// Writes the call key, in place: a move right afterwards would stall on its stores.
#[inline]
pub(super) fn write_call_key(
    key: &mut CallKey,
    op: &Op,
    operands: &[Operand<'_>],
    attributes: &[Attribute],
    label: &str,
    device: Device,
) {
    let (own, more) = operands.split_at(op.parameters.len());
    for operand in own {
        key.push(word_of(operand));
    }
    if let Some(variadic) = op.variadic() {
        write_others(key, variadic, more);
    }
    key.push(u64::from(device.id() as u32) | (label.len() as u64) << 32);
    if !label.is_empty() {
        text_key(label, key);
    }
    for attribute in attributes {
        attribute.key(key);
    }
}

/// Writes how the other tensors of a variadic argument differ from its first: each word once, in
/// the order in which they come, as the choice of a kernel doesn't depend on their number.
#[inline(never)]
fn write_others(key: &mut CallKey, variadic: usize, more: &[Operand<'_>]) {
    let (first, count) = (key[variadic], key.len());
    key.push(0);
    for operand in more {
        let word = word_of(operand);
        if word != first && !key[count + 1..].contains(&word) {
            key.push(word);
        }
    }
    key[count] = (key.len() - count) as u64;
}

#[inline]
fn word_of(operand: &Operand<'_>) -> u64 {
    let dtype = u64::from(operand.dtype.number()) << 32;
    let device = (operand.device.kind() as u64 & 0xff) << 16;
    let rank = (operand.layout.rank() as u64) << 1;
    dtype | device | rank | u64::from(operand.layout.is_contiguous())
}

/// Returns whether the dispatch cache has the kernel of a call with default attributes; for the
/// benchmark of dispatch.
#[doc(hidden)]
pub fn lookup(handle: &OpHandle, operands: &[Operand<'_>]) -> bool {
    let (op, device) = (handle.definition(), main_device(operands));
    let attributes = handle.defaults().unwrap_or_default();
    let mut key = CallKey::new();
    write_call_key(&mut key, op, operands, attributes, "", device);
    handle.find(&key).is_some()
}
