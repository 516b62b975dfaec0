//! [`Registry`]: ops by name, with their kernels.

use super::choose::Registered;
use super::definition::Kernel;
use super::dispatch_cache::Cache;
use super::error::{CallError, Reason, RegistrationError};
use super::handle::{KernelInfo, OpHandle, Shared};
use super::op::Op;
use crate::device::DeviceKind;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockWriteGuard};

/// Ops by their names, each with its kernels.
///
/// [`global`](Self::global) has all that was registered by macros in any crate of the program. An
/// embedder can as well start from an empty one, or from some of these ops.
///
/// ```
/// use dlbridge::Tensor;
/// use dlbridge::kernel::{Kernel, Op, Registry, Source, Target};
///
/// let registry = Registry::new();
/// registry.define(Op::new("double").input("x", "T").output("y", "T"))?;
/// let double = |x: Source<'_, f32>, y: Target<'_, f32>| y.map(&x, |x| 2.0 * x);
/// registry.register(Kernel::new("double").function(double))?;
///
/// let x = Tensor::from([1.0_f32, 2.0]);
/// let y = registry.op("double")?.call().input(&x).make()?;
/// assert_eq!(y.to_vec::<f32>()?, [2.0, 4.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Registry {
    ops: RwLock<BTreeMap<String, OpHandle>>,
    /// Ops whose definitions were refused, by name.
    pub(super) refused: BTreeMap<String, RegistrationError>,
}

impl Registry {
    /// Creates an empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    pub(super) fn write(&self) -> RwLockWriteGuard<'_, BTreeMap<String, OpHandle>> {
        self.ops.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Defines an op.
    ///
    /// # Errors
    ///
    /// When it makes no sense, or there is one of this name that is defined otherwise.
    pub fn define(&self, op: Op) -> Result<(), RegistrationError> {
        self.define_from(op, "")
    }

    #[doc(hidden)]
    pub fn define_from(&self, mut op: Op, origin: &'static str) -> Result<(), RegistrationError> {
        op.check()?;
        op.resolve()?;
        let mut ops = self.write();
        if let Some(known) = ops.get(&op.name) {
            return match known.definition().is_same_as(&op) {
                true => Ok(()),
                false => Err(RegistrationError::OpExists { op: op.name }),
            };
        }
        if let Some(alias) = op.aliases.iter().find(|alias| ops.contains_key(*alias)) {
            return Err(RegistrationError::OpExists { op: alias.clone() });
        }
        let defaults = op
            .attributes
            .iter()
            .map(|attribute| attribute.default.clone());
        let shared = Shared {
            defaults: defaults.collect(),
            op: op.clone(),
            origin,
            kernels: RwLock::default(),
            cache: Cache::new(),
            fills_results: AtomicBool::new(true),
            refused: OnceLock::new(),
        };
        let handle = OpHandle(Arc::new(shared));
        for name in std::iter::once(op.name).chain(op.aliases) {
            ops.insert(name, handle.clone());
        }
        Ok(())
    }

    /// Registers a kernel.
    ///
    /// # Errors
    ///
    /// When it isn't one of its op, or another one matches some calls equally well.
    pub fn register(&self, kernel: Kernel) -> Result<(), RegistrationError> {
        self.register_from(kernel, "")
    }

    #[doc(hidden)]
    pub fn register_from(
        &self,
        kernel: Kernel,
        origin: &'static str,
    ) -> Result<(), RegistrationError> {
        let Ok(op) = self.op(&kernel.op) else {
            return Err(RegistrationError::NoSuchOp {
                kernel: kernel.name.unwrap_or_else(|| "it".into()),
                op: kernel.op,
            });
        };
        let new = Registered::new(op.definition(), kernel, origin)?;
        let mut kernels = op.0.kernels.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(other) = kernels.clashing(&new) {
            return Err(RegistrationError::Ambiguous {
                op: op.name().to_owned(),
                kernel: new.description,
                other: other.description.clone(),
            });
        }
        if new.device == DeviceKind::Cpu && !new.fills_results {
            op.0.fills_results.store(false, Ordering::Relaxed);
        }
        kernels.push(new);
        // No choice is cached meanwhile, as that takes the lock.
        let dropped = op.0.cache.clear();
        drop(kernels);
        drop(dropped);
        Ok(())
    }

    /// Returns the op of this name.
    ///
    /// # Errors
    ///
    /// When there is none, with the names of those there are, or its definition was refused.
    pub fn op(&self, name: &str) -> Result<OpHandle, CallError> {
        let ops = self.ops.read().unwrap_or_else(PoisonError::into_inner);
        let known = || named(&ops).map(|op| op.name().to_owned()).collect();
        ops.get(name).cloned().ok_or_else(|| {
            let reason = match self.refused.get(name) {
                Some(error) => Reason::Refused(error.clone()),
                None => Reason::NoSuchOp {
                    op: name.to_owned(),
                    known: known(),
                },
            };
            reason.of(name)
        })
    }

    /// Returns why the first op was refused that isn't here for that.
    #[cfg(feature = "python")]
    pub(crate) fn refused(&self) -> Option<&RegistrationError> {
        self.refused.values().next()
    }

    /// Returns all ops, by name.
    pub fn ops(&self) -> Vec<OpHandle> {
        let ops = self.ops.read().unwrap_or_else(PoisonError::into_inner);
        named(&ops).cloned().collect()
    }

    /// Returns all kernels of all ops.
    pub fn kernels(&self) -> Vec<KernelInfo> {
        self.ops().iter().flat_map(OpHandle::kernels).collect()
    }
}

/// Returns the ops, each once.
fn named(ops: &BTreeMap<String, OpHandle>) -> impl Iterator<Item = &OpHandle> {
    let entries = ops.iter().filter(|(name, op)| *name == op.name());
    entries.map(|(_, op)| op)
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ops()).finish()
    }
}
