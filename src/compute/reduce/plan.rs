//! The order in which a reduction visits elements: tiles of results, and how their elements become
//! contiguous.

use super::accumulate::{ACCUMULATORS, ALIGN, Accumulate, Accumulators, GRAIN, Positions, SHORT};
use crate::compute::address::Address;
use crate::compute::gather::gather;
use crate::compute::plan::{Dim, Operand, merge_slice};
use crate::compute::tiles::Scratch;
use smallvec::SmallVec;
use std::mem::MaybeUninit;
use std::ops::Range;

/// Dimensions, without an allocation for a few.
type Dims = SmallVec<[Dim<3>; 4]>;

/// The dimensions of a reduction: strides of `out`, of `x`, and of the position in row-major order.
pub(super) struct Reduction {
    first: [Address; 2],
    item: usize,
    out_item: usize,
    /// Dimensions that stay, but for those of `k`.
    kept: Dims,
    /// Those that have the least strides, and are one in `x`: tiles don't depend on `out`.
    k: Dim<3>,
    /// What `k` is in `out`: sizes and strides, the innermost first.
    runs: SmallVec<[(usize, isize); 2]>,
    /// Reduced dimensions, but for `r`, which has the least stride.
    reduced: Dims,
    r: Dim<3>,
    way: Way,
    /// The most results of a tile.
    most: usize,
}

/// How elements become contiguous.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    /// They are, for each result.
    Along,
    /// They are, across results.
    Across,
    /// They are gathered, those of each result.
    GatherAlong,
    /// They are gathered, across results.
    GatherAcross,
}

impl Reduction {
    pub(super) fn new(
        x: &Operand<'_>,
        out: &Operand<'_>,
        is_reduced: &[bool],
        most: usize,
        locates: bool,
    ) -> Self {
        let keeps = out.layout.rank() == x.layout.rank();
        let (mut kept, mut reduced) = (Dims::new(), Dims::new());
        let mut out_axis = 0;
        let sizes = || x.layout.shape().iter().zip(is_reduced);
        let reduced_sizes = sizes().filter_map(|(size, is_reduced)| is_reduced.then_some(*size));
        // How many positions an index of the next reduced axis is.
        let mut positions: usize = reduced_sizes.product();
        for (axis, &size) in x.layout.shape().iter().enumerate() {
            let stride = x.stride(axis);
            if is_reduced[axis] {
                out_axis += usize::from(keeps);
                positions = positions.checked_div(size).unwrap_or(0);
                if size != 1 {
                    // Axes that aren't located may be merged in any order.
                    let position = if locates { positions as isize } else { 0 };
                    let strides = [0, stride, position];
                    reduced.push(Dim { size, strides });
                }
            } else {
                let out_stride = out.stride(out_axis);
                out_axis += 1;
                if size != 1 {
                    let strides = [out_stride, stride, 0];
                    kept.push(Dim { size, strides });
                }
            }
        }
        for dims in [&mut kept, &mut reduced] {
            dims.sort_by_key(|dim| std::cmp::Reverse(dim.strides[1].unsigned_abs()));
            let left = merge_slice(dims);
            dims.truncate(left);
        }
        let mut k = kept.pop().unwrap_or(Dim::NONE);
        let mut runs = SmallVec::from_iter([(k.size, k.strides[0])]);
        while let Some(outer) = kept.last().copied()
            && k.strides[1].checked_mul(k.size as isize) == Some(outer.strides[1])
        {
            runs.push((outer.size, outer.strides[0]));
            k.size *= outer.size;
            kept.pop();
        }
        let r = reduced.pop().unwrap_or(Dim::NONE);
        let item = x.item as isize;
        let way = if r.strides[1] == item && r.size >= SHORT || r.size == 1 && k.size == 1 {
            Way::Along
        } else if k.strides[1] == item && k.size >= SHORT / 2 {
            Way::Across
        } else if r.size >= k.size {
            Way::GatherAlong
        } else {
            Way::GatherAcross
        };
        Self {
            first: [Address(out.first), Address(x.first)],
            item: x.item,
            out_item: out.item,
            kept,
            k,
            runs,
            reduced,
            r,
            way,
            most,
        }
    }

    /// Returns the number of elements.
    pub(super) fn len(&self) -> usize {
        let size = |dims: &[Dim<3>]| dims.iter().map(|dim| dim.size).product::<usize>();
        size(&self.kept) * size(&self.reduced) * self.k.size * self.r.size
    }

    /// Returns the most results of a tile.
    pub(super) fn tile_results(&self) -> usize {
        match self.way {
            Way::Along | Way::GatherAlong => 32,
            Way::Across => self.most,
            // Room for several rows of them.
            Way::GatherAcross => self.most.min(scratch_len() / 8 / self.item),
        }
        .min(self.k.size)
    }

    pub(super) fn tiles(&self) -> usize {
        let kept: usize = self.kept.iter().map(|dim| dim.size).product();
        kept * self.k.size.div_ceil(self.tile_results())
    }

    /// Returns the offsets of a tile's outer indices, and its results along `k`.
    fn results(&self, tile: usize) -> ([isize; 3], Range<usize>) {
        let across = self.k.size.div_ceil(self.tile_results());
        let (mut index, column) = (tile / across, tile % across * self.tile_results());
        let mut offsets = [0; 3];
        for dim in self.kept.iter().rev() {
            advance(&mut offsets, dim, index % dim.size);
            index /= dim.size;
        }
        let count = self.tile_results().min(self.k.size - column);
        (offsets, column..column + count)
    }

    /// Adds the later accumulators of a tile to the earlier ones.
    ///
    /// # Safety
    ///
    /// Both are of all results of the tile.
    pub(super) unsafe fn combine(
        &self,
        tile: usize,
        accumulate: &dyn Accumulate,
        accumulators: *mut u8,
        later: *const u8,
    ) {
        let (_, results) = self.results(tile);
        // SAFETY: there are as many as the tile has results, as is required here.
        unsafe { accumulate.combine(accumulators, later, results.len()) };
    }

    /// Writes the results of a tile's accumulators.
    ///
    /// # Safety
    ///
    /// As for [`reduce`], and no other code uses the tile's results.
    pub(super) unsafe fn finish(
        &self,
        tile: usize,
        accumulate: &dyn Accumulate,
        accumulators: *const u8,
    ) {
        let (offsets, results) = self.results(tile);
        let (run, step) = self.runs[0];
        let mut at = results.start;
        while at < results.end {
            let mut out = self.first[0].0.wrapping_offset(offsets[0]);
            let mut index = at;
            for &(size, stride) in &self.runs {
                out = out.wrapping_offset(stride * (index % size) as isize);
                index /= size;
            }
            let count = (run - at % run).min(results.end - at);
            let first = (at - results.start) * accumulate.accumulator();
            // SAFETY: accumulators lie one after another. The results of a run have a place each,
            // at one distance, which no other code uses.
            unsafe { accumulate.finish(accumulators.wrapping_add(first), out, step, count) };
            at += count;
        }
    }

    /// Returns the dimension that is cut into chunks: the outermost reduced one.
    fn cut(&self) -> &Dim<3> {
        self.reduced.first().unwrap_or(&self.r)
    }

    /// Returns the number of chunks, which depends on the shape alone.
    pub(super) fn chunks(&self) -> usize {
        let per_tile = self.len() / self.tiles();
        if self.tiles() >= 64 || per_tile < 2 * GRAIN {
            return 1;
        }
        (per_tile / GRAIN)
            .min(64)
            .min(self.cut().size.div_ceil(SHORT))
    }

    /// Reduces a tile.
    ///
    /// # Safety
    ///
    /// As for [`reduce`], and no other code uses the tile's results.
    pub(super) unsafe fn finish_tile(&self, tile: usize, accumulate: &dyn Accumulate) {
        // SAFETY: what is required here.
        if self.way == Way::Across && unsafe { self.write_tile(tile, accumulate) } {
            return;
        }
        const COUNT: usize = ACCUMULATORS / ALIGN;
        let mut memory = [Accumulators::NEW; COUNT];
        let accumulators = memory.as_mut_ptr().cast::<u8>();
        // SAFETY: the memory is large enough for a tile's accumulators, which are written first.
        unsafe {
            self.accumulate(tile, None, accumulate, accumulators);
            self.finish(tile, accumulate, accumulators);
        }
    }

    /// Writes the results of a tile of a few rows without accumulators, if this can be done.
    ///
    /// # Safety
    ///
    /// As for [`Self::finish_tile`].
    unsafe fn write_tile(&self, tile: usize, accumulate: &dyn Accumulate) -> bool {
        let &[(_, step)] = self.runs.as_slice() else {
            return false;
        };
        if !self.reduced.is_empty() || step != self.out_item as isize {
            return false;
        }
        let (mut offsets, results) = self.results(tile);
        advance(&mut offsets, &self.k, results.start);
        let out = self.first[0].0.wrapping_offset(offsets[0]);
        let x = self.first[1].0.wrapping_offset(offsets[1]);
        let rows = (self.r.size, self.r.strides[1]);
        // SAFETY: the tile's elements are contiguous along `k`, as are its results, which no other
        // code uses.
        unsafe { accumulate.write_across(x, out, results.len(), rows) }
    }

    /// Makes the accumulators of a tile, or of one chunk of it.
    ///
    /// # Safety
    ///
    /// As for [`reduce`], and there is memory for a tile's accumulators.
    pub(super) unsafe fn accumulate(
        &self,
        tile: usize,
        chunk: Option<usize>,
        accumulate: &dyn Accumulate,
        accumulators: *mut u8,
    ) {
        let (mut offsets, results) = self.results(tile);
        advance(&mut offsets, &self.k, results.start);
        let first = self.first[1].0.wrapping_offset(offsets[1]);
        let count = results.len();
        let range = match chunk {
            None => 0..self.cut().size,
            Some(chunk) => {
                let (size, chunks) = (self.cut().size, self.chunks());
                size * chunk / chunks..size * (chunk + 1) / chunks
            }
        };
        // SAFETY: there is memory for the accumulators.
        unsafe { accumulate.begin(accumulators, count) };
        if self.r.size == 0 {
            return; // Whatever the sizes of the others.
        }
        let totals = Totals {
            accumulate,
            accumulators,
            count,
        };
        if self.reduced.is_empty() {
            // SAFETY: the range is within `r`.
            unsafe { self.add(first, range, &totals, 0) };
            return;
        }
        let inner: usize = self.reduced[1..].iter().map(|dim| dim.size).product();
        for index in range.start * inner..range.end * inner {
            let mut offsets = [0; 3];
            let mut rest = index;
            for dim in self.reduced.iter().rev() {
                advance(&mut offsets, dim, rest % dim.size);
                rest /= dim.size;
            }
            let (x, position) = (first.wrapping_offset(offsets[1]), offsets[2] as usize);
            // SAFETY: `x` is the first element for this index of the outer dimensions.
            unsafe { self.add(x, 0..self.r.size, &totals, position) };
        }
    }

    /// Adds the elements of some indices along `r`, for as many results along `k`. `position` is
    /// that of index 0.
    ///
    /// # Safety
    ///
    /// `x` is the element of index 0 of both, and the dimensions have as many elements.
    unsafe fn add(&self, x: *const u8, range: Range<usize>, totals: &Totals<'_>, position: usize) {
        if range.is_empty() {
            return;
        }
        let &Totals {
            accumulate,
            accumulators,
            count,
        } = totals;
        let (k, r) = (self.k.strides[1], self.r.strides[1]);
        let at = |along: usize| x.wrapping_offset(r * along as isize);
        let step = self.r.strides[2] as usize;
        let positions = |along: usize| Positions {
            first: position + along * step,
            step,
        };
        // SAFETY: all indices are below the dimensions' sizes, and the scratch memory has room for
        // what is gathered.
        unsafe {
            match self.way {
                Way::Along => {
                    let (start, len) = (range.start, range.len());
                    let lines = (count, k);
                    accumulate.along(accumulators, at(start), len, lines, positions(start));
                }
                Way::Across => {
                    let (start, rows) = (range.start, (range.len(), r));
                    accumulate.across(accumulators, at(start), count, rows, positions(start));
                }
                Way::GatherAlong | Way::GatherAcross => {
                    let mut scratch = Scratch([MaybeUninit::uninit(); _]);
                    let scratch = scratch.0.as_mut_ptr().cast::<u8>();
                    let room = (scratch_len() / self.item / count).max(1);
                    for start in range.clone().step_by(room) {
                        let len = room.min(range.end - start);
                        let positions = positions(start);
                        if self.way == Way::GatherAcross {
                            let rows = (len, (count * self.item) as isize);
                            gather(self.item, at(start), (r, k), (len, count), scratch);
                            accumulate.across(accumulators, scratch, count, rows, positions);
                        } else {
                            let lines = (count, (len * self.item) as isize);
                            gather(self.item, at(start), (k, r), (count, len), scratch);
                            accumulate.along(accumulators, scratch, len, lines, positions);
                        }
                    }
                }
            }
        }
    }
}

/// The accumulators of a tile's results.
struct Totals<'a> {
    accumulate: &'a dyn Accumulate,
    accumulators: *mut u8,
    count: usize,
}

const fn scratch_len() -> usize {
    size_of::<Scratch>()
}

fn advance(offsets: &mut [isize; 3], dim: &Dim<3>, steps: usize) {
    for (offset, stride) in offsets.iter_mut().zip(dim.strides) {
        *offset = offset.wrapping_add(stride.wrapping_mul(steps as isize));
    }
}
