//! `sum`: elements are added up along some dimensions, or all.

use super::number::Number;
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::Construction;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::Op;
use crate::tensor::Tensor;
use crate::view::View;
use crate::view::ViewMut;
use half::{bf16, f16};

register_op!(
    Op::new("sum")
        .doc("The sum of the elements along some axes; along all, where none is given.")
        .input("x", "T")
        .output("out", "T")
        .attribute("axis", AttributeKind::Ints, Some(Vec::<i64>::new().into()))
        .attribute("keepdims", AttributeKind::Bool, Some(false.into()))
        .shapes(|question| {
            let shape = question.shape("x");
            let is_summed = summed(shape.len(), &question.attribute::<Vec<i64>>("axis")?)?;
            let keeps: bool = question.attribute("keepdims")?;
            let dims = shape.iter().zip(is_summed);
            let size = |(size, is_summed): (&usize, bool)| match is_summed {
                false => Some(*size),
                true => keeps.then_some(1),
            };
            Ok(vec![dims.filter_map(size).collect()])
        })
        .work(|question| question
            .shape("x")
            .iter()
            .map(|size| *size as u64)
            .product())
);
register_kernel!(
    for T in [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] =>
    Kernel::of("sum").releases_gil_from(1 << 16).factory(|context: &Construction<'_>| {
        let axes = context.attribute::<Vec<i64>>("axis")?;
        Ok(move |x: View<'_, T>, out: ViewMut<'_, T>| kernel(&axes, x, out))
    })
);

/// Which dimensions are summed, of as many as the rank says.
fn summed(rank: usize, axes: &[i64]) -> Result<Vec<bool>, Failure> {
    if axes.is_empty() {
        return Ok(vec![true; rank]);
    }
    let mut is_summed = vec![false; rank];
    for axis in axes {
        let from_start = if *axis < 0 {
            *axis + rank as i64
        } else {
            *axis
        };
        let place = usize::try_from(from_start).ok();
        match place.and_then(|place| is_summed.get_mut(place)) {
            Some(is_summed) if !*is_summed => *is_summed = true,
            Some(_) => return Err(format!("axis {axis} is given twice").into()),
            None => {
                return Err(format!("there is no axis {axis} in a tensor of rank {rank}").into());
            }
        }
    }
    Ok(is_summed)
}

fn kernel<T: Number>(axes: &[i64], x: View<'_, T>, mut out: ViewMut<'_, T>) -> Result<(), Failure> {
    let is_summed = summed(x.rank(), axes)?;
    // Which sum an element is part of: steps along the dimensions that stay.
    let mut steps = vec![0; x.rank()];
    let mut count = 1;
    for axis in (0..x.rank()).rev() {
        if !is_summed[axis] {
            steps[axis] = count;
            count *= x.shape()[axis];
        }
    }
    let mut sums = vec![T::NOTHING; out.len()];
    let mut index = vec![0; x.rank()];
    let mut place = 0;
    for element in &x {
        sums[place] = T::add_one(sums[place], *element);
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
    for (out, sum) in out.iter_mut().zip(sums) {
        *out = T::from_sum(sum);
    }
    Ok(())
}

/// The sum of the elements along some axes; along all, where none is given.
///
/// # Errors
///
/// When there is no such axis.
pub fn sum<'a>(x: impl IntoOperand<'a>, axes: &[i64], keepdims: bool) -> Result<Tensor, CallError> {
    static SUM: GlobalOp = GlobalOp::new("sum");
    let call = SUM.get()?.call().input(x);
    call.attribute("axis", axes)
        .attribute("keepdims", keepdims)
        .make()
}
