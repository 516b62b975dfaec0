//! Ops of one's own: written once, called from Rust and with the tensors of any framework of
//! Python.

pub mod image;
pub mod nn;

use pyo3::prelude::*;

/// Importing this is all: its ops are in `dlbridge.ops` then.
#[pymodule]
mod custom_op {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        dlbridge::python::publish_ops(module.py())
    }
}
