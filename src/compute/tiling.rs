//! Cuts of a plan into tiles that fit into the first-level cache.

use super::address::Address;
use super::plan::{Dim, Plan};

/// The most rows that are visited together if they are far apart.
pub(super) const PAGES: usize = 512;

/// The sizes of tiles.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// The most bytes of an operand in a tile.
    pub(super) scratch: usize,
    /// The bytes of the first operand in a row of a tile if another one is transposed.
    pub(super) run: usize,
    /// Of rows of fewer elements there are several in a tile.
    pub(super) short_row: usize,
    /// The most rows that are visited together if they are far apart.
    pub(super) pages: usize,
}

/// A plan cut into tiles of rows and columns.
pub(super) struct Tiling<const N: usize> {
    first: [Address; N],
    outer: Vec<Dim<N>>,
    pub(super) rows: Dim<N>,
    pub(super) columns: Dim<N>,
    /// The size of a tile.
    pub(super) tile: (usize, usize),
    /// How many tiles are visited along the rows before the next ones along the columns.
    group: usize,
}

impl<const N: usize> Tiling<N> {
    /// Cuts a plan for operands of elements of these sizes into tiles that fit into scratch memory.
    pub(super) fn new(plan: &Plan<N>, item: [usize; N], sizes: Sizes) -> Self {
        let most = sizes.scratch / item.iter().copied().max().unwrap_or(1);
        let mut outer = plan.dims.clone();
        let columns = outer.pop().unwrap_or(Dim::NONE);
        // An operand that is contiguous along another dimension is read in tiles that are long in
        // both dimensions.
        let is_transposed = |dim: &Dim<N>| {
            (0..N).any(|at| {
                let stride = columns.strides[at].unsigned_abs();
                stride > item[at] && dim.strides[at].unsigned_abs() < stride && dim.strides[at] != 0
            })
        };
        let transposed = outer.iter().rposition(is_transposed);
        let has_short_rows = columns.size < sizes.short_row && !outer.is_empty();
        let mut group = 1;
        let (rows, tile) = match transposed {
            Some(at) => {
                let rows = outer.remove(at);
                // Runs of some bytes in the one, and as many rows as there is room for: a cache
                // line in the other, if possible.
                let line = (64 / item[0]).max(1);
                let columns_per_tile = (sizes.run / item[0]).max(1).min(most / line);
                let columns_per_tile = columns.size.min(columns_per_tile.max(1));
                let rows_per_tile = rows.size.min(most / columns_per_tile);
                // Rows are in different pages, of which no more than are in the cache of addresses
                // are visited before the first ones are visited again.
                group = (sizes.pages.min(2048 / item[0]) / rows_per_tile).max(1);
                (
                    rows,
                    (rows_per_tile, columns.size.min(most / rows_per_tile)),
                )
            }
            None if has_short_rows => {
                let rows = outer.pop().unwrap_or(Dim::NONE);
                (rows, (rows.size.min(most / columns.size), columns.size))
            }
            None => (Dim::NONE, (1, columns.size.min(most))),
        };
        Self {
            first: plan.first.map(Address),
            outer,
            rows,
            columns,
            tile,
            group,
        }
    }

    /// Returns the number of tiles.
    pub(super) fn len(&self) -> usize {
        let outer: usize = self.outer.iter().map(|dim| dim.size).product();
        outer * self.rows.size.div_ceil(self.tile.0) * self.columns.size.div_ceil(self.tile.1)
    }

    /// Returns the most elements of a tile.
    pub(super) fn tile_len(&self) -> usize {
        self.tile.0 * self.tile.1
    }

    /// Returns where a tile begins in each operand, and its rows and columns.
    pub(super) fn tile(&self, index: usize) -> ([*mut u8; N], (usize, usize)) {
        let across = self.columns.size.div_ceil(self.tile.1);
        let down = self.rows.size.div_ceil(self.tile.0);
        let (mut index, at) = (index / (across * down), index % (across * down));
        let (above, at) = (
            at / (across * self.group) * self.group,
            at % (across * self.group),
        );
        let group = self.group.min(down - above);
        let (row, column) = (above + at % group, at / group);
        let (row, column) = (row * self.tile.0, column * self.tile.1);
        let mut first = self.first.map(|address| address.0);
        let mut advance = |dim: &Dim<N>, steps: usize| {
            for (first, stride) in first.iter_mut().zip(dim.strides) {
                *first = first.wrapping_offset(stride * steps as isize);
            }
        };
        advance(&self.rows, row);
        advance(&self.columns, column);
        for dim in self.outer.iter().rev() {
            advance(dim, index % dim.size);
            index /= dim.size;
        }
        let rows = self.tile.0.min(self.rows.size - row);
        (first, (rows, self.tile.1.min(self.columns.size - column)))
    }
}
