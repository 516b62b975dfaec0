//! [`Op`]: the definition of an operation, its name, parameters and rules, apart from its kernels.

mod check;
mod context;
mod parameter;
mod places;
mod rules;
mod signature;

pub(super) use check::MOST_VARIABLES;
pub(super) use context::value_of;
pub use parameter::ElementType;
pub(super) use parameter::{AttributeDefinition, Kind, Parameter, Presence, Role, sum_dtype};

use super::attribute::{Attribute, AttributeKind};
use super::error::Failure;
use super::gradient::Gradient;
use super::operand::Operand;
use super::sizes::SizeRule;

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
    /// Other names, under which it is found too.
    pub(super) aliases: Vec<String>,
    pub(super) doc: String,
    pub(super) parameters: Vec<Parameter>,
    /// Bit mask of the inputs that every call gives.
    pub(super) needed: u32,
    /// The place of the variadic input.
    pub(super) variadic: Option<usize>,
    pub(super) attributes: Vec<AttributeDefinition>,
    /// The names of its type variables, in the order in which they came.
    pub(super) variables: Vec<String>,
    pub(super) broadcasts: bool,
    pub(super) shapes: Option<Shapes>,
    pub(super) work: Option<WorkRule>,
    /// Pairs of output and input that may share their memory.
    pub(super) in_place: Vec<(String, String)>,
    /// The rule of sizes, as text and parsed, and what else compilers of frameworks learn.
    pub(super) sizes: Option<String>,
    pub(super) size_rule: Option<SizeRule>,
    pub(super) is_elementwise: bool,
    pub(super) takes_batches: bool,
    /// Input and gradient, as text and parsed.
    pub(super) gradient_texts: Vec<(String, String)>,
    pub(super) gradients: Vec<Gradient>,
}

/// How a definition states the outputs' shapes by a function.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shapes {
    /// They are what it returns.
    Ruled(ShapeRule),
    /// They are that of the first input, in calls that it accepts.
    Kept(CheckRule),
}

/// Works out the outputs' shapes, in their order, and checks the inputs'.
pub type ShapeRule = fn(&ShapeContext<'_>) -> Result<Vec<Vec<usize>>, Failure>;

/// Checks the inputs and attributes of a call.
pub type CheckRule = fn(&ShapeContext<'_>) -> Result<(), Failure>;

/// Estimates how much a call has to do, in elements that are touched.
pub type WorkRule = fn(&ShapeContext<'_>) -> u64;

/// Context of a call, for rules.
#[derive(Debug)]
pub struct ShapeContext<'a> {
    pub(super) op: &'a Op,
    /// By parameter.
    pub(super) operands: &'a [Operand<'a>],
    /// The tensors of a variadic input, but for the first.
    pub(super) more: &'a [Operand<'a>],
    pub(super) attributes: &'a [Attribute],
}

impl Op {
    /// Creates an op without inputs and outputs.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            aliases: Vec::new(),
            doc: String::new(),
            parameters: Vec::new(),
            needed: 0,
            variadic: None,
            attributes: Vec::new(),
            variables: Vec::new(),
            broadcasts: false,
            shapes: None,
            work: None,
            in_place: Vec::new(),
            sizes: None,
            size_rule: None,
            is_elementwise: false,
            takes_batches: false,
            gradient_texts: Vec::new(),
            gradients: Vec::new(),
        }
    }

    /// Adds another name, under which the op is found too.
    ///
    /// ```
    /// use dlbridge::kernel::Registry;
    ///
    /// # #[cfg(feature = "ops")]
    /// assert_eq!(Registry::global().op("sub")?.name(), "subtract");
    /// # Ok::<(), dlbridge::kernel::CallError>(())
    /// ```
    pub fn alias(mut self, name: impl Into<String>) -> Self {
        self.aliases.push(name.into());
        self
    }

    /// Sets the documentation, a sentence or more.
    pub fn doc(mut self, doc: impl Into<String>) -> Self {
        self.doc = doc.into();
        self
    }

    /// Adds a tensor that is read.
    pub fn input(self, name: impl Into<String>, kind: impl Into<ElementType>) -> Self {
        self.parameter(name.into(), Role::Input, kind.into(), Presence::Required)
    }

    /// Adds a tensor that is read, and that calls may leave out: as `None` from Python, and by
    /// [`Option`] from Rust. A kernel's function takes an [`Option`] of the
    /// [argument's type](super::Parameter), or is for calls that give it. The element type is that
    /// of a required input, a fixed one, or any. Optional inputs come after all required ones.
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::Tensor;
    /// use dlbridge::kernel::{Kernel, Op, Registry, Source, Target};
    ///
    /// let registry = Registry::new();
    /// registry.define(
    ///     Op::new("scale").input("x", "T").optional_input("factor", "T").output("y", "T"),
    /// )?;
    /// let scale = |x: Source<'_, f32>, factor: Option<f32>, y: Target<'_, f32>| {
    ///     let factor = factor.unwrap_or(2.0);
    ///     y.map(&x, |x| factor * x);
    /// };
    /// registry.register(Kernel::new("scale").function(scale))?;
    /// let scale = registry.op("scale")?;
    /// assert_eq!(scale.definition().signature(), "scale(x: T, factor: T | None = None) -> y: T");
    ///
    /// let (x, factor) = (Tensor::from([1.0_f32, 2.0]), Tensor::scalar(3.0_f32));
    /// assert_eq!(scale.call().input(&x).make()?.to_vec::<f32>()?, [2.0, 4.0]);
    /// assert_eq!(scale.call().input(&x).input(&factor).make()?.to_vec::<f32>()?, [3.0, 6.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn optional_input(self, name: impl Into<String>, kind: impl Into<ElementType>) -> Self {
        self.parameter(name.into(), Role::Input, kind.into(), Presence::Optional)
    }

    /// Adds one or more tensors that are read, as the last of the inputs. A kernel's function takes
    /// a [`Vec`] of the [argument's type](super::Parameter). They have the same element type if
    /// that is a variable. From Python they are the positional arguments from here on, or the items
    /// of one list or tuple in their place.
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::Tensor;
    /// use dlbridge::kernel::{Kernel, Op, Registry};
    /// use dlbridge::{View, ViewMut};
    /// let registry = Registry::new();
    /// registry.define(Op::new("total").variadic_input("xs", "T").output("y", "T").broadcasts())?;
    /// let total = |xs: Vec<View<'_, i64>>, mut y: ViewMut<'_, i64>| {
    ///     for x in &xs {
    ///         y.iter_mut().zip(x).for_each(|(y, x)| *y += x);
    ///     }
    /// };
    /// registry.register(Kernel::new("total").function(total))?;
    /// let total = registry.op("total")?;
    /// assert_eq!(total.definition().signature(), "total(*xs: T) -> y: T");
    ///
    /// let xs = [1_i64, 20, 300].map(|x| Tensor::from([x, 0]));
    /// assert_eq!(total.call().inputs(&xs).make()?.to_vec::<i64>()?, [321, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn variadic_input(self, name: impl Into<String>, kind: impl Into<ElementType>) -> Self {
        self.parameter(name.into(), Role::Input, kind.into(), Presence::Variadic)
    }

    /// Adds a tensor that is read and written.
    pub fn in_out(self, name: impl Into<String>, kind: impl Into<ElementType>) -> Self {
        self.parameter(name.into(), Role::InOut, kind.into(), Presence::Required)
    }

    /// Adds a result. All inputs come first.
    pub fn output(self, name: impl Into<String>, kind: impl Into<ElementType>) -> Self {
        self.parameter(name.into(), Role::Output, kind.into(), Presence::Required)
    }

    fn parameter(
        mut self,
        name: String,
        role: Role,
        kind: ElementType,
        presence: Presence,
    ) -> Self {
        let at = self.parameters.len();
        if role != Role::Output && presence != Presence::Optional {
            // Definitions with more parameters are rejected.
            self.needed |= 1_u32.checked_shl(at as u32).unwrap_or(0);
        }
        if presence == Presence::Variadic {
            self.variadic = Some(at);
        }
        let kind = match kind {
            ElementType::Any => Kind::Any,
            ElementType::Is(dtype) => Kind::Is(dtype),
            ElementType::Attribute(name) => Kind::Attribute(name),
            ElementType::AttributeOr {
                attribute,
                variable,
            } => Kind::AttributeOr(attribute, self.variable(variable)),
            ElementType::AttributeOrSum {
                attribute,
                variable,
            } => Kind::AttributeOrSum(attribute, self.variable(variable)),
            ElementType::Variable(name) => Kind::Variable(self.variable(name)),
        };
        self.parameters.push(Parameter {
            name,
            role,
            kind,
            presence,
        });
        self
    }

    /// Returns the number of a type variable.
    fn variable(&mut self, name: String) -> usize {
        let known = self.variables.iter().position(|known| *known == name);
        known.unwrap_or_else(|| {
            self.variables.push(name);
            self.variables.len() - 1
        })
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
    ///
    /// Shapes, element types and attributes are all that it depends on: of calls that are alike in
    /// these only the first ones ask it.
    pub fn shapes(mut self, rule: ShapeRule) -> Self {
        self.shapes = Some(Shapes::Ruled(rule));
        self
    }

    /// Gives the outputs the first input's shape, in calls that a function accepts. It takes the
    /// place of [`shapes`](Self::shapes), and less time, as no list of shapes is made.
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::Tensor;
    /// use dlbridge::kernel::{Kernel, Op, Registry, Source, Target};
    ///
    /// let registry = Registry::new();
    /// let op = Op::new("shift").input("x", "T").input("by", "T").output("y", "T");
    /// registry.define(op.keeps_shape(|call| match call.shape("by") {
    ///     [] => Ok(()),
    ///     shape => Err(format!("expected one number for by, got shape {shape:?}").into()),
    /// }))?;
    /// let shift = |x: Source<'_, f32>, by: Source<'_, f32>, y: Target<'_, f32>| {
    ///     let by = by.iter().next().unwrap_or(0.0);
    ///     y.map(&x, |x| x + by);
    /// };
    /// registry.register(Kernel::new("shift").function(shift))?;
    /// let shift = registry.op("shift")?;
    ///
    /// let (x, by) = (Tensor::from([1.0_f32, 2.0]), Tensor::scalar(0.5_f32));
    /// let y = shift.call().input(&x).input(&by).make()?;
    /// assert_eq!(y.to_vec::<f32>()?, [1.5, 2.5]);
    /// let error = shift.call().input(&x).input(&x).make().unwrap_err();
    /// assert_eq!(error.to_string(), "shift: expected one number for by, got shape [2]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keeps_shape(mut self, check: CheckRule) -> Self {
        self.shapes = Some(Shapes::Kept(check));
        self
    }

    /// Sets the amount of work of a call, which decides whether the GIL is released.
    /// Without a rule it is the number of elements of the largest argument. Like that for
    /// [shapes](Self::shapes) it isn't asked in each call.
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

    /// Returns the other names.
    pub fn aliases(&self) -> impl Iterator<Item = &str> {
        self.aliases.iter().map(String::as_str)
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
}
