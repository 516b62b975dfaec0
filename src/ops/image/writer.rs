//! Normalised values, written as elements of the result.

use super::images::Images;
use crate::compute::{Converter, STREAM_FROM, fence, scatter, stream, vectorize};
use crate::dtype::DType;
use crate::view::View;
use std::mem::MaybeUninit;
use std::slice;

/// Where normalised values of one channel go: `(scale * value - mean) / std`.
pub(super) struct Writer<'a> {
    images: &'a Images,
    scale: f32,
    /// Mean and deviation of each channel.
    normal: Vec<[f32; 2]>,
    /// From `f32` to the result's elements, if they aren't `f32`.
    converter: Option<Converter>,
    /// Whether the result is so large that it bypasses the caches.
    streams: bool,
}

/// Memory for the values of a line, and for the elements that they become.
#[derive(Default)]
pub(super) struct Lines([Vec<MaybeUninit<f32>>; 2]);

/// A line of the result: elements of one channel, in one row.
#[derive(Clone, Copy)]
pub(super) struct Line {
    pub(super) image: usize,
    pub(super) channel: usize,
    /// Row and column of the first element.
    pub(super) place: [usize; 2],
}

impl<'a> Writer<'a> {
    pub(super) fn new(
        images: &'a Images,
        dtype: DType,
        scale: f32,
        [mean, std]: [View<'_, f32>; 2],
    ) -> Self {
        let nbytes = images.count()
            * images.wanted.iter().product::<usize>()
            * images.channels
            * images.item;
        Self {
            images,
            scale,
            normal: mean.iter().zip(std.iter()).map(|(m, s)| [*m, *s]).collect(),
            converter: Converter::new(DType::F32, dtype, false).filter(|_| dtype != DType::F32),
            streams: nbytes >= STREAM_FROM,
        }
    }

    /// Writes a line of bytes.
    ///
    /// # Safety
    ///
    /// The elements are the result's, and no other code uses them.
    pub(super) unsafe fn write_bytes(&self, line: Line, values: &[u8], lines: &mut Lines) {
        let (scale, [mean, std]) = (self.scale, self.normal[line.channel]);
        let fill = |to: &mut [MaybeUninit<f32>]| {
            vectorize(|| normalize(to, values, f32::from, scale, mean, std));
        };
        // SAFETY: the caller promises that there are as many elements as values.
        unsafe { self.write(line, values.len(), lines, fill) };
    }

    /// Writes a line of values between those of two lines, `part` of the way to the second one.
    ///
    /// # Safety
    ///
    /// The same as for [`write_bytes`](Self::write_bytes).
    pub(super) unsafe fn write_between(
        &self,
        line: Line,
        [first, second]: [&[f32]; 2],
        part: f32,
        lines: &mut Lines,
    ) {
        let (scale, [mean, std]) = (self.scale, self.normal[line.channel]);
        let fill = |to: &mut [MaybeUninit<f32>]| {
            vectorize(|| normalize_between(to, first, second, part, scale, mean, std));
        };
        // SAFETY: the caller promises that there are as many elements as values.
        unsafe { self.write(line, first.len(), lines, fill) };
    }

    /// Writes a line of values.
    ///
    /// # Safety
    ///
    /// The same as for [`write_bytes`](Self::write_bytes).
    pub(super) unsafe fn write_floats(&self, line: Line, values: &[f32], lines: &mut Lines) {
        let (scale, [mean, std]) = (self.scale, self.normal[line.channel]);
        let fill = |to: &mut [MaybeUninit<f32>]| {
            vectorize(|| normalize(to, values, |value| value, scale, mean, std));
        };
        // SAFETY: the caller promises that there are as many elements as values.
        unsafe { self.write(line, values.len(), lines, fill) };
    }

    /// Writes the `f32`s that a function writes, as elements of the result.
    ///
    /// # Safety
    ///
    /// There are `len` elements from the line's place on, and no other code uses them. The function
    /// initialises all values.
    unsafe fn write(
        &self,
        line: Line,
        len: usize,
        lines: &mut Lines,
        fill: impl FnOnce(&mut [MaybeUninit<f32>]),
    ) {
        let (item, step) = (self.images.item, self.images.step());
        let to = self.images.element(line.image, line.place, line.channel);
        let is_adjacent = step == item as isize || len == 1;
        let is_direct = is_adjacent && !self.streams;
        if is_direct && self.converter.is_none() {
            // SAFETY: these are `len` adjacent elements of the result, which is `f32`s, aligned.
            return fill(unsafe { slice::from_raw_parts_mut(to.cast(), len) });
        }
        let [floats, elements] = lines.0.each_mut().map(|line| {
            line.resize(line.len().max(len), MaybeUninit::uninit());
            &mut line[..len]
        });
        fill(floats);
        let mut from = floats.as_ptr().cast::<u8>();
        // SAFETY: `fill` wrote all of the floats; the converter's result has at most their size,
        // and `to` leads to as many elements of the result, adjacent or `step` bytes apart.
        unsafe {
            if let Some(converter) = &self.converter {
                let target = match is_direct {
                    true => to,
                    false => elements.as_mut_ptr().cast(),
                };
                converter.run(from, target, len);
                from = target;
            }
            match is_adjacent {
                true if is_direct => {}
                true => stream(from, to, len * item),
                false => scatter(item, from, (0, step), (1, len), to),
            }
        }
    }

    /// Orders what this thread wrote before its later stores.
    pub(super) fn finish(&self) {
        if self.streams {
            fence();
        }
    }
}

#[inline(always)]
fn normalize<V: Copy>(
    to: &mut [MaybeUninit<f32>],
    values: &[V],
    widen: impl Fn(V) -> f32,
    scale: f32,
    mean: f32,
    std: f32,
) {
    for (to, value) in to.iter_mut().zip(values) {
        to.write((scale * widen(*value) - mean) / std);
    }
}

#[inline(always)]
fn normalize_between(
    to: &mut [MaybeUninit<f32>],
    first: &[f32],
    second: &[f32],
    part: f32,
    scale: f32,
    mean: f32,
    std: f32,
) {
    for ((to, first), second) in to.iter_mut().zip(first).zip(second) {
        let value = (1.0 - part) * first + part * second;
        to.write((scale * value - mean) / std);
    }
}
