//! Construction of call keys: all that the choice of a kernel depends on.

use super::checks::main_device;
use crate::device::Device;
use crate::kernel::attribute::{Attribute, text_key};
use crate::kernel::call_key::CallKey;
use crate::kernel::handle::OpHandle;
use crate::kernel::operand::Operand;

/// Writes the call key, in place: a move right afterwards would stall on its stores.
#[inline]
pub(super) fn write_call_key(
    key: &mut CallKey,
    operands: &[Operand<'_>],
    attributes: &[Attribute],
    label: &str,
    device: Device,
) {
    for operand in operands {
        key.push(word_of(operand));
    }
    key.push(u64::from(device.id() as u32) | (label.len() as u64) << 32);
    if !label.is_empty() {
        text_key(label, key);
    }
    for attribute in attributes {
        attribute.key(key);
    }
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
    let device = main_device(operands, u32::MAX);
    let attributes = handle.defaults().unwrap_or_default();
    let mut key = CallKey::new();
    write_call_key(&mut key, operands, attributes, "", device);
    handle.find(&key).is_some()
}
