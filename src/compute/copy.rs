//! Copies of elements of any size from any layout to any other one.

use super::address::Address;
use super::gather::{copy_tile, gather, gather_transposed};
use super::plan::{Dim, Operand, Plan, merge};
use super::stream::{STREAM_FROM, fence, stream, stream_in_turns};
use super::threads::for_each_range;
use super::tiling::{PAGES, Sizes, Tiling};
use crate::layout::LayoutRef;
use std::mem::MaybeUninit;

/// The least number of bytes that are worth a thread.
const GRAIN: usize = 1 << 18;

/// Copies items of a number of bytes, of any alignment, from where one layout leads to where
/// another one of the same shape does.
///
/// # Safety
///
/// The layouts, counted in items from the addresses on, lead to memory that can be read, and to
/// memory that can be written, that doesn't overlap with the former, and that no other code uses.
pub(crate) unsafe fn copy_items(
    from: (*const u8, LayoutRef<'_>),
    to: (*mut u8, LayoutRef<'_>),
    bytes: usize,
) {
    let operand = |first, layout| Operand {
        first,
        layout,
        item: bytes,
    };
    let operands = [operand(to.0, to.1), operand(from.0.cast_mut(), from.1)];
    let total = to.1.len() * bytes;
    if total == 0 {
        return;
    }
    if to.1.is_contiguous() && from.1.is_contiguous() && total < GRAIN {
        // SAFETY: both layouts are contiguous and lead to `total` bytes, which don't overlap.
        return unsafe { std::ptr::copy_nonoverlapping(from.0, to.0, total) };
    }
    let mut plan = Plan::new(&operands);
    let is_contiguous = plan.dims.len() <= 1
        && plan
            .dims
            .iter()
            .all(|dim| dim.strides == [bytes as isize; 2]);
    let mut item = bytes;
    if is_contiguous || !matches!(bytes, 1 | 2 | 4 | 8 | 16) {
        // Bytes are a dimension like others.
        item = 1;
        plan.dims.push(Dim {
            size: bytes,
            strides: [1; 2],
        });
        merge(&mut plan.dims);
    }
    let streams = total >= STREAM_FROM;
    if is_contiguous {
        let (to, from) = (Address(plan.first[0]), Address(plan.first[1]));
        for_each_range(total, GRAIN, |range| {
            // SAFETY: these are some of the `total` contiguous bytes at both places, and no
            // other thread's.
            unsafe {
                let (to, from) = (to.byte(range.start), from.byte(range.start));
                if streams {
                    stream_in_turns(from, to, range.len());
                    fence();
                } else {
                    std::ptr::copy_nonoverlapping(from, to, range.len());
                }
            }
        });
        return;
    }
    let streams = streams
        && plan
            .dims
            .last()
            .is_some_and(|columns| columns.strides[0] == item as isize);
    if streams {
        sort_by_source(&mut plan, item);
    }
    let (tiling, in_blocks) = tile(&plan, item, streams);
    let least = (GRAIN / item).div_ceil(tiling.tile_len());
    for_each_range(tiling.len(), least, |range| {
        let mut scratch = Scratch([MaybeUninit::uninit(); SCRATCH]);
        let mut block = in_blocks.then(Box::<Block>::new_uninit);
        for index in range {
            let ([to, from], tile) = tiling.tile(index);
            let [to_row, from_row] = tiling.rows.strides;
            let [to_column, from_column] = tiling.columns.strides;
            let (rows, columns) = tile;
            let bytes = columns * item;
            let from_strides = (from_row, from_column);
            // SAFETY: the plan leads to the items of both layouts, of which each is in one tile,
            // and the scratch memory and the block have room for a tile; in blocks, the source is
            // contiguous along the rows' dimension.
            unsafe {
                if streams && bytes >= 64 {
                    let (mut rows_at, mut step) = (from.cast_const(), from_row);
                    if let Some(block) = &mut block {
                        let block = block.as_mut_ptr().cast::<u8>();
                        gather_transposed(item, (rows_at, from_column), tile, block);
                        (rows_at, step) = (block, bytes as isize);
                    } else if from_column != item as isize {
                        let scratch = scratch.0.as_mut_ptr().cast::<u8>();
                        gather(item, from, from_strides, tile, scratch);
                        (rows_at, step) = (scratch, bytes as isize);
                    }
                    for row in 0..rows as isize {
                        stream(rows_at.offset(row * step), to.offset(row * to_row), bytes);
                    }
                } else {
                    let from = (from.cast_const(), from_strides);
                    copy_tile(item, from, (to, (to_row, to_column)), tile);
                }
            }
        }
        if streams {
            fence();
        }
    });
}

/// Sorts the dimensions around rows that are contiguous in both tensors by the strides of the
/// source: memory is read ahead in the order of addresses, and streamed in any.
fn sort_by_source(plan: &mut Plan<2>, item: usize) {
    let Some((row, outer)) = plan.dims.split_last_mut() else {
        return;
    };
    let bytes = row.size * item;
    let whole_lines = bytes.is_multiple_of(CACHE_LINE)
        && plan.first[0].addr().is_multiple_of(CACHE_LINE)
        && outer
            .iter()
            .all(|dim| dim.strides[0] % CACHE_LINE as isize == 0);
    // Cache lines that two rows have in common are better written soon after each other.
    if row.strides == [item as isize; 2] && (whole_lines || bytes >= 8 * CACHE_LINE) {
        outer.sort_by_key(|dim| std::cmp::Reverse(dim.strides[1].unsigned_abs()));
    }
}

const CACHE_LINE: usize = 64;

/// Cuts a plan into tiles. Returns whether these are blocks of a transposed matrix, to be streamed.
fn tile(plan: &Plan<2>, item: usize, streams: bool) -> (Tiling<2>, bool) {
    let sizes = Sizes {
        scratch: SCRATCH,
        run: 256,
        // Rows are copied one after another, which takes no scratch memory.
        short_row: SCRATCH / item / 2,
        pages: PAGES,
    };
    if streams && cfg!(all(target_arch = "x86_64", not(miri))) {
        // Blocks come one after another along the rows of the target.
        let (scratch, pages) = (size_of::<Block>(), 1);
        let blocks = Sizes {
            scratch,
            pages,
            ..sizes
        };
        let tiling = Tiling::new(plan, [item; 2], blocks);
        let rows = &tiling.rows;
        if rows.strides[1] == item as isize && rows.size * item >= CACHE_LINE {
            return (tiling, true);
        }
    }
    (Tiling::new(plan, [item; 2], sizes), false)
}

/// Memory for a block of a transposed matrix: 256 bytes of each row of the target, and more of each
/// row of the source.
#[repr(align(64))]
struct Block {
    _memory: [MaybeUninit<u8>; 1 << 15],
}

/// The bytes of a tile: two of 64 by 64 elements of 4 bytes fit into the first-level cache.
const SCRATCH: usize = 1 << 14;

/// Memory for a tile.
#[repr(align(64))]
struct Scratch([MaybeUninit<u8>; SCRATCH]);
