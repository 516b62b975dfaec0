//! TVM FFI, the part of TVM that other compilers use as well.

use super::constraints::{ANYTHING, Needs};
use super::row_type::{Export, Framework};
use crate::dlpack::python::intern;
use crate::dtype::{DType, TypeCode};
use pyo3::prelude::*;

pub(super) static ROW: Framework = Framework::new(
    "tvm_ffi",
    "TVM FFI",
    &["tvm_ffi"],
    NEEDS,
    Export::Object(from_dlpack),
);

pub(super) const NEEDS: Needs = Needs {
    has: |dtype| dtype.code() != TypeCode::Complex,
    has_padded: false,
    writes_all: true,
    ..ANYTHING
};

fn from_dlpack<'py>(
    py: Python<'py>,
    object: Bound<'py, PyAny>,
    _: DType,
) -> PyResult<Bound<'py, PyAny>> {
    py.import(intern!(py, "tvm_ffi"))?
        .call_method1(intern!(py, "from_dlpack"), (object,))
}
