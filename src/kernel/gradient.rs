//! [`Gradient`]: the gradient of an op's input, as calls of other ops.
//!
//! It is written as text, such as `multiply(dout, b)`, and parsed when the op is defined. Names are
//! inputs, outputs and the outputs' gradients, `d` and the output's name; keyword arguments have
//! attributes, literals, or `dtype(x)`. Whether the ops that it calls exist is known once all are
//! registered.
//!
//! ```text
//! gradient  = value { "|" value }
//! value     = tensor [ "if" name "else" value ]
//! tensor    = "0" | name | op "(" [ value { "," value } ] { "," name "=" literal } ")"
//! literal   = attribute | number | "True" | "False" | "None" | quoted text | "dtype(" name ")"
//! ```
//!
//! Several values, between `|`, are for the alternatives of the op's size rule, in their order.
//! `a if weight else b` is `a` in calls that have the optional input `weight`, and `b` in others.

mod parse;

use super::attribute::Attribute;

/// How the gradient of an input is calculated from the gradients of the outputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Gradient {
    /// The input, by its place among the op's parameters.
    pub input: usize,
    /// The gradient; one for each alternative of the size rule, or one for all.
    pub values: Vec<GradientValue>,
}

/// A tensor in a [`Gradient`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum GradientValue {
    /// `0`: the op's outputs don't depend on the input.
    Zero,
    /// An input or an output of the op, by its place among the parameters.
    Argument(usize),
    /// The gradient of an output, by its place among the parameters. For an input that the op
    /// writes it is the gradient of its new value.
    OutputGradient(usize),
    /// The result of an op.
    Call {
        /// The op.
        op: String,
        /// Its inputs. An optional input that the call left out is left out here, too.
        inputs: Vec<GradientValue>,
        /// Its attributes.
        attributes: Vec<(String, GradientAttribute)>,
    },
    /// One of two, by whether the call has an optional input.
    Choice {
        /// The optional input, by its place among the parameters.
        input: usize,
        /// The gradient where the call has it.
        given: Box<GradientValue>,
        /// The gradient where the call leaves it out.
        otherwise: Box<GradientValue>,
    },
}

/// The value of an attribute in a [`Gradient`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum GradientAttribute {
    /// That of an attribute of the op.
    Same(String),
    /// This one.
    Is(Attribute),
    /// The dtype of an input or output, by its place among the parameters.
    DTypeOf(usize),
}

impl Gradient {
    /// Returns the names of the ops that it calls.
    pub fn ops(&self) -> Vec<&str> {
        let mut names = Vec::new();
        self.values
            .iter()
            .for_each(|value| value.add_ops(&mut names));
        names
    }
}

impl GradientValue {
    fn add_ops<'a>(&'a self, names: &mut Vec<&'a str>) {
        match self {
            Self::Call { op, inputs, .. } => {
                names.push(op);
                inputs.iter().for_each(|input| input.add_ops(names));
            }
            Self::Choice {
                given, otherwise, ..
            } => {
                given.add_ops(names);
                otherwise.add_ops(names);
            }
            Self::Zero | Self::Argument(_) | Self::OutputGradient(_) => {}
        }
    }
}
