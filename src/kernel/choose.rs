//! Choice of the kernel for a call.

mod kernels;
mod register;

pub(super) use kernels::Kernels;

use super::argument_type::Wants;
use super::attribute::Attribute;
use super::definition::{KernelContext, Make};
use super::error::Failure;
use super::factory_cache::FactoryCache;
use super::function::Compute;
use super::op::{Kind as TypeRule, Op};
use crate::device::{Device, DeviceKind};
use crate::dtype::DType;
use crate::error::IncompatibilityKind as Kind;
use std::fmt;
use std::sync::Arc;

/// A kernel that was registered.
pub(super) struct Registered {
    pub(super) description: String,
    pub(super) device: DeviceKind,
    pub(super) label: String,
    pub(super) priority: i32,
    pub(super) wants: Vec<Wants>,
    /// Dtypes of each of the op's type variables; `None` for any.
    pub(super) types: Vec<Option<Vec<DType>>>,
    /// The values that an attribute may have, by its place.
    pub(super) attributes: Vec<(usize, Vec<Attribute>)>,
    /// Bit mask of arguments that stay on the host.
    pub(super) host_memory: u32,
    pub(super) releases_from: Option<u64>,
    pub(super) fills_results: bool,
    pub(super) is_capturable: bool,
    make: Make,
    states: FactoryCache,
    pub(super) origin: &'static str,
    /// Specificity: of two kernels that match, the more specific one is chosen.
    demands: [usize; 4],
}

/// A kernel that was chosen for calls of one signature.
pub(super) struct Chosen {
    pub(super) kernel: Arc<Registered>,
    pub(super) compute: Compute,
}

/// Properties of an argument that dispatch depends on.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Seen {
    pub(super) is_absent: bool,
    pub(super) dtype: DType,
    pub(super) device: Device,
    pub(super) rank: usize,
    pub(super) row_major: bool,
}

impl Registered {
    /// Returns the function for these attributes and this device; a factory makes it once.
    pub(super) fn compute(&self, context: &KernelContext<'_>) -> Result<Compute, Failure> {
        match &self.make {
            Make::Function(compute) => Ok(compute.clone()),
            Make::Factory(factory) => self.states.get_or_make(context, &**factory),
        }
    }

    /// Returns the first mismatch with a call, and the place of its argument or attribute; `None`
    /// if the kernel matches.
    fn refusal(
        &self,
        op: &Op,
        seen: &[Seen],
        attributes: &[Attribute],
        label: &str,
    ) -> Option<(Kind, usize)> {
        if self.label != label {
            return Some((Kind::Name, 0));
        }
        for (at, seen) in seen.iter().enumerate() {
            let parameter = op.parameter_of(at);
            let wants = &self.wants[parameter];
            if seen.is_absent {
                if wants.is_optional {
                    continue;
                }
                return Some((Kind::Type, at));
            }
            let is_of_host = self.host_memory & (1 << parameter) != 0;
            let device = if is_of_host {
                DeviceKind::Cpu
            } else {
                self.device
            };
            if !reaches(device, seen.device.kind()) {
                return Some((Kind::Device, at));
            }
            let allowed = match &op.parameters[parameter].kind {
                TypeRule::Variable(variable) => self.types[*variable].as_deref(),
                _ => wants.dtype.as_ref().map(std::slice::from_ref),
            };
            if allowed.is_some_and(|allowed| !allowed.contains(&seen.dtype)) {
                return Some((Kind::DType, at));
            }
            if wants.rank.is_some_and(|rank| rank != seen.rank) {
                return Some((Kind::Rank, at));
            }
            if wants.row_major && !seen.row_major {
                return Some((Kind::Layout, at));
            }
        }
        let differs = |(at, values): &&(usize, Vec<Attribute>)| !values.contains(&attributes[*at]);
        let attribute = self.attributes.iter().find(differs);
        attribute.map(|(at, _)| (Kind::Argument, *at))
    }

    /// Describes a mismatch in words.
    fn refusal_in_words(
        &self,
        op: &Op,
        seen: &[Seen],
        attributes: &[Attribute],
        label: &str,
    ) -> Option<String> {
        let name = |at: usize| op.argument_name(at);
        Some(match self.refusal(op, seen, attributes, label)? {
            (Kind::Name, _) => format!("its label is {:?}", self.label),
            (Kind::Type, at) => format!("{:?} is None", name(at)),
            (Kind::Device, at) => format!("{:?} is on {}", name(at), seen[at].device),
            (Kind::DType, at) => format!("{:?} is of {}", name(at), seen[at].dtype),
            (Kind::Rank, at) => format!("{:?} is of rank {}", name(at), seen[at].rank),
            (Kind::Layout, at) => {
                format!("{:?} isn't row-major without gaps; pass a copy", name(at))
            }
            (_, at) => {
                format!("{:?} is {}", op.attributes[at].name, attributes[at])
            }
        })
    }

    /// Returns the rank of a kernel among those that match; the highest wins.
    fn preference(&self) -> (i32, u32, [usize; 4]) {
        // CPUs, and then CUDA's devices, reach memory of other kinds, too, but that isn't what
        // they are there for.
        let device = match self.device {
            DeviceKind::Cpu => 0,
            DeviceKind::Cuda => 1,
            other => other as u32,
        };
        (self.priority, device, self.demands)
    }
}

/// Returns whether a kernel for one kind of device can use memory on another.
fn reaches(kernel: DeviceKind, memory: DeviceKind) -> bool {
    match kernel {
        DeviceKind::Cpu => Device::new(memory, 0).is_host_accessible(),
        DeviceKind::Cuda => matches!(memory, DeviceKind::Cuda | DeviceKind::CudaManaged),
        _ => kernel == memory,
    }
}

/// Returns the kernel for a call, or why no kernel matches.
pub(super) fn choose<'a>(
    op: &Op,
    kernels: &'a [Arc<Registered>],
    seen: &[Seen],
    attributes: &[Attribute],
    label: &str,
) -> Result<&'a Arc<Registered>, Vec<String>> {
    let is_for = |kernel: &&Arc<Registered>| kernel.refusal(op, seen, attributes, label).is_none();
    let best = kernels
        .iter()
        .filter(is_for)
        .max_by_key(|kernel| kernel.preference());
    best.ok_or_else(|| {
        let reason = |kernel: &Arc<Registered>| {
            let reason = kernel.refusal_in_words(op, seen, attributes, label)?;
            Some(format!("{}: {reason}", kernel.description))
        };
        kernels.iter().filter_map(reason).collect()
    })
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description)
    }
}
