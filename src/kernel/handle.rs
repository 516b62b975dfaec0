//! [`OpHandle`]: an op of a registry, and its kernels.

use super::attribute::Attribute;
use super::cache::{Cache, Found, Words};
use super::call::Call;
use super::choose::{Chosen, Registered, Seen, choose};
use super::definition::Construction;
use super::error::{CallError, Reason, RegistrationError};
use super::op::Op;
use super::registry::Registry;
use crate::device::{Device, DeviceKind};
use crate::dtype::DType;
use std::fmt;
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};

/// An op of a registry, to be called.
#[derive(Clone)]
pub struct OpHandle(pub(super) Arc<Shared>);

pub(super) struct Shared {
    pub(super) op: Op,
    pub(super) origin: &'static str,
    /// The attributes' values where a call says nothing, if each has one.
    pub(super) defaults: Option<Vec<Attribute>>,
    pub(super) kernels: RwLock<Vec<Arc<Registered>>>,
    pub(super) cache: Cache,
    pub(super) refused: OnceLock<RegistrationError>,
}

/// An op of the [global registry](Registry::global), looked up when it is first called: for functions
/// that call always the same one.
///
/// ```
/// use dlbridge::Tensor;
/// use dlbridge::kernel::{CallError, GlobalOp, Kernel, Op, Source, Target};
///
/// dlbridge::register_op!(Op::new("demo.square").input("x", "T").output("y", "T"));
/// dlbridge::register_kernel!(Kernel::of("demo.square").function(kernel));
///
/// fn kernel(x: Source<'_, f32>, y: Target<'_, f32>) {
///     y.map(&x, |x| x * x);
/// }
///
/// pub fn square(x: &Tensor) -> Result<Tensor, CallError> {
///     static SQUARE: GlobalOp = GlobalOp::new("demo.square");
///     SQUARE.get()?.call().input(x).make()
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// assert_eq!(square(&Tensor::from([3.0_f32]))?.to_vec::<f32>()?, [9.0]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct GlobalOp {
    name: &'static str,
    handle: OnceLock<OpHandle>,
}

impl GlobalOp {
    /// The op of this name.
    pub const fn new(name: &'static str) -> Self {
        Self {
            name,
            handle: OnceLock::new(),
        }
    }

    /// The op.
    ///
    /// # Errors
    ///
    /// When nothing of this name was registered.
    pub fn get(&self) -> Result<&OpHandle, CallError> {
        if let Some(handle) = self.handle.get() {
            return Ok(handle);
        }
        let handle = Registry::global().op(self.name)?;
        Ok(self.handle.get_or_init(|| handle))
    }
}

/// A kernel that there is.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelInfo {
    /// Its op.
    pub op: String,
    /// For which device.
    pub device: DeviceKind,
    /// The types of the op's type variables: name, and which ones; empty for any.
    pub types: Vec<(String, Vec<DType>)>,
    /// Its label.
    pub label: String,
    /// Its priority.
    pub priority: i32,
    /// All of this, and what it asks of its arguments, in words.
    pub description: String,
    /// The module that registered it; empty where it was registered by hand.
    pub origin: &'static str,
}

impl OpHandle {
    /// The name.
    pub fn name(&self) -> &str {
        &self.0.op.name
    }

    /// What it takes and gives.
    pub fn definition(&self) -> &Op {
        &self.0.op
    }

    /// The module that registered it; empty where it was [defined](Registry::define) by hand.
    pub fn origin(&self) -> &'static str {
        self.0.origin
    }

    /// Begins a call.
    pub fn call(&self) -> Call<'_, '_> {
        Call::new(self)
    }

    /// Its kernels: the processor's first, and those of a device in the order in which they were registered.
    pub fn kernels(&self) -> Vec<KernelInfo> {
        let kernels = self.lock();
        let info = |kernel: &Arc<Registered>| KernelInfo {
            op: self.name().to_owned(),
            device: kernel.device,
            types: (self.0.op.variables.iter().cloned())
                .zip(
                    kernel
                        .types
                        .iter()
                        .map(|types| types.clone().unwrap_or_default()),
                )
                .collect(),
            label: kernel.label.clone(),
            priority: kernel.priority,
            description: kernel.description.clone(),
            origin: kernel.origin,
        };
        let mut kernels: Vec<_> = kernels.iter().map(info).collect();
        kernels.sort_by_key(|kernel| kernel.device as u32);
        kernels
    }

    pub(crate) fn defaults(&self) -> Option<&[Attribute]> {
        self.0.defaults.as_deref()
    }

    /// What calls of a signature get.
    #[inline]
    pub(super) fn find(&self, words: &[u64]) -> Option<Found<'_>> {
        self.0.cache.find(words)
    }

    /// Chooses, and makes, what calls of a signature get.
    #[cold]
    #[inline(never)]
    pub(super) fn prepare(
        &self,
        words: Words,
        seen: &[Seen],
        attributes: &[Attribute],
        label: &str,
        device: Device,
    ) -> Result<Found<'_>, Reason> {
        let op = &self.0.op;
        if let Some(error) = self.0.refused.get() {
            return Err(Reason::Refused(error.clone()));
        }
        let (kernel, count) = {
            let kernels = self.lock();
            let chosen = choose(op, &kernels, seen, attributes, label);
            let kernel = chosen.map_err(|there_are| Reason::NoKernel {
                wanted: wanted(op, seen, label),
                there_are,
            })?;
            (kernel.clone(), kernels.len())
        };
        let context = Construction {
            op,
            attributes,
            device,
        };
        let compute = kernel
            .compute(&context)
            .map_err(|failure| Reason::Factory {
                kernel: kernel.description.clone(),
                failure,
            })?;
        let chosen = Chosen { kernel, compute };
        // Kernels are only ever added. One that came while this was made may be the better one.
        let now = self.lock();
        Ok(match now.len() == count {
            true => self.0.cache.keep(words, chosen),
            false => Found::Lent(Arc::new(chosen)),
        })
    }

    fn lock(&self) -> RwLockReadGuard<'_, Vec<Arc<Registered>>> {
        self.0
            .kernels
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a call was made with, in words.
fn wanted(op: &Op, seen: &[Seen], label: &str) -> String {
    let parameters = op.parameters.iter().zip(seen);
    let parts: Vec<_> = parameters
        .map(|(parameter, seen)| {
            let how = if seen.row_major { "" } else { ", strided" };
            format!(
                "{}: {} of rank {} on {}{how}",
                parameter.name, seen.dtype, seen.rank, seen.device
            )
        })
        .collect();
    let label = match label {
        "" => String::new(),
        label => format!(", label {label:?}"),
    };
    format!("({}){label}", parts.join("; "))
}

impl fmt::Debug for OpHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.op.fmt(f)
    }
}
