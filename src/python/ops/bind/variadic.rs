//! Binding of the tensors of a variadic input.

use super::{Bindings, Given, Names};
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

impl Names {
    /// Binds the positional arguments from the variadic input on, or the items of one list or tuple
    /// in their place.
    #[inline(never)]
    pub(super) fn bind_variadic<'a, 'py>(
        &self,
        variadic: usize,
        given: &Given<'a, 'py>,
        all: &mut Bindings<'a, 'py>,
    ) -> PyResult<()> {
        let rest = given.positional.get(variadic..).unwrap_or_default();
        let mut add = |at: usize, object| match at {
            // `None` is refused as no tensor.
            0 => all.tensors[variadic] = Some(object),
            _ => all.tensors.push(Some(object)),
        };
        if let [one] = rest {
            let one = given.object(*one);
            let tuple = match one.cast::<PyTuple>() {
                Ok(tuple) => Some(tuple.to_owned()),
                Err(_) => one.cast::<PyList>().ok().map(|list| list.to_tuple()),
            };
            if let Some(tuple) = tuple {
                for (at, item) in tuple.iter_borrowed().enumerate() {
                    // SAFETY: a tuple keeps its items, and the bindings keep the tuple, for as long
                    // as they are used.
                    add(at, unsafe { Borrowed::from_ptr(given.py, item.as_ptr()) });
                }
                all.listed = Some(tuple);
                return Ok(());
            }
        }
        for (at, object) in rest.iter().enumerate() {
            add(at, given.object(*object));
        }
        Ok(())
    }
}
