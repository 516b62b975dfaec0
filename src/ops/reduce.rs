//! Reductions along some axes or all: their common definition, shapes and folds.

use super::axis::dimensions;
use super::number::{Number, Wide};
use super::order::Ordered;
use crate::compute::reduce::{Fold, fold_half_floats, fold_with};
use crate::dtype::{DType, Element};
use crate::kernel::ArgumentError;
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::ElementType;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Op;
use crate::kernel::ShapeContext;
use crate::tensor::Tensor;
use crate::view::View;
use crate::view::ViewMut;
use half::{bf16, f16};

/// `name(x: T, *, axis: ints | None = None, keepdims: bool = False) -> out: T`.
pub(crate) fn reduction(name: &str, doc: &str) -> Op {
    reduction_to(name, doc, "T")
}

/// [`reduction`] to another element type.
pub(super) fn reduction_to(name: &str, doc: &str, result: impl Into<ElementType>) -> Op {
    Op::new(name)
        .doc(doc)
        .input("x", "T")
        .output("out", result)
        .attribute(
            "axis",
            AttributeKind::OptionalInts,
            Some(None::<Vec<i64>>.into()),
        )
        .attribute("keepdims", AttributeKind::Bool, Some(false.into()))
        .shapes(|question| Ok(vec![reduced(question)?]))
        .sizes("x[s...] -> out[reduce(s, axis, keepdims)]")
        .batches()
        .work(elements_of_x)
}

/// Returns the number of elements of `x`.
pub(super) fn elements_of_x(question: &ShapeContext<'_>) -> u64 {
    let sizes = question.shape("x").iter();
    sizes.map(|size| *size as u64).product()
}

/// Returns the shape that is left.
pub(crate) fn reduced(question: &ShapeContext<'_>) -> Result<Vec<usize>, Failure> {
    let shape = question.shape("x");
    let is_reduced = dimensions(shape.len(), question.optional_ints("axis"))?;
    Ok(left(shape, &is_reduced, question.attribute("keepdims")?))
}

/// Returns the sizes that aren't reduced, and 1 for those that are where they are kept.
pub(super) fn left(shape: &[usize], is_reduced: &[bool], keeps: bool) -> Vec<usize> {
    let dims = shape.iter().zip(is_reduced);
    let size = |(size, is_reduced): (&usize, &bool)| match is_reduced {
        false => Some(*size),
        true => keeps.then_some(1),
    };
    dims.filter_map(size).collect()
}

/// Returns an error if there are results, and no elements to choose them from.
pub(super) fn check_choice(shape: &[usize], left: &[usize], which: &str) -> Result<(), Failure> {
    if shape.contains(&0) && !left.contains(&0) {
        let reason = format!("x, of shape {shape:?}, has no {which} element");
        let error = ArgumentError::shape("x", shape, "elements along each axis");
        return Err(error.with_reason(reason).into());
    }
    Ok(())
}

/// Writes the reduction of `x` along some axes.
pub(super) fn reduce<T: Element, F: Fold<T>>(
    axes: Option<&[i64]>,
    x: View<'_, T>,
    out: ViewMut<'_, F::Result>,
    fold: F,
) -> Result<(), Failure>
where
    F::Result: Element,
{
    let is_reduced = dimensions(x.rank(), axes)?;
    fold_with(x, out, &is_reduced, fold, |total| fold.finish(total));
    Ok(())
}

/// The sum of the elements.
#[derive(Clone, Copy)]
pub(super) struct Sum;

/// An element type of which sums are made.
pub(super) trait Summed: Number {
    /// Writes what a function makes of the sums along the axes for which `is_reduced` holds.
    fn write_sums<R: Element>(
        x: View<'_, Self>,
        out: ViewMut<'_, R>,
        is_reduced: &[bool],
        finish: impl Fn(Self::Total) -> R + Sync,
    ) {
        fold_with(x, out, is_reduced, Sum, finish);
    }
}

macro_rules! summed {
    ($($ty:ident),*) => {
        $(impl Summed for $ty {})*
    };
}

summed!(i8, i16, i32, i64, u8, u16, u32, u64, bf16, f64);

impl Summed for f32 {
    fn write_sums<R: Element>(
        x: View<'_, Self>,
        out: ViewMut<'_, R>,
        is_reduced: &[bool],
        finish: impl Fn(f64) -> R + Sync,
    ) {
        if R::DTYPE == DType::F64 {
            fold_with(x, out, is_reduced, Sum, finish);
        } else {
            fold_with(x, out, is_reduced, SumOfWide, finish);
        }
    }
}

impl Summed for f16 {
    fn write_sums<R: Element>(
        x: View<'_, Self>,
        out: ViewMut<'_, R>,
        is_reduced: &[bool],
        finish: impl Fn(f64) -> R + Sync,
    ) {
        fold_half_floats(x, out, is_reduced, SumOfWide, finish);
    }
}

/// The sum of floats in short lanes of their own type, and a total of `f64`.
#[derive(Clone, Copy)]
struct SumOfWide;

/// The largest element, or NaN if there is one.
#[derive(Clone, Copy)]
pub(super) struct Max;

/// The smallest element, or NaN if there is one.
#[derive(Clone, Copy)]
pub(super) struct Min;

impl<T: Number> Fold<T> for Sum {
    type Lane = T::Lane;
    type Total = T::Total;
    type Result = T;

    #[inline(always)]
    fn empty_lane(self) -> Self::Lane {
        T::EMPTY_LANE
    }
    #[inline(always)]
    fn add(self, lane: Self::Lane, x: T) -> Self::Lane {
        T::add_to_lane(lane, x)
    }
    #[inline(always)]
    fn join(self, a: Self::Lane, b: Self::Lane) -> Self::Lane {
        T::join_lanes(a, b)
    }
    #[inline(always)]
    fn empty(self) -> Self::Total {
        T::EMPTY_TOTAL
    }
    #[inline(always)]
    fn add_lane(self, total: Self::Total, lane: Self::Lane) -> Self::Total {
        T::add_lane(total, lane)
    }
    #[inline(always)]
    fn combine(self, total: Self::Total, later: Self::Total) -> Self::Total {
        T::combine(total, later)
    }
    fn finish(self, total: Self::Total) -> Self::Result {
        T::from_total(total)
    }
}

impl<T: Wide> Fold<T> for SumOfWide {
    type Lane = T;
    type Total = f64;
    type Result = f64;

    const DEPTH: usize = 16;

    #[inline(always)]
    fn empty_lane(self) -> Self::Lane {
        T::from_f64(0.0)
    }
    #[inline(always)]
    fn add(self, lane: Self::Lane, x: T) -> Self::Lane {
        lane.add(x)
    }
    #[inline(always)]
    fn join(self, a: Self::Lane, b: Self::Lane) -> Self::Lane {
        a.add(b)
    }
    #[inline(always)]
    fn empty(self) -> Self::Total {
        0.0
    }
    #[inline(always)]
    fn add_lane(self, total: Self::Total, lane: Self::Lane) -> Self::Total {
        total + lane.into()
    }
    #[inline(always)]
    fn combine(self, total: Self::Total, later: Self::Total) -> Self::Total {
        total + later
    }
    fn finish(self, total: Self::Total) -> Self::Result {
        total
    }
}

macro_rules! extremes {
    ($($Fold:ident, $start:literal, $key:ident, $choose:ident, $from_key:ident;)*) => {$(
        impl<T: Ordered> Fold<T> for $Fold {
            type Lane = T::Key;
            type Total = T::Key;
            type Result = T;

            #[inline(always)]
            fn empty_lane(self) -> T::Key {
                T::ENDS[$start]
            }
            #[inline(always)]
            fn add(self, lane: T::Key, x: T) -> T::Key {
                T::$choose(lane, x.$key())
            }
            #[inline(always)]
            fn join(self, a: T::Key, b: T::Key) -> T::Key {
                T::$choose(a, b)
            }
            #[inline(always)]
            fn empty(self) -> T::Key {
                T::ENDS[$start]
            }
            #[inline(always)]
            fn add_lane(self, total: T::Key, lane: T::Key) -> T::Key {
                T::$choose(total, lane)
            }
            #[inline(always)]
            fn combine(self, total: T::Key, later: T::Key) -> T::Key {
                T::$choose(total, later)
            }
            #[inline(always)]
            fn finish(self, total: T::Key) -> T {
                T::$from_key(total)
            }
        }
    )*};
}

extremes! {
    Max, 0, key_for_max, larger, from_key_for_max;
    Min, 1, key_for_min, smaller, from_key_for_min;
}

/// Calls such an op.
pub(super) fn call<'a>(
    op: &'static GlobalOp,
    x: impl IntoOperand<'a>,
    axes: Option<&[i64]>,
    keepdims: bool,
) -> Result<Tensor, CallError> {
    let mut call = op.get()?.call().input(x);
    // Defaults are at hand, and given ones are put together for the call.
    if axes.is_some() {
        call = call.attribute("axis", axes);
    }
    if keepdims {
        call = call.attribute("keepdims", keepdims);
    }
    call.make()
}
