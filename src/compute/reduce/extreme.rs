//! Positions of the largest or smallest elements.

use super::accumulate::{Accumulate, Positions};
use super::driver::reduce_views;
use super::extreme_lines::{Across, Along, Found, Key};
use crate::compute::select::Ranked;
use crate::compute::simd::dispatch;
use crate::dtype::Element;
use crate::view::{View, ViewMut};
use std::marker::PhantomData;
use std::slice;

/// Which element is searched for. NaN is both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extreme {
    /// The largest one.
    Largest,
    /// The smallest one.
    Smallest,
}

/// Writes the position of the first largest or smallest element along the axes for which
/// `is_reduced` holds: its index in their row-major order.
///
/// # Panics
///
/// When `out` doesn't have the dimensions of `x` that aren't reduced, or 1 instead of those that
/// are.
pub(crate) fn index_of_extreme<T: Element + Ranked<Key: Key>>(
    x: View<'_, T>,
    out: ViewMut<'_, i64>,
    is_reduced: &[bool],
    extreme: Extreme,
) {
    let largest = Search::<T, false>(PhantomData);
    let smallest = Search::<T, true>(PhantomData);
    let search: &dyn Accumulate = match extreme {
        Extreme::Largest => &largest,
        Extreme::Smallest => &smallest,
    };
    // SAFETY: the search is for elements `T`, and its results are of `i64`.
    unsafe { reduce_views(x, out, is_reduced, search) }
}

struct Search<T, const SMALLEST: bool>(PhantomData<fn(T)>);

impl<T: Element + Ranked<Key: Key>, const SMALLEST: bool> Accumulate for Search<T, SMALLEST> {
    fn locates(&self) -> bool {
        true
    }

    fn accumulator(&self) -> usize {
        size_of::<Found>()
    }

    unsafe fn begin(&self, accumulators: *mut u8, count: usize) {
        for at in 0..count {
            // SAFETY: there is aligned memory for `count` accumulators.
            unsafe { accumulators.cast::<Found>().add(at).write(Found::NOTHING) };
        }
    }

    unsafe fn along(
        &self,
        accumulators: *mut u8,
        x: *const u8,
        len: usize,
        (count, step): (usize, isize),
        positions: Positions,
    ) {
        // SAFETY: there are as many accumulators, which `begin` has written.
        let found = unsafe { slice::from_raw_parts_mut(accumulators.cast::<Found>(), count) };
        dispatch(Along::<T, SMALLEST> {
            found,
            x,
            lines: (len, step),
            positions,
            element: PhantomData,
        });
    }

    unsafe fn across(
        &self,
        accumulators: *mut u8,
        x: *const u8,
        count: usize,
        rows: (usize, isize),
        positions: Positions,
    ) {
        // SAFETY: there are as many accumulators, which `begin` has written.
        let found = unsafe { slice::from_raw_parts_mut(accumulators.cast::<Found>(), count) };
        dispatch(Across::<T, SMALLEST> {
            found,
            x,
            rows,
            positions,
            element: PhantomData,
        });
    }

    unsafe fn combine(&self, accumulators: *mut u8, later: *const u8, count: usize) {
        for at in 0..count {
            // SAFETY: there are `count` of both.
            unsafe {
                let found = accumulators.cast::<Found>().add(at);
                *found = (*found).better(*later.cast::<Found>().add(at));
            }
        }
    }

    unsafe fn finish(&self, accumulators: *const u8, out: *mut u8, step: isize, count: usize) {
        for at in 0..count {
            // SAFETY: there are `count` accumulators, and places for as many results.
            unsafe {
                let found = *accumulators.cast::<Found>().add(at);
                let out = out.offset(step * at as isize).cast::<i64>();
                out.write(found.position as i64);
            }
        }
    }
}
