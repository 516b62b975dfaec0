//! [`Kernels`]: the kernels of an op, with an index for registration.

use super::Registered;
use crate::device::DeviceKind;
use crate::kernel::attribute::Attribute;
use crate::kernel::call_key::CallKey;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::Arc;

/// The kernels of an op, in the order of their registration.
///
/// A new kernel may clash with any of them. Comparing it with all takes seconds for ten thousand
/// kernels, so an index finds those that are alike in what is cheap to hash.
#[derive(Default)]
pub(in crate::kernel) struct Kernels {
    all: Vec<Arc<Registered>>,
    index: HashMap<Alike, Vec<Group>>,
}

/// Calls that clashing kernels share.
#[derive(PartialEq, Eq, Hash)]
struct Alike {
    device: DeviceKind,
    label: String,
    priority: i32,
    demands: [usize; 4],
}

/// Alike kernels whose first attribute is the same one.
struct Group {
    /// Its place in the op; `None` if the kernels ask for no attribute.
    attribute: Option<usize>,
    /// Places in `all`.
    members: Vec<usize>,
    /// The same by the values that the attribute may have.
    by_value: HashMap<CallKey, Vec<usize>>,
}

impl Kernels {
    /// Returns a kernel that matches some calls as well as the new one does.
    pub(in crate::kernel) fn clashing(&self, new: &Registered) -> Option<&Arc<Registered>> {
        let groups = self.index.get(&Alike::from_kernel(new))?;
        let first = first_attribute(new);
        let clashes = |at: &usize| new.clashes_with(&self.all[*at]).then(|| &self.all[*at]);
        groups.iter().find_map(|group| match first {
            Some((at, values)) if group.attribute == Some(at) => values
                .iter()
                .filter_map(|value| group.by_value.get(&value_key(value)))
                .flatten()
                .find_map(clashes),
            _ => group.members.iter().find_map(clashes),
        })
    }

    pub(in crate::kernel) fn push(&mut self, kernel: Registered) {
        let at = self.all.len();
        let first = first_attribute(&kernel);
        let attribute = first.map(|(place, _)| place);
        let groups = self.index.entry(Alike::from_kernel(&kernel)).or_default();
        let known = groups.iter().position(|group| group.attribute == attribute);
        let known = known.unwrap_or_else(|| {
            groups.push(Group {
                attribute,
                members: Vec::new(),
                by_value: HashMap::new(),
            });
            groups.len() - 1
        });
        groups[known].members.push(at);
        for value in first.map_or(&[][..], |(_, values)| values) {
            let places = groups[known].by_value.entry(value_key(value)).or_default();
            places.push(at);
        }
        self.all.push(Arc::new(kernel));
    }
}

impl Deref for Kernels {
    type Target = [Arc<Registered>];

    fn deref(&self) -> &Self::Target {
        &self.all
    }
}

impl Alike {
    fn from_kernel(kernel: &Registered) -> Self {
        Self {
            device: kernel.device,
            label: kernel.label.clone(),
            priority: kernel.priority,
            demands: kernel.demands,
        }
    }
}

/// Returns the attribute that comes first in the op, of those that the kernel asks for, and its
/// values.
fn first_attribute(kernel: &Registered) -> Option<(usize, &[Attribute])> {
    let first = kernel.attributes.iter().min_by_key(|(place, _)| *place);
    first.map(|(place, values)| (*place, values.as_slice()))
}

/// Returns a key that is the same for equal values.
fn value_key(value: &Attribute) -> CallKey {
    let mut key = CallKey::new();
    match value {
        // Zeros of both signs are equal.
        Attribute::Float(value) => Attribute::Float(value + 0.0).key(&mut key),
        value => value.key(&mut key),
    }
    key
}
