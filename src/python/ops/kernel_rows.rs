//! Rows of `dlbridge.kernels()`: kernels that differ in element types alone are one row.

use crate::dtype::DType;
use crate::kernel::{KernelInfo, Registry};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns all kernels of ops that were registered by macros: a dict for each op, device, label,
/// priority and origin.
///
/// # Errors
///
/// When Python has no memory for them.
pub fn kernel_rows(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    rows(py, &Registry::global().kernels())
}

/// Returns kernels as dicts: one for an op, device, label, priority and origin, with all element
/// types.
pub(super) fn rows<'py>(
    py: Python<'py>,
    kernels: &[KernelInfo],
) -> PyResult<Vec<Bound<'py, PyAny>>> {
    let mut groups: Vec<Vec<Row<'_>>> = Vec::new();
    for kernel in kernels {
        let row = Row::new(kernel);
        match groups.iter_mut().find(|group| group[0].is_alike(kernel)) {
            Some(group) => group.push(row),
            None => groups.push(vec![row]),
        }
    }
    let rows = groups.into_iter().flat_map(merged);
    rows.map(|row| row.into_dict(py)).collect()
}

/// One kernel, or several that differ in element types.
struct Row<'a> {
    first: &'a KernelInfo,
    /// By type variable, in the order of [`sorted`]; empty for any.
    types: Vec<Vec<DType>>,
    descriptions: Vec<&'a str>,
}

impl<'a> Row<'a> {
    fn new(kernel: &'a KernelInfo) -> Self {
        Self {
            first: kernel,
            types: kernel
                .types
                .iter()
                .map(|(_, types)| sorted(types.clone()))
                .collect(),
            descriptions: vec![&kernel.description],
        }
    }

    fn is_alike(&self, other: &KernelInfo) -> bool {
        let key = |kernel: &'a KernelInfo| (&kernel.op, kernel.device, &kernel.label);
        let other_key = (&other.op, other.device, &other.label);
        key(self.first) == other_key
            && (self.first.priority, self.first.origin) == (other.priority, other.origin)
    }

    /// Adds the types of another row where that loses nothing: they differ in at most one variable.
    fn merge(&mut self, other: &Self) -> bool {
        let differing = |at: &usize| self.types[*at] != other.types[*at];
        let mut differing = (0..self.types.len()).filter(differing);
        let (at, is_another) = (differing.next(), differing.next().is_some());
        if is_another {
            return false;
        }
        if let Some(at) = at {
            let (types, more) = (&mut self.types[at], &other.types[at]);
            if more.is_empty() {
                types.clear();
            } else if !types.is_empty() {
                let new = more.iter().filter(|dtype| !types.contains(dtype));
                let new: Vec<_> = new.copied().collect();
                types.extend(new);
                *types = sorted(std::mem::take(types));
            }
        }
        self.descriptions.extend(&other.descriptions);
        true
    }

    /// Returns the row in an order of its own, as the linker decides about that of the kernels.
    fn into_dict<'py>(mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let (row, kernel) = (PyDict::new(py), self.first);
        row.set_item("op", &kernel.op)?;
        row.set_item("device", kernel.device.name())?;
        let types = PyDict::new(py);
        for ((variable, _), allowed) in kernel.types.iter().zip(&self.types) {
            let names: Vec<_> = allowed.iter().map(ToString::to_string).collect();
            types.set_item(variable, names)?;
        }
        row.set_item("types", types)?;
        row.set_item("label", &kernel.label)?;
        row.set_item("priority", kernel.priority)?;
        self.descriptions.sort_unstable();
        row.set_item("descriptions", self.descriptions)?;
        row.set_item("origin", kernel.origin)?;
        Ok(row.into_any())
    }
}

/// Sorts types, so that equal sets are equal lists, whatever order the linker gave their kernels.
fn sorted(mut types: Vec<DType>) -> Vec<DType> {
    types.sort_by_key(|dtype| (dtype.code(), dtype.bits()));
    types
}

/// Merges rows until no two of them can be.
fn merged(mut rows: Vec<Row<'_>>) -> Vec<Row<'_>> {
    let mut at = 0;
    while at < rows.len() {
        let (first, rest) = rows.split_at_mut(at + 1);
        let found = rest.iter().position(|other| first[at].merge(other));
        match found {
            // What is wider now may merge with an earlier one.
            Some(other) => {
                rows.remove(at + 1 + other);
                at = 0;
            }
            None => at += 1,
        }
    }
    rows
}
