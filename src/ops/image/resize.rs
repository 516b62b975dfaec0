//! Images of another size, row by row: bilinear interpolation, and means of areas.

use super::area::{Sums, Window, windows};
use super::bilinear::{Columns, Rows, samples};
use super::images::Images;
use super::writer::{Line, Lines, Writer};
use crate::compute::threads::for_each_range;
use std::ops::Range;

/// The least number of steps that are worth a thread.
const GRAIN: usize = 1 << 14;

/// Interpolates between pixels whose centres are at a half; edges go on outside. Rows are
/// interpolated along the width first, each at most once by a thread.
pub(super) fn bilinear(images: &Images, writer: &Writer<'_>, flips: bool) {
    let [height, width] = images.wanted;
    let rows = samples(images.size[0], height);
    let columns = Columns::new(images.size[1], width, images.channels, flips);
    for_each_row(images, width * images.channels, writer, |range, lines| {
        let mut wide = Rows::new(width * images.channels, images.size[1] * images.channels);
        for index in range {
            let (image, row) = (index / height, index % height);
            let sample = rows[row];
            // SAFETY: the image has the rows, between which this one is.
            let pair = unsafe { wide.pair(images, image, sample, &columns) };
            for channel in 0..images.channels {
                let pair = pair.map(|row| &row[channel * width..][..width]);
                let place = [row, 0];
                let line = Line {
                    image,
                    channel,
                    place,
                };
                // SAFETY: no other thread has this row.
                unsafe { writer.write_between(line, pair, sample.part, lines) };
            }
        }
    });
}

/// Writes the mean of the pixels that an element of the result covers, wholly or in part.
pub(super) fn area(images: &Images, writer: &Writer<'_>, flips: bool) {
    let ([height, width], [from_height, from_width]) = (images.wanted, images.size);
    let rows = windows(from_height, height);
    let mut columns = windows(from_width, width);
    if flips {
        columns.reverse();
    }
    let work = (from_height.div_ceil(height) * from_width + width) * images.channels;
    for_each_row(images, work, writer, |range, lines| {
        let mut sums = Sums::new(images, &columns);
        for index in range {
            let (image, row) = (index / height, index % height);
            let window: &Window = &rows[row];
            // SAFETY: the window is within the image.
            let means = unsafe { sums.means(images, image, window, &columns) };
            for (channel, values) in means.chunks_exact(width).enumerate() {
                let place = [row, 0];
                let line = Line {
                    image,
                    channel,
                    place,
                };
                // SAFETY: no other thread has this row.
                unsafe { writer.write_floats(line, values, lines) };
            }
        }
    });
}

/// Calls a function with ranges of the rows of all results, each of which takes some work.
fn for_each_row(
    images: &Images,
    work: usize,
    writer: &Writer<'_>,
    function: impl Fn(Range<usize>, &mut Lines) + Sync,
) {
    let rows = images.count() * images.wanted[0];
    for_each_range(rows, GRAIN.div_ceil(work.max(1)), |range| {
        function(range, &mut Lines::default());
        writer.finish();
    });
}
