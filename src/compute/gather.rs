//! Copies of tiles between strided memory and contiguous scratch memory.

use super::simd::{Routine, Simd, dispatch};
use super::transpose::transpose;
use std::ptr;

/// Copies a tile of rows and columns to contiguous memory. Strides, of rows and of columns, are in
/// bytes.
///
/// # Safety
///
/// Elements of `item` bytes can be read wherever the strides lead within the tile, and written at
/// `to` for as many; the two don't overlap. `item` is 1, 2, 4, 8 or 16.
pub(crate) unsafe fn gather(
    item: usize,
    from: *const u8,
    strides: (isize, isize),
    tile: (usize, usize),
    to: *mut u8,
) {
    let packed = ((tile.1 * item) as isize, item as isize);
    // SAFETY: what `copy_tile` requires of the source is required here, and the packed strides
    // stay within the elements at `to`.
    unsafe { copy_tile(item, (from, strides), (to, packed), tile) };
}

/// Copies a tile of rows and columns from contiguous memory.
///
/// # Safety
///
/// As for [`gather`], the other way around.
#[cfg(feature = "kernels")]
pub(crate) unsafe fn scatter(
    item: usize,
    from: *const u8,
    strides: (isize, isize),
    tile: (usize, usize),
    to: *mut u8,
) {
    let packed = ((tile.1 * item) as isize, item as isize);
    // SAFETY: what `copy_tile` requires of the target is required here, and the packed strides
    // stay within the elements at `from`.
    unsafe { copy_tile(item, (from, packed), (to, strides), tile) };
}

/// Copies a tile of rows and columns between two places, each with its strides in bytes.
///
/// # Safety
///
/// Elements of `item` bytes can be read wherever the first strides lead within the tile, and
/// written wherever the second ones do; the two don't overlap. `item` is 1, 2, 4, 8 or 16.
pub(super) unsafe fn copy_tile(
    item: usize,
    from: (*const u8, (isize, isize)),
    to: (*mut u8, (isize, isize)),
    tile: (usize, usize),
) {
    // SAFETY: the strides lead to items of this size in both places, which are accessed at any
    // alignment.
    unsafe {
        match item {
            1 => copy_items::<u8>(from, to, tile),
            2 => copy_items::<u16>(from, to, tile),
            4 => copy_items::<u32>(from, to, tile),
            8 => copy_items::<u64>(from, to, tile),
            16 => copy_items::<u128>(from, to, tile),
            _ => unreachable!("elements of {item} bytes"),
        }
    }
}

/// Gathers a tile that is contiguous along its rows' dimension, part of a larger matrix: the next
/// tile along the columns is visited after it.
///
/// # Safety
///
/// As for [`gather`].
pub(super) unsafe fn gather_transposed(
    item: usize,
    (from, from_column): (*const u8, isize),
    (rows, columns): (usize, usize),
    to: *mut u8,
) {
    let (from, tile) = ((from, from_column), (columns, rows));
    let to = (to, (columns * item) as isize);
    // SAFETY: the steps lead to items of this size in both places; `transpose` accesses them at any
    // alignment.
    unsafe {
        match item {
            1 => transpose::<u8, true>(from, to, tile),
            2 => transpose::<u16, true>(from, to, tile),
            4 => transpose::<u32, true>(from, to, tile),
            8 => transpose::<u64, true>(from, to, tile),
            16 => transpose::<u128, true>(from, to, tile),
            _ => unreachable!("elements of {item} bytes"),
        }
    }
}

/// # Safety
///
/// As for [`copy_tile`].
unsafe fn copy_items<T: Copy>(
    (from, (from_row, from_column)): (*const u8, (isize, isize)),
    (to, (to_row, to_column)): (*mut u8, (isize, isize)),
    (rows, columns): (usize, usize),
) {
    let item = size_of::<T>() as isize;
    if from_column == item && to_column == item {
        for row in 0..rows as isize {
            // SAFETY: the row's elements are contiguous in both places.
            unsafe {
                let (from, to) = (from.offset(row * from_row), to.offset(row * to_row));
                copy_row::<T>(from, to, columns);
            }
        }
    } else if rows == 3 && (from_row, from_column, to_column) == (item, 3 * item, item) {
        let to = [
            to,
            to.wrapping_offset(to_row),
            to.wrapping_offset(2 * to_row),
        ];
        dispatch(Unzip(from.cast::<T>(), to.map(<*mut u8>::cast), columns));
    } else if from_row == item && to_column == item {
        // The source is contiguous by columns.
        // SAFETY: the strides lead to the tile's elements, for which `copy_tile` requires access.
        unsafe { transpose::<T, false>((from, from_column), (to, to_row), (columns, rows)) };
    } else if from_column == item && to_row == item {
        // SAFETY: the strides lead to the tile's elements, for which `copy_tile` requires access.
        unsafe { transpose::<T, false>((from, from_row), (to, to_column), (rows, columns)) };
    } else {
        for row in 0..rows as isize {
            let (from, to) = (
                from.wrapping_offset(row * from_row),
                to.wrapping_offset(row * to_row),
            );
            if from_column == 0 {
                // SAFETY: it is an element of the tile.
                let value = unsafe { from.cast::<T>().read_unaligned() };
                if to_column == item {
                    dispatch(Fill(to.cast::<T>(), value, columns));
                    continue;
                }
                for column in 0..columns as isize {
                    // SAFETY: it is an element of the tile.
                    unsafe {
                        to.offset(column * to_column)
                            .cast::<T>()
                            .write_unaligned(value)
                    };
                }
                continue;
            }
            for column in 0..columns as isize {
                // SAFETY: both are elements of the tile.
                unsafe {
                    let value = from
                        .offset(column * from_column)
                        .cast::<T>()
                        .read_unaligned();
                    to.offset(column * to_column)
                        .cast::<T>()
                        .write_unaligned(value);
                }
            }
        }
    }
}

/// Copies a few contiguous elements: short rows without a call.
///
/// # Safety
///
/// They can be read and written.
#[inline(always)]
unsafe fn copy_row<T: Copy>(from: *const u8, to: *mut u8, columns: usize) {
    if columns * size_of::<T>() >= 32 {
        // SAFETY: `columns` elements can be read and written, and don't overlap.
        return unsafe { ptr::copy_nonoverlapping(from, to, columns * size_of::<T>()) };
    }
    let (from, to) = (from.cast::<T>(), to.cast::<T>());
    for column in 0..columns {
        // SAFETY: `columns` elements can be read and written.
        unsafe {
            to.add(column)
                .write_unaligned(from.add(column).read_unaligned())
        };
    }
}

/// Triples of contiguous elements, such as pixels, to three places.
struct Unzip<T>(*const T, [*mut T; 3], usize);

impl<T: Copy> Routine for Unzip<T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self(from, to, count) = self;
        for at in 0..count {
            for (place, to) in to.into_iter().enumerate() {
                // SAFETY: `copy_items` makes one for a tile of three rows, of as many columns.
                unsafe {
                    let value = from.add(3 * at + place).read_unaligned();
                    to.add(at).write_unaligned(value);
                }
            }
        }
    }
}

/// Contiguous elements of one value.
struct Fill<T>(*mut T, T, usize);

impl<T: Copy> Routine for Fill<T> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        for at in 0..self.2 {
            // SAFETY: `copy_items` makes one for a row of a tile that can be written.
            unsafe { self.0.add(at).write_unaligned(self.1) };
        }
    }
}
