//! The loops of folds across a few contiguous rows, each of whose columns has one lane.

use super::fold::Fold;
use super::fold_lanes::add_to_lanes;
use super::load::Load;
use crate::compute::simd::{Routine, Simd};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice;

/// The columns of which all rows are added up before the next ones.
const COLUMNS: usize = 64;

/// A few contiguous rows, at most as many as a lane adds up.
pub(super) struct FewRows<D: Load> {
    pub(super) x: *const u8,
    pub(super) rows: usize,
    pub(super) step: isize,
    pub(super) types: PhantomData<D>,
}

impl<D: Load> FewRows<D> {
    /// Calls a function with each column's place and lane.
    ///
    /// # Safety
    ///
    /// There are `count` elements in each row.
    #[inline(always)]
    pub(super) unsafe fn for_each<F: Fold<D::Loaded>, S: Simd>(
        &self,
        fold: F,
        count: usize,
        mut of_column: impl FnMut(usize, F::Lane),
    ) {
        let row = |row: usize| {
            let x = self.x.wrapping_offset(row as isize * self.step);
            // SAFETY: there are as many elements, as is required here.
            unsafe { slice::from_raw_parts(x.cast::<D::Stored>(), count) }
        };
        let blocks = count / COLUMNS;
        for block in 0..blocks {
            let mut lanes = [fold.empty_lane(); COLUMNS];
            for at in 0..self.rows {
                let columns = &row(at).as_chunks().0[block];
                add_to_lanes::<D, F, S, COLUMNS, 1>(
                    fold,
                    &mut lanes,
                    std::array::from_ref(columns),
                );
            }
            for (at, lane) in lanes.into_iter().enumerate() {
                of_column(block * COLUMNS + at, lane);
            }
        }
        for at in blocks * COLUMNS..count {
            let rows = (0..self.rows).map(|of| D::load(row(of)[at]));
            of_column(
                at,
                rows.fold(fold.empty_lane(), |lane, x| fold.add(lane, x)),
            );
        }
    }
}

/// Writes what a function makes of the totals of a few rows.
pub(super) struct WriteFewRows<'a, D: Load, F: Fold<D::Loaded>, R, Finish> {
    pub(super) fold: F,
    pub(super) finish: &'a Finish,
    pub(super) out: &'a mut [MaybeUninit<R>],
    pub(super) rows: FewRows<D>,
}

impl<D: Load, F: Fold<D::Loaded>, R, Finish: Fn(F::Total) -> R> Routine
    for WriteFewRows<'_, D, F, R, Finish>
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self {
            fold,
            finish,
            out,
            rows,
        } = self;
        let count = out.len();
        let write = |at: usize, lane: F::Lane| {
            out[at].write(finish(fold.add_lane(fold.empty(), lane)));
        };
        // SAFETY: `Accumulate::write_across` requires as many elements in each row as there are
        // results.
        unsafe { rows.for_each::<F, S>(fold, count, write) };
    }
}
