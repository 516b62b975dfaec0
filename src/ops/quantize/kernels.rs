//! The kernels of `quantize` and `dequantize`: by the layouts and dtypes of a call.

use super::blocks::{Pair, dequantize_all, quantize_all};
use super::scales::{Along, Parameters, ends_of};
use super::strided::{Elements, dequantize_strided, quantize_strided};
use crate::device::Device;
use crate::dtype::{DType, TypeCode};
use crate::kernel::{Failure, Operand, Untyped, UntypedMut};
use crate::layout::{Layout, LayoutRef};
use crate::ops::cast::cast_elements;
use crate::ops::number::Float;
use crate::view::{View, ViewMut};

/// Returns the elements of an operand of whole bytes.
fn elements<'a>(operand: &Operand<'a>) -> Elements<'a> {
    Elements {
        first: operand.data_ptr().cast_mut(),
        layout: operand.layout(),
        dtype: operand.dtype(),
    }
}

/// Returns the integers of a byte that have the sign of a quantised dtype.
fn bytes_like(dtype: DType) -> DType {
    match dtype.code() {
        TypeCode::Int => DType::I8,
        _ => DType::U8,
    }
}

/// Quantises the elements of `x`.
pub(super) fn quantize_elements<T: Float>(
    along: Along,
    x: &View<'_, T>,
    scale: &View<'_, f32>,
    zero_point: Option<&View<'_, i32>>,
    out: &UntypedMut<'_>,
) -> Result<(), Failure> {
    let split = along.split("x", x.shape(), scale.shape())?;
    if x.is_empty() {
        return Ok(()); // Without copies of scales, of which there may be any number.
    }
    let mut inverses = Parameters::new(scale, zero_point, out.dtype())?;
    inverses
        .scales
        .iter_mut()
        .for_each(|scale| *scale = 1.0 / *scale);
    let ends = ends_of(out.dtype());
    let x = Elements {
        first: x.as_ptr().cast_mut().cast(),
        layout: x.layout(),
        dtype: T::DTYPE,
    };
    let is_packed = out.dtype().is_sub_byte() && !out.is_padded();
    let has_bytes = !out.dtype().is_sub_byte();
    let is_contiguous = x.layout.is_contiguous() && out.layout().is_contiguous();
    if is_contiguous && (has_bytes || is_packed) {
        let pair = Pair {
            floats: (x.first, x.dtype),
            quantized: (out.data_ptr().cast_mut(), out.dtype()),
            len: x.layout.len(),
        };
        // SAFETY: both are contiguous, floats aligned as those of a view; the frame checked that
        // `out` has as many elements, may be written and doesn't overlap other arguments.
        unsafe { quantize_all(pair, split.lines(pair.len), &inverses, ends) };
        return Ok(());
    }
    if has_bytes {
        // SAFETY: the frame checked the same of these elements, which have one shape.
        return unsafe { quantize_strided(x, elements(out), split, &inverses, ends) };
    }
    let mut bytes = vec![0_u8; x.layout.len()];
    let layout = Layout::contiguous(x.layout.shape())?;
    let dtype = bytes_like(out.dtype());
    let room = Elements {
        first: bytes.as_mut_ptr(),
        layout: layout.as_ref(),
        dtype,
    };
    // SAFETY: `x` has been checked, and the bytes are this function's own, as many as elements.
    let room = unsafe {
        quantize_strided(x, room, split, &inverses, ends)?;
        operand(&mut bytes, layout.as_ref(), dtype)
    };
    // Numbers within the ends stay the same.
    cast_elements(&room, out)
}

/// Dequantises the elements of `q`.
pub(super) fn dequantize_elements<T: Float>(
    along: Along,
    q: &Untyped<'_>,
    scale: &View<'_, f32>,
    zero_point: Option<&View<'_, i32>>,
    out: &ViewMut<'_, T>,
) -> Result<(), Failure> {
    let split = along.split("q", q.shape(), scale.shape())?;
    if q.layout().is_empty() {
        return Ok(());
    }
    let parameters = Parameters::new(scale, zero_point, q.dtype())?;
    let out = Elements {
        first: out.as_ptr().cast_mut().cast(),
        layout: out.layout(),
        dtype: T::DTYPE,
    };
    let is_packed = q.dtype().is_sub_byte() && !q.is_padded();
    let has_bytes = !q.dtype().is_sub_byte();
    let is_contiguous = q.layout().is_contiguous() && out.layout.is_contiguous();
    if is_contiguous && (has_bytes || is_packed) {
        let pair = Pair {
            floats: (out.first, out.dtype),
            quantized: (q.data_ptr().cast_mut(), q.dtype()),
            len: out.layout.len(),
        };
        // SAFETY: both are contiguous, floats aligned as those of a view; the frame checked that
        // `out` has as many elements, may be written and doesn't overlap other arguments.
        unsafe { dequantize_all(pair, split.lines(pair.len), &parameters) };
        return Ok(());
    }
    let dtype = bytes_like(q.dtype());
    let is_signed = dtype == DType::I8;
    if has_bytes {
        // SAFETY: the frame checked the same of these elements, which have one shape.
        return unsafe { dequantize_strided(elements(q), out, split, &parameters, is_signed) };
    }
    let mut bytes = vec![0_u8; out.layout.len()];
    let layout = Layout::contiguous(out.layout.shape())?;
    // SAFETY: the bytes are this function's own, as many as elements, and `out` has been checked.
    unsafe {
        let room = operand(&mut bytes, layout.as_ref(), dtype);
        cast_elements(q, &room)?;
        dequantize_strided(elements(&room), out, split, &parameters, is_signed)
    }
}

/// Returns bytes as an operand that may be written.
///
/// # Safety
///
/// The layout is contiguous, of as many elements, and the bytes are used by the operand alone.
unsafe fn operand<'a>(bytes: &'a mut [u8], layout: LayoutRef<'a>, dtype: DType) -> Operand<'a> {
    let first = bytes.as_mut_ptr();
    // SAFETY: the caller promises that the layout leads to the bytes, and that nothing else does.
    unsafe { Operand::from_raw(first, layout, dtype, Device::CPU, false, true) }
}
