//! Validation of a kernel against its op and against the op's other kernels.

use super::{Registered, reaches};
use crate::device::DeviceKind;
use crate::dtype::DType;
use crate::kernel::argument_type::Wants;
use crate::kernel::attribute::Attribute;
use crate::kernel::definition::{Kernel, Make};
use crate::kernel::error::RegistrationError;
use crate::kernel::factory_cache::FactoryCache;
use crate::kernel::op::{Kind, Op, Presence, Role};

impl Registered {
    /// Checks that a kernel's arguments, attributes and devices fit its op.
    pub(in crate::kernel) fn new(
        op: &Op,
        kernel: Kernel,
        origin: &'static str,
    ) -> Result<Self, RegistrationError> {
        let Placed {
            make,
            types,
            host_memory,
            attributes,
        } = Placed::from_kernel(op, &kernel).map_err(|problem| RegistrationError::BadKernel {
            op: op.name.clone(),
            kernel: kernel.name.clone().unwrap_or_else(|| "the kernel".into()),
            problem,
        })?;
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
            fills_results: kernel.fills_results,
            is_capturable: kernel.is_capturable,
            make,
            states: FactoryCache::default(),
            origin,
            demands: [0; 4],
        };
        this.demands = this.count_demands(op);
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
            if parameter.presence == Presence::Optional && !wants.is_optional {
                asked.push("given".to_owned());
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

    fn count_demands(&self, op: &Op) -> [usize; 4] {
        let count = |is: fn(&Wants) -> bool| self.wants.iter().filter(|wants| is(wants)).count();
        [
            count(|wants| wants.row_major),
            count(|wants| wants.rank.is_some()),
            self.attributes.len(),
            self.types.iter().filter(|types| types.is_some()).count()
                + count(|wants| wants.dtype.is_some())
                + (op.parameters.iter().zip(&self.wants))
                    .filter(|(parameter, wants)| {
                        parameter.presence == Presence::Optional && !wants.is_optional
                    })
                    .count(),
        ]
    }

    /// Returns whether two kernels can match a call equally well.
    pub(in crate::kernel) fn clashes_with(&self, other: &Self) -> bool {
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
        // Both match calls without an argument that is optional for both.
        let wants = || {
            let pairs = self.wants.iter().zip(&other.wants);
            pairs.filter(|(a, b)| !a.is_optional || !b.is_optional)
        };
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
}

/// A kernel's names, resolved to indices of the op.
struct Placed {
    make: Make,
    /// As in [`Registered`].
    types: Vec<Option<Vec<DType>>>,
    host_memory: u32,
    attributes: Vec<(usize, Vec<Attribute>)>,
}

impl Placed {
    /// Checks a kernel against its op, and returns what is wrong as an error.
    fn from_kernel(op: &Op, kernel: &Kernel) -> Result<Self, String> {
        let make = function_of(op, kernel)?;
        let mut types = types_allowed(op, kernel)?;
        let host_memory = host_memory_of(op, kernel)?;
        for at in 0..op.parameters.len() {
            check_reach(op, kernel, at, host_memory)?;
            check_role(op, kernel, at)?;
            check_presence(op, kernel, at)?;
            agree_on_type(op, kernel, at, &mut types)?;
        }
        Ok(Self {
            make,
            types,
            host_memory,
            attributes: with_types_of_function(op, kernel, attributes_asked(op, kernel)?)?,
        })
    }
}

/// Returns the kernel's function, which must take as many arguments as the op.
fn function_of(op: &Op, kernel: &Kernel) -> Result<Make, String> {
    let (given, wanted) = (kernel.wants.len(), op.parameters.len());
    match &kernel.make {
        None => Err("it has no function".into()),
        Some(_) if given != wanted => Err(format!(
            "its function has {given} arguments, and {op} has {wanted}"
        )),
        Some(make) => Ok(make.clone()),
    }
}

/// Returns the dtypes to which the kernel restricts each type variable.
fn types_allowed(op: &Op, kernel: &Kernel) -> Result<Vec<Option<Vec<DType>>>, String> {
    let mut types = vec![None::<Vec<DType>>; op.variables.len()];
    for (variable, allowed) in &kernel.types {
        let Some(at) = op.variables.iter().position(|known| known == variable) else {
            return Err(format!("{op} has no type variable {variable:?}"));
        };
        if types[at].replace(allowed.clone()).is_some() {
            return Err(format!("the types of {variable} are given twice"));
        }
    }
    Ok(types)
}

/// Returns which arguments stay on the host, as a bit mask. Only a kernel of the host may have all
/// of them there, as a call's device is that of its arguments.
fn host_memory_of(op: &Op, kernel: &Kernel) -> Result<u32, String> {
    let mut host_memory = 0;
    for name in &kernel.host_memory {
        let Some(at) = op.position(name) else {
            return Err(format!("{op} has no argument {name:?}"));
        };
        host_memory |= 1 << at;
    }
    if kernel.device != DeviceKind::Cpu && host_memory == all(op.parameters.len()) {
        return Err(format!(
            "all its arguments are on the host, and nothing tells that it is for {}",
            kernel.device.name()
        ));
    }
    Ok(host_memory)
}

/// Checks that the host can access the elements that the function reads.
fn check_reach(op: &Op, kernel: &Kernel, at: usize, host_memory: u32) -> Result<(), String> {
    let is_reached = host_memory & (1 << at) != 0 || kernel.device.is_host_accessible();
    if kernel.wants[at].on_host && !is_reached {
        return Err(format!(
            "its function looks at the elements of {:?}, which are on {}; take it untyped",
            op.parameters[at].name,
            kernel.device.name()
        ));
    }
    Ok(())
}

/// Checks that inputs are only read, and all other arguments written.
fn check_role(op: &Op, kernel: &Kernel, at: usize) -> Result<(), String> {
    let (parameter, writes) = (&op.parameters[at], kernel.wants[at].writes);
    if writes != (parameter.role != Role::Input) {
        let verb = if writes { "writes" } else { "only reads" };
        return Err(format!("its function {verb} {:?}", parameter.name));
    }
    Ok(())
}

/// Checks that the function takes as many tensors for a parameter as calls may give.
fn check_presence(op: &Op, kernel: &Kernel, at: usize) -> Result<(), String> {
    let (parameter, wants) = (&op.parameters[at], &kernel.wants[at]);
    let name = &parameter.name;
    if wants.is_variadic != (parameter.presence == Presence::Variadic) {
        return Err(match wants.is_variadic {
            true => format!("its function takes a Vec for {name:?}, which is one tensor"),
            false => format!("its function takes one tensor for {name:?}, which is variadic"),
        });
    }
    if wants.is_optional && parameter.presence != Presence::Optional {
        return Err(format!(
            "its function takes an Option for {name:?}, which every call gives"
        ));
    }
    Ok(())
}

/// Checks that the function's dtype matches the op's, and binds type variables.
fn agree_on_type(
    op: &Op,
    kernel: &Kernel,
    at: usize,
    types: &mut [Option<Vec<DType>>],
) -> Result<(), String> {
    let parameter = &op.parameters[at];
    let Some(dtype) = kernel.wants[at].dtype else {
        return Ok(());
    };
    match &parameter.kind {
        Kind::Is(wanted) if *wanted != dtype => Err(format!(
            "its {:?} is {dtype}, and not {wanted}",
            parameter.name
        )),
        Kind::Variable(at) => match &types[*at] {
            Some(allowed) if *allowed != [dtype] => Err(format!(
                "its {} is {dtype}, and something else",
                op.variables[*at]
            )),
            _ => {
                types[*at] = Some(vec![dtype]);
                Ok(())
            }
        },
        _ => Ok(()),
    }
}

/// Returns the values that attributes must have, of the attributes' kinds.
fn attributes_asked(op: &Op, kernel: &Kernel) -> Result<Vec<(usize, Vec<Attribute>)>, String> {
    let mut attributes = Vec::new();
    for (name, values) in &kernel.attributes {
        let Some(at) = op.attributes.iter().position(|known| known.name == *name) else {
            return Err(format!("{op} has no attribute {name:?}"));
        };
        let kind = op.attributes[at].kind;
        let values: Option<Vec<_>> = values.iter().map(|value| value.converted(kind)).collect();
        let Some(values) = values else {
            return Err(format!("attribute {name:?} is of kind {kind}"));
        };
        if attributes.iter().any(|(known, _)| *known == at) {
            return Err(format!("the values of {name:?} are given twice"));
        }
        attributes.push((at, values));
    }
    Ok(attributes)
}

/// Adds the values of attributes that set an argument's dtype, where the function fixes that dtype.
fn with_types_of_function(
    op: &Op,
    kernel: &Kernel,
    mut attributes: Vec<(usize, Vec<Attribute>)>,
) -> Result<Vec<(usize, Vec<Attribute>)>, String> {
    for (parameter, wants) in op.parameters.iter().zip(&kernel.wants) {
        let (Kind::Attribute(name), Some(dtype)) = (&parameter.kind, wants.dtype) else {
            continue;
        };
        let value = vec![Attribute::DType(dtype)];
        let at = (op.attributes.iter()).position(|known| known.name == *name);
        let at = at.expect("the op was checked for that when it was defined");
        match attributes.iter().find(|(known, _)| *known == at) {
            None => attributes.push((at, value)),
            Some((_, values)) if *values == value => {}
            Some(_) => return Err(format!("its {name} is {dtype}, and something else")),
        }
    }
    Ok(attributes)
}

/// Returns whether there is a kind of memory that both the device and the host can access.
fn is_reached_by_host_too(device: DeviceKind) -> bool {
    let reached = DeviceKind::ALL.iter().copied();
    reached
        .filter(|memory| reaches(device, *memory))
        .any(DeviceKind::is_host_accessible)
}

/// Returns a mask of the lowest `count` bits.
fn all(count: usize) -> u32 {
    (1_u64 << count).wrapping_sub(1) as u32
}
