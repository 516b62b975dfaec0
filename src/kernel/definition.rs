//! [`Kernel`]: an implementation of an op, for a device and for some element types.

use super::argument_type::Wants;
use super::attribute::{Attribute, AttributeValue};
use super::error::Failure;
use super::function::{Compute, KernelFunction};
use super::op::{Op, value_of};
use crate::device::{Device, DeviceKind};
use crate::dtype::DType;
use std::fmt;
use std::sync::Arc;

/// A kernel, to be registered.
///
/// ```
/// use dlbridge::kernel::{Kernel, Source, Target};
///
/// fn square(x: Source<'_, f32>, y: Target<'_, f32>) {
///     y.map(&x, |x| x * x);
/// }
///
/// let kernel = Kernel::new("square").function(square);
/// ```
///
/// What the function's arguments are says what the kernel is for: the op's element types, ranks,
/// and how elements lie. What is left to say is on which device (the host, unless [`on`](Self::on)
/// says otherwise), and what tells it from other kernels of the same op.
#[must_use = "a kernel is used after `Registry::register` or `register_kernel!`"]
pub struct Kernel {
    pub(super) op: String,
    pub(super) device: DeviceKind,
    pub(super) label: String,
    pub(super) priority: i32,
    pub(super) name: Option<String>,
    pub(super) types: Vec<(String, Vec<DType>)>,
    pub(super) attributes: Vec<(String, Vec<Attribute>)>,
    pub(super) host_memory: Vec<String>,
    pub(super) releases_from: Option<u64>,
    pub(super) fills_results: bool,
    pub(super) is_capturable: bool,
    pub(super) wants: Vec<Wants>,
    pub(super) make: Option<Make>,
}

/// How to come by what is called.
#[derive(Clone)]
pub(super) enum Make {
    /// It is this.
    Function(Compute),
    /// This makes it.
    Factory(Arc<Factory>),
}

/// Makes what is called.
pub(super) type Factory = dyn Fn(&KernelContext<'_>) -> Result<Compute, Failure> + Send + Sync;

impl Kernel {
    /// Creates a kernel of the op of this name.
    pub fn new(op: impl Into<String>) -> Self {
        Self {
            op: op.into(),
            device: DeviceKind::Cpu,
            label: String::new(),
            priority: 0,
            name: None,
            types: Vec::new(),
            attributes: Vec::new(),
            host_memory: Vec::new(),
            releases_from: None,
            fills_results: false,
            is_capturable: false,
            wants: Vec::new(),
            make: None,
        }
    }

    /// Restricts the kernel to tensors on this kind of device.
    pub fn on(mut self, device: DeviceKind) -> Self {
        self.device = device;
        self
    }

    /// Restricts the kernel to calls that request this label.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Sets the priority among kernels that match a call; the highest wins. The default is 0.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = priority;
        self
    }

    /// Sets the name in listings, beside its op, device and types.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Restricts one of the op's type variables to these dtypes: what a function of untyped
    /// arguments can't say.
    pub fn types(mut self, variable: impl Into<String>, types: &[DType]) -> Self {
        self.types.push((variable.into(), types.to_vec()));
        self
    }

    /// Restricts the kernel to calls with one of these values of an attribute. Where an attribute
    /// says the type of a result, and the function is for one type of result, that is known without
    /// being said.
    pub fn attribute<A: Into<Attribute>>(
        mut self,
        name: impl Into<String>,
        values: impl IntoIterator<Item = A>,
    ) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        self.attributes.push((name.into(), values));
        self
    }

    /// Declares an argument that stays in host memory, wherever the others are.
    pub fn host_memory(mut self, argument: impl Into<String>) -> Self {
        self.host_memory.push(argument.into());
        self
    }

    /// Lets other threads run Python meanwhile, from this amount of work on, as the op
    /// [estimates](Op::work) it.
    pub fn releases_gil_from(mut self, work: u64) -> Self {
        self.releases_from = Some(work);
        self
    }

    /// Declares that the kernel writes every element of its results, and reads none of them before.
    /// Results that a call makes then needn't be cleared for it, which takes as long as a copy.
    ///
    /// ```
    /// use dlbridge::kernel::{Kernel, Source, Target};
    ///
    /// let double = |x: Source<'_, f32>, y: Target<'_, f32>| y.map(&x, |x| 2.0 * x);
    /// let kernel = Kernel::new("double").fills_results().function(double);
    /// ```
    ///
    /// An element that the kernel doesn't write has any value.
    pub fn fills_results(mut self) -> Self {
        self.fills_results = true;
        self
    }

    /// Declares that a graph of the device, such as a CUDA graph, may record the kernel's calls and
    /// repeat them: it always launches the same work for the same arguments, without waiting for
    /// the device or allocating its memory.
    pub fn capturable(mut self) -> Self {
        self.is_capturable = true;
        self
    }

    /// Calls this function.
    pub fn function<M, F: KernelFunction<M>>(mut self, function: F) -> Self {
        self.wants = F::wants();
        self.make = Some(Make::Function(function.into_compute().0));
        self
    }

    /// Calls a function that is made from the attributes' values, once for all calls in which they
    /// are the same, and kept: what takes time is prepared there. Two threads that come at once may
    /// each make one, of which one is kept; after very many different values some are made anew.
    ///
    /// ```
    /// use dlbridge::kernel::{KernelContext, Kernel, Source, Target};
    ///
    /// let kernel = Kernel::new("power").factory(|context: &KernelContext<'_>| {
    ///     let exponent = context.attribute::<i64>("exponent")?;
    ///     let exponent = i32::try_from(exponent)?; // refuses what is too large
    ///     Ok(move |x: Source<'_, f64>, y: Target<'_, f64>| y.map(&x, |x| x.powi(exponent)))
    /// });
    /// ```
    pub fn factory<M, F: KernelFunction<M>>(
        mut self,
        make: impl Fn(&KernelContext<'_>) -> Result<F, Failure> + Send + Sync + 'static,
    ) -> Self {
        self.wants = F::wants();
        let make = move |context: &KernelContext<'_>| Ok(make(context)?.into_compute().0);
        self.make = Some(Make::Factory(Arc::new(make)));
        self
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("op", &self.op)
            .field("device", &self.device)
            .field("label", &self.label)
            .field("priority", &self.priority)
            .finish_non_exhaustive()
    }
}

/// Arguments of a factory.
#[derive(Debug)]
pub struct KernelContext<'a> {
    pub(super) op: &'a Op,
    pub(super) attributes: &'a [Attribute],
    pub(super) device: Device,
}

impl KernelContext<'_> {
    /// Returns the value of the attribute of this name.
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

    /// Returns the device of the call.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the op of the kernel.
    pub fn op(&self) -> &Op {
        self.op
    }
}
