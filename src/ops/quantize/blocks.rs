//! Contiguous elements, block by block: conversion to and from `f32`, packed elements, and results
//! that bypass the caches.

use super::scales::{Lines, Parameters};
use crate::compute::quantize::{Ends, Run, Scales, dequantize, quantize};
use crate::compute::threads::for_each_range;
use crate::compute::{Converter, STREAM_FROM, fence, pack, stream, unpack, vectorize};
use crate::dtype::{DType, TypeCode};
use std::mem::MaybeUninit;
use std::ops::Range;
use std::slice;

/// How many elements are converted at once: a multiple of eight, so that packed ones begin at
/// bytes.
pub(super) const BLOCK: usize = 1024;

/// The least number of elements that are worth a thread: a multiple of [`BLOCK`].
pub(super) const GRAIN: usize = 1 << 15;

/// Lines shorter than this one are executed together, with a scale for each element.
const SHORT: usize = 32;

/// Floats and quantised numbers, contiguous.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    /// The address of the floats, and their dtype.
    pub(super) floats: (*mut u8, DType),
    /// The address of the quantised numbers, and their dtype, of which 4 bits are packed.
    pub(super) quantized: (*mut u8, DType),
    pub(super) len: usize,
}

// SAFETY: the addresses are numbers to threads; `quantize_all` and `dequantize_all` give each of
// them elements of its own.
unsafe impl Sync for Pair {}

/// Memory for a block.
struct Room {
    floats: [MaybeUninit<f32>; BLOCK],
    elements: [MaybeUninit<u16>; BLOCK],
    bytes: [MaybeUninit<u8>; BLOCK],
    scales: ScalesOfBlock,
}

/// Memory for the scales of a block.
struct ScalesOfBlock {
    scales: [f32; BLOCK],
    zero_points: [i32; BLOCK],
    /// Of whole lines, and of parts of two.
    runs: [Run; BLOCK / SHORT + 2],
}

impl Room {
    const fn new() -> Self {
        Self {
            floats: [MaybeUninit::uninit(); BLOCK],
            elements: [MaybeUninit::uninit(); BLOCK],
            bytes: [MaybeUninit::uninit(); BLOCK],
            scales: ScalesOfBlock {
                scales: [0.0; BLOCK],
                zero_points: [0; BLOCK],
                runs: [Run {
                    len: 0,
                    scale: 0.0,
                    zero_point: 0,
                }; BLOCK / SHORT + 2],
            },
        }
    }
}

/// Calls a function with parts of a block, and their scales: the whole block but for long lines in
/// which each element has its own scale.
fn for_each_part(
    block: Range<usize>,
    lines: Lines,
    parameters: &Parameters,
    room: &mut ScalesOfBlock,
    mut function: impl FnMut(Range<usize>, Scales<'_>),
) {
    let Parameters {
        scales,
        zero_points,
    } = parameters;
    let is_short = lines.len < SHORT;
    let (mut line, mut within) = (block.start / lines.len, block.start % lines.len);
    let (mut at, mut count) = (block.start, 0);
    while at < block.end {
        let len = (lines.len - within).min(block.end - at);
        let first = lines.scales_of(line) + if lines.has_each { within } else { 0 };
        let part = at - block.start..at - block.start + len;
        match (is_short, lines.has_each) {
            (true, true) => {
                room.scales[part.clone()].copy_from_slice(&scales[first..first + len]);
                room.zero_points[part].copy_from_slice(&zero_points[first..first + len]);
            }
            (true, false) => {
                room.scales[part.clone()].fill(scales[first]);
                room.zero_points[part].fill(zero_points[first]);
            }
            (false, true) => {
                let range = first..first + len;
                let own = (&scales[range.clone()], &zero_points[range]);
                function(part, Scales::Each(own.0, own.1));
            }
            (false, false) => {
                room.runs[count] = Run {
                    len,
                    scale: scales[first],
                    zero_point: zero_points[first],
                };
                count += 1;
            }
        }
        (at, line, within) = (at + len, line + 1, 0);
    }
    let len = block.len();
    if is_short {
        let own = (&room.scales[..len], &room.zero_points[..len]);
        function(0..len, Scales::Each(own.0, own.1));
    } else if !lines.has_each {
        function(0..len, Scales::Runs(&room.runs[..count]));
    }
}

/// Calls a function with ranges of at most [`BLOCK`] elements.
fn for_each_block(range: Range<usize>, mut function: impl FnMut(Range<usize>)) {
    for begin in range.clone().step_by(BLOCK) {
        function(begin..range.end.min(begin + BLOCK));
    }
}

/// Quantises all elements of a pair; `inverses` has the inverses of the scales.
///
/// # Safety
///
/// There are as many elements at both addresses, floats aligned; the quantised ones may be written,
/// and no other code uses them.
pub(super) unsafe fn quantize_all(pair: Pair, lines: Lines, inverses: &Parameters, ends: Ends) {
    let pair = &pair;
    let dtype = pair.quantized.1;
    let is_packed = dtype.is_sub_byte();
    let streams = !is_packed && pair.len >= STREAM_FROM;
    let converter = Converter::new(pair.floats.1, DType::F32, false);
    let converter = converter.filter(|_| pair.floats.1 != DType::F32);
    let item = pair.floats.1.item_bits() / 8;
    for_each_range(pair.len, GRAIN, |range| {
        let (to, mut room) = (pair.quantized.0, Room::new());
        for_each_block(range, |block| {
            let len = block.len();
            let from = pair.floats.0.wrapping_add(block.start * item);
            // SAFETY: the block is of elements that are there; a converter fills the room.
            let x: &[f32] = unsafe {
                match &converter {
                    Some(converter) => {
                        let floats = room.floats.as_mut_ptr();
                        converter.run(from, floats.cast(), len);
                        slice::from_raw_parts(floats.cast(), len)
                    }
                    None => slice::from_raw_parts(from.cast(), len),
                }
            };
            let target = to.wrapping_add(block.start);
            let bytes = match is_packed || streams {
                true => &mut room.bytes[..len],
                // SAFETY: these are the block's elements, which this thread alone has.
                false => unsafe { slice::from_raw_parts_mut(target.cast(), len) },
            };
            for_each_part(
                block.clone(),
                lines,
                inverses,
                &mut room.scales,
                |part, scales| {
                    quantize(&x[part.clone()], scales, ends, &mut bytes[part]);
                },
            );
            let from = room.bytes.as_ptr().cast();
            // SAFETY: the parts are the whole block; packed elements begin at a byte, as blocks do.
            unsafe {
                if is_packed {
                    let bits = dtype.item_bits();
                    pack(bits, from, to, (block.start * bits) as isize, len);
                } else if streams {
                    stream(from, target, len);
                }
            }
        });
        if streams {
            fence();
        }
    });
}

/// Dequantises all elements of a pair.
///
/// # Safety
///
/// There are as many elements at both addresses, floats aligned; these may be written, and no other
/// code uses them.
pub(super) unsafe fn dequantize_all(pair: Pair, lines: Lines, parameters: &Parameters) {
    let pair = &pair;
    let dtype = pair.quantized.1;
    let (is_packed, is_signed) = (dtype.is_sub_byte(), dtype.code() == TypeCode::Int);
    let item = pair.floats.1.item_bits() / 8;
    let streams = pair.len * item >= STREAM_FROM;
    let converter = Converter::new(DType::F32, pair.floats.1, false);
    let converter = converter.filter(|_| pair.floats.1 != DType::F32);
    for_each_range(pair.len, GRAIN, |range| {
        let (from, mut room) = (pair.quantized.0, Room::new());
        for_each_block(range, |block| {
            let len = block.len();
            // SAFETY: the block is of elements that are there; packed ones begin at a byte.
            let q: &[u8] = unsafe {
                if is_packed {
                    let (bits, bytes) = (dtype.item_bits(), room.bytes.as_mut_ptr().cast());
                    unpack(bits, from, (block.start * bits) as isize, bytes, len);
                    let bytes = slice::from_raw_parts_mut(bytes, len);
                    if is_signed {
                        vectorize(|| extend_sign(bytes, 1 << (bits - 1)));
                    }
                    bytes
                } else {
                    slice::from_raw_parts(from.wrapping_add(block.start), len)
                }
            };
            let target = pair.floats.0.wrapping_add(block.start * item);
            let floats = match converter.is_some() || streams {
                true => &mut room.floats[..len],
                // SAFETY: these are the block's elements, which this thread alone has.
                false => unsafe { slice::from_raw_parts_mut(target.cast(), len) },
            };
            for_each_part(
                block,
                lines,
                parameters,
                &mut room.scales,
                |part, scales| {
                    dequantize(&q[part.clone()], is_signed, scales, &mut floats[part]);
                },
            );
            let mut from = room.floats.as_ptr().cast::<u8>();
            // SAFETY: the parts are the whole block; the converter's results have 16 bits.
            unsafe {
                if let Some(converter) = &converter {
                    let to = match streams {
                        true => room.elements.as_mut_ptr().cast(),
                        false => target,
                    };
                    converter.run(from, to, len);
                    from = to;
                }
                if streams {
                    stream(from, target, len * item);
                }
            }
        });
        if streams {
            fence();
        }
    });
}

/// Repeats the sign bit of each number in the bits above it.
#[inline(always)]
fn extend_sign(bytes: &mut [u8], sign: u8) {
    for byte in bytes {
        *byte = (*byte ^ sign).wrapping_sub(sign);
    }
}
