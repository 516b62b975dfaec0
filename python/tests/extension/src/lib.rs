//! Functions with every kind of argument and result, for the Python tests.
//!
//! The library is one of two modules, by the name that its file gets: `dlbridge_testing`, or
//! `dlbridge_apart`. A copy of the file is loaded apart from the first one, so that each module has
//! a class, an exchange table and a ledger of its own.

#[macro_use]
mod macros;

mod apart;
mod calls;
mod collections;
mod cuts;
mod kept;
mod kinds;
mod life;
mod one_of;
mod ops;
mod owned;
mod results;
mod shapes;
mod typed;

use pyo3::prelude::*;

#[pymodule]
fn dlbridge_testing(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<dlbridge::python::PyTensor>()?;
    module.add("HAS_PACKAGE_FEATURES", cfg!(feature = "package"))?;
    typed::register(module)?;
    kinds::register(module)?;
    calls::register(module)?;
    collections::register(module)?;
    cuts::register(module)?;
    one_of::register(module)?;
    shapes::register(module)?;
    shapes::register_class(module)?;
    owned::register(module)?;
    kept::register(module)?;
    kept::register_class(module)?;
    results::register(module)?;
    ops::register(module)?;
    life::register(module)
}
