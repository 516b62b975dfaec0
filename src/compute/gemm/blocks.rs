//! Products of large matrices: blocks that fit the caches, as in
//! [BLIS](https://github.com/flame/blis/blob/master/docs/Multithreading.md).

use super::buffer::Buffer;
use super::element::{FromSum, Unit};
use super::kernels::{Kernels, Tiles};
use super::operands::{Problem, Strided};
use super::pack::{Pack, Panels};
use super::tile::Tile;
use crate::compute::{Level, vectorize};
use std::mem::MaybeUninit;
use std::ops::Range;

/// The most rows of a part whose sums aren't elements of the result: each part packs `b` anew.
const SUMS: usize = 784;

/// Extents of blocks.
#[derive(Debug, Clone, Copy)]
struct Blocks {
    rows: usize,
    columns: usize,
    /// Units in the dimension that is summed over.
    units: usize,
}

/// Memory for a packed block of `a` and of `b`, and for sums that aren't elements of the result.
struct Memory<U: Kernels> {
    a: *mut U,
    b: *mut U,
    sums: *mut U::Sum,
}

/// The most rows of a part of the result.
pub(super) const fn most_rows(is_sum: bool) -> usize {
    if is_sum { usize::MAX } else { SUMS }
}

/// Calculates a part of the result.
///
/// # Safety
///
/// The operands are as [`Problem`] says, and no other thread uses this part of the result.
pub(super) unsafe fn multiply<U: Unit<T>, T: Copy + Default, O: FromSum<U::Sum>>(
    problem: &Problem<T, O>,
    rows: Range<usize>,
    columns: Range<usize>,
) {
    let level = Level::current();
    let tiles = U::tiles(level);
    let units = problem.depth.div_ceil(U::GROUP);
    let most = tiles.blocks.depth_bytes / size_of::<U>();
    let blocks = Blocks {
        rows: tiles.blocks.rows.min(rows.len()),
        columns: (tiles.blocks.columns / tiles.columns * tiles.columns).min(columns.len()),
        units: units.div_ceil(units.div_ceil(most).max(1)),
    };
    let is_direct = O::IS_SUM && problem.out_column == 1;
    let sums = if is_direct {
        0
    } else {
        rows.len() * blocks.columns
    };
    let panels = (
        Panels::even(blocks.rows, tiles.run.len()).count * tiles.row_units,
        blocks.columns.next_multiple_of(tiles.columns),
    );
    let nbytes = [
        panels.0 * blocks.units * size_of::<U>(),
        panels.1 * blocks.units * size_of::<U>(),
        sums * size_of::<U::Sum>(),
    ];
    Buffer::with(nbytes, |parts| {
        if let Some([a, b, sums]) = parts {
            let memory = Memory {
                a: a.as_ptr().cast(),
                b: b.as_ptr().cast(),
                sums: sums.as_ptr().cast(),
            };
            // SAFETY: the same contract, and the memory has the sizes of these blocks.
            return unsafe { run::<U, T, O>(problem, rows, columns, blocks, tiles, &memory) };
        }
        // SAFETY: the same contract.
        unsafe { without_memory::<U, T, O>(problem, rows, columns, tiles) }
    });
}

/// Calculates a part of the result tile by tile, with room on the stack.
#[cold]
unsafe fn without_memory<U: Unit<T>, T: Copy + Default, O: FromSum<U::Sum>>(
    problem: &Problem<T, O>,
    rows: Range<usize>,
    columns: Range<usize>,
    tiles: &Tiles<U, U::Sum>,
) {
    const UNITS: usize = 32;
    const MOST: usize = 32;
    let mut a = [MaybeUninit::<U>::uninit(); UNITS * MOST];
    let mut b = [MaybeUninit::<U>::uninit(); UNITS * MOST];
    let mut sums = [MaybeUninit::<U::Sum>::uninit(); MOST * MOST];
    assert!(tiles.row_units <= MOST && tiles.columns <= MOST);
    let blocks = Blocks {
        rows: tiles.run.len(),
        columns: tiles.columns,
        units: UNITS,
    };
    for row in rows.clone().step_by(blocks.rows) {
        for column in columns.clone().step_by(blocks.columns) {
            let memory = Memory {
                a: a.as_mut_ptr().cast(),
                b: b.as_mut_ptr().cast(),
                sums: sums.as_mut_ptr().cast(),
            };
            let rows = row..rows.end.min(row + blocks.rows);
            let columns = column..columns.end.min(column + blocks.columns);
            // SAFETY: the caller's contract, and the arrays have room for a tile, its panels and
            // its sums, by the assertion.
            unsafe { run::<U, T, O>(problem, rows, columns, blocks, tiles, &memory) };
        }
    }
}

/// Calculates a part of the result.
///
/// # Safety
///
/// As for [`multiply`]; the memory has room for the blocks, and for sums of all rows by the columns
/// of a block.
unsafe fn run<U: Unit<T>, T: Copy + Default, O: FromSum<U::Sum>>(
    problem: &Problem<T, O>,
    rows: Range<usize>,
    columns: Range<usize>,
    blocks: Blocks,
    tiles: &Tiles<U, U::Sum>,
    memory: &Memory<U>,
) {
    let is_direct = O::IS_SUM && problem.out_column == 1;
    let depth_block = blocks.units * U::GROUP;
    // Packing pays if it is read often, or from lines of the cache that lie far apart.
    let elements = problem.depth.saturating_mul(problem.columns);
    let is_small = elements.saturating_mul(size_of::<T>()) <= 1 << 15;
    let few_rows = rows.len() <= tiles.run.len() * if is_small { 8 } else { 2 };
    // SAFETY: the kernels are those of the current level.
    let _entered = unsafe { Entered::new(tiles.around) };
    for column in columns.clone().step_by(blocks.columns.max(1)) {
        let width = blocks.columns.min(columns.end - column);
        // SAFETY: the caller's contract: the part is inside of the result.
        let out = unsafe {
            problem.out.offset(
                rows.start as isize * problem.out_row + column as isize * problem.out_column,
            )
        };
        let (sums, sums_row) = if is_direct {
            (out.cast::<U::Sum>(), problem.out_row)
        } else {
            (memory.sums, width as isize)
        };
        let mut depth = 0;
        loop {
            let block_depth = depth_block.min(problem.depth - depth);
            let units = block_depth.div_ceil(U::GROUP);
            // SAFETY: the caller's contract, for the columns from here and the depth from here.
            let b = unsafe { problem.b.at(column, depth) };
            // A panel that is read but a few times is read where it is, if it lies right.
            let in_place = if U::IS_ELEMENT && b.outer == 1 && few_rows {
                width / tiles.columns
            } else {
                0
            };
            let packed = Pack {
                // SAFETY: the first column behind the panels in place is one of the matrix, or the
                // one behind its last, from which nothing is packed.
                from: unsafe { b.at(in_place * tiles.columns, 0) },
                panels: Panels::full(width - in_place * tiles.columns, tiles.columns),
                depth: block_depth,
                width: tiles.columns,
                to: memory.b,
            };
            // SAFETY: the caller's contract: the part can be read, and there is room.
            unsafe { packed.columns() };
            for row in rows.clone().step_by(blocks.rows.max(1)) {
                let height = blocks.rows.min(rows.end - row);
                let row_panels = Panels::even(height, tiles.run.len());
                let packed = Pack {
                    // SAFETY: the caller's contract, for the rows from here.
                    from: unsafe { problem.a.at(row, depth) },
                    panels: row_panels,
                    depth: block_depth,
                    width: tiles.row_units,
                    to: memory.a,
                };
                // SAFETY: the caller's contract: the part can be read, and there is room.
                unsafe { packed.rows() };
                for panel in 0..width.div_ceil(tiles.columns) {
                    let first = panel * tiles.columns;
                    let (b, b_step) = if panel < in_place {
                        (b.first.wrapping_add(first).cast::<U>(), b.inner)
                    } else {
                        let at = (panel - in_place) * units * tiles.columns;
                        (
                            memory.b.wrapping_add(at).cast_const(),
                            tiles.columns as isize,
                        )
                    };
                    for row_panel in 0..row_panels.count {
                        let (begin, lanes) = row_panels.get(row_panel);
                        let below = (row - rows.start + begin) as isize;
                        // SAFETY: the tile is inside of this part; the panels were packed, or lie
                        // in the matrix with all columns of a tile; the kernel is one of the
                        // current level, for as many rows as there are.
                        unsafe {
                            (tiles.run[lanes - 1])(&Tile {
                                units,
                                a: memory.a.add(row_panel * units * tiles.row_units),
                                b,
                                b_step,
                                out: sums.offset(below * sums_row).add(first),
                                out_row: sums_row,
                                rows: lanes,
                                columns: tiles.columns.min(width - first),
                                adds: depth > 0,
                            });
                        }
                    }
                }
            }
            depth += block_depth;
            if depth >= problem.depth {
                break;
            }
        }
        if !is_direct {
            for row in 0..rows.len() {
                // SAFETY: the sums of this row were just stored; its elements are inside of this
                // part of the result.
                unsafe {
                    let sums = std::slice::from_raw_parts(sums.add(row * width), width);
                    let out = out.offset(row as isize * problem.out_row);
                    store(sums, out, problem.out_column);
                }
            }
        }
    }
}

/// What is done around calls of kernels.
struct Entered(unsafe fn());

impl Entered {
    /// Does what comes before the first call; what comes after the last is done when this is
    /// dropped.
    ///
    /// # Safety
    ///
    /// The functions are those of a level that the CPU has.
    unsafe fn new([enter, leave]: [unsafe fn(); 2]) -> Self {
        // SAFETY: the CPU has the level, as is required here.
        unsafe { enter() };
        Self(leave)
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // SAFETY: the CPU has the level, as `new` requires.
        unsafe { (self.0)() };
    }
}

/// Stores sums as elements of a row of the result.
///
/// # Safety
///
/// There is room for as many elements as sums, this many elements apart.
pub(super) unsafe fn store<S: Copy, O: FromSum<S>>(sums: &[S], out: *mut O, stride: isize) {
    vectorize(
        #[inline(always)]
        || {
            if stride == 1 {
                // SAFETY: the elements are there, and this thread alone uses them. They have any
                // value of their type.
                let out = unsafe { std::slice::from_raw_parts_mut(out, sums.len()) };
                return O::from_sums(sums, out);
            }
            for (at, sum) in sums.iter().enumerate() {
                // SAFETY: there is an element for each sum, apart by the stride.
                unsafe {
                    let out = &mut *out.offset(at as isize * stride);
                    O::from_sums(&[*sum], std::slice::from_mut(out));
                }
            }
        },
    );
}

impl<T> Strided<T> {
    /// Returns the part of the matrix from a lane and a depth on.
    ///
    /// # Safety
    ///
    /// Both are below or at the matrix's extents.
    unsafe fn at(&self, lane: usize, depth: usize) -> Self {
        let first = (self.first)
            .wrapping_offset((lane as isize).wrapping_mul(self.outer))
            .wrapping_offset((depth as isize).wrapping_mul(self.inner));
        Self { first, ..*self }
    }
}
