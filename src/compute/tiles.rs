//! Elementwise loops over tensors of any strides: whatever isn't contiguous is gathered, a tile at
//! a time, into scratch memory that stays in the first-level cache, so that the loop itself sees
//! contiguous elements only.

use super::address::Address;
use super::gather::{gather, scatter};
use super::plan::{Operand, Plan};
use super::simd::Level;
use super::stream::{bypasses, fence, in_turns, prefetch, reads_in_turns, stream};
use super::threads::for_each_range;
use super::tiling::{PAGES, Sizes, Tiling};
use std::mem::MaybeUninit;
use std::ops::Range;

/// A loop over contiguous elements: the operands' addresses, and how many elements there are.
pub(crate) type Body<'a, const N: usize> = &'a (dyn Fn([*mut u8; N], usize) + Sync);

/// What is known of a loop beside its operands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Settings {
    /// The least number of elements that are worth a thread.
    pub(crate) grain: usize,
    /// Whether the first operand is only written, and then may bypass the caches.
    pub(crate) only_writes: bool,
    /// Whether the body takes a first operand that is where the second one is, and no other.
    pub(crate) takes_over_second: bool,
    /// Whether it selects elements of one operand or another. With AVX-512 these are loads under a
    /// mask, of which CPUs don't read ahead.
    pub(crate) selects: bool,
}

/// Calls the body with all elements of operands of one shape, of which it writes the first. In
/// what the body gets, the first operand doesn't overlap the others, unless the settings allow that
/// it is where the second one is.
///
/// # Safety
///
/// Every element that the layouts lead to is there, the first operand's can be written, no two of
/// them are at one place, and no other code uses them. Another operand is either exactly where the
/// first one is or doesn't overlap it.
pub(crate) unsafe fn for_each_tile<const N: usize>(
    operands: &[Operand<'_>; N],
    settings: Settings,
    body: Body<'_, N>,
) {
    let len = operands[0].layout.len();
    if len == 0 {
        return;
    }
    let is_at_first = |operand: &Operand<'_>| operand.first == operands[0].first;
    let is_in_place = operands[1..].iter().any(is_at_first);
    let copies = match (settings.takes_over_second, &operands[1..]) {
        (true, [_, others @ ..]) => others.iter().any(is_at_first),
        _ => is_in_place,
    };
    let streams = settings.only_writes && !is_in_place && {
        let is_other = |at: usize| (0..at).all(|other| operands[other].first != operands[at].first);
        let others = (0..N).filter(|at| is_other(*at));
        let bytes: usize = others.map(|at| len * operands[at].item).sum();
        bypasses(len * operands[0].item, bytes)
    };
    let is_contiguous = |operand: &Operand<'_>| operand.layout.is_contiguous();
    if !copies && operands.iter().all(is_contiguous) {
        let first = operands.map(|operand| Address(operand.first));
        let item = operands.map(|operand| operand.item);
        let is_masked = settings.selects && Level::current() >= Level::Avx512;
        let selection = |at, count| {
            request_next(at, item, count);
            body(at, count);
        };
        return for_each_range(len, settings.grain, |range| {
            let at = std::array::from_fn(|at| first[at].byte(range.start * item[at]));
            match streams {
                true => {
                    let mut line = Scratch([MaybeUninit::uninit(); SCRATCH]);
                    let line = line.0.as_mut_ptr().cast();
                    let body = if is_masked { &selection } else { body };
                    // SAFETY: all operands have the elements of the range, which no other thread
                    // has.
                    unsafe { run_by_lines(at, item, range.len(), body, line, Results::Streamed) };
                    fence();
                }
                false => body(at, range.len()),
            }
        });
    }
    let results = match (copies, streams) {
        (true, _) => Results::Copied,
        (false, true) => Results::Streamed,
        (false, false) => Results::Written,
    };
    let plan = Plan::new(operands);
    let item = operands.map(|operand| operand.item);
    let tiles = Tiles::new(&plan, item);
    for_each_range(
        tiles.tiling.len(),
        settings.grain.div_ceil(tiles.tiling.tile_len()),
        |range| {
            // SAFETY: the plan leads to the elements of the operands' layouts, and tiles have no
            // element in common, so threads don't write what others use.
            unsafe { tiles.run(range, results, body) };
        },
    );
}

/// How the body's results come to the first operand where that is contiguous.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Results {
    /// The body writes them there.
    Written,
    /// By way of a line in scratch memory, past the caches.
    Streamed,
    /// By way of a line in scratch memory, as another operand is in the same place.
    Copied,
}

/// How a tile of an operand is accessed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Access {
    /// In place, row by row.
    InPlace,
    /// In scratch memory, which one value fills.
    Filled,
    /// In scratch memory, to which it is copied.
    Gathered,
}

/// The tiles of all operands, and the bytes of an element of each.
struct Tiles<const N: usize> {
    tiling: Tiling<N>,
    access: [Access; N],
    item: [usize; N],
}

impl<const N: usize> Tiles<N> {
    /// Cuts a plan into tiles.
    fn new(plan: &Plan<N>, item: [usize; N]) -> Self {
        let tiling = Tiling::new(plan, item, LOOP);
        let (rows, columns) = (&tiling.rows, &tiling.columns);
        let mut access = [Access::Gathered; N];
        for at in 0..N {
            let is_whole = tiling.tile.0 == 1
                || tiling.tile.1 == columns.size
                    && rows.strides[at] == columns.strides[at] * columns.size as isize;
            let is_contiguous = columns.strides[at] == item[at] as isize;
            if is_contiguous && (is_whole || tiling.tile.1 >= SHORT_ROW) {
                access[at] = Access::InPlace;
            } else if at > 0 && columns.strides[at] == 0 && rows.strides[at] == 0 {
                access[at] = Access::Filled;
            }
        }
        Self {
            tiling,
            access,
            item,
        }
    }

    /// Visits some of the tiles.
    ///
    /// # Safety
    ///
    /// The elements are as [`for_each_tile`] requires.
    unsafe fn run(&self, range: Range<usize>, results: Results, body: Body<'_, N>) {
        let mut scratch = [Scratch([MaybeUninit::uninit(); SCRATCH]); N];
        let mut filled = [std::ptr::null_mut(); N];
        for index in range {
            let (first, tile) = self.tiling.tile(index);
            let (rows, columns) = tile;
            let mut at = [std::ptr::null_mut(); N];
            let mut row_steps = [0; N];
            for operand in 0..N {
                let to = scratch[operand].0.as_mut_ptr().cast::<u8>();
                let strides = (
                    self.tiling.rows.strides[operand],
                    self.tiling.columns.strides[operand],
                );
                (at[operand], row_steps[operand]) = match self.access[operand] {
                    Access::InPlace => (first[operand], strides.0),
                    Access::Gathered => (to, (columns * self.item[operand]) as isize),
                    Access::Filled => (to, (columns * self.item[operand]) as isize),
                };
                let tile = match self.access[operand] {
                    Access::InPlace => continue,
                    Access::Gathered => tile,
                    // Of one value, for the largest tile.
                    Access::Filled if filled[operand] == first[operand] => continue,
                    Access::Filled => {
                        filled[operand] = first[operand];
                        (1, self.tiling.tile_len())
                    }
                };
                if operand > 0 {
                    // SAFETY: the plan leads to elements of this operand, and the scratch memory
                    // has room for a tile.
                    unsafe { gather(self.item[operand], first[operand], strides, tile, to) };
                }
            }
            let is_whole = (0..N).all(|operand| {
                rows == 1 || row_steps[operand] == (columns * self.item[operand]) as isize
            });
            let (rows, columns) = if is_whole {
                (1, rows * columns)
            } else {
                (rows, columns)
            };
            for _ in 0..rows {
                if results == Results::Written || self.access[0] != Access::InPlace {
                    body(at, columns);
                } else {
                    let line = scratch[0].0.as_mut_ptr().cast::<u8>();
                    // SAFETY: the first operand is contiguous and written by the body alone, and
                    // its scratch memory isn't in use.
                    unsafe { run_by_lines(at, self.item, columns, body, line, results) };
                }
                for (at, step) in at.iter_mut().zip(row_steps) {
                    *at = at.wrapping_offset(step);
                }
            }
            if self.access[0] == Access::InPlace {
                continue;
            }
            let from = scratch[0].0.as_ptr().cast::<u8>();
            let strides = (self.tiling.rows.strides[0], self.tiling.columns.strides[0]);
            // SAFETY: the plan leads to elements of the first operand, which may be written, and
            // the body has written this tile's to the scratch memory.
            unsafe { scatter(self.item[0], from, strides, tile, first[0]) };
        }
        if results == Results::Streamed {
            fence();
        }
    }
}

/// Prefetches the next `count` elements of each operand that is read.
#[inline]
fn request_next<const N: usize>(at: [*mut u8; N], item: [usize; N], count: usize) {
    for (at, item) in at.into_iter().zip(item).skip(1) {
        prefetch(at.wrapping_add(count * item), count * item);
    }
}

/// Calls the body with a few elements at a time, of several parts in turns where that gains, and
/// copies its results to the first operand, past the caches if they are streamed.
///
/// # Safety
///
/// There are `len` contiguous elements of each operand; no other code uses those of the first one,
/// and the line, which has [`SCRATCH`] bytes.
unsafe fn run_by_lines<const N: usize>(
    first: [*mut u8; N],
    item: [usize; N],
    len: usize,
    body: Body<'_, N>,
    line: *mut u8,
    results: Results,
) {
    // By what is read, as fewer elements at once aren't worth the call.
    let widest = item[1..].iter().copied().max().unwrap_or(item[0]);
    let most = (LINE / widest).min(2 * LINE / item[0]);
    let parts = match (reads_in_turns(), N) {
        (false, _) => 1,
        // Of one operand that is read, or of several.
        (true, 2) => 4,
        (true, _) => 2,
    };
    // Whole cache lines, after the first ones.
    let head = first[0].align_offset(64) / item[0];
    in_turns(len, head, (parts, most), |begin, count| {
        let mut at = first;
        for (at, item) in at.iter_mut().zip(item) {
            *at = at.wrapping_add(begin * item);
        }
        let to = std::mem::replace(&mut at[0], line);
        body(at, count);
        let bytes = count * item[0];
        // SAFETY: the body has written the line, which has room for `most` elements, and these are
        // some of the `len`.
        unsafe {
            match results {
                Results::Streamed => stream(line, to, bytes),
                _ => to.copy_from_nonoverlapping(line, bytes),
            }
        }
    });
}

/// The bytes of results that are copied at once: so few that the CPU reads the next elements
/// meanwhile. With 2,048, and the next elements requested ahead, a sum past the caches took 1.1 to
/// 1.4 times as long, and a cast 1.4 to 1.8 times.
const LINE: usize = 512;

/// The bytes of a tile of one operand in scratch memory.
const SCRATCH: usize = 8192;

/// Rows shorter than this are gathered, so that the loop runs over several of them at once.
const SHORT_ROW: usize = 48;

/// Tiles of loops over all operands in scratch memory.
const LOOP: Sizes = Sizes {
    scratch: SCRATCH,
    run: 256,
    short_row: SHORT_ROW,
    pages: PAGES,
};

/// Memory for a tile of one operand.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Scratch(pub(super) [MaybeUninit<u8>; SCRATCH]);
