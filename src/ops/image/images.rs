//! Images in memory: the pixels that are read, and the planes that are written.

use crate::compute::gather;
use crate::layout::LayoutRef;
use crate::view::{View, ViewMut};
use std::slice;

/// The images of a call, cropped, and the planes of the result.
pub(super) struct Images {
    /// The address of the first image's first pixel, and that of the first plane's first element.
    first: [*mut u8; 2],
    /// Height and width of an image, cropped.
    pub(super) size: [usize; 2],
    /// Height and width of the result.
    pub(super) wanted: [usize; 2],
    pub(super) channels: usize,
    /// The bytes of an element of the result.
    pub(super) item: usize,
    /// Distances of rows, columns and channels in bytes, of the images and of the result.
    strides: [[isize; 3]; 2],
    /// The dimensions before those of an image: sizes, and distances in bytes.
    batch: Vec<(usize, [isize; 2])>,
}

// SAFETY: the addresses are numbers to threads; the methods that use them say what they require.
unsafe impl Sync for Images {}

/// A rectangle of an image: its first row and column, its height and width.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Crop {
    pub(super) first: [usize; 2],
    pub(super) size: [usize; 2],
}

impl Images {
    /// Returns the images of a call, of which only a rectangle is read.
    pub(super) fn new<T: crate::dtype::Element>(
        image: &View<'_, u8>,
        crop: Crop,
        out: &mut ViewMut<'_, T>,
    ) -> Self {
        let item = size_of::<T>();
        let (from, to): (LayoutRef<'_>, LayoutRef<'_>) = (image.layout(), out.layout());
        let outer = from.rank() - 3;
        let [x, y] = [(from, 1), (to, item)].map(|(layout, item)| {
            let strides = layout.strides().iter();
            strides.map(|s| s * item as isize).collect::<Vec<_>>()
        });
        let first = (image.as_ptr().cast_mut())
            .wrapping_offset(x[outer] * crop.first[0] as isize)
            .wrapping_offset(x[outer + 1] * crop.first[1] as isize);
        let sizes = from.shape()[..outer].iter();
        let batch = sizes.zip(x.iter().zip(&y));
        Self {
            first: [first, out.as_ptr().cast_mut().cast()],
            size: crop.size,
            wanted: [to.shape()[outer + 1], to.shape()[outer + 2]],
            channels: from.shape()[outer + 2],
            item,
            strides: [
                [x[outer], x[outer + 1], x[outer + 2]],
                [y[outer + 1], y[outer + 2], y[outer]],
            ],
            batch: batch.map(|(size, (x, y))| (*size, [*x, *y])).collect(),
        }
    }

    /// Returns how many images there are.
    pub(super) fn count(&self) -> usize {
        self.batch.iter().map(|(size, _)| size).product()
    }

    /// Makes each image one row, if its pixels and the result's elements continue from row to row.
    pub(super) fn merge_rows(&mut self) {
        let [height, width] = self.size;
        let continues = |strides: &[isize; 3]| strides[0] == strides[1] * width as isize;
        if self.size == self.wanted && self.strides.iter().all(continues) {
            self.size = [1, height * width];
            self.wanted = self.size;
        }
    }

    /// Returns the address of a pixel's first channel (`side` 0), or of an element (1).
    fn address(
        &self,
        side: usize,
        mut image: usize,
        [row, column, channel]: [usize; 3],
    ) -> *mut u8 {
        let strides = self.strides[side];
        let mut offset = strides[0] * row as isize
            + strides[1] * column as isize
            + strides[2] * channel as isize;
        for (size, strides) in self.batch.iter().rev() {
            offset += strides[side] * (image % size) as isize;
            image /= size;
        }
        self.first[side].wrapping_offset(offset)
    }

    /// Returns pixels of a row, side by side if they aren't: in `room`, which is for as many bytes.
    ///
    /// # Safety
    ///
    /// The image exists and has the pixels, and `room` is as long as they are.
    pub(super) unsafe fn pixels<'a>(
        &self,
        image: usize,
        [row, column]: [usize; 2],
        count: usize,
        room: &'a mut [u8],
    ) -> &'a [u8] {
        let from = self.address(0, image, [row, column, 0]);
        let [_, of_column, of_channel] = self.strides[0];
        // SAFETY: the caller promises that the pixels are there, to which the strides lead.
        unsafe {
            if self.has_adjacent_pixels() {
                return slice::from_raw_parts(from, count * self.channels);
            }
            let tile = (count, self.channels);
            gather(1, from, (of_column, of_channel), tile, room.as_mut_ptr());
        }
        room
    }

    /// Copies the channels of pixels of a row to a plane each.
    ///
    /// # Safety
    ///
    /// The same as for [`pixels`](Self::pixels).
    pub(super) unsafe fn channels_apart(
        &self,
        image: usize,
        [row, column]: [usize; 2],
        count: usize,
        planes: &mut [u8],
    ) {
        let from = self.address(0, image, [row, column, 0]);
        let [_, of_column, of_channel] = self.strides[0];
        let tile = (self.channels, count);
        // SAFETY: the caller promises the pixels, to which the strides lead, and room for them.
        unsafe { gather(1, from, (of_channel, of_column), tile, planes.as_mut_ptr()) };
    }

    /// Returns whether the bytes of a row follow each other.
    pub(super) fn has_adjacent_pixels(&self) -> bool {
        let [_, of_column, of_channel] = self.strides[0];
        (of_channel == 1 || self.channels == 1)
            && (of_column == self.channels as isize || self.size[1] == 1)
    }

    /// Returns the address of an element of the result.
    pub(super) fn element(
        &self,
        image: usize,
        [row, column]: [usize; 2],
        channel: usize,
    ) -> *mut u8 {
        self.address(1, image, [row, column, channel])
    }

    /// Returns the distance of the elements of a row of the result, in bytes.
    pub(super) fn step(&self) -> isize {
        self.strides[1][1]
    }
}
