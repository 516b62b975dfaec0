//! PyArrow: arrays of one dimension, and tensors of several.

use super::constraints::{ANYTHING, Arranged, Needs};
use super::dtypes::{is_common, is_wide_unsigned};
use super::numpy;
use super::row_type::{Export, Framework};
use crate::device::Device;
use crate::dlpack::python::intern;
use crate::dtype::DType;
use crate::tensor::Tensor;
use pyo3::prelude::*;

pub(super) static ROW: Framework = Framework {
    // Its own copy of a tensor with gaps has other elements than the tensor.
    copies_right: false,
    // From 26 on it gives capsules that say so.
    legacy_is_read_only: true,
    ..Framework::new(
        "pyarrow",
        "PyArrow",
        &["pyarrow"],
        Needs {
            has: has_dtype,
            arranged: Arranged::Forwards,
            reaches: Device::is_host_accessible,
            most_dimensions: numpy::MAX_RANK,
            ..ANYTHING
        },
        Export::Tensor(make),
    )
};

fn has_dtype(dtype: DType) -> bool {
    // Its truth values are packed, eight a byte.
    dtype != DType::BOOL && (is_common(dtype) || is_wide_unsigned(dtype))
}

/// Makes an array of one dimension, and a tensor of others.
fn make(py: Python<'_>, tensor: Tensor) -> PyResult<Bound<'_, PyAny>> {
    let pyarrow = py.import(intern!(py, "pyarrow"))?;
    if tensor.rank() != 1 || !tensor.layout().is_contiguous() {
        let array = numpy::make(py, tensor)?;
        return pyarrow
            .getattr(intern!(py, "Tensor"))?
            .call_method1(intern!(py, "from_numpy"), (array,));
    }
    let dtype = match tensor.dtype() {
        DType::F16 => "float16".to_owned(),
        dtype => dtype.to_string(),
    };
    let element_type = pyarrow.call_method0(dtype.as_str())?;
    let (address, bytes, len) = (tensor.data_ptr().addr(), tensor.nbytes(), tensor.len());
    let buffer = pyarrow.call_method1(intern!(py, "foreign_buffer"), (address, bytes, tensor))?;
    let buffers = [py.None().into_bound(py), buffer];
    pyarrow.getattr(intern!(py, "Array"))?.call_method1(
        intern!(py, "from_buffers"),
        (element_type, len, buffers.to_vec()),
    )
}
