//! Images that keep their size: bytes to planes, block by block.

use super::images::Images;
use super::writer::{Line, Lines, Writer};
use crate::compute::pixels::deinterleave;
use crate::compute::threads::for_each_range;

/// How many pixels are converted at once.
const BLOCK: usize = 1024;

/// The least number of elements that are worth a thread.
const GRAIN: usize = 1 << 15;

/// Converts images of the size that is wanted, each row backwards if `flips`.
pub(super) fn convert(images: &Images, writer: &Writer<'_>, flips: bool) {
    let ([height, width], channels) = (images.size, images.channels);
    let blocks = width.div_ceil(BLOCK);
    let least = GRAIN.div_ceil(BLOCK.min(width) * channels);
    for_each_range(images.count() * height * blocks, least, |range| {
        let mut lines = Lines::default();
        let mut planes = vec![0; BLOCK.min(width) * channels];
        for index in range {
            let (index, column) = (index / blocks, index % blocks * BLOCK);
            let (image, row) = (index / height, index % height);
            let count = BLOCK.min(width - column);
            let planes = &mut planes[..count * channels];
            // SAFETY: image, row and columns are within the sizes, and no other thread has the
            // same; the planes have room for the pixels.
            unsafe {
                if images.has_adjacent_pixels() {
                    let pixels = images.pixels(image, [row, column], count, &mut []);
                    deinterleave(pixels, planes, channels);
                } else {
                    images.channels_apart(image, [row, column], count, planes);
                }
                let first = if flips {
                    width - column - count
                } else {
                    column
                };
                for (channel, values) in planes.chunks_exact_mut(count).enumerate() {
                    if flips {
                        values.reverse();
                    }
                    let place = [row, first];
                    let line = Line {
                        image,
                        channel,
                        place,
                    };
                    writer.write_bytes(line, values, &mut lines);
                }
            }
        }
        writer.finish();
    });
}
