//! [`Permitted`]: a tensor whose capsules are given to consumers that can't be told that it is read-only.

use super::conversion::Origin;
use crate::dlpack::python::{Producer, Request, answer};
use crate::dlpack::{Abi, DLDevice, Managed};
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::interchange::legacy_read_only;
use crate::python::frameworks::Framework;
use crate::python::readonly::{ReadOnlyPolicy, SHARING, calling_package, permit};
use crate::python::tensor_object::PyTensor;
use crate::tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyInt};

/// A read-only tensor that is shared by the policy's leave, or with a framework that never writes.
///
/// Its versioned capsules say that it is read-only. Those of the older kind can't, and are given
/// all the same.
#[pyclass(frozen, module = "dlbridge")]
pub(in crate::python) struct Permitted(PyTensor);

impl From<Tensor> for Permitted {
    fn from(tensor: Tensor) -> Self {
        Self(tensor.into())
    }
}

#[pymethods]
impl Permitted {
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
        answer(py, &Unmarked(&self.0), &request)
    }

    fn __dlpack_device__(&self) -> (u32, i32) {
        let device = self.0.device();
        (device.device_type.0, device.device_id)
    }
}

/// A producer of capsules, of which the older kind doesn't say whether memory is read-only.
struct Unmarked<'a>(&'a PyTensor);

impl Producer for Unmarked<'_> {
    fn device(&self) -> DLDevice {
        self.0.device()
    }

    fn order(&self, stream: Option<&Bound<'_, PyInt>>) -> PyResult<()> {
        self.0.order(stream)
    }

    fn share<A: Abi>(&self) -> PyResult<Managed<A>> {
        let tensor = self.0.inner().clone();
        // SAFETY: the consumer is one that never writes, or the policy gave leave: then the Python
        // program was told not to write through the result.
        Ok(unsafe { tensor.into_dlpack_unmarked::<A>() }.map_err(Error::from)?)
    }

    fn copy_to<A: Abi>(&self, device: DLDevice) -> PyResult<Managed<A>> {
        self.0.copy_to(device)
    }
}

/// Answers a request for a tensor that is read-only.
///
/// A versioned capsule says so, and a consumer that is written in Python tells by its module who it
/// is. Where it has no read-only tensors, or where only a capsule of the older kind is requested,
/// the policy decides, unless memory is copied.
#[cold]
pub(in crate::python) fn answer_read_only<'py>(
    py: Python<'py>,
    tensor: &PyTensor,
    request: &Request<'py>,
    readonly: Option<ReadOnlyPolicy>,
) -> PyResult<Bound<'py, PyCapsule>> {
    let home = tensor.device();
    let is_copied = request.copy == Some(true) || request.dl_device.is_some_and(|to| to != home);
    if !is_copied {
        let consumer = calling_package(py).and_then(|package| Framework::of_package(&package));
        let is_told = matches!(request.max_version, Some((1.., _)));
        let target = match consumer {
            Some(framework) if framework.needs.writes_all => Some(framework.title),
            // It copies, or its tensors are read-only.
            Some(_) => None,
            None if is_told => None,
            None => Some("a consumer of legacy DLPack capsules"),
        };
        if let Some(target) = target {
            let source = || Origin::Ours(tensor).title(py);
            permit(py, readonly, source, target, || refusal(is_told, target))?;
        }
    }
    answer(py, &Unmarked(tensor), request)
}

fn refusal(is_told: bool, target: &str) -> Incompatibility {
    if is_told {
        return Incompatibility::new(IncompatibilityKind::ReadOnly, "read-only", "writable")
            .with_reason(format!(
                "the tensor is read-only, and {target} writes to memory all the same"
            ))
            .with_remedy(format!("copy it first, or {SHARING}"));
    }
    let legacy = legacy_read_only();
    let remedy = legacy.remedy.clone().unwrap_or_default();
    legacy.with_remedy(format!("{remedy}, or {SHARING}"))
}
