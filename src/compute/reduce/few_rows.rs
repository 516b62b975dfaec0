//! The loop of folds across a few contiguous rows, without totals in memory.

use super::fold::Fold;
use super::load::Load;
use crate::compute::simd::{Routine, Simd};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice;

/// The most rows that a [`FewRows`] has.
pub(super) const MOST: usize = 8;

/// What a function makes of the totals of a few contiguous rows.
pub(super) struct FewRows<'a, D, F, R, Finish> {
    pub(super) fold: F,
    pub(super) finish: &'a Finish,
    pub(super) out: &'a mut [MaybeUninit<R>],
    pub(super) x: *const u8,
    pub(super) rows: usize,
    pub(super) step: isize,
    pub(super) types: PhantomData<D>,
}

impl<D: Load, F: Fold<D::Loaded>, R, Finish: Fn(F::Total) -> R> Routine
    for FewRows<'_, D, F, R, Finish>
{
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        // The number is a constant in each loop, so that lanes stay in registers.
        match self.rows {
            1 => self.write::<1>(),
            2 => self.write::<2>(),
            3 => self.write::<3>(),
            4 => self.write::<4>(),
            5 => self.write::<5>(),
            6 => self.write::<6>(),
            7 => self.write::<7>(),
            MOST => self.write::<MOST>(),
            rows => unreachable!("{rows} rows aren't few"),
        }
    }
}

impl<D: Load, F: Fold<D::Loaded>, R, Finish: Fn(F::Total) -> R> FewRows<'_, D, F, R, Finish> {
    /// Adds rows up as [`Across`](super::fold_lines::Across) does, so that results are the same
    /// bits: all eight, or four and then each.
    #[inline(always)]
    fn write<const N: usize>(self) {
        let (fold, count) = (self.fold, self.out.len());
        let rows: [&[D::Stored]; N] = std::array::from_fn(|row| {
            let x = self.x.wrapping_offset(row as isize * self.step);
            // SAFETY: `Accumulate::write_across` requires as many elements in each row as there are
            // results.
            unsafe { slice::from_raw_parts(x.cast(), count) }
        });
        let together = if N == MOST { MOST } else { N / 4 * 4 };
        for (at, out) in self.out.iter_mut().enumerate() {
            let add = |lane, row: &&[D::Stored]| fold.add(lane, D::load(row[at]));
            let (first, others) = rows.split_at(together);
            let mut total = fold.empty();
            if together > 0 {
                total = fold.add_lane(total, first.iter().fold(fold.empty_lane(), add));
            }
            for row in others {
                total = fold.add_lane(total, add(fold.empty_lane(), row));
            }
            out.write((self.finish)(total));
        }
    }
}
