//! Checks of a call's arguments one by one.

use super::mixed_types::{dtype_mismatch, wrong_type};
use crate::device::Device;
use crate::dtype::{DType, TypeCode};
use crate::error::{Incompatibility, IncompatibilityKind};
use crate::kernel::argument_overlap::{self, Coincide};
use crate::kernel::attribute::Attribute;
use crate::kernel::choose::Registered;
use crate::kernel::error::Reason;
use crate::kernel::op::{Kind, MOST_VARIABLES, Op, sum_dtype};
use crate::kernel::operand::Operand;
use crate::view::{View, ViewMut};

#[cold]
pub(super) fn missing(op: &Op, at: usize) -> Reason {
    Reason::Missing {
        argument: op.parameters[at].name.clone(),
    }
}

/// Dtype of each type variable, as a number; 0 while it is unknown.
pub(super) type Variables = [u32; MOST_VARIABLES];

pub(super) const NO_VARIABLES: Variables = [0; MOST_VARIABLES];

/// Writes the type variables, in place, and checks the inputs' types.
#[inline]
pub(super) fn bind_type_variables(
    op: &Op,
    own: &[Operand<'_>],
    more: &[Operand<'_>],
    variables: &mut Variables,
) -> Result<(), Reason> {
    for (at, (operand, parameter)) in own.iter().zip(&op.parameters).enumerate() {
        if !has_type(operand, &parameter.kind, variables) {
            return Err(wrong_type(op, own, more, at));
        }
    }
    for (at, operand) in (op.parameters.len()..).zip(more) {
        let kind = &op.parameters[op.parameter_of(at)].kind;
        if !has_type(operand, kind, variables) {
            return Err(wrong_type(op, own, more, at));
        }
    }
    Ok(())
}

/// Returns whether an input has the dtype that its parameter requires. Where a type variable is
/// unknown, it becomes the input's.
#[inline(always)]
fn has_type(operand: &Operand<'_>, kind: &Kind, variables: &mut Variables) -> bool {
    let number = operand.dtype.number();
    let wanted = match kind {
        _ if operand.is_absent() => return true,
        Kind::Variable(variable) => {
            let known = &mut variables[*variable];
            if *known == 0 {
                *known = number;
            }
            *known
        }
        Kind::Is(dtype) => dtype.number(),
        _ => return true,
    };
    wanted == number
}

#[inline]
pub(super) fn output_type(
    op: &Op,
    at: usize,
    variables: &Variables,
    attributes: &[Attribute],
) -> DType {
    let known = match &op.parameters[at].kind {
        Kind::Is(dtype) => Some(*dtype),
        Kind::Variable(variable) => Some(DType::from_number(variables[*variable])),
        Kind::Attribute(name) => {
            let at = op.attributes.iter().position(|known| known.name == *name);
            at.and_then(|at| match attributes[at] {
                Attribute::DType(dtype) => Some(dtype),
                _ => None,
            })
        }
        Kind::AttributeOr(name, variable) | Kind::AttributeOrSum(name, variable) => {
            let is_sum = matches!(op.parameters[at].kind, Kind::AttributeOrSum(..));
            let at = op.attributes.iter().position(|known| known.name == *name);
            at.and_then(|at| match attributes[at] {
                Attribute::OptionalDType(Some(dtype)) => Some(dtype),
                Attribute::OptionalDType(None) => {
                    let dtype = DType::from_number(variables[*variable]);
                    Some(if is_sum { sum_dtype(dtype) } else { dtype })
                }
                _ => None,
            })
        }
        Kind::Any => None,
    };
    known.expect("the op was checked for that when it was defined")
}

#[inline]
pub(super) fn check_output(
    op: &Op,
    at: usize,
    operand: &Operand<'_>,
    shape: &[usize],
    dtype: DType,
) -> Result<(), Reason> {
    if operand.dtype.number() != dtype.number() {
        let why = format!("the result is {dtype}");
        let name = &op.parameters[at].name;
        let remedy = format!("pass a tensor of {dtype}");
        return Err(dtype_mismatch(name, operand.dtype, dtype, &why, remedy));
    }
    if operand.shape() != shape {
        let (wanted, why) = (format!("{shape:?}"), format!("the result has {shape:?}"));
        let name = &op.parameters[at].name;
        return Err(Reason::shape(name, operand.shape(), wanted, &why));
    }
    Ok(())
}

/// Returns where the call takes place: the first device that isn't the host's, or the first one.
#[inline]
pub(super) fn main_device(operands: &[Operand<'_>]) -> Device {
    let mut first = None;
    for operand in operands {
        if operand.is_absent() {
            continue;
        }
        if !operand.device.is_host_accessible() {
            return operand.device;
        }
        first.get_or_insert(operand.device);
    }
    first.unwrap_or(Device::CPU)
}

/// Checks what the call key doesn't contain: alignment, bytes of bools, device numbers, and, if
/// operands coincide, whether the kernel allows it. Then bytes of outputs, which may be new memory,
/// are made valid.
#[inline]
pub(super) fn prepare_for_kernel(
    op: &Op,
    operands: &[Operand<'_>],
    kernel: &Registered,
    device: Device,
    coincide: &Coincide,
) -> Result<(), Reason> {
    let outputs = op.given()..op.parameters.len();
    let mut has_bytes = false;
    // Where the device is the host's, so are all.
    let is_elsewhere = !device.is_host_accessible();
    for (at, operand) in operands.iter().enumerate() {
        let parameter = op.parameter_of(at);
        let wants = &kernel.wants[parameter];
        if operand.first.addr() & (wants.alignment - 1) != 0 && !operand.layout.is_empty() {
            return Err(misaligned(op, at, operand.first.addr(), wants.alignment));
        }
        if !wants.any_bits && operand.device.is_host_accessible() && !operand.is_absent() {
            if outputs.contains(&at) {
                has_bytes = true;
            } else {
                check_bytes(op, at, operand)?;
            }
        }
        if is_elsewhere
            && operand.device != device
            && !operand.device.is_host_accessible()
            && kernel.host_memory & (1 << parameter) == 0
        {
            return Err(other_device(op, at, operand.device, device));
        }
    }
    if !coincide.is_empty() {
        argument_overlap::check_for_kernel(op, operands, kernel, coincide)?;
    }
    if has_bytes {
        for at in outputs.filter(|at| !kernel.wants[*at].any_bits) {
            clear_invalid(&operands[at]);
        }
    }
    Ok(())
}

/// Returns whether any bits are elements of this type, and none are left over in the last byte.
#[inline]
pub(super) fn is_any_bits(dtype: DType) -> bool {
    dtype.code() != TypeCode::Bool && dtype.item_bytes().is_some()
}

/// Makes bytes 0 that no bool has. One in the same place as an input has none, as that was checked.
fn clear_invalid(output: &Operand<'_>) {
    if !output.device.is_host_accessible() || output.is_absent() {
        return;
    }
    let first = std::ptr::NonNull::new(output.first).unwrap_or(std::ptr::NonNull::dangling());
    // SAFETY: the elements are as wide as bytes, of which every pattern is a `u8`, and an output's
    // are the call's to write; no two are at one place, as was checked.
    let mut bytes = unsafe { ViewMut::<u8>::from_raw(first, output.layout) };
    if bytes.as_view().find_invalid_bool().is_some() {
        bytes
            .iter_mut()
            .filter(|byte| **byte > 1)
            .for_each(|byte| *byte = 0);
    }
}

#[cold]
fn check_bytes(op: &Op, at: usize, operand: &Operand<'_>) -> Result<(), Reason> {
    let first = std::ptr::NonNull::new(operand.first).unwrap_or(std::ptr::NonNull::dangling());
    // SAFETY: the elements are as wide as bytes, of which every pattern is a `u8`.
    let bytes = unsafe { View::<u8>::from_raw(first, operand.layout) };
    match bytes.find_invalid_bool() {
        None => Ok(()),
        Some(value) => {
            let (value, dtype) = (format!("{value:#04x}"), operand.dtype.to_string());
            Err(Reason::incompatible(
                &op.argument_name(at),
                &format!("has a byte {value}, which is not a valid {dtype}"),
                Incompatibility::new(IncompatibilityKind::Value, value, dtype),
            ))
        }
    }
}

#[cold]
fn misaligned(op: &Op, at: usize, address: usize, alignment: usize) -> Reason {
    let wanted = format!("a multiple of {alignment}");
    Reason::incompatible(
        &op.argument_name(at),
        &format!("begins at {address:#x}, which is not aligned to {alignment} bytes"),
        Incompatibility::new(
            IncompatibilityKind::Alignment,
            format!("{address:#x}"),
            wanted,
        )
        .with_remedy("pass a copy"),
    )
}

#[cold]
fn other_device(op: &Op, at: usize, found: Device, wanted: Device) -> Reason {
    Reason::incompatible(
        &op.argument_name(at),
        &format!("is on {found}, and others are on {wanted}"),
        Incompatibility::new(
            IncompatibilityKind::Device,
            found.to_string(),
            wanted.to_string(),
        ),
    )
}
