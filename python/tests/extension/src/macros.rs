//! A list of functions becomes a part of the module.

/// Adds functions to the module.
macro_rules! register {
    ($($function:ident),* $(,)?) => {
        pub(crate) fn register(
            module: &pyo3::Bound<'_, pyo3::types::PyModule>,
        ) -> pyo3::PyResult<()> {
            use pyo3::types::PyModuleMethods;
            $(module.add_function(pyo3::wrap_pyfunction!($function, module)?)?;)*
            Ok(())
        }
    };
}
