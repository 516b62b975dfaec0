//! TVM.

use super::constraints::{Arranged, Needs};
use super::row_type::{Export, Framework};
use super::tvm_ffi;
use crate::dlpack::python::intern;
use crate::dtype::DType;
use pyo3::prelude::*;

pub(super) static ROW: Framework = Framework::new(
    "tvm",
    "TVM",
    &["tvm"],
    Needs {
        arranged: Arranged::RowMajor,
        alignment: 64,
        ..tvm_ffi::NEEDS
    },
    Export::Object(from_dlpack),
);

fn from_dlpack<'py>(
    py: Python<'py>,
    object: Bound<'py, PyAny>,
    _: DType,
) -> PyResult<Bound<'py, PyAny>> {
    py.import(intern!(py, "tvm"))?
        .getattr(intern!(py, "runtime"))?
        .call_method1(intern!(py, "from_dlpack"), (object,))
}
