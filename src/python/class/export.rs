//! Export methods: to frameworks, capsules, arrays, buffers and pickles.

#[cfg(any(not(Py_LIMITED_API), Py_3_11))]
use super::buffer;
use super::pickle;
use super::protocol::TABLE;
use crate::device::Device;
use crate::dlpack::DLDevice;
use crate::dlpack::python::intern;
use crate::dlpack::python::{Request, answer, table_capsule};
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use crate::python::cuda;
use crate::python::error::{not_exchangeable, raise};
use crate::python::export::{Conversion, answer_read_only, convert};
use crate::python::frameworks::NUMPY;
use crate::python::readonly::ReadOnlyPolicy;
use crate::python::tensor_object::PyTensor;
use crate::tensor::Tensor;
use pyo3::Borrowed;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyString, PyTuple};

#[pymethods]
impl PyTensor {
    /// This tensor as an object of a framework; or on a device, by its name or as an object.
    ///
    /// `copy` is False for shared memory or an error, True for a copy, and None for shared memory
    /// where that is possible and a copy where it isn't. On another device there is a copy, unless
    /// it is forbidden by `copy=False`.
    ///
    /// `readonly` says what happens where the memory is read-only and the framework has no
    /// read-only tensors: "warn", "share" or "refuse"; without it, the policy of
    /// `dlbridge.readonly` holds. With `copy=None` it is copied.
    #[pyo3(
        signature = (to, *, copy=Copying::Unsaid, readonly=None),
        text_signature = "($self, to, *, copy=False, readonly=None)"
    )]
    fn to<'py>(
        &self,
        py: Python<'py>,
        to: &Bound<'py, PyAny>,
        copy: Copying,
        readonly: Option<ReadOnlyPolicy>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let name = to.cast::<PyString>().ok();
        let name = name.map(|name| name.to_string_lossy());
        let device = match &name {
            Some(name) => name.parse().ok(),
            None => Some(to.extract()?),
        };
        if let Some(device) = device {
            let moved = self.on_device(device, copy)?;
            return Ok(self.part(py, moved).into_pyobject(py)?.into_any());
        }
        let copy = match copy {
            Copying::Unsaid => Some(false),
            Copying::Said(copy) => copy,
        };
        convert(
            py,
            self.tensor.clone(),
            &name.unwrap_or_default(),
            Conversion::from(copy)
                .readonly(readonly)
                .taken_from_ours(self),
        )
    }

    /// This tensor on a device: itself where it is there already, a copy otherwise. `to` under its
    /// array API name.
    ///
    /// `stream` must be None: the copy is made on the current stream, which `dlbridge.cuda.stream`
    /// chooses.
    #[pyo3(signature = (device, /, *, stream=None))]
    fn to_device(
        &self,
        py: Python<'_>,
        device: Device,
        stream: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        if stream.is_some() {
            let error = Incompatibility::new(Kind::Argument, "a stream", "stream=None");
            return Err(raise::<PyValueError>(
                error
                    .with_reason("to_device doesn't support the stream argument")
                    .with_remedy("use `with dlbridge.cuda.stream(stream):`"),
            ));
        }
        let moved = self.on_device(device, Copying::Unsaid)?;
        Ok(self.part(py, moved))
    }

    /// A capsule, for those that take no objects: of the older kind, unless a version is given.
    /// What is on a GPU is ready on its default stream, as of `__dlpack__()`.
    ///
    /// The older kind can't say that memory is read-only: `readonly` says what happens then, as of
    /// `to`.
    #[pyo3(signature = (*, max_version=None, readonly=None))]
    fn to_dlpack<'py>(
        &self,
        py: Python<'py>,
        max_version: Option<(u32, u32)>,
        readonly: Option<ReadOnlyPolicy>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let request = Request {
            stream: None,
            max_version,
            dl_device: None,
            copy: None,
        };
        self.answer(py, &request, readonly)
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<&Bound<'py, PyAny>>,
        dl_device: Option<&Bound<'py, PyAny>>,
        copy: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let request = Request::parse(stream, max_version, dl_device, copy)?;
        self.answer(py, &request, None)
    }

    fn __dlpack_device__(&self) -> (u32, i32) {
        let device = DLDevice::from(self.tensor.device());
        (device.device_type.0, device.device_id)
    }

    #[classattr]
    fn __dlpack_c_exchange_api__(py: Python<'_>) -> PyResult<Bound<'_, PyCapsule>> {
        // SAFETY: `table` made the table, for this class.
        unsafe { table_capsule(py, &TABLE.0) }
    }

    /// Returns a NumPy array, which shares the memory unless a copy or another element type is
    /// asked for.
    #[pyo3(signature = (dtype=None, *, copy=None))]
    fn __array__<'py>(
        &self,
        py: Python<'py>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let wants_copy = copy == Some(true);
        let array = convert(py, self.tensor.clone(), NUMPY.name, Some(wants_copy))?;
        let Some(dtype) = dtype else {
            return Ok(array);
        };
        if copy == Some(false) && !array.getattr(intern!(py, "dtype"))?.eq(dtype)? {
            let found = self.tensor.dtype();
            let error = Incompatibility::new(Kind::Copy, found.to_string(), dtype.to_string());
            let reason = format!("the elements are {found}, so an array of {dtype} is a copy");
            return Err(raise::<PyValueError>(
                error.with_reason(reason).with_remedy("pass copy=None"),
            ));
        }
        let keywords = PyDict::new(py);
        keywords.set_item(intern!(py, "copy"), false)?;
        array.call_method(intern!(py, "astype"), (dtype,), Some(&keywords))
    }

    #[cfg(any(not(Py_LIMITED_API), Py_3_11))]
    unsafe fn __getbuffer__(
        slf: Bound<'_, Self>,
        view: *mut pyo3::ffi::Py_buffer,
        flags: std::ffi::c_int,
    ) -> PyResult<()> {
        // SAFETY: Python gives a description to be filled, and releases it; it keeps the object
        // that is put into it.
        unsafe {
            (*view).obj = std::ptr::null_mut();
            buffer::lend(&slf.get().tensor, view, flags)?;
            (*view).obj = slf.into_any().into_ptr();
        }
        Ok(())
    }

    #[cfg(any(not(Py_LIMITED_API), Py_3_11))]
    unsafe fn __releasebuffer__(&self, view: *mut pyo3::ffi::Py_buffer) {
        // SAFETY: `__getbuffer__` filled it, and Python releases it once.
        unsafe { buffer::release(view) }
    }

    /// Returns the same memory: the copy is one of the object.
    fn __copy__(&self, py: Python<'_>) -> Self {
        self.part(py, self.tensor.clone())
    }

    fn __deepcopy__(&self, _memo: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(cuda::copy(&self.tensor)?.into())
    }

    fn __reduce_ex__<'py>(&self, py: Python<'py>, protocol: i32) -> PyResult<Bound<'py, PyTuple>> {
        pickle::reduce(py, &self.tensor, protocol)
    }
}

impl PyTensor {
    #[inline]
    fn answer<'py>(
        &self,
        py: Python<'py>,
        request: &Request<'py>,
        readonly: Option<ReadOnlyPolicy>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        match self.tensor.is_read_only() {
            true => answer_read_only(py, self, request, readonly),
            false => answer(py, self, request),
        }
    }

    fn on_device(&self, device: Device, copy: Copying) -> PyResult<Tensor> {
        let is_there = self.tensor.device() == device;
        match copy {
            Copying::Said(Some(true)) if is_there => cuda::copy(&self.tensor),
            Copying::Said(Some(false)) if !is_there => Err(not_exchangeable((
                Kind::Copy,
                format!(
                    "the tensor is on {}, and getting it to {device} needs a copy, which copy=False forbids",
                    self.tensor.device()
                ),
            ))),
            _ => cuda::to_device(&self.tensor, device),
        }
    }
}

/// What was said of copies, if anything.
#[derive(Clone, Copy)]
enum Copying {
    Unsaid,
    /// `None`, `True` or `False`, and nothing that is merely true.
    Said(Option<bool>),
}

impl FromPyObject<'_, '_> for Copying {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        object.extract().map(Self::Said)
    }
}
