//! The loop over the tiles and chunks of a reduction, on several threads.

use super::accumulate::{ACCUMULATORS, Accumulate, Accumulators, Address, GRAIN};
use super::plan::Reduction;
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
        let (out, _, count) = reduction.results(tile);
        for chunk in 1..chunks {
            let later = first.wrapping_add(chunk * words * size_of::<Accumulators>());
            // SAFETY: both were written above.
            unsafe { accumulate.combine(first, later, count) };
        }
        // SAFETY: the tile's results have their places in `out`.
        unsafe { accumulate.finish(first, out, reduction.k.strides[0], count) };
    }
}
