//! Errors of arguments that can't be bound.

use super::Names;
use crate::kernel::Reason;
use crate::python::error::{of_call, wrong_argument};
use pyo3::Borrowed;
use pyo3::prelude::*;

impl Names {
    #[cold]
    pub(super) fn no_such(&self, op: &str, keyword: Borrowed<'_, '_, PyAny>) -> PyErr {
        let py = keyword.py();
        let text = keyword.to_string();
        let is_keyword = |at: &usize| self.tensors[*at].bind(py).to_string_lossy() == text;
        if let Some(variadic) = self.variadic.filter(is_keyword) {
            let name = self.tensors[variadic].bind(py).to_string_lossy();
            let reason = format!("{op}: the tensors of {name} are positional arguments");
            return wrong_argument(format!("{name}="), format!("*{name}"), reason);
        }
        let named = (self.tensors.iter().enumerate()).filter(|(at, _)| self.variadic != Some(*at));
        let mut known: Vec<_> = (named.map(|(_, name)| name))
            .chain(self.attributes.iter().map(|(name, _)| name))
            .chain([&self.out, &self.like, &self.label])
            .chain([&self.memory, &self.threads])
            .map(|name| name.bind(py).to_string_lossy().into_owned())
            .collect();
        // The result may be called that, or there is none.
        let is_result = |name: &str| {
            self.tensors[self.given..]
                .iter()
                .any(|tensor| tensor.bind(py) == name)
        };
        if is_result("out") || self.given == self.tensors.len() {
            let named = self.tensors.len() - usize::from(self.variadic.is_some());
            known.remove(named + self.attributes.len());
        }
        let argument = keyword.to_string();
        of_call(Reason::NoSuchArgument { argument, known }.of(op))
    }

    /// Returns the name of the argument at a place, as in `x` and `xs[2]`.
    #[cold]
    pub(in crate::python::ops) fn argument(&self, py: Python<'_>, place: usize) -> String {
        let name = |at: usize| self.tensors[at].bind(py).to_string_lossy().into_owned();
        match (self.variadic, place.checked_sub(self.tensors.len())) {
            (Some(variadic), Some(more)) => format!("{}[{}]", name(variadic), more + 1),
            (Some(variadic), None) if variadic == place => format!("{}[0]", name(place)),
            _ => name(place),
        }
    }

    #[cold]
    pub(super) fn not_str(op: &str, label: Borrowed<'_, '_, PyAny>) -> PyErr {
        match label.get_type().qualname() {
            Ok(found) => {
                let reason = format!("{op}: expected a str for label, got {found}");
                wrong_argument(found.to_string(), "str", reason)
            }
            Err(error) => error,
        }
    }
}
