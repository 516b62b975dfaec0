//! [`Op`]: what an operation is called, takes and gives; its kernels are apart.

use super::attribute::{Attribute, AttributeKind, AttributeValue};
use super::error::{Failure, RegistrationError};
use super::operand::Operand;
use crate::dtype::DType;
use std::fmt;

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
    /// Which output may be exactly where which input is.
    pub(super) in_place: Vec<(String, String)>,
}

/// Works out the outputs' shapes, in their order, and checks the inputs'.
pub type ShapeRule = fn(&Question<'_>) -> Result<Vec<Vec<usize>>, Failure>;

/// Estimates how much a call has to do, in elements that are touched.
pub type WorkRule = fn(&Question<'_>) -> u64;

/// A tensor that an op takes or gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) kind: Kind,
}

/// What is done with a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Input,
    /// Read and written.
    InOut,
    Output,
}

/// Which element types a parameter has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    Any,
    Is(DType),
    /// The type variable of this number.
    Variable(usize),
    /// What the attribute of this name says.
    Attribute(String),
}

/// A parameter's element type in an op's definition: a type variable, by its name; the type itself;
/// or [`ElementType::Any`].
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ElementType {
    /// Any, and another one for each parameter.
    Any,
    /// This one.
    Is(DType),
    /// The one that all parameters of this variable have.
    Variable(String),
    /// The one that an attribute of kind [`AttributeKind::DType`] says; for outputs.
    Attribute(String),
}

impl From<&str> for ElementType {
    fn from(variable: &str) -> Self {
        Self::Variable(variable.to_owned())
    }
}

impl From<DType> for ElementType {
    fn from(dtype: DType) -> Self {
        Self::Is(dtype)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct AttributeDefinition {
    pub(super) name: String,
    pub(super) kind: AttributeKind,
    pub(super) default: Option<Attribute>,
}

impl Op {
    /// An op that takes and gives nothing yet.
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

    /// What it does, in a sentence or more.
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

    /// Has its inputs broadcast against each other, as NumPy does it; that is the outputs' shape.
    pub fn broadcasts(mut self) -> Self {
        self.broadcasts = true;
        self
    }

    /// How the outputs' shapes come from the inputs. Without a rule they are that of the first
    /// input.
    pub fn shapes(mut self, rule: ShapeRule) -> Self {
        self.shapes = Some(rule);
        self
    }

    /// How much there is to do: what decides whether other threads may run Python meanwhile.
    /// Without a rule it is the number of elements of the largest argument.
    pub fn work(mut self, rule: WorkRule) -> Self {
        self.work = Some(rule);
        self
    }

    /// Lets an output be exactly where an input is, for kernels that can have that: those that take
    /// [`Source`](super::Source) and [`Target`](super::Target).
    pub fn in_place(mut self, output: impl Into<String>, input: impl Into<String>) -> Self {
        self.in_place.push((output.into(), input.into()));
        self
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it does.
    pub fn documentation(&self) -> &str {
        &self.doc
    }

    /// The tensors it takes and gives, in order: name, and whether it is read and written.
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

    /// The attributes, in order: name, kind, and default.
    pub fn attributes(&self) -> impl Iterator<Item = (&str, AttributeKind, Option<&Attribute>)> {
        self.attributes.iter().map(|attribute| {
            (
                attribute.name.as_str(),
                attribute.kind,
                attribute.default.as_ref(),
            )
        })
    }

    /// As in `add(a: T, b: T) -> out: T`.
    pub fn signature(&self) -> String {
        self.to_string()
    }

    /// How many parameters are given by every call: inputs, and those that are read and written.
    pub(super) fn given(&self) -> usize {
        let is_given = |parameter: &&Parameter| parameter.role != Role::Output;
        self.parameters.iter().take_while(is_given).count()
    }

    /// Whether a parameter is written.
    #[inline]
    pub(crate) fn writes(&self, at: usize) -> bool {
        self.parameters[at].role != Role::Input
    }

    /// The element type of a parameter, where that is always the same.
    #[cfg(feature = "python")]
    pub(crate) fn fixed_type(&self, at: usize) -> Option<DType> {
        match self.parameters[at].kind {
            Kind::Is(dtype) => Some(dtype),
            _ => None,
        }
    }

    /// Whether two parameters have the same type variable.
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

    /// Whether the definition makes sense.
    pub(super) fn check(&self) -> Result<(), RegistrationError> {
        let bad = |problem: String| {
            Err(RegistrationError::BadOp {
                op: self.name.clone(),
                problem,
            })
        };
        let is_name = |name: &str| {
            let mut letters = name.chars();
            letters.next().is_some_and(|c| c.is_ascii_alphabetic())
                && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        if !self.name.split('.').all(is_name) {
            return bad("names are letters, digits and _, in parts between dots".into());
        }
        let tensors = self.parameters.iter().map(|parameter| &parameter.name);
        let all: Vec<_> = tensors
            .chain(self.attributes.iter().map(|attribute| &attribute.name))
            .collect();
        for (at, name) in all.iter().enumerate() {
            if !is_name(name) {
                return bad(format!("{name:?} can't be an argument's name"));
            }
            if all[..at].contains(name) || RESERVED.contains(&name.as_str()) && !self.is_out(name) {
                return bad(format!("the name {name:?} is taken"));
            }
        }
        if self.parameters.len() > MOST_PARAMETERS {
            return bad(format!("there can be {MOST_PARAMETERS} tensors at most"));
        }
        if self.variables.len() > MOST_VARIABLES {
            return bad(format!(
                "there can be {MOST_VARIABLES} type variables at most"
            ));
        }
        let outputs = &self.parameters[self.given()..];
        if outputs
            .iter()
            .any(|parameter| parameter.role != Role::Output)
        {
            return bad("outputs come after all inputs".into());
        }
        let is_shaped = self.given() > 0 || self.shapes.is_some() || outputs.is_empty();
        if !is_shaped {
            return bad("outputs without inputs need a rule for their shapes".into());
        }
        for input in &self.parameters[..self.given()] {
            if let Kind::Attribute(attribute) = &input.kind {
                let name = &input.name;
                return bad(format!(
                    "{attribute:?} can't say which elements {name:?} has"
                ));
            }
        }
        for output in outputs {
            let is_known = match &output.kind {
                Kind::Any => false,
                Kind::Is(_) => true,
                Kind::Variable(variable) => self.parameters[..self.given()]
                    .iter()
                    .any(|input| input.kind == Kind::Variable(*variable)),
                Kind::Attribute(name) => self.attributes.iter().any(|attribute| {
                    attribute.name == *name && attribute.kind == AttributeKind::DType
                }),
            };
            if !is_known {
                let name = &output.name;
                return bad(format!("nothing says which elements {name:?} has"));
            }
        }
        for attribute in &self.attributes {
            let default = attribute.default.as_ref();
            if default.is_some_and(|default| default.kind() != attribute.kind) {
                let (name, kind) = (&attribute.name, attribute.kind);
                return bad(format!("the default of {name:?} is not of kind {kind}"));
            }
        }
        for (output, input) in &self.in_place {
            let role = |name: &str| Some(self.parameters[self.position(name)?].role);
            if role(output) != Some(Role::Output) || role(input) != Some(Role::Input) {
                return bad(format!("{output:?} can't be where {input:?} is"));
            }
        }
        Ok(())
    }

    /// An output may be called `out`, as that is what it is passed as.
    fn is_out(&self, name: &str) -> bool {
        name == "out" && self.position(name).is_some_and(|at| at >= self.given())
    }

    /// Whether the other one is the same definition.
    pub(super) fn is_same_as(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
            && self.doc == other.doc
            && self.parameters == other.parameters
            && self.attributes == other.attributes
            && self.broadcasts == other.broadcasts
            && self.in_place == other.in_place
            && self.shapes.is_some() == other.shapes.is_some()
            && self.work.is_some() == other.work.is_some()
    }
}

/// Names that every call understands in Python.
const RESERVED: [&str; 4] = ["out", "like", "label", "memory"];

/// Fewer than there are bits that tell which arguments were given.
pub(super) const MOST_PARAMETERS: usize = 31;

pub(super) const MOST_VARIABLES: usize = 8;

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |f: &mut fmt::Formatter<'_>, parameter: &Parameter| match &parameter.kind {
            Kind::Any => write!(f, "{}", parameter.name),
            Kind::Is(dtype) => write!(f, "{}: {dtype}", parameter.name),
            Kind::Variable(at) => write!(f, "{}: {}", parameter.name, self.variables[*at]),
            Kind::Attribute(name) => write!(f, "{}: {name}", parameter.name),
        };
        write!(f, "{}(", self.name)?;
        let (inputs, outputs) = self.parameters.split_at(self.given());
        for (at, parameter) in inputs.iter().enumerate() {
            f.write_str(if at > 0 { ", " } else { "" })?;
            named(f, parameter)?;
        }
        for (at, attribute) in self.attributes.iter().enumerate() {
            let comma = if inputs.is_empty() && at == 0 {
                ""
            } else {
                ", "
            };
            f.write_str(comma)?;
            f.write_str(if at == 0 { "*, " } else { "" })?;
            write!(f, "{}: {}", attribute.name, attribute.kind)?;
            if let Some(default) = &attribute.default {
                write!(f, " = {default}")?;
            }
        }
        f.write_str(") -> ")?;
        let changed = inputs.iter().filter(|input| input.role == Role::InOut);
        let mut results = 0;
        for parameter in changed {
            f.write_str(if results > 0 { ", " } else { "" })?;
            f.write_str(&parameter.name)?;
            results += 1;
        }
        for parameter in outputs {
            f.write_str(if results > 0 { ", " } else { "" })?;
            named(f, parameter)?;
            results += 1;
        }
        f.write_str(if results == 0 { "nothing" } else { "" })
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Op({self})")
    }
}

/// What a rule may ask about a call.
pub struct Question<'a> {
    pub(super) op: &'a Op,
    pub(super) operands: &'a [Operand<'a>],
    pub(super) attributes: &'a [Attribute],
}

impl Question<'_> {
    /// The shape of the input of this name.
    ///
    /// # Panics
    ///
    /// When the op has no such input.
    pub fn shape(&self, name: &str) -> &[usize] {
        let at = self
            .op
            .position(name)
            .filter(|at| *at < self.operands.len());
        let at = at.unwrap_or_else(|| panic!("{} has no input {name:?}", self.op));
        self.operands[at].shape()
    }

    /// The value of the attribute of this name.
    ///
    /// # Errors
    ///
    /// When the value doesn't fit the type.
    ///
    /// # Panics
    ///
    /// When the op has no such attribute.
    pub fn attribute<T: AttributeValue>(&self, name: &str) -> Result<T, Failure> {
        value_of(self.op, self.attributes, name)
    }
}

/// The value of an attribute, as a Rust type.
pub(super) fn value_of<T: AttributeValue>(
    op: &Op,
    attributes: &[Attribute],
    name: &str,
) -> Result<T, Failure> {
    let at = op.attributes.iter().position(|known| known.name == name);
    let at = at.unwrap_or_else(|| panic!("{op} has no attribute {name:?}"));
    T::of(&attributes[at]).ok_or_else(|| format!("{name} can't be {}", attributes[at]).into())
}
