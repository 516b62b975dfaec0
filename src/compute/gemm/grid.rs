//! [`Grid`]: a division of a result into parts for threads.

/// The cost of packing an element, in those of a product: both are a part of a vector.
const PACKING: usize = 12;

/// A division of the rows and columns of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Grid {
    pub(super) rows: Cuts,
    pub(super) columns: Cuts,
}

/// A division of an extent into ranges whose sizes are multiples of a step, but for the last one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cuts {
    extent: usize,
    size: usize,
    pub(super) count: usize,
}

impl Cuts {
    fn new(extent: usize, step: usize, most: usize) -> Self {
        let steps = extent.div_ceil(step);
        let size = steps.div_ceil(most.max(1)).max(1) * step;
        Self {
            extent,
            size,
            count: extent.div_ceil(size).max(1),
        }
    }

    pub(super) fn get(&self, at: usize) -> std::ops::Range<usize> {
        let begin = at * self.size;
        begin.min(self.extent)..(begin + self.size).min(self.extent)
    }
}

impl Grid {
    /// Chooses the division that is done first by this many threads: each part packs what it needs,
    /// and so larger parts do less, but may leave threads idle.
    pub(super) fn choose(
        (rows, row_step, most_rows): (usize, usize, usize),
        (columns, column_step): (usize, usize),
        threads: usize,
    ) -> Self {
        let least = rows.div_ceil(most_rows).max(1);
        // No more than there are steps, as that makes no other division.
        let most_row_parts = (least + 2 * (threads - 1)).min(rows.div_ceil(row_step).max(least));
        let most_column_parts = (2 * threads - 1).min(columns.div_ceil(column_step).max(1));
        let mut best = None;
        for row_parts in least..=most_row_parts {
            for column_parts in 1..=most_column_parts {
                let rows = Cuts::new(rows, row_step, row_parts);
                let columns = Cuts::new(columns, column_step, column_parts);
                let rounds = (rows.count * columns.count).div_ceil(threads);
                let (height, width) = (rows.size, columns.size);
                let packing = height.saturating_add(width).saturating_mul(PACKING);
                let cost = height.saturating_mul(width).saturating_add(packing);
                let cost = cost.saturating_mul(rounds);
                if best.is_none_or(|(least, _)| cost < least) {
                    best = Some((cost, Self { rows, columns }));
                }
            }
            if threads == 1 {
                break;
            }
        }
        best.expect("there is at least one division").1
    }

    /// Returns the number of parts.
    pub(super) fn count(&self) -> usize {
        self.rows.count * self.columns.count
    }
}
