//! Functions of whole lines of a tensor, as in softmax and normalisation: vectorised, and on
//! several threads where the tensors are large.

#[cfg(feature = "ops")]
mod compiled;
mod group;
mod plan;

#[cfg(feature = "ops")]
pub(crate) use compiled::{Line, for_each_line_of};
#[cfg(feature = "ops")]
pub(crate) use group::Float;

use super::plan::Operand;
use super::stream::fence;
use super::threads::for_each_range;
use crate::dtype::Element;
use crate::view::{View, ViewMut};
pub(crate) use group::Scratch;
use group::{Body, Group};
use plan::Lines;

/// The least number of elements that are worth a thread.
const GRAIN: usize = 1 << 13;

/// Calls a function with each line of `x` along an axis, and with that of `out`, to be written: as
/// slices, whatever the strides are. Large tensors are split among
/// [threads](crate::compute::threads).
///
/// What the line of `out` holds before is not specified. The function runs at the baseline SIMD
/// level; [`vectorize`](crate::compute::vectorize) within it chooses the CPU's best one.
///
/// # Examples
///
/// Running sums along the first axis:
///
/// ```
/// use dlbridge::compute::lines::map_lines;
/// use dlbridge::Tensor;
///
/// let x = Tensor::from([[1.0_f32, 10.0], [2.0, 20.0], [3.0, 30.0]]);
/// let mut sums = Tensor::from([[0.0_f32; 2]; 3]);
/// map_lines(x.view::<f32>()?, sums.view_mut::<f32>()?, 0, |x, sums| {
///     let mut total = 0.0;
///     for (sum, x) in sums.iter_mut().zip(x) {
///         total += x;
///         *sum = total;
///     }
/// });
/// assert_eq!(sums.to_vec::<f32>()?, [1.0, 10.0, 3.0, 30.0, 6.0, 60.0]);
/// # Ok::<(), dlbridge::Error>(())
/// ```
///
/// # Panics
///
/// When the shapes differ, or there is no such axis.
pub fn map_lines<T: Element, O: Element>(
    x: View<'_, T>,
    out: ViewMut<'_, O>,
    axis: usize,
    function: impl Fn(&[T], &mut [O]) + Sync,
) {
    let from = Operand {
        first: x.as_ptr().cast_mut().cast(),
        layout: x.layout(),
        item: size_of::<T>(),
    };
    let to = Operand {
        first: out.as_ptr().cast_mut().cast(),
        layout: out.layout(),
        item: size_of::<O>(),
    };
    // SAFETY: views lead to valid elements; no other code uses those of `out` while it is borrowed,
    // so that `x` doesn't overlap it.
    unsafe { map_operands(from, to, axis, function) }
}

/// [`map_lines`] of operands, of which one may be exactly where the other one is.
///
/// # Safety
///
/// Every element that the layouts lead to is there, aligned, and a value of its type; those of
/// `out` can be written, no two of them are at one place, and no other code uses them. `x` is
/// either exactly where `out` is, with elements of the same size, or doesn't overlap it.
///
/// # Panics
///
/// When the shapes differ, or there is no such axis.
pub(crate) unsafe fn map_operands<T: Element, O: Element>(
    x: Operand<'_>,
    out: Operand<'_>,
    axis: usize,
    function: impl Fn(&[T], &mut [O]) + Sync,
) {
    const { assert!(align_of::<T>() <= 8 && align_of::<O>() <= 8) };
    let shape = x.layout.shape();
    assert_eq!(shape, out.layout.shape(), "shapes of lines");
    assert!(axis < shape.len(), "axis {axis} of shape {shape:?}");
    let body = |group: Group, _: &mut Scratch| {
        for (x, out) in group.lines() {
            // SAFETY: `for_each_line` gives lines of `len` elements that don't overlap, of which
            // those of `out` have been written before, or are new memory of valid elements.
            let (x, out) = unsafe { group.slices(x, out) };
            function(x, out);
        }
    };
    // SAFETY: what it requires of the operands is required here, and the shapes were compared.
    unsafe { for_each_line(x, out, axis, &body) }
}

/// Calls the body with all lines of `x` along an axis, and those of `out`, as contiguous memory
/// that isn't the same: some lines at a time.
///
/// # Safety
///
/// The shapes are the same. Every element that the layouts lead to is there; those of `out` can be
/// written, no two of them are at one place, and no other code uses them. `x` is either exactly
/// where `out` is or doesn't overlap it.
unsafe fn for_each_line(x: Operand<'_>, out: Operand<'_>, axis: usize, body: Body<'_>) {
    if x.layout.is_empty() {
        return;
    }
    let lines = Lines::new(&x, &out, axis);
    let blocks = lines.blocks();
    let elements_per_block = lines.at_once * lines.line.size;
    for_each_range(blocks, GRAIN.div_ceil(elements_per_block), |range| {
        let mut scratch = Scratch::default();
        let mut gathered = [Scratch::default(), Scratch::default()];
        for block in range {
            // SAFETY: the plan leads to the elements of the layouts, and blocks have no line in
            // common.
            unsafe { lines.run(block, body, &mut scratch, &mut gathered) };
        }
        if lines.streams {
            fence();
        }
    });
}
