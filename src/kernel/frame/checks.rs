//! Checks of a call's arguments one by one.

use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Incompatibility, IncompatibilityKind};
use crate::kernel::attribute::Attribute;
use crate::kernel::dispatch_cache::Found;
use crate::kernel::error::Reason;
use crate::kernel::op::{Kind, MOST_VARIABLES, Op, Parameter};
use crate::kernel::operand::Operand;
use crate::view::View;

#[cold]
pub(super) fn missing(op: &Op, at: usize) -> Reason {
    Reason::Missing {
        argument: op.parameters[at].name.clone(),
    }
}

/// Dtype of each type variable, as a number; 0 while it is unknown.
pub(super) type Variables = [u32; MOST_VARIABLES];

#[inline]
pub(super) fn type_variables(op: &Op, operands: &[Operand<'_>]) -> Result<Variables, Reason> {
    let mut variables = [0; MOST_VARIABLES];
    for (at, (operand, parameter)) in operands.iter().zip(&op.parameters).enumerate() {
        let number = operand.dtype.number();
        let wanted = match &parameter.kind {
            Kind::Variable(variable) => {
                let known = &mut variables[*variable];
                if *known == 0 {
                    *known = number;
                }
                *known
            }
            Kind::Is(dtype) => dtype.number(),
            _ => continue,
        };
        if wanted != number {
            return Err(wrong_type(
                op,
                at,
                operand.dtype,
                DType::from_number(wanted),
            ));
        }
    }
    Ok(variables)
}

#[cold]
fn wrong_type(op: &Op, at: usize, found: DType, wanted: DType) -> Reason {
    let parameter = &op.parameters[at];
    let same = |other: &&Parameter| other.kind == parameter.kind;
    let why = match op.parameters[..at].iter().find(same) {
        Some(other) => format!("{:?} has {wanted}", other.name),
        None => format!("{wanted} is needed"),
    };
    let remedy = format!("cast it to {wanted}");
    dtype_mismatch(&parameter.name, found, wanted, &why, remedy)
}

#[cold]
fn dtype_mismatch(
    argument: &str,
    found: DType,
    wanted: DType,
    why: &str,
    remedy: String,
) -> Reason {
    Reason::incompatible(
        argument,
        &format!("has elements of {found}, and {why}"),
        Incompatibility::new(
            IncompatibilityKind::DType,
            found.to_string(),
            wanted.to_string(),
        )
        .with_remedy(remedy),
    )
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
pub(super) fn main_device(operands: &[Operand<'_>], present: u32) -> Device {
    let mut first = None;
    for (at, operand) in operands.iter().enumerate() {
        if present & (1 << at) == 0 {
            continue;
        }
        if !operand.device.is_host_accessible() {
            return operand.device;
        }
        first.get_or_insert(operand.device);
    }
    first.unwrap_or(Device::CPU)
}

/// Checks what the call key doesn't contain: alignment, bytes of bools, and device numbers.
#[inline]
pub(super) fn check_for_kernel(
    op: &Op,
    operands: &[Operand<'_>],
    found: &Found<'_>,
    device: Device,
) -> Result<(), Reason> {
    let kernel = &found.kernel;
    // Where the device is the host's, so are all.
    let is_elsewhere = !device.is_host_accessible();
    for (at, (operand, wants)) in operands.iter().zip(&kernel.wants).enumerate() {
        let name = &op.parameters[at].name;
        if operand.first.addr() & (wants.alignment - 1) != 0 && !operand.layout.is_empty() {
            return Err(misaligned(name, operand.first.addr(), wants.alignment));
        }
        if !wants.any_bits && operand.device.is_host_accessible() {
            check_bytes(op, at, operand)?;
        }
        if is_elsewhere
            && operand.device != device
            && !operand.device.is_host_accessible()
            && kernel.host_memory & (1 << at) == 0
        {
            return Err(other_device(name, operand.device, device));
        }
    }
    Ok(())
}

#[cold]
fn check_bytes(op: &Op, at: usize, operand: &Operand<'_>) -> Result<(), Reason> {
    let first = std::ptr::NonNull::new(operand.first).unwrap_or(std::ptr::NonNull::dangling());
    // SAFETY: the elements are as wide as bytes, of which every pattern is a `u8`.
    let bytes = unsafe { View::<u8>::from_raw(first, operand.layout) };
    match bytes.find_invalid(|byte| byte <= 1) {
        None => Ok(()),
        Some(value) => {
            let (value, dtype) = (format!("{value:#04x}"), operand.dtype.to_string());
            Err(Reason::incompatible(
                &op.parameters[at].name,
                &format!("has a byte {value}, which is not a valid {dtype}"),
                Incompatibility::new(IncompatibilityKind::Value, value, dtype),
            ))
        }
    }
}

#[cold]
fn misaligned(argument: &str, address: usize, alignment: usize) -> Reason {
    let wanted = format!("a multiple of {alignment}");
    Reason::incompatible(
        argument,
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
fn other_device(argument: &str, found: Device, wanted: Device) -> Reason {
    Reason::incompatible(
        argument,
        &format!("is on {found}, and others are on {wanted}"),
        Incompatibility::new(
            IncompatibilityKind::Device,
            found.to_string(),
            wanted.to_string(),
        ),
    )
}
