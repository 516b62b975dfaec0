//! Shapes of results, and broadcasting of inputs.

use super::attribute::Attribute;
use super::error::{Failure, Reason};
use super::op::{Op, Role, ShapeContext, Shapes};
use super::operand::Operand;
use crate::layout::{Layout, slice_eq};
use smallvec::SmallVec;

/// The shapes of the results.
pub(super) enum Expected {
    /// All have that of the first input.
    First,
    /// All have this one, to which inputs are broadcast.
    Broadcast(SmallVec<[usize; 8]>),
    /// As the op's rule says.
    Ruled(Vec<Vec<usize>>),
}

impl Expected {
    /// Returns the shape of a result, by its number.
    #[inline]
    pub(super) fn shape_of<'a>(
        &'a self,
        output: usize,
        operands: &'a [Operand<'_>],
    ) -> &'a [usize] {
        match self {
            Self::First => operands[0].shape(),
            Self::Broadcast(shape) => shape,
            Self::Ruled(shapes) => &shapes[output],
        }
    }
}

/// Computes the results' shapes, and checks those of the inputs.
#[inline]
pub(super) fn expected(
    op: &Op,
    own: &[Operand<'_>],
    more: &[Operand<'_>],
    attributes: &[Attribute],
) -> Result<Expected, Reason> {
    if let Some(rule) = op.shapes {
        let context = ShapeContext {
            op,
            operands: own,
            more,
            attributes,
        };
        let invalid = |failure: Failure| Reason::Invalid(failure.to_string());
        let refused = |failure| Reason::refused(failure, invalid);
        let rule = match rule {
            Shapes::Kept(check) => {
                return check(&context).map(|()| Expected::First).map_err(refused);
            }
            Shapes::Ruled(rule) => rule,
        };
        let shapes = rule(&context).map_err(refused)?;
        let (found, wanted) = (shapes.len(), op.parameters.len() - op.given());
        if found != wanted {
            return Err(Reason::Invalid(format!(
                "the rule of shapes gives {found}, which is not {wanted}, one for each output"
            )));
        }
        return Ok(Expected::Ruled(shapes));
    }
    if op.sizes.is_some() {
        let shapes = op.evaluate_sizes(own, more, attributes);
        let invalid = |failure: Failure| Reason::Invalid(failure.to_string());
        return shapes
            .map(Expected::Ruled)
            .map_err(|failure| Reason::refused(failure, invalid));
    }
    let is_same =
        |operand: &Operand<'_>| slice_eq(operand.shape(), own[0].shape()) || operand.is_absent();
    if !op.broadcasts || own.iter().skip(1).all(is_same) && more.iter().all(is_same) {
        return Ok(Expected::First);
    }
    common(op, own, more).map(Expected::Broadcast)
}

/// Returns the shape that all inputs can be broadcast to.
#[cold]
fn common(
    op: &Op,
    own: &[Operand<'_>],
    more: &[Operand<'_>],
) -> Result<SmallVec<[usize; 8]>, Reason> {
    let inputs = || op.inputs_given(own, more);
    let rank = inputs().map(|(_, operand)| operand.shape().len()).max();
    let mut shape = SmallVec::<[usize; 8]>::from_elem(1, rank.unwrap_or(0));
    for (at, operand) in inputs() {
        let new = shape.len() - operand.shape().len();
        for (to, size) in shape[new..].iter_mut().zip(operand.shape()) {
            match (*to, *size) {
                (to, size) if to == size => {}
                (1, size) => *to = size,
                (_, 1) => {}
                _ => {
                    let mut others: Vec<_> = inputs()
                        .take_while(|(other, _)| *other != at)
                        .map(|(_, other)| other.shape())
                        .collect();
                    // One of many says enough.
                    others.dedup();
                    let wanted = format!("a shape that broadcasts with {others:?}");
                    let why = format!("it can't be broadcast with {others:?}");
                    let name = op.argument_name(at);
                    return Err(Reason::shape(&name, operand.shape(), wanted, &why));
                }
            }
        }
    }
    Ok(shape)
}

/// Returns the layouts of those inputs that are smaller, under the larger shape.
#[cold]
pub(super) fn broadcast(
    op: &Op,
    own: &[Operand<'_>],
    more: &[Operand<'_>],
    shape: &[usize],
) -> Result<Vec<(usize, Layout)>, Reason> {
    let mut layouts = Vec::new();
    for (at, operand) in op.inputs_given(own, more) {
        if operand.shape() == shape {
            continue;
        }
        let parameter = &op.parameters[op.parameter_of(at)];
        if parameter.role == Role::InOut {
            let wanted = format!("{shape:?}");
            let why = format!("it is written, and can't be broadcast to {shape:?}");
            return Err(Reason::shape(
                &parameter.name,
                operand.shape(),
                wanted,
                &why,
            ));
        }
        let layout = Layout::strided(operand.shape(), operand.layout.strides());
        let layout = layout.and_then(|layout| layout.broadcast_to(shape));
        let layout = layout.map_err(|error| Reason::Tensor {
            argument: op.argument_name(at).into_owned(),
            error: error.into(),
        })?;
        layouts.push((at, layout));
    }
    Ok(layouts)
}
