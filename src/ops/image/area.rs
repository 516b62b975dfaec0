//! Means of the pixels that a pixel of the result covers, wholly or in part, as PyTorch's
//! `interpolate(mode="area")` and `adaptive_avg_pool2d` have them: of all pixels in a rectangle,
//! each with the same weight. Sums are exact.

use super::images::Images;
use crate::compute::vectorize;
use std::ops::Range;

/// The pixels that a pixel of the result covers, along a dimension.
pub(super) type Window = Range<usize>;

/// Returns the pixels that each pixel of the result covers, of as many as `wanted` says along a
/// dimension of `size` pixels.
pub(super) fn windows(size: usize, wanted: usize) -> Vec<Window> {
    // The products may be larger than a `usize`; the quotients are at most `size`.
    let place = |at: usize| (at as u128 * size as u128, wanted as u128);
    let window = |at: usize| {
        let ((begin, _), (end, parts)) = (place(at), place(at + 1));
        (begin / parts) as usize..end.div_ceil(parts) as usize
    };
    (0..wanted).map(window).collect()
}

/// The most rows whose bytes a `u32` can sum.
const ROWS: usize = 1 << 24;

/// Memory for the sums of pixels in rectangles.
pub(super) struct Sums {
    /// Of each byte of a row, with those below it, and [`LANES`] more numbers.
    down: Vec<u32>,
    /// Of the rectangles, a plane for each channel.
    totals: Vec<u64>,
    means: Vec<f32>,
    room: Vec<u8>,
    /// The most columns of a rectangle.
    widest: usize,
}

impl Sums {
    /// Creates memory for rows of rectangles of these columns.
    pub(super) fn new(images: &Images, columns: &[Window]) -> Self {
        let width = columns.len();
        let nbytes = images.size[1] * images.channels;
        Self {
            down: vec![0; nbytes + LANES],
            totals: vec![0; width * images.channels],
            means: vec![0.0; width * images.channels],
            room: vec![0; nbytes],
            widest: columns.iter().map(Window::len).max().unwrap_or(0),
        }
    }

    /// Returns the means of a row of rectangles, a plane for each channel.
    ///
    /// # Safety
    ///
    /// The image exists and has these rows.
    pub(super) unsafe fn means(
        &mut self,
        images: &Images,
        image: usize,
        rows: &Window,
        columns: &[Window],
    ) -> &[f32] {
        self.totals.fill(0);
        for begin in rows.clone().step_by(ROWS) {
            self.down.fill(0);
            for row in begin..rows.end.min(begin + ROWS) {
                let size = images.size[1];
                // SAFETY: the caller promises the row, and there is room for its bytes.
                let pixels = unsafe { images.pixels(image, [row, 0], size, &mut self.room) };
                vectorize(|| add_row(&mut self.down, pixels));
            }
            let (down, totals) = (&self.down, &mut self.totals);
            // Where sums of whole windows may not fit, and for other numbers of channels, one value
            // after another.
            let is_small = (rows.len() * self.widest) <= ROWS;
            match images.channels {
                1 if is_small => vectorize(|| add_windows::<1>(down, columns, totals)),
                3 if is_small => vectorize(|| add_windows::<3>(down, columns, totals)),
                4 if is_small => vectorize(|| add_windows::<4>(down, columns, totals)),
                channels => add_any_windows(down, columns, totals, channels),
            }
        }
        let width = columns.len();
        let planes = (self.means.chunks_exact_mut(width)).zip(self.totals.chunks_exact(width));
        for (means, totals) in planes {
            for ((mean, total), column) in means.iter_mut().zip(totals).zip(columns) {
                // Of as many bytes the sum is exact.
                *mean = (*total as f64 / (rows.len() * column.len()) as f64) as f32;
            }
        }
        &self.means
    }
}

#[inline(always)]
fn add_row(sums: &mut [u32], pixels: &[u8]) {
    for (sum, value) in sums.iter_mut().zip(pixels) {
        *sum += u32::from(*value);
    }
}

/// How many sums are added at once: those of a pixel's channels, and maybe of the next pixel's.
const LANES: usize = 4;

/// Adds the sums of the columns in each window, for `C` channels, whose totals a `u32` holds.
#[inline(always)]
fn add_windows<const C: usize>(down: &[u32], columns: &[Window], totals: &mut [u64]) {
    for (at, window) in columns.iter().enumerate() {
        let mut sums = [0_u32; LANES];
        let own = &down[window.start * C..window.end * C + LANES];
        for pixel in own.windows(LANES).step_by(C).take(window.len()) {
            for (sum, value) in sums.iter_mut().zip(pixel) {
                // Of lanes that aren't used the sum may be too large.
                *sum = sum.wrapping_add(*value);
            }
        }
        for (channel, sum) in sums[..C].iter().enumerate() {
            totals[channel * columns.len() + at] += u64::from(*sum);
        }
    }
}

fn add_any_windows(down: &[u32], columns: &[Window], totals: &mut [u64], channels: usize) {
    for (at, window) in columns.iter().enumerate() {
        for channel in 0..channels {
            let own = &down[window.start * channels + channel..window.end * channels];
            let sum = own.iter().step_by(channels).map(|value| u64::from(*value));
            totals[channel * columns.len() + at] += sum.sum::<u64>();
        }
    }
}
