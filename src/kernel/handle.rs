//! Handles to ops of a registry, with their kernels.

use super::attribute::Attribute;
use super::call_key::CallKey;
use super::choose::{Chosen, Kernels, Registered, Seen, choose};
use super::definition::KernelContext;
use super::dispatch_cache::{Cache, Found};
use super::error::{Reason, RegistrationError};
use super::op::Op;
use crate::device::{Device, DeviceKind};
use crate::dtype::DType;
use smallvec::SmallVec;
use std::fmt;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard};

/// An op of a registry, to be called.
#[derive(Clone)]
pub struct OpHandle(pub(super) Arc<Shared>);

pub(super) struct Shared {
    pub(super) op: Op,
    pub(super) origin: &'static str,
    /// The attributes' values where a call says nothing, if each has one.
    pub(super) defaults: Option<Vec<Attribute>>,
    pub(super) kernels: RwLock<Kernels>,
    pub(super) cache: Cache,
    /// Whether each kernel of the CPU fills its results.
    pub(super) fills_results: AtomicBool,
    pub(super) refused: OnceLock<RegistrationError>,
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
    /// A description of all of this, and of what it requires of its arguments.
    pub description: String,
    /// Whether a graph of the device may [record](crate::kernel::Kernel::capturable) it.
    pub is_capturable: bool,
    /// The module that registered it; empty where it was registered by hand.
    pub origin: &'static str,
}

impl OpHandle {
    /// Returns whether another handle is of the same op.
    #[cfg(feature = "hosts")]
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.0.op.name
    }

    /// Returns the op's definition.
    pub fn definition(&self) -> &Op {
        &self.0.op
    }

    /// Returns the module that registered it; empty if it was
    /// [defined](crate::kernel::Registry::define) by hand.
    pub fn origin(&self) -> &'static str {
        self.0.origin
    }

    /// Returns the op's kernels: the CPU's first, and those of a device in order of registration.
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
            is_capturable: kernel.is_capturable,
            origin: kernel.origin,
        };
        let mut kernels: Vec<_> = kernels.iter().map(info).collect();
        kernels.sort_by_key(|kernel| kernel.device as u32);
        kernels
    }

    /// Returns the attributes of a call that gives none, if each has a default.
    #[inline]
    pub(crate) fn defaults(&self) -> Option<&[Attribute]> {
        self.0.defaults.as_deref()
    }

    /// Returns whether results may have any bits, as far as is known before a kernel is chosen.
    #[inline]
    pub(super) fn fills_results(&self) -> bool {
        self.0.fills_results.load(Ordering::Relaxed)
    }

    /// Returns a number that no other op has or had, and this one only until a kernel is added.
    #[inline]
    pub(super) fn version(&self) -> u64 {
        self.0.cache.version()
    }

    /// Returns the cached kernel of a call key.
    #[inline]
    pub(super) fn find(&self, key: &[u64]) -> Option<Found<'_>> {
        self.0.cache.find(key)
    }

    /// Chooses the kernel of a call key, and caches it.
    #[cold]
    #[inline(never)]
    pub(super) fn prepare(
        &self,
        key: CallKey,
        seen: &[Seen],
        attributes: &[Attribute],
        label: &str,
        device: Device,
    ) -> Result<Found<'_>, Reason> {
        let op = &self.0.op;
        let (kernel, count) = self.choose(seen, attributes, label)?;
        let context = KernelContext {
            op,
            attributes,
            device,
        };
        let compute = kernel.compute(&context).map_err(|failure| {
            Reason::refused(failure, |failure| Reason::Factory {
                kernel: kernel.description.clone(),
                failure,
            })
        })?;
        let chosen = Chosen { kernel, compute };
        // Kernels are only ever added. One that came while this was made may be the better one.
        let now = self.lock();
        let (found, dropped) = match now.len() == count {
            true => self.0.cache.keep(key, chosen),
            false => (Found::Lent(Arc::new(chosen)), None),
        };
        // Not under the lock: a kernel's state may call the op, or register kernels, when it goes.
        drop(now);
        drop(dropped);
        Ok(found)
    }

    /// Returns the kernel for a call, and how many there are.
    pub(super) fn choose(
        &self,
        seen: &[Seen],
        attributes: &[Attribute],
        label: &str,
    ) -> Result<(Arc<Registered>, usize), Reason> {
        let op = &self.0.op;
        if let Some(error) = self.0.refused.get() {
            return Err(Reason::Refused(error.clone()));
        }
        let kernels = self.lock();
        let chosen = choose(op, &kernels, seen, attributes, label);
        let kernel = chosen.map_err(|there_are| Reason::NoKernel {
            wanted: wanted(op, seen, label),
            there_are,
        })?;
        Ok((kernel.clone(), kernels.len()))
    }

    fn lock(&self) -> RwLockReadGuard<'_, Kernels> {
        self.0
            .kernels
            .read()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The values of all attributes of a call.
pub(crate) type Attributes = SmallVec<[Attribute; 4]>;

/// Adds all attributes of a call to `values`: those that were given, which are taken and converted,
/// and the others' defaults.
pub(crate) fn complete(
    handle: &OpHandle,
    given: &mut [(usize, Attribute)],
    values: &mut Attributes,
) -> Result<(), Reason> {
    let op = handle.definition();
    for (at, known) in op.attributes.iter().enumerate() {
        let value = match given.iter_mut().find(|(place, _)| *place == at) {
            Some((_, value)) => mem::replace(value, Attribute::Bool(false)),
            None => known.default.clone().ok_or_else(|| Reason::Missing {
                argument: known.name.clone(),
            })?,
        };
        if value.kind() == known.kind {
            values.push(value);
            continue;
        }
        let converted = value.converted(known.kind);
        values.push(converted.ok_or_else(|| Reason::Attribute {
            attribute: known.name.clone(),
            wanted: known.kind,
            found: value,
        })?);
    }
    Ok(())
}

/// Describes the arguments of a call.
fn wanted(op: &Op, seen: &[Seen], label: &str) -> String {
    // Of a variadic argument only tensors unlike its first are listed.
    let first = |at: usize| &seen[op.parameter_of(at)];
    let is_listed = |(at, one): &(usize, &Seen)| *at < op.parameters.len() || *one != first(*at);
    let listed = seen.iter().enumerate().filter(is_listed);
    let parts: Vec<_> = listed
        .map(|(at, seen)| {
            let name = op.argument_name(at);
            if seen.is_absent {
                return format!("{name}: None");
            }
            let how = if seen.row_major { "" } else { ", strided" };
            format!(
                "{name}: {} of rank {} on {}{how}",
                seen.dtype, seen.rank, seen.device
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
