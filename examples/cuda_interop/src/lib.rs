//! An op of one's own on GPUs, called with the tensors of any framework of Python, and from Rust
//! alone.

pub mod swish;

use pyo3::prelude::*;

/// Importing this is all: its op is `dlbridge.ops.interop.swish` then.
#[pymodule]
mod cuda_interop {
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        dlbridge::python::publish_ops(module.py())
    }
}
