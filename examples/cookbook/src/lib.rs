//! The code of the cookbook: whole functions for common tasks.

mod coming_from;
mod functions;
mod loader;
mod op;
mod tokenizer;

use pyo3::prelude::*;

/// Whole functions for common tasks, for tensors of any framework.
#[pymodule]
mod cookbook {
    #[pymodule_export]
    use super::coming_from::{add, scaled};
    #[pymodule_export]
    use super::functions::{Average, clip_, layer_norm, rotary_, topk};
    #[pymodule_export]
    use super::loader::Loader;
    #[pymodule_export]
    use super::tokenizer::Tokenizer;
    use pyo3::prelude::*;

    /// Adds the ops to `dlbridge.ops`.
    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        dlbridge::python::publish_ops(module.py())
    }
}
