//! Which kernel a call gets, and which two kernels can't be told apart.

use super::attribute::Attribute;
use super::definition::{Construction, Kernel, Make};
use super::error::{Failure, RegistrationError};
use super::function::Compute;
use super::op::{Kind, Op};
use super::parameter::Wants;
use super::states::States;
use crate::device::{Device, DeviceKind};
use crate::dtype::DType;
use std::fmt;
use std::sync::Arc;

/// A kernel that was registered.
pub(super) struct Registered {
    pub(super) description: String,
    pub(super) device: DeviceKind,
    pub(super) label: String,
    pub(super) priority: i32,
    pub(super) wants: Vec<Wants>,
    /// What each of the op's type variables may be; `None` for anything.
    pub(super) types: Vec<Option<Vec<DType>>>,
    /// The values that an attribute may have, by its place.
    pub(super) attributes: Vec<(usize, Vec<Attribute>)>,
    /// Which arguments stay on the host, a bit each.
    pub(super) host_memory: u32,
    pub(super) releases_from: Option<u64>,
    make: Make,
    states: States,
    pub(super) origin: &'static str,
    /// How much it asks for: of two that match, the one that asks for more is taken.
    demands: [usize; 4],
}

/// A kernel that was chosen for calls of one signature.
pub(super) struct Chosen {
    pub(super) kernel: Arc<Registered>,
    pub(super) compute: Compute,
}

/// What a choice depends on, of one argument.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub(super) dtype: DType,
    pub(super) device: Device,
    pub(super) rank: usize,
    pub(super) row_major: bool,
}

impl Registered {
    /// Checks that a kernel is one of the op.
    pub(super) fn new(
        op: &Op,
        kernel: Kernel,
        origin: &'static str,
    ) -> Result<Self, RegistrationError> {
        let bad = |problem: String| RegistrationError::BadKernel {
            op: op.name.clone(),
            kernel: kernel.name.clone().unwrap_or_else(|| "the kernel".into()),
            problem,
        };
        let (given, wanted) = (kernel.wants.len(), op.parameters.len());
        let Some(make) = &kernel.make else {
            return Err(bad("it has no function".into()));
        };
        if given != wanted {
            return Err(bad(format!(
                "its function has {given} arguments, and {op} has {wanted}"
            )));
        }
        let mut types = vec![None::<Vec<DType>>; op.variables.len()];
        for (variable, allowed) in &kernel.types {
            let Some(at) = op.variables.iter().position(|known| known == variable) else {
                return Err(bad(format!("{op} has no type variable {variable:?}")));
            };
            if types[at].replace(allowed.clone()).is_some() {
                return Err(bad(format!("the types of {variable} are given twice")));
            }
        }
        let mut host_memory = 0;
        for name in &kernel.host_memory {
            let Some(at) = op.position(name) else {
                return Err(bad(format!("{op} has no argument {name:?}")));
            };
            host_memory |= 1 << at;
        }
        let device = kernel.device;
        if device != DeviceKind::Cpu && host_memory == all(op.parameters.len()) {
            return Err(bad(format!(
                "all its arguments are on the host, and nothing tells that it is for {device}",
                device = device.name()
            )));
        }
        for (at, (parameter, wants)) in op.parameters.iter().zip(&kernel.wants).enumerate() {
            let name = &parameter.name;
            let is_reached = host_memory & (1 << at) != 0 || device.is_host_accessible();
            if wants.on_host && !is_reached {
                return Err(bad(format!(
                    "its function looks at the elements of {name:?}, which are on {}; take it untyped",
                    device.name()
                )));
            }
            if wants.writes != (parameter.role != super::op::Role::Input) {
                let verb = if wants.writes { "writes" } else { "only reads" };
                return Err(bad(format!("its function {verb} {name:?}")));
            }
            let Some(dtype) = wants.dtype else { continue };
            match &parameter.kind {
                Kind::Is(wanted) if *wanted != dtype => {
                    return Err(bad(format!("its {name:?} is {dtype}, and not {wanted}")));
                }
                Kind::Variable(at) => match &types[*at] {
                    Some(allowed) if *allowed != [dtype] => {
                        let variable = &op.variables[*at];
                        return Err(bad(format!(
                            "its {variable} is {dtype}, and something else"
                        )));
                    }
                    _ => types[*at] = Some(vec![dtype]),
                },
                _ => {}
            }
        }
        let mut attributes = Vec::new();
        for (name, values) in &kernel.attributes {
            let Some(at) = op.attributes.iter().position(|known| known.name == *name) else {
                return Err(bad(format!("{op} has no attribute {name:?}")));
            };
            let kind = op.attributes[at].kind;
            let values: Option<Vec<_>> = values.iter().map(|value| value.converted(kind)).collect();
            let Some(values) = values else {
                return Err(bad(format!("attribute {name:?} is of kind {kind}")));
            };
            if attributes.iter().any(|(known, _)| *known == at) {
                return Err(bad(format!("the values of {name:?} are given twice")));
            }
            attributes.push((at, values));
        }
        let mut this = Self {
            description: String::new(),
            device: kernel.device,
            label: kernel.label,
            priority: kernel.priority,
            wants: kernel.wants,
            types,
            attributes,
            host_memory,
            releases_from: kernel.releases_from,
            make: make.clone(),
            states: States::default(),
            origin,
            demands: [0; 4],
        };
        this.demands = this.count_demands();
        this.description = this.describe(op, kernel.name.as_deref());
        Ok(this)
    }

    fn describe(&self, op: &Op, name: Option<&str>) -> String {
        let mut parts = vec![self.device.name().to_owned()];
        for (variable, allowed) in op.variables.iter().zip(&self.types) {
            if let Some(allowed) = allowed {
                let names: Vec<_> = allowed.iter().map(ToString::to_string).collect();
                parts.push(format!("{variable}={}", names.join("|")));
            }
        }
        for (parameter, wants) in op.parameters.iter().zip(&self.wants) {
            let mut asked = Vec::new();
            if wants.row_major {
                asked.push("row-major".to_owned());
            }
            if let Some(rank) = wants.rank {
                asked.push(format!("rank {rank}"));
            }
            if !asked.is_empty() {
                parts.push(format!("{}: {}", parameter.name, asked.join(" ")));
            }
        }
        for (at, values) in &self.attributes {
            let values: Vec<_> = values.iter().map(ToString::to_string).collect();
            parts.push(format!("{}={}", op.attributes[*at].name, values.join("|")));
        }
        if !self.label.is_empty() {
            parts.push(format!("label {:?}", self.label));
        }
        if self.priority != 0 {
            parts.push(format!("priority {}", self.priority));
        }
        let name = name.map(|name| format!(" {name}")).unwrap_or_default();
        format!("{}{name} ({})", op.name, parts.join(", "))
    }

    fn count_demands(&self) -> [usize; 4] {
        let count = |is: fn(&Wants) -> bool| self.wants.iter().filter(|wants| is(wants)).count();
        [
            count(|wants| wants.row_major),
            count(|wants| wants.rank.is_some()),
            self.attributes.len(),
            self.types.iter().filter(|types| types.is_some()).count()
                + count(|wants| wants.dtype.is_some()),
        ]
    }

    /// Whether there can be a call that both match equally well.
    pub(super) fn clashes_with(&self, other: &Self) -> bool {
        let both = |a: &Option<Vec<DType>>, b: &Option<Vec<DType>>| match (a, b) {
            (Some(a), Some(b)) => a.iter().any(|dtype| b.contains(dtype)),
            _ => true,
        };
        let is_shared = |at: usize, values: &[Attribute]| {
            let theirs = other.attributes.iter().filter(|(place, _)| *place == at);
            theirs
                .into_iter()
                .all(|(_, theirs)| theirs.iter().any(|value| values.contains(value)))
        };
        let same_or_any = |a: Option<usize>, b: Option<usize>| a.is_none() || b.is_none() || a == b;
        let wants = || self.wants.iter().zip(&other.wants);
        (self.device, &self.label, self.priority) == (other.device, &other.label, other.priority)
            && self.demands == other.demands
            && self.types.iter().zip(&other.types).all(|(a, b)| both(a, b))
            && self
                .attributes
                .iter()
                .all(|(at, values)| is_shared(*at, values))
            && wants().all(|(a, b)| same_or_any(a.rank, b.rank))
            && wants().all(|(a, b)| a.dtype.is_none() || b.dtype.is_none() || a.dtype == b.dtype)
            && (self.host_memory == other.host_memory || is_reached_by_host_too(self.device))
    }

    /// What is called, for these attributes and this device: made once, if it is to be made.
    pub(super) fn compute(&self, context: &Construction<'_>) -> Result<Compute, Failure> {
        match &self.make {
            Make::Function(compute) => Ok(compute.clone()),
            Make::Factory(factory) => self.states.get_or_make(context, &**factory),
        }
    }

    /// Why it is none for a call, if that is so.
    pub(super) fn refusal(
        &self,
        op: &Op,
        seen: &[Seen],
        attributes: &[Attribute],
        label: &str,
    ) -> Option<String> {
        if self.label != label {
            return Some(format!("its label is {:?}", self.label));
        }
        for (at, (wants, seen)) in self.wants.iter().zip(seen).enumerate() {
            let parameter = &op.parameters[at];
            let name = &parameter.name;
            let is_of_host = self.host_memory & (1 << at) != 0;
            let device = if is_of_host {
                DeviceKind::Cpu
            } else {
                self.device
            };
            if !reaches(device, seen.device.kind()) {
                return Some(format!("{name:?} is on {}", seen.device));
            }
            let allowed = match &parameter.kind {
                Kind::Variable(variable) => self.types[*variable].as_deref(),
                _ => wants.dtype.as_ref().map(std::slice::from_ref),
            };
            if allowed.is_some_and(|allowed| !allowed.contains(&seen.dtype)) {
                return Some(format!("{name:?} is of {}", seen.dtype));
            }
            if wants.rank.is_some_and(|rank| rank != seen.rank) {
                return Some(format!("{name:?} is of rank {}", seen.rank));
            }
            if wants.row_major && !seen.row_major {
                return Some(format!(
                    "{name:?} isn't row-major without gaps; pass a copy"
                ));
            }
        }
        for (at, values) in &self.attributes {
            if !values.contains(&attributes[*at]) {
                let name = &op.attributes[*at].name;
                return Some(format!("{name:?} is {}", attributes[*at]));
            }
        }
        None
    }

    /// What decides between two that both match: the larger one is taken.
    fn preference(&self) -> (i32, u32, [usize; 4]) {
        // Processors, and then CUDA's devices, reach memory of other kinds, too, but that isn't what
        // they are there for.
        let device = match self.device {
            DeviceKind::Cpu => 0,
            DeviceKind::Cuda => 1,
            other => other as u32,
        };
        (self.priority, device, self.demands)
    }
}

/// Whether a kernel for one kind of device can use memory on another.
fn reaches(kernel: DeviceKind, memory: DeviceKind) -> bool {
    match kernel {
        DeviceKind::Cpu => Device::new(memory, 0).is_host_accessible(),
        DeviceKind::Cuda => matches!(memory, DeviceKind::Cuda | DeviceKind::CudaManaged),
        _ => kernel == memory,
    }
}

/// Whether there is memory that both such a device and the host reach.
fn is_reached_by_host_too(device: DeviceKind) -> bool {
    let reached = DeviceKind::ALL.iter().copied();
    reached
        .filter(|memory| reaches(device, *memory))
        .any(DeviceKind::is_host_accessible)
}

/// As many bits.
fn all(count: usize) -> u32 {
    (1_u64 << count).wrapping_sub(1) as u32
}

/// The kernel for a call; or why each of them is none.
pub(super) fn choose<'a>(
    op: &Op,
    kernels: &'a [Arc<Registered>],
    seen: &[Seen],
    attributes: &[Attribute],
    label: &str,
) -> Result<&'a Arc<Registered>, Vec<String>> {
    let mut refusals = Vec::new();
    let mut best: Option<&Arc<Registered>> = None;
    for kernel in kernels {
        match kernel.refusal(op, seen, attributes, label) {
            Some(reason) => refusals.push(format!("{}: {reason}", kernel.description)),
            None if best.is_none_or(|best| kernel.preference() > best.preference()) => {
                best = Some(kernel);
            }
            None => {}
        }
    }
    best.ok_or(refusals)
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.description)
    }
}
