//! The loop over the tiles and chunks of a reduction, on several threads.

use super::accumulate::{ACCUMULATORS, ALIGN, Accumulate, Accumulators, GRAIN, Positions, SHORT};
use super::plan::Reduction;
use crate::compute::address::Address;
use crate::compute::plan::Operand;
use crate::compute::threads::for_each_part;
use crate::dtype::Element;
use crate::view::{View, ViewMut};

/// Writes the reduction of a view along the axes for which `is_reduced` holds.
///
/// # Safety
///
/// It accumulates elements `T`, and writes results `R`.
///
/// # Panics
///
/// When `out` doesn't have the dimensions of `x` that aren't reduced, or 1 instead of those that
/// are.
pub(super) unsafe fn reduce_views<T: Element, R: Element>(
    x: View<'_, T>,
    out: ViewMut<'_, R>,
    is_reduced: &[bool],
    accumulate: &dyn Accumulate,
) {
    let keeps = out.rank() == x.rank();
    let sizes = x.shape().iter().zip(is_reduced);
    let wanted = sizes.filter_map(|(size, is_reduced)| match is_reduced {
        false => Some(*size),
        true => keeps.then_some(1),
    });
    assert!(
        x.rank() == is_reduced.len() && wanted.eq(out.shape().iter().copied()),
        "a reduction of shape {:?} along {is_reduced:?} to shape {:?}",
        x.shape(),
        out.shape()
    );
    let from = Operand {
        first: x.as_ptr().cast_mut().cast(),
        layout: x.layout(),
        item: size_of::<T>(),
    };
    let to = Operand {
        first: out.as_ptr().cast_mut().cast(),
        layout: out.layout(),
        item: size_of::<R>(),
    };
    // SAFETY: views lead to valid elements, and no other code uses those of `out` while it is
    // borrowed; the shapes were just compared, and the types are what this function requires.
    unsafe { reduce(from, to, is_reduced, accumulate) }
}

/// Writes the reduction of `x` along the axes for which `is_reduced` holds. `out` has the other
/// dimensions of `x`, or 1 instead of the reduced ones.
///
/// # Safety
///
/// Every element that the layouts lead to is there; those of `out` can be written, no two of them
/// are at one place, and no other code uses them; the tensors don't overlap.
unsafe fn reduce(
    x: Operand<'_>,
    out: Operand<'_>,
    is_reduced: &[bool],
    accumulate: &dyn Accumulate,
) {
    if out.layout.is_empty() {
        return;
    }
    let most = ACCUMULATORS / accumulate.accumulator().max(1);
    if let Some(len) = small_lines(&x, &out, is_reduced) {
        // SAFETY: what is required here, and the elements are lines of this length.
        return unsafe { reduce_lines(&x, &out, len, most, accumulate) };
    }
    let reduction = Reduction::new(&x, &out, is_reduced, most, accumulate.locates());
    let (tiles, chunks) = (reduction.tiles(), reduction.chunks());
    let elements = reduction.len();
    let parts = (tiles * chunks).min(elements.div_ceil(GRAIN)).max(1);
    if chunks == 1 {
        for_each_part(parts, |part| {
            for tile in tiles * part / parts..tiles * (part + 1) / parts {
                // SAFETY: what `reduce` requires; each tile has results of its own.
                unsafe { reduction.finish_tile(tile, accumulate) };
            }
        });
        return;
    }
    // Few results of many elements: these are split, too.
    let size = accumulate.accumulator() * reduction.tile_results();
    let words = size.div_ceil(size_of::<Accumulators>());
    let mut partial = vec![Accumulators::NEW; tiles * chunks * words];
    let address = Address(partial.as_mut_ptr().cast());
    for_each_part(tiles * chunks, |at| {
        let accumulators = address.byte(at * words * size_of::<Accumulators>());
        // SAFETY: what `reduce` requires; each part has accumulators of its own.
        unsafe { reduction.accumulate(at / chunks, Some(at % chunks), accumulate, accumulators) };
    });
    for tile in 0..tiles {
        let first = address.byte(tile * chunks * words * size_of::<Accumulators>());
        for chunk in 1..chunks {
            let later = first.wrapping_add(chunk * words * size_of::<Accumulators>());
            // SAFETY: both were written above.
            unsafe { reduction.combine(tile, accumulate, first, later) };
        }
        // SAFETY: the tile's results have their places in `out`.
        unsafe { reduction.finish(tile, accumulate, first) };
    }
}

/// Returns the number of elements of each result, if these are contiguous, one result's after the
/// other's, and too few to be split: so a plan would visit them in the same order.
fn small_lines(x: &Operand<'_>, out: &Operand<'_>, is_reduced: &[bool]) -> Option<usize> {
    let (elements, results) = (x.layout.len(), out.layout.len());
    let is_small = (1..=GRAIN).contains(&elements);
    if !is_small || !x.layout.is_contiguous() || !out.layout.is_contiguous() {
        return None;
    }
    let len = elements / results;
    // Those of several results are taken across results if they are few.
    if results > 1 && len < SHORT {
        return None;
    }
    let mut sizes = x.layout.shape().iter().zip(is_reduced).rev();
    let last_kept = sizes.find(|(size, is_reduced)| **size != 1 && !**is_reduced);
    let are_last = last_kept.is_none() || sizes.all(|(size, is_reduced)| *size == 1 || !is_reduced);
    are_last.then_some(len)
}

/// Reduces lines of contiguous elements, one after another.
///
/// # Safety
///
/// As for [`reduce`]; all elements are contiguous, and so are the results, of as many elements
/// each.
unsafe fn reduce_lines(
    x: &Operand<'_>,
    out: &Operand<'_>,
    len: usize,
    most: usize,
    accumulate: &dyn Accumulate,
) {
    let mut memory = [Accumulators::NEW; ACCUMULATORS / ALIGN];
    let accumulators = memory.as_mut_ptr().cast::<u8>();
    let results = out.layout.len();
    let positions = Positions { first: 0, step: 1 };
    for first in (0..results).step_by(most) {
        let count = most.min(results - first);
        let from = x.first.wrapping_add(first * len * x.item);
        let to = out.first.wrapping_add(first * out.item);
        let lines = (count, (len * x.item) as isize);
        // SAFETY: there is memory for `most` accumulators, and there are as many elements and
        // results from these addresses on.
        unsafe {
            accumulate.begin(accumulators, count);
            accumulate.along(accumulators, from, len, lines, positions);
            accumulate.finish(accumulators, to, out.item as isize, count);
        }
    }
}
