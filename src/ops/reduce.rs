//! Reductions along some axes or all: their common definition, shapes and CPU loop.

use super::axis::dimensions;
use crate::dtype::Element;
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Op;
use crate::kernel::ShapeContext;
use crate::tensor::Tensor;
use crate::view::View;
use crate::view::ViewMut;

/// `name(x: T, *, axis: ints | None = None, keepdims: bool = False) -> out: T`.
pub(crate) fn reduction(name: &str, doc: &str) -> Op {
    Op::new(name)
        .doc(doc)
        .input("x", "T")
        .output("out", "T")
        .attribute(
            "axis",
            AttributeKind::OptionalInts,
            Some(None::<Vec<i64>>.into()),
        )
        .attribute("keepdims", AttributeKind::Bool, Some(false.into()))
        .shapes(|question| Ok(vec![reduced(question)?]))
        .work(|question| {
            let sizes = question.shape("x").iter();
            sizes.map(|size| *size as u64).product()
        })
}

/// Returns the shape that is left.
pub(crate) fn reduced(question: &ShapeContext<'_>) -> Result<Vec<usize>, Failure> {
    let shape = question.shape("x");
    let axes: Option<Vec<i64>> = question.attribute("axis")?;
    let is_reduced = dimensions(shape.len(), axes.as_deref())?;
    let keeps: bool = question.attribute("keepdims")?;
    let dims = shape.iter().zip(is_reduced);
    let size = |(size, is_reduced): (&usize, bool)| match is_reduced {
        false => Some(*size),
        true => keeps.then_some(1),
    };
    Ok(dims.filter_map(size).collect())
}

/// Adds each element to what was made of those before it that lead to the same result.
pub(super) fn reduce<T: Element, S: Copy>(
    axes: Option<&[i64]>,
    x: View<'_, T>,
    mut out: ViewMut<'_, T>,
    start: S,
    add: impl Fn(S, T) -> S,
    finish: impl Fn(S) -> T,
) -> Result<(), Failure> {
    let is_reduced = dimensions(x.rank(), axes)?;
    // Which result an element is part of: steps along the dimensions that stay.
    let mut steps = vec![0; x.rank()];
    let mut count = 1;
    for axis in (0..x.rank()).rev() {
        if !is_reduced[axis] {
            steps[axis] = count;
            count *= x.shape()[axis];
        }
    }
    let mut made = vec![start; out.len()];
    let mut index = vec![0; x.rank()];
    let mut place = 0;
    for element in &x {
        made[place] = add(made[place], *element);
        for axis in (0..x.rank()).rev() {
            index[axis] += 1;
            place += steps[axis];
            if index[axis] < x.shape()[axis] {
                break;
            }
            place -= index[axis] * steps[axis];
            index[axis] = 0;
        }
    }
    for (out, made) in out.iter_mut().zip(made) {
        *out = finish(made);
    }
    Ok(())
}

/// Calls such an op.
pub(super) fn call<'a>(
    op: &'static GlobalOp,
    x: impl IntoOperand<'a>,
    axes: Option<&[i64]>,
    keepdims: bool,
) -> Result<Tensor, CallError> {
    let call = op.get()?.call().input(x);
    call.attribute("axis", axes)
        .attribute("keepdims", keepdims)
        .make()
}
