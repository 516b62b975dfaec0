//! `topk`: the largest or smallest elements along an axis, and their indices.

use super::axis::dimension;
use crate::compute::select::{Ranked, Selection, select};
use crate::compute::threads::for_each_range;
use crate::dtype::{DType, Element};
use crate::kernel::ArgumentError;
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::kernel::Op;
use crate::layout::LayoutRef;
use crate::tensor::Tensor;
use crate::view::View;
use crate::view::ViewMut;
use half::{bf16, f16};
use std::borrow::Cow;
use std::slice;

/// The least number of elements that are worth a thread.
const GRAIN: usize = 1 << 13;

register_op!(
    Op::new("topk")
        .doc(
            "The k largest elements along an axis, or the smallest, and their indices: the best first, or in any \
             order unless sorted. Of equal elements those of lower indices come first. NaN counts as larger than \
             all numbers."
        )
        .input("x", "T")
        .output("values", "T")
        .output("indices", DType::I64)
        .attribute("k", AttributeKind::Int, None)
        .attribute("axis", AttributeKind::Int, Some((-1_i64).into()))
        .attribute("largest", AttributeKind::Bool, Some(true.into()))
        .attribute("sorted", AttributeKind::Bool, Some(true.into()))
        .shapes(|question| {
            let mut shape = question.shape("x").to_vec();
            let axis = dimension(shape.len(), question.attribute("axis")?)?;
            let (k, size) = (question.attribute::<usize>("k")?, shape[axis]);
            if k > size {
                let error = ArgumentError::value("k", k.to_string(), &format!("0 to {size}"));
                let reason = format!("k is {k}, and axis {axis} has size {size}");
                return Err(error.with_reason(reason).into());
            }
            shape[axis] = k;
            Ok(vec![shape.clone(), shape])
        })
        .sizes("x[p..., n@axis, q...] -> values[p..., k, q...], indices[p..., k, q...]")
        .batches()
);
register_kernel!(
    for T in [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] =>
    Kernel::new("topk")
        .fills_results()
        .releases_gil_from(1 << 14)
        .factory(|context: &KernelContext<'_>| {
        let axis = context.attribute("axis")?;
        let of = Selection {
            count: context.attribute("k")?,
            largest: context.attribute("largest")?,
            sorted: context.attribute("sorted")?,
        };
        Ok(move |x: View<'_, T>, values: ViewMut<'_, T>, indices: ViewMut<'_, i64>| {
            topk_of_lines(axis, of, &x, values, indices)
        })
    })
);

/// Where lines of a tensor begin, and the distance of their elements, in elements.
struct Lines<'a, T> {
    first: *mut T,
    layout: LayoutRef<'a>,
    axis: usize,
}

// SAFETY: addresses are numbers to threads; `topk_of_lines` gives each of them lines of its own.
unsafe impl<T: Send> Send for Lines<'_, T> {}
// SAFETY: shared references give nothing but the numbers.
unsafe impl<T: Sync> Sync for Lines<'_, T> {}

impl<T> Lines<'_, T> {
    fn stride(&self) -> isize {
        self.layout.strides()[self.axis]
    }

    /// Returns the address of a line's first element. The last dimension changes fastest.
    fn begin(&self, mut line: usize) -> *mut T {
        let mut offset = 0;
        let dims = self.layout.shape().iter().zip(self.layout.strides());
        for (_, (size, stride)) in dims.enumerate().rev().filter(|(at, _)| *at != self.axis) {
            offset += (line % size) as isize * stride;
            line /= size;
        }
        self.first.wrapping_offset(offset)
    }
}

fn topk_of_lines<T: Ranked + Element>(
    axis: i64,
    of: Selection,
    x: &View<'_, T>,
    values: ViewMut<'_, T>,
    indices: ViewMut<'_, i64>,
) -> Result<(), Failure> {
    if values.is_empty() {
        return Ok(());
    }
    let axis = dimension(x.rank(), axis)?;
    let size = x.shape()[axis];
    let lines = |first, layout| Lines {
        first,
        layout,
        axis,
    };
    let from = lines(x.as_ptr().cast_mut(), x.layout());
    let to = lines(values.as_ptr().cast_mut(), values.layout());
    let places = Lines {
        first: indices.as_ptr().cast_mut(),
        layout: indices.layout(),
        axis,
    };
    for_each_range(x.len() / size, GRAIN.div_ceil(size), |range| {
        let (from, to, places) = (&from, &to, &places);
        let mut kept = Vec::new();
        for line in range {
            let begin = from.begin(line).cast_const();
            let elements = if from.stride() == 1 || size == 1 {
                // SAFETY: the view leads to elements, which are side by side.
                Cow::Borrowed(unsafe { slice::from_raw_parts(begin, size) })
            } else {
                // SAFETY: the view leads to elements.
                let element = |at| unsafe { *begin.offset(at as isize * from.stride()) };
                (0..size).map(element).collect::<Vec<_>>().into()
            };
            select(&elements, of, &mut kept);
            let (mut to_begin, mut place) = (to.begin(line), places.begin(line));
            for candidate in &kept {
                let at = T::place_of(*candidate);
                // SAFETY: the op's rule gives the results `count` elements on each line, which no
                // other thread writes; both are views to be written.
                unsafe {
                    to_begin.write(elements[at]);
                    place.write(at as i64);
                }
                to_begin = to_begin.wrapping_offset(to.stride());
                place = place.wrapping_offset(places.stride());
            }
        }
    });
    Ok(())
}

/// Returns the `k` largest elements along an axis, and their indices, the largest first. Of equal
/// elements those of lower indices come first, and NaN counts as larger than all numbers.
///
/// The op has attributes for the smallest ones, and for no order.
///
/// ```
/// use dlbridge::{Tensor, ops};
///
/// let scores = Tensor::from([0.1_f32, 0.7, 0.2, 0.7]);
/// let (values, indices) = ops::topk(&scores, 3, -1)?;
/// assert_eq!(values.to_vec::<f32>()?, [0.7, 0.7, 0.2]);
/// assert_eq!(indices.to_vec::<i64>()?, [1, 3, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// When there is no such axis, it has fewer elements, or they aren't numbers.
pub fn topk<'a>(
    x: impl IntoOperand<'a>,
    k: usize,
    axis: i64,
) -> Result<(Tensor, Tensor), CallError> {
    static TOPK: GlobalOp = GlobalOp::new("topk");
    let call = TOPK.get()?.call().input(x).attribute("k", k as i64);
    let mut results = call.attribute("axis", axis).run()?;
    let indices = results.pop().expect("the op has two results");
    let values = results.pop().expect("the op has two results");
    Ok((values, indices))
}
