//! Folds of views along axes.

use super::accumulate::{Accumulate, Positions};
use super::driver::reduce_views;
use super::few_rows::{FewRows, MOST};
use super::fold::Fold;
use super::fold_lines::{Across, Lines, ROWS};
use super::fold_turns::{AT_ONCE, FAR, LONG_LINE, SHORT_LINE, Turns};
#[cfg(feature = "ops")]
use super::load::HalfFloats;
use super::load::{Load, Plain};
use crate::compute::simd::{Routine, Simd, dispatch};
use crate::compute::stream::reads_in_turns;
use crate::dtype::{DType, Element, TypeCode};
use crate::view::{View, ViewMut};
use std::marker::PhantomData;
use std::mem::MaybeUninit;
use std::slice;

/// Writes the reduction of `x` along some axes: vectorised, and on several
/// [threads](crate::compute::threads) where the tensor is large. `out` has the other dimensions of
/// `x`, or 1 instead of those that are reduced. For no axes at all it has one element for each of
/// `x`.
///
/// # Panics
///
/// When `x` has no such axis, or `out` another shape.
pub fn fold<T: Element, F: Fold<T>>(
    x: View<'_, T>,
    out: ViewMut<'_, F::Result>,
    axes: &[usize],
    fold: F,
) where
    F::Result: Element,
{
    let mut is_reduced = vec![false; x.rank()];
    for axis in axes {
        is_reduced[*axis] = true;
    }
    fold_with(x, out, &is_reduced, fold, |total| fold.finish(total));
}

/// Writes what a function makes of the totals of `x` along the axes for which `is_reduced` holds.
///
/// # Panics
///
/// When `out` doesn't have the dimensions of `x` that aren't reduced, or 1 instead of those that
/// are.
pub(crate) fn fold_with<T: Element, F: Fold<T>, R: Element>(
    x: View<'_, T>,
    out: ViewMut<'_, R>,
    is_reduced: &[bool],
    fold: F,
    finish: impl Fn(F::Total) -> R + Sync,
) {
    fold_loaded::<Plain<T>, F, R>(x, out, is_reduced, fold, finish);
}

/// Writes what a function makes of the totals of `f16`, as [`fold_with`] does of the same numbers
/// in `f32`.
///
/// # Panics
///
/// When `out` doesn't have the dimensions of `x` that aren't reduced, or 1 instead of those that
/// are.
#[cfg(feature = "ops")]
pub(crate) fn fold_half_floats<F: Fold<f32>, R: Element>(
    x: View<'_, half::f16>,
    out: ViewMut<'_, R>,
    is_reduced: &[bool],
    fold: F,
    finish: impl Fn(F::Total) -> R + Sync,
) {
    fold_loaded::<HalfFloats, F, R>(x, out, is_reduced, fold, finish);
}

fn fold_loaded<D: Load, F: Fold<D::Loaded>, R: Element>(
    x: View<'_, D::Stored>,
    out: ViewMut<'_, R>,
    is_reduced: &[bool],
    fold: F,
    finish: impl Fn(F::Total) -> R + Sync,
) {
    const { assert!(size_of::<F::Total>() <= 32 && align_of::<F::Total>() <= 16) };
    const { assert!(F::DEPTH >= ROWS) };
    let folding = Folding {
        fold,
        finish,
        are_far: reads_in_turns() && x.len() * size_of::<D::Stored>() >= FAR,
        types: PhantomData::<fn(D) -> R>,
    };
    // SAFETY: it accumulates elements `D::Stored` and writes results `R`, as the views have them.
    unsafe { reduce_views(x, out, is_reduced, &folding) }
}

struct Folding<D, R, F, Finish> {
    fold: F,
    finish: Finish,
    are_far: bool,
    types: PhantomData<fn(D) -> R>,
}

impl<D, R, F, Finish> Accumulate for Folding<D, R, F, Finish>
where
    D: Load,
    R: Element,
    F: Fold<D::Loaded>,
    Finish: Fn(F::Total) -> R + Sync,
{
    fn accumulator(&self) -> usize {
        size_of::<F::Total>()
    }

    unsafe fn begin(&self, accumulators: *mut u8, count: usize) {
        for at in 0..count {
            // SAFETY: there is aligned memory for `count` accumulators.
            unsafe {
                accumulators
                    .cast::<F::Total>()
                    .add(at)
                    .write(self.fold.empty())
            };
        }
    }

    unsafe fn along(
        &self,
        accumulators: *mut u8,
        x: *const u8,
        len: usize,
        (count, step): (usize, isize),
        _: Positions,
    ) {
        // SAFETY: there are as many accumulators, which `begin` has written.
        let totals = unsafe { slice::from_raw_parts_mut(accumulators.cast::<F::Total>(), count) };
        let bytes = len * size_of::<D::Stored>();
        if !self.are_far || bytes < SHORT_LINE {
            dispatch(Lines::<D, F>(
                self.fold,
                totals,
                x,
                (len, step),
                PhantomData,
            ));
        } else if bytes < LONG_LINE {
            dispatch(Turns::<D, F>(
                self.fold,
                totals,
                x,
                (len, step),
                PhantomData,
            ));
        } else {
            for (at, total) in totals.iter_mut().enumerate() {
                let x = x.wrapping_offset(at as isize * step);
                // SAFETY: there are as many elements for each total, as is required here.
                unsafe { self.fold_parts(total, x, len) };
            }
        }
    }

    unsafe fn across(
        &self,
        accumulators: *mut u8,
        x: *const u8,
        count: usize,
        rows: (usize, isize),
        _: Positions,
    ) {
        // SAFETY: there are as many accumulators, which `begin` has written.
        let totals = unsafe { slice::from_raw_parts_mut(accumulators.cast::<F::Total>(), count) };
        dispatch(Across::<D, F>(self.fold, totals, x, rows, PhantomData));
    }

    unsafe fn write_across(
        &self,
        x: *const u8,
        out: *mut u8,
        count: usize,
        (rows, step): (usize, isize),
    ) -> bool {
        // A loop for each number of rows and SIMD level is worth its code for this type.
        let is_common = const { matches!((R::DTYPE, D::BY_ROWS), (DType::F32, false)) };
        let writes = is_common && (1..=MOST).contains(&rows);
        if writes {
            // SAFETY: there are contiguous places for as many results.
            let out = unsafe { slice::from_raw_parts_mut(out.cast::<MaybeUninit<R>>(), count) };
            let (fold, finish, types) = (self.fold, &self.finish, PhantomData::<D>);
            dispatch(FewRows {
                fold,
                finish,
                out,
                x,
                rows,
                step,
                types,
            });
        }
        writes
    }

    unsafe fn combine(&self, accumulators: *mut u8, later: *const u8, count: usize) {
        for at in 0..count {
            // SAFETY: there are `count` of both.
            unsafe {
                let total = accumulators.cast::<F::Total>().add(at);
                *total = self.fold.combine(*total, *later.cast::<F::Total>().add(at));
            }
        }
    }

    unsafe fn finish(&self, accumulators: *const u8, out: *mut u8, step: isize, count: usize) {
        let totals = accumulators.cast::<F::Total>();
        if step == size_of::<R>() as isize {
            // SAFETY: there are as many accumulators, which `begin` has written, and places for as
            // many results.
            let (totals, out) = unsafe {
                let out = out.cast::<MaybeUninit<R>>();
                (
                    slice::from_raw_parts(totals, count),
                    slice::from_raw_parts_mut(out, count),
                )
            };
            let finished = Finished(&self.finish, totals, out);
            if const { is_rounded(R::DTYPE) } && count >= MANY {
                dispatch(finished);
            } else {
                finished.write();
            }
            return;
        }
        for at in 0..count {
            // SAFETY: there are `count` accumulators, and places for as many results.
            unsafe {
                let out = out.offset(step * at as isize).cast::<R>();
                out.write((self.finish)(*totals.add(at)));
            }
        }
    }
}

impl<D: Load, R, F: Fold<D::Loaded>, Finish> Folding<D, R, F, Finish> {
    /// Adds contiguous elements to a total, of which several parts are read in turns.
    ///
    /// # Safety
    ///
    /// There are as many elements.
    unsafe fn fold_parts(&self, total: &mut F::Total, x: *const u8, len: usize) {
        let size = len / AT_ONCE;
        let step = (size * size_of::<D::Stored>()) as isize;
        let mut parts = [self.fold.empty(); AT_ONCE];
        dispatch(Turns::<D, F>(
            self.fold,
            &mut parts,
            x,
            (size, step),
            PhantomData,
        ));
        *total = parts
            .into_iter()
            .fold(*total, |total, part| self.fold.combine(total, part));
        let rest = x.wrapping_offset(AT_ONCE as isize * step);
        let total = slice::from_mut(total);
        dispatch(Lines::<D, F>(
            self.fold,
            total,
            rest,
            (len % AT_ONCE, 0),
            PhantomData,
        ));
    }
}

/// Returns whether results are floats that totals are rounded to, for which CPUs have instructions
/// that not all have. A loop for each SIMD level isn't worth its code otherwise.
const fn is_rounded(dtype: DType) -> bool {
    matches!(dtype.code(), TypeCode::Float | TypeCode::BFloat) && dtype.bits() < 64
}

/// How many results are worth vectors.
const MANY: usize = 16;

/// What a function makes of totals.
struct Finished<'a, T, R, Finish>(&'a Finish, &'a [T], &'a mut [MaybeUninit<R>]);

impl<T: Copy, R, Finish: Fn(T) -> R> Finished<'_, T, R, Finish> {
    #[inline(always)]
    fn write(self) {
        let Self(finish, totals, out) = self;
        for (out, total) in out.iter_mut().zip(totals) {
            out.write(finish(*total));
        }
    }
}

impl<T: Copy, R, Finish: Fn(T) -> R> Routine for Finished<'_, T, R, Finish> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        self.write();
    }
}
