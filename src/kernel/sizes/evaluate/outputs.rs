//! Shapes of outputs, from the values of a size rule's names.

use super::super::{SizeExpression, SizeItem, axis_in};
use super::{Bindings, Call, PartialShape};
use crate::kernel::argument_error::ArgumentError;
use crate::kernel::attribute::Attribute;
use crate::kernel::error::Failure;
use std::fmt;

impl Bindings<'_> {
    /// Returns the shape of an output.
    pub(super) fn shape(
        &self,
        call: &Call<'_>,
        items: &[SizeItem],
    ) -> Result<PartialShape, Failure> {
        let mut shape = Vec::new();
        for item in items {
            let several = match item {
                SizeItem::Batch => self.batch.clone(),
                SizeItem::Spread(name) => self.spreads[name.as_str()].clone(),
                SizeItem::Reduced {
                    spread,
                    axis,
                    keepdims,
                } => match &self.spreads[spread.as_str()] {
                    Some(sizes) => Some(reduced(call, sizes, axis, keepdims.as_deref())?),
                    None => None,
                },
                SizeItem::Axis { size, .. } => Some(vec![self.sizes[size.as_str()]]),
                SizeItem::Size(size) => Some(vec![self.size(call, size)?]),
            };
            let Some(several) = several else {
                return Ok(None);
            };
            shape.extend(several);
        }
        Ok(Some(shape))
    }

    /// Returns the value of an expression, if it is known.
    pub(super) fn size(
        &self,
        call: &Call<'_>,
        size: &SizeExpression,
    ) -> Result<Option<usize>, Failure> {
        Ok(match size {
            SizeExpression::Number(number) => Some(*number),
            SizeExpression::Name(name) => self.sizes[name.as_str()],
            SizeExpression::Sum(name) => self.sums[name.as_str()],
            SizeExpression::Attribute(name) => {
                let Attribute::Int(value) = call.attribute(name) else {
                    unreachable!("sizes are of kind Int");
                };
                let size = usize::try_from(*value);
                Some(size.map_err(|_| ArgumentError::value(name, value.to_string(), "0 or more"))?)
            }
            SizeExpression::Joined(mark, left, right) => {
                let (left, right) = (self.size(call, left)?, self.size(call, right)?);
                let Some((left, right)) = left.zip(right) else {
                    return Ok(None);
                };
                let joined = match mark {
                    '+' => left.checked_add(right),
                    '-' => left.checked_sub(right),
                    '*' => left.checked_mul(right),
                    _ => left.checked_div(right),
                };
                Some(joined.ok_or_else(|| format!("there is no size {left} {mark} {right}"))?)
            }
        })
    }
}

/// Returns the sizes without some axes, or with 1 in their places.
fn reduced(
    call: &Call<'_>,
    sizes: &[Option<usize>],
    axis: &str,
    keepdims: Option<&str>,
) -> Result<Vec<Option<usize>>, Failure> {
    let axes = match call.attribute(axis) {
        Attribute::Int(axis) | Attribute::OptionalInt(Some(axis)) => Some(vec![*axis]),
        Attribute::Ints(axes) | Attribute::OptionalInts(Some(axes)) => Some(axes.clone()),
        _ => None,
    };
    let mut is_reduced = vec![axes.is_none(); sizes.len()];
    for axis in axes.unwrap_or_default() {
        let is_reduced = &mut is_reduced[axis_in(sizes.len(), axis)?];
        if std::mem::replace(is_reduced, true) {
            let error = ArgumentError::value("axis", axis.to_string(), "axes that differ");
            let reason = format!("axis {axis} is given twice");
            return Err(error.with_reason(reason).into());
        }
    }
    let keeps = keepdims.is_some_and(|name| *call.attribute(name) == Attribute::Bool(true));
    let left = sizes.iter().zip(is_reduced);
    let left = left.filter_map(|(size, is_reduced)| match (is_reduced, keeps) {
        (false, _) => Some(*size),
        (true, true) => Some(Some(1)),
        (true, false) => None,
    });
    Ok(left.collect())
}

impl fmt::Display for SizeItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Batch => f.write_str("..."),
            Self::Spread(name) => write!(f, "{name}..."),
            Self::Axis { size, attribute } => write!(f, "{size}@{attribute}"),
            Self::Reduced {
                spread,
                axis,
                keepdims: Some(keepdims),
            } => write!(f, "reduce({spread}, {axis}, {keepdims})"),
            Self::Reduced { spread, axis, .. } => write!(f, "reduce({spread}, {axis})"),
            Self::Size(size) => size.fmt(f),
        }
    }
}

impl fmt::Display for SizeExpression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Name(name) | Self::Attribute(name) => f.write_str(name),
            Self::Sum(name) => write!(f, "sum({name})"),
            Self::Joined(mark, left, right) => write!(f, "({left} {mark} {right})"),
        }
    }
}
