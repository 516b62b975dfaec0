//! Bilinear interpolation: what lies between pixels whose centres are at a half, edges going on
//! outside.

use super::images::Images;
use crate::compute::{Routine, Simd, dispatch};
use std::ops::Range;

/// Where one pixel of the result is, along a dimension of the image: which two it is between, and
/// how far it is from the first towards the second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Sample {
    pub(super) first: usize,
    pub(super) second: usize,
    pub(super) part: f32,
}

/// Returns where the pixels of the result are, of as many as `wanted` says along a dimension of
/// `size` pixels.
pub(super) fn samples(size: usize, wanted: usize) -> Vec<Sample> {
    let step = size as f32 / wanted as f32;
    let sample = |at: usize| {
        let place = (step * (at as f32 + 0.5) - 0.5).max(0.0);
        let first = (place as usize).min(size - 1);
        Sample {
            first,
            second: (first + 1).min(size - 1),
            part: (place - first as f32).min(1.0),
        }
    };
    (0..wanted).map(sample).collect()
}

/// Where the pixels of a row of the result are, in a row of the image.
pub(super) struct Columns {
    /// The places of two pixels' first bytes.
    places: [Vec<usize>; 2],
    parts: Vec<f32>,
    channels: usize,
    /// The bytes of a row of the image.
    nbytes: usize,
    /// The pixels of the result for which four bytes can be read at both places.
    words: Range<usize>,
}

/// The bytes that are read at once of a pixel.
const WORD: usize = 4;

/// How many pixels are interpolated at once.
const LANES: usize = 8;

impl Columns {
    pub(super) fn new(size: usize, wanted: usize, channels: usize, flips: bool) -> Self {
        let mut samples = samples(size, wanted);
        if flips {
            samples.reverse();
        }
        let has_word = |sample: &Sample| sample.second * channels + WORD <= size * channels;
        // Places increase, or decrease, so those that have a word follow each other.
        let begin = samples.iter().position(has_word).unwrap_or(wanted);
        let len = samples[begin..]
            .iter()
            .take_while(|sample| has_word(sample));
        Self {
            words: begin..begin + len.count(),
            nbytes: size * channels,
            places: [
                samples
                    .iter()
                    .map(|sample| sample.first * channels)
                    .collect(),
                samples
                    .iter()
                    .map(|sample| sample.second * channels)
                    .collect(),
            ],
            parts: samples.iter().map(|sample| sample.part).collect(),
            channels,
        }
    }

    /// Writes a row of the result, a plane for each channel, of a row of the image.
    fn interpolate(&self, pixels: &[u8], planes: &mut [f32]) {
        match self.channels {
            1 => dispatch(Interpolate::<1>(self, pixels, planes)),
            2 => dispatch(Interpolate::<2>(self, pixels, planes)),
            3 => dispatch(Interpolate::<3>(self, pixels, planes)),
            4 => dispatch(Interpolate::<4>(self, pixels, planes)),
            channels => (0..channels).for_each(|channel| {
                self.interpolate_channel(pixels, planes, channel, 0..self.parts.len());
            }),
        }
    }

    /// Writes elements of all planes, as many as [`LANES`]. Without checks, which would take most
    /// of the time.
    ///
    /// # Safety
    ///
    /// The elements from `at` on are in `words`, of a row of `nbytes`, and in each of the `C`
    /// planes, which are as wide as there are parts.
    #[inline(always)]
    unsafe fn interpolate_words<const C: usize>(
        &self,
        pixels: &[u8],
        planes: &mut [f32],
        at: usize,
    ) {
        let (width, parts) = (self.parts.len(), self.parts.as_ptr());
        let mut words = [[0_u32; LANES]; 2];
        // SAFETY: as the caller promises, there are places and parts from `at` on, four bytes at
        // each place, and elements in each plane.
        unsafe {
            for lane in 0..LANES {
                for (words, places) in words.iter_mut().zip(&self.places) {
                    let word = pixels.as_ptr().add(*places.get_unchecked(at + lane));
                    words[lane] = u32::from_le(word.cast::<u32>().read_unaligned());
                }
            }
            for channel in 0..C {
                let plane = planes.as_mut_ptr().add(channel * width + at);
                for lane in 0..LANES {
                    let value = |word: u32| (word >> (8 * channel) & 0xff) as i32 as f32;
                    let [first, second] = words.map(|words| value(words[lane]));
                    *plane.add(lane) = between(first, second, *parts.add(at + lane));
                }
            }
        }
    }

    /// Writes some elements of one channel's plane.
    #[inline(always)]
    fn interpolate_channel(
        &self,
        pixels: &[u8],
        planes: &mut [f32],
        channel: usize,
        range: Range<usize>,
    ) {
        let plane = &mut planes[channel * self.parts.len()..];
        for at in range {
            let [first, second] = [0, 1].map(|end| pixels[self.places[end][at] + channel]);
            plane[at] = between(first.into(), second.into(), self.parts[at]);
        }
    }
}

#[inline(always)]
fn between(first: f32, second: f32, part: f32) -> f32 {
    (1.0 - part) * first + part * second
}

struct Interpolate<'a, const C: usize>(&'a Columns, &'a [u8], &'a mut [f32]);

impl<const C: usize> Routine for Interpolate<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self(columns, pixels, planes) = self;
        let width = columns.parts.len();
        let Range { start, end } = columns.words;
        let whole = start..start + (end - start) / LANES * LANES;
        assert!(pixels.len() == columns.nbytes && planes.len() == C * width);
        for at in whole.clone().step_by(LANES) {
            // SAFETY: the places of `words`, which are below the width, are those of four bytes
            // within `nbytes`, as `Columns::new` chose them; the planes are as wide.
            unsafe { columns.interpolate_words::<C>(pixels, planes, at) };
        }
        for channel in 0..C {
            columns.interpolate_channel(pixels, planes, channel, 0..whole.start);
            columns.interpolate_channel(pixels, planes, channel, whole.end..width);
        }
    }
}

/// Rows of images, interpolated along the width: the two that were used last.
pub(super) struct Rows {
    rows: [Vec<f32>; 2],
    /// Which image and row each is of.
    which: [Option<[usize; 2]>; 2],
    room: Vec<u8>,
}

impl Rows {
    /// Creates rows of `len` values, of rows of the image of `nbytes`.
    pub(super) fn new(len: usize, nbytes: usize) -> Self {
        Self {
            rows: [vec![0.0; len], vec![0.0; len]],
            which: [None; 2],
            room: vec![0; nbytes],
        }
    }

    /// Returns the two rows of a sample.
    ///
    /// # Safety
    ///
    /// The image exists and has the rows.
    pub(super) unsafe fn pair(
        &mut self,
        images: &Images,
        image: usize,
        sample: Sample,
        columns: &Columns,
    ) -> [&[f32]; 2] {
        let wanted = [sample.first, sample.second].map(|row| Some([image, row]));
        let first = self.position(wanted[0]).unwrap_or_else(|| {
            let at = usize::from(self.which[0] == wanted[1]);
            // SAFETY: the caller promises the row.
            unsafe { self.read(at, images, [image, sample.first], columns) };
            at
        });
        let second = self.position(wanted[1]).unwrap_or_else(|| {
            // SAFETY: the caller promises the row.
            unsafe { self.read(1 - first, images, [image, sample.second], columns) };
            1 - first
        });
        [&self.rows[first], &self.rows[second]]
    }

    fn position(&self, wanted: Option<[usize; 2]>) -> Option<usize> {
        self.which.iter().position(|which| *which == wanted)
    }

    /// Interpolates a row.
    ///
    /// # Safety
    ///
    /// The image exists and has the row.
    unsafe fn read(
        &mut self,
        at: usize,
        images: &Images,
        [image, row]: [usize; 2],
        columns: &Columns,
    ) {
        // SAFETY: the caller promises the row, and there is room for its bytes.
        let pixels = unsafe { images.pixels(image, [row, 0], images.size[1], &mut self.room) };
        columns.interpolate(pixels, &mut self.rows[at]);
        self.which[at] = Some([image, row]);
    }
}
