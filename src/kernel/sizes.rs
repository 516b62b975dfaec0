//! [`SizeRule`]: sizes of an op's tensors as data, which also holds where sizes are unknown.
//!
//! A rule is written as text, such as `x[n, k], y[k, m] -> z[n, m]`, and parsed when the op is
//! defined. The same data serves calls, whose sizes are numbers, and compilers of frameworks, for
//! which some are unknown or symbols.
//!
//! ```text
//! rule        = alternative { "|" alternative }
//! alternative = [ tensors ] [ "->" [ tensors ] ]
//! tensors     = name "[" [ item { "," item } ] "]" { "," ... }
//! item        = "..." | name "..." | name "@" attribute | reduction | size
//! reduction   = "reduce(" name, axis [, keepdims] ")"
//! size        = numbers, names, "sum(" name ")", joined by + - * / and parentheses
//! ```

mod evaluate;
mod implied;
mod parse;

use super::argument_error::ArgumentError;
use super::attribute::AttributeKind;
use super::error::Failure;

pub use evaluate::PartialShape;
pub(super) use evaluate::SizedInput;

/// The sizes of an op's inputs and outputs, in terms of each other and of attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeRule {
    /// A call follows the first of them that has the ranks of its inputs.
    pub alternatives: Vec<SizeAlternative>,
}

/// One way in which the sizes of a call can be related.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeAlternative {
    /// The input by its place among the op's parameters, and its dimensions. Inputs that aren't
    /// listed may have any shape.
    pub inputs: Vec<(usize, Vec<SizeItem>)>,
    /// The dimensions of each output.
    pub outputs: Vec<Vec<SizeItem>>,
}

/// One or several dimensions in a [`SizeRule`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SizeItem {
    /// `...`: any number of dimensions, broadcast against those of the other inputs.
    Batch,
    /// `name...`: any number of dimensions, which are the same wherever the name is.
    Spread(String),
    /// `name@attribute`: the dimension that an attribute of kind `Int` names, counted from the end
    /// if it is negative.
    Axis {
        /// The name of its size.
        size: String,
        /// The attribute.
        attribute: String,
    },
    /// `reduce(name, axis, keepdims)`: the dimensions of a spread without those that an attribute
    /// names, or with 1 in their places.
    Reduced {
        /// The spread's name.
        spread: String,
        /// The attribute with the axes; all of them if its value is `None`.
        axis: String,
        /// The attribute that says whether they stay, with size 1.
        keepdims: Option<String>,
    },
    /// One dimension.
    Size(SizeExpression),
}

/// The size of a dimension in a [`SizeRule`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SizeExpression {
    /// A number.
    Number(usize),
    /// A size with a name.
    Name(String),
    /// The value of an attribute of kind `Int`.
    Attribute(String),
    /// `sum(name)`: the sum of the sizes of this name in all tensors of a variadic input.
    Sum(String),
    /// Two sizes joined by `+`, `-`, `*` or `/`, which rounds down.
    Joined(char, Box<SizeExpression>, Box<SizeExpression>),
}

impl SizeExpression {
    /// Calls a function with each size's name in the expression; the second argument says whether
    /// it is in a sum.
    fn for_each_name(&self, found: &mut impl FnMut(&str, bool)) {
        match self {
            Self::Number(_) | Self::Attribute(_) => {}
            Self::Name(name) => found(name, false),
            Self::Sum(name) => found(name, true),
            Self::Joined(_, left, right) => {
                left.for_each_name(found);
                right.for_each_name(found);
            }
        }
    }
}

/// Returns whether an attribute of this kind can name an axis, or several.
fn names_axes(kind: AttributeKind) -> bool {
    matches!(
        kind,
        AttributeKind::Int
            | AttributeKind::Ints
            | AttributeKind::OptionalInt
            | AttributeKind::OptionalInts
    )
}

/// Returns the dimension that an axis names, counted from the end if it is negative.
fn axis_in(rank: usize, axis: i64) -> Result<usize, Failure> {
    let from_start = if axis < 0 { axis + rank as i64 } else { axis };
    let dimension = usize::try_from(from_start).ok();
    dimension
        .filter(|dimension| *dimension < rank)
        .ok_or_else(|| ArgumentError::axis(axis, rank).into())
}
