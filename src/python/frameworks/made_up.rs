//! A framework that only tests have: all that a new one takes is a file like this, and its line in
//! the table.

use super::constraints::{ANYTHING, Arranged, Needs};
use super::row_type::{Export, Framework};
use crate::dtype::DType;
use pyo3::prelude::*;

pub(super) static ROW: Framework = Framework::new(
    "made_up",
    "Made Up",
    &["made_up"],
    Needs {
        has: |dtype| dtype == DType::F32,
        arranged: Arranged::RowMajor,
        writes_all: true,
        ..ANYTHING
    },
    Export::Object(|py, object, _| py.import("made_up")?.call_method1("from_dlpack", (object,))),
);

/// Tests by embedding Python, which Miri doesn't run.
#[cfg(not(miri))]
mod tests {
    use super::*;
    use crate::error::IncompatibilityKind;
    use crate::python::import::own::{Wanted, from_object};
    use crate::python::{
        Conversion, Like, Outcome, ReadOnlyPolicy, convert, explain, to_framework,
    };
    use crate::tensor::Tensor;
    use pyo3::exceptions::PyBufferError;

    const MODULE: &std::ffi::CStr = cr#"
class Error(Exception): pass

class Tensor:
    def __init__(self, source):
        self.source = source

    def __dlpack__(self, **keywords):
        if self.source is None:
            raise Error("the tensor was deleted")
        return self.source.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return (1, 0)

def from_dlpack(x):
    return Tensor(x)
"#;

    /// Calls a function with the framework's module, imported.
    fn with_module<R>(function: impl FnOnce(Python<'_>, &Bound<'_, PyModule>) -> R) -> R {
        Python::initialize();
        Python::attach(|py| {
            let module = PyModule::from_code(py, MODULE, c"made_up.py", c"made_up").unwrap();
            function(py, &module)
        })
    }

    fn is_its_tensor(module: &Bound<'_, PyModule>, object: &Bound<'_, PyAny>) -> bool {
        object
            .is_instance(&module.getattr("Tensor").unwrap())
            .unwrap()
    }

    #[test]
    fn conversion_by_name_shares_memory_both_ways() {
        with_module(|py, module| {
            let tensor = Tensor::from_slice(&[1.0_f32, 2.0], &[2]).unwrap();
            let made = to_framework(py, tensor.clone(), "made_up").unwrap();
            assert!(is_its_tensor(module, &made));
            let back = from_object(&made, Wanted::default()).unwrap();
            assert_eq!(back.data_ptr(), tensor.data_ptr());
        });
    }

    #[test]
    fn constraints_of_the_row_decide() {
        with_module(|py, _| {
            let doubles = Tensor::from_slice(&[1.0_f64], &[1]).unwrap();
            let explained = explain(py, doubles, "made_up", None).unwrap();
            assert_eq!(explained.outcome, Outcome::Refused);
            let why = explained.incompatibility.unwrap();
            assert_eq!(why.kind, IncompatibilityKind::DType);
            assert_eq!(why.found.as_deref(), Some("float64"));
            assert_eq!(why.to_string(), "Made Up has no float64");

            let square = Tensor::from_slice(&[0.0_f32; 4], &[2, 2]).unwrap();
            let flipped = square.transpose();
            let explained = explain(py, flipped.clone(), "made_up", None).unwrap();
            assert_eq!(explained.outcome, Outcome::Copied);
            let made = convert(py, flipped, "made_up", Conversion::from(None)).unwrap();
            let copy = from_object(&made, Wanted::default()).unwrap();
            assert_ne!(copy.data_ptr(), square.data_ptr());

            static FIXED: [f32; 1] = [1.0];
            let fixed = Tensor::from_owner(FIXED.as_slice(), &[1]).unwrap();
            let policy = Conversion::default().readonly(ReadOnlyPolicy::Refuse);
            let error = convert(py, fixed, "made_up", policy).unwrap_err();
            assert!(error.is_instance_of::<PyBufferError>(py), "{error}");
        });
    }

    #[test]
    fn result_like_an_argument_is_of_its_framework() {
        with_module(|py, module| {
            let argument = module.call_method1("from_dlpack", (py.None(),)).unwrap();
            let tensor = Tensor::from_slice(&[1.0_f32], &[1]).unwrap();
            let made = Like::new(Some(argument), tensor).into_pyobject(py).unwrap();
            assert!(is_its_tensor(module, &made));
        });
    }

    #[test]
    fn its_own_errors_become_buffer_errors() {
        with_module(|py, module| {
            let deleted = module.call_method1("from_dlpack", (py.None(),)).unwrap();
            let error = from_object(&deleted, Wanted::default()).unwrap_err();
            assert!(error.is_instance_of::<PyBufferError>(py), "{error}");
            assert_eq!(
                error.value(py).to_string(),
                "made_up can't share the tensor: the tensor was deleted"
            );
        });
    }

    #[test]
    fn unknown_name_lists_it() {
        with_module(|py, _| {
            let tensor = Tensor::from_slice(&[1.0_f32], &[1]).unwrap();
            let error = to_framework(py, tensor, "made_down").unwrap_err();
            assert!(error.to_string().ends_with(", made_up"), "{error}");
        });
    }
}
