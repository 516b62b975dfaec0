//! [`Op`]: the definition of an operation, its name, parameters and rules, apart from its kernels.

mod check;
mod context;
mod parameter;
mod signature;

pub(super) use check::MOST_VARIABLES;
pub(super) use context::value_of;
pub use parameter::ElementType;
pub(super) use parameter::{AttributeDefinition, Kind, Parameter, Role};

use super::attribute::{Attribute, AttributeKind};
use super::error::Failure;
use super::operand::Operand;
#[cfg(feature = "python")]
use crate::dtype::DType;

/// The definition of an operation.
///
/// ```
/// use dlbridge::kernel::{AttributeKind, Op};
///
/// let op = Op::new("scale")
///     .doc("y = factor * x, in place.")
///     .input("factor", "T")
///     .in_out("x", "T")
///     .attribute("times", AttributeKind::Int, Some(1_i64.into()));
/// assert_eq!(op.signature(), "scale(factor: T, x: T, *, times: int = 1) -> x");
/// ```
#[derive(Clone)]
#[must_use = "an op is known after `Registry::define` or `register_op!`"]
pub struct Op {
    pub(super) name: String,
    pub(super) doc: String,
    pub(super) parameters: Vec<Parameter>,
    pub(super) attributes: Vec<AttributeDefinition>,
    /// The names of its type variables, in the order in which they came.
    pub(super) variables: Vec<String>,
    pub(super) broadcasts: bool,
    pub(super) shapes: Option<ShapeRule>,
    pub(super) work: Option<WorkRule>,
    /// Pairs of output and input that may share their memory.
    pub(super) in_place: Vec<(String, String)>,
}

/// Works out the outputs' shapes, in their order, and checks the inputs'.
pub type ShapeRule = fn(&ShapeContext<'_>) -> Result<Vec<Vec<usize>>, Failure>;

/// Estimates how much a call has to do, in elements that are touched.
pub type WorkRule = fn(&ShapeContext<'_>) -> u64;

/// Context of a call, for rules.
#[derive(Debug)]
pub struct ShapeContext<'a> {
    pub(super) op: &'a Op,
    pub(super) operands: &'a [Operand<'a>],
    pub(super) attributes: &'a [Attribute],
}

impl Op {
    /// Creates an op without inputs and outputs.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            doc: String::new(),
            parameters: Vec::new(),
            attributes: Vec::new(),
            variables: Vec::new(),
            broadcasts: false,
            shapes: None,
            work: None,
            in_place: Vec::new(),
        }
    }

    /// Sets the documentation, a sentence or more.
    pub fn doc(mut self, doc: impl Into<String>) -> Self {
        self.doc = doc.into();
        self
    }

    /// Adds a tensor that is read.
    pub fn input(self, name: impl Into<String>, kind: impl Into<ElementType>) -> Self {
        self.parameter(name.into(), Role::Input, kind.into())
    }

    /// Adds a tensor that is read and written.
    pub fn in_out(self, name: impl Into<String>, kind: impl Into<ElementType>) -> Self {
        self.parameter(name.into(), Role::InOut, kind.into())
    }

    /// Adds a result. All inputs come first.
    pub fn output(self, name: impl Into<String>, kind: impl Into<ElementType>) -> Self {
        self.parameter(name.into(), Role::Output, kind.into())
    }

    fn parameter(mut self, name: String, role: Role, kind: ElementType) -> Self {
        let kind = match kind {
            ElementType::Any => Kind::Any,
            ElementType::Is(dtype) => Kind::Is(dtype),
            ElementType::Attribute(name) => Kind::Attribute(name),
            ElementType::Variable(name) => {
                let known = self.variables.iter().position(|known| *known == name);
                Kind::Variable(known.unwrap_or_else(|| {
                    self.variables.push(name);
                    self.variables.len() - 1
                }))
            }
        };
        self.parameters.push(Parameter { name, role, kind });
        self
    }

    /// Adds an attribute; one without a default must be given in each call.
    pub fn attribute(
        mut self,
        name: impl Into<String>,
        kind: AttributeKind,
        default: Option<Attribute>,
    ) -> Self {
        let name = name.into();
        self.attributes.push(AttributeDefinition {
            name,
            kind,
            default,
        });
        self
    }

    /// Broadcasts the inputs against each other, as NumPy does, to the outputs' shape.
    pub fn broadcasts(mut self) -> Self {
        self.broadcasts = true;
        self
    }

    /// Sets the rule for the outputs' shapes. Without one they are that of the first
    /// input.
    pub fn shapes(mut self, rule: ShapeRule) -> Self {
        self.shapes = Some(rule);
        self
    }

    /// Sets the amount of work of a call, which decides whether the GIL is released.
    /// Without a rule it is the number of elements of the largest argument.
    pub fn work(mut self, rule: WorkRule) -> Self {
        self.work = Some(rule);
        self
    }

    /// Allows an output in exactly the memory of an input, for kernels that take
    /// [`Source`](super::Source) and [`Target`](super::Target).
    pub fn in_place(mut self, output: impl Into<String>, input: impl Into<String>) -> Self {
        self.in_place.push((output.into(), input.into()));
        self
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the documentation.
    pub fn documentation(&self) -> &str {
        &self.doc
    }

    /// Returns the inputs and outputs, in order: name, and whether it is read and written.
    pub fn parameters(&self) -> impl Iterator<Item = (&str, bool, bool)> {
        self.parameters.iter().map(|parameter| {
            let (reads, writes) = match parameter.role {
                Role::Input => (true, false),
                Role::InOut => (true, true),
                Role::Output => (false, true),
            };
            (parameter.name.as_str(), reads, writes)
        })
    }

    /// Returns the attributes, in order: name, kind, and default.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, AttributeKind, Option<&Attribute>)> {
        self.attributes.iter().map(|attribute| {
            (
                attribute.name.as_str(),
                attribute.kind,
                attribute.default.as_ref(),
            )
        })
    }

    /// Returns the signature, as in `add(a: T, b: T) -> out: T`.
    pub fn signature(&self) -> String {
        self.to_string()
    }

    /// Returns how many parameters are given by every call: inputs, and those that are read and
    /// written.
    pub(crate) fn given(&self) -> usize {
        let is_given = |parameter: &&Parameter| parameter.role != Role::Output;
        self.parameters.iter().take_while(is_given).count()
    }

    /// Returns whether a parameter is written.
    #[inline]
    pub(crate) fn writes(&self, at: usize) -> bool {
        self.parameters[at].role != Role::Input
    }

    /// Returns the dtype of a parameter, if it is fixed.
    #[cfg(feature = "python")]
    pub(crate) fn fixed_type(&self, at: usize) -> Option<DType> {
        match self.parameters[at].kind {
            Kind::Is(dtype) => Some(dtype),
            _ => None,
        }
    }

    /// Returns whether two parameters have the same type variable.
    #[cfg(feature = "python")]
    pub(crate) fn has_type_of(&self, at: usize, other: usize) -> bool {
        matches!(self.parameters[at].kind, Kind::Variable(_))
            && self.parameters[at].kind == self.parameters[other].kind
    }

    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.parameters.iter().position(|known| known.name == name)
    }

    pub(super) fn may_be_in_place(&self, output: usize, input: usize) -> bool {
        let name = |at: usize| &self.parameters[at].name;
        self.in_place
            .iter()
            .any(|(o, i)| o == name(output) && i == name(input))
    }
}
