//! Elements of any strides, in tiles.

use super::blocks::{BLOCK, GRAIN};
use super::scales::{Parameters, Split};
use crate::compute::quantize::{Ends, Scales, dequantize, quantize};
use crate::compute::{Converter, Operand, Settings, for_each_tile};
use crate::dtype::DType;
use crate::kernel::Failure;
use crate::layout::LayoutRef;
use std::mem::MaybeUninit;
use std::slice;

/// Elements of a dtype at an address and wherever a layout leads from there.
#[derive(Clone, Copy)]
pub(super) struct Elements<'a> {
    pub(super) first: *mut u8,
    pub(super) layout: LayoutRef<'a>,
    pub(super) dtype: DType,
}

/// Quantises floats to bytes; `inverses` has the inverses of the scales.
///
/// # Safety
///
/// The layouts have one shape and lead to elements that are there, floats aligned; those of `out`
/// may be written, and no other code uses them.
pub(super) unsafe fn quantize_strided(
    x: Elements<'_>,
    out: Elements<'_>,
    split: Split,
    inverses: &Parameters,
    ends: Ends,
) -> Result<(), Failure> {
    let converter = Converter::new(x.dtype, DType::F32, false);
    let converter = converter.filter(|_| x.dtype != DType::F32);
    let item = x.dtype.item_bits() / 8;
    let body = |[to, from, scales, zero_points]: [*mut u8; 4], len: usize| {
        let mut room = [MaybeUninit::<f32>::uninit(); BLOCK];
        for at in (0..len).step_by(BLOCK) {
            let count = BLOCK.min(len - at);
            // SAFETY: a tile has `len` contiguous elements of each operand, floats and scales
            // aligned; a converter fills the room.
            unsafe {
                let from = from.add(at * item);
                let x: &[f32] = match &converter {
                    Some(converter) => {
                        converter.run(from, room.as_mut_ptr().cast(), count);
                        slice::from_raw_parts(room.as_ptr().cast(), count)
                    }
                    None => slice::from_raw_parts(from.cast(), count),
                };
                let scales = each(scales, zero_points, at, count);
                let out = slice::from_raw_parts_mut(to.add(at).cast(), count);
                quantize(x, scales, ends, out);
            }
        }
    };
    // SAFETY: what `for_each_scaled` requires is required here.
    unsafe { for_each_scaled([out, x], split, inverses, &body) }
}

/// Dequantises bytes to floats.
///
/// # Safety
///
/// The same as for [`quantize_strided`].
pub(super) unsafe fn dequantize_strided(
    q: Elements<'_>,
    out: Elements<'_>,
    split: Split,
    parameters: &Parameters,
    is_signed: bool,
) -> Result<(), Failure> {
    let converter = Converter::new(DType::F32, out.dtype, false);
    let converter = converter.filter(|_| out.dtype != DType::F32);
    let item = out.dtype.item_bits() / 8;
    let body = |[to, from, scales, zero_points]: [*mut u8; 4], len: usize| {
        let mut room = [MaybeUninit::<f32>::uninit(); BLOCK];
        for at in (0..len).step_by(BLOCK) {
            let count = BLOCK.min(len - at);
            // SAFETY: a tile has `len` contiguous elements of each operand, floats and scales
            // aligned; all of the room that a converter reads is written before.
            unsafe {
                let (to, q) = (
                    to.add(at * item),
                    slice::from_raw_parts(from.add(at), count),
                );
                let scales = each(scales, zero_points, at, count);
                match &converter {
                    Some(converter) => {
                        dequantize(q, is_signed, scales, &mut room[..count]);
                        converter.run(room.as_ptr().cast(), to, count);
                    }
                    None => {
                        let out = slice::from_raw_parts_mut(to.cast(), count);
                        dequantize(q, is_signed, scales, out);
                    }
                }
            }
        }
    };
    // SAFETY: what `for_each_scaled` requires is required here.
    unsafe { for_each_scaled([out, q], split, parameters, &body) }
}

/// Returns the scales of some elements of a tile.
///
/// # Safety
///
/// Both addresses are those of at least `at + count` numbers, which aren't written meanwhile.
unsafe fn each<'a>(scales: *mut u8, zero_points: *mut u8, at: usize, count: usize) -> Scales<'a> {
    // SAFETY: the caller promises as many.
    unsafe {
        Scales::Each(
            slice::from_raw_parts(scales.cast::<f32>().add(at), count),
            slice::from_raw_parts(zero_points.cast::<i32>().add(at), count),
        )
    }
}

/// Calls a function with tiles of two operands, with their scales and zero points.
///
/// # Safety
///
/// The same as for [`quantize_strided`], with the first operand written.
unsafe fn for_each_scaled(
    operands: [Elements<'_>; 2],
    split: Split,
    parameters: &Parameters,
    body: &(dyn Fn([*mut u8; 4], usize) + Sync),
) -> Result<(), Failure> {
    let [to, from] = operands.map(|elements| split.of_layout(elements.layout));
    let (to, from) = (to?, from?);
    let scales = split.of_scales(to.shape())?;
    let operand = |first: *const u8, layout, item| Operand {
        first: first.cast_mut(),
        layout,
        item,
    };
    let [of_to, of_from] = operands.map(|elements| elements.dtype.item_bits() / 8);
    let operands = [
        operand(operands[0].first, to.as_ref(), of_to),
        operand(operands[1].first, from.as_ref(), of_from),
        operand(parameters.scales.as_ptr().cast(), scales.as_ref(), 4),
        operand(parameters.zero_points.as_ptr().cast(), scales.as_ref(), 4),
    ];
    let settings = Settings {
        grain: GRAIN,
        only_writes: true,
        takes_over_second: false,
        selects: false,
    };
    // SAFETY: the caller promises the elements; there are as many scales and zero points as their
    // layout leads to, which no code writes.
    unsafe { for_each_tile(&operands, settings, body) };
    Ok(())
}
