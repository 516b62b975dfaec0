//! `__cuda_array_interface__`, version 3: from before DLPack, and all that some libraries have.

use super::super::class::PyTensor;
use super::super::error::{not_exchangeable, not_importable, unsuitable};
use super::super::take::Object;
use super::exchange::ready_on;
use super::gpu_of;
use crate::cuda::{Gpu, Stream, adopt, adopt_unordered, device_of};
use crate::device::DeviceKind;
use crate::dlpack::{DLTensor, Flags};
use crate::dtype::DType;
use crate::storage::Owner;
use crate::tensor::Tensor;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use pyo3::{Borrowed, intern};
use std::ptr;

/// The oldest version that can be read.
const OLDEST: i64 = 2;
const NEWEST: i64 = 3;

#[pymethods]
impl PyTensor {
    /// The tensor as libraries know it that are older than DLPack. There is none of memory on the host.
    #[getter]
    fn __cuda_array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let tensor = self.tensor();
        let device = tensor.device();
        let lacks = |what: String| PyAttributeError::new_err(what);
        let is_of_cuda = matches!(device.kind(), DeviceKind::Cuda | DeviceKind::CudaManaged);
        if !is_of_cuda {
            return Err(lacks(format!(
                "a tensor on {device} has no __cuda_array_interface__"
            )));
        }
        let dtype = tensor.dtype();
        let typestr = typestr_of(dtype).filter(|_| !tensor.is_padded());
        let typestr = typestr.ok_or_else(|| {
            lacks(format!(
                "{dtype} has no name in __cuda_array_interface__; use DLPack"
            ))
        })?;
        let itemsize = (dtype.step_bits(false) / 8) as isize;
        let strides = match tensor.layout().is_contiguous() {
            true => None,
            false => {
                let strides = tensor.strides().iter().map(|stride| stride * itemsize);
                Some(PyTuple::new(py, strides.collect::<Vec<_>>())?)
            }
        };
        let address = match tensor.is_empty() {
            true => 0,
            false => tensor.data_ptr().addr(),
        };
        let interface = PyDict::new(py);
        interface.set_item("shape", PyTuple::new(py, tensor.shape())?)?;
        interface.set_item("typestr", typestr)?;
        interface.set_item("data", (address, tensor.is_read_only()))?;
        interface.set_item("version", NEWEST)?;
        interface.set_item("strides", strides)?;
        interface.set_item("stream", ready_on(tensor)?)?;
        Ok(interface)
    }
}

/// The tensor of an object with this interface; `None` of others.
pub(in crate::python) fn by_interface(object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<Tensor>> {
    let py = object.py();
    let Some(interface) = object.getattr_opt(intern!(py, "__cuda_array_interface__"))? else {
        return Ok(None);
    };
    let interface = interface.cast_into::<PyDict>().map_err(PyErr::from)?;
    let wanted = |key: &str| {
        let missing = || not_exchangeable(format!("__cuda_array_interface__ lacks {key:?}"));
        interface.get_item(key)?.ok_or_else(missing)
    };
    let given = |key: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        Ok(interface.get_item(key)?.filter(|value| !value.is_none()))
    };
    let version: i64 = wanted("version")?.extract()?;
    if version < OLDEST {
        return Err(not_exchangeable(format!(
            "__cuda_array_interface__ is of version {version}, and {OLDEST} is the oldest that can be read"
        )));
    }
    if given("mask")?.is_some() {
        return Err(not_exchangeable("an array with a mask can't be exchanged"));
    }
    let shape: Vec<i64> = wanted("shape")?.extract()?;
    let typestr: String = wanted("typestr")?.extract()?;
    let dtype = dtype_of(&typestr).ok_or_else(|| {
        not_exchangeable(format!("{typestr:?} is no element type that DLPack has"))
    })?;
    let (address, read_only): (usize, bool) = wanted("data")?.extract()?;
    let itemsize = (dtype.step_bits(false) / 8) as i64;
    let strides = match given("strides")? {
        None => None,
        Some(strides) => Some(in_elements(
            &strides.extract::<Vec<i64>>()?,
            itemsize,
            shape.len(),
        )?),
    };
    let data = ptr::with_exposed_provenance_mut::<u8>(address);
    let is_empty = shape.contains(&0);
    let device = match is_empty {
        true => Gpu::new(0)?.device(),
        false => device_of(data)?,
    };
    let mut flags = Flags::empty();
    flags.set(Flags::READ_ONLY, read_only);
    let descriptor = DLTensor {
        data: data.cast(),
        device: device.into(),
        ndim: shape.len() as i32,
        dtype: dtype.into(),
        shape: shape.as_ptr().cast_mut(),
        strides: strides
            .as_ref()
            .map_or(ptr::null_mut(), |strides| strides.as_ptr().cast_mut()),
        byte_offset: 0,
    };
    // SAFETY: the object's promise, which is that of the interface, and the object is kept.
    let tensor = unsafe { Tensor::adopt(&descriptor, flags, Owner::small(Object::new(object))) };
    let tensor = tensor.map_err(not_importable)?;
    let Some(gpu) = gpu_of(device)? else {
        return Ok(Some(tensor));
    };
    let stream = match given("stream")? {
        // Then nothing is to be waited for.
        None => return Ok(Some(adopt_unordered(tensor, &Stream::current(gpu))?)),
        Some(stream) => stream.extract::<usize>()?,
    };
    if stream == 0 {
        return Err(unsuitable(
            "__cuda_array_interface__ has stream 0, which could be either of two".to_owned(),
        ));
    }
    // SAFETY: as above: the stream that the object says.
    let stream = unsafe { Stream::from_raw(gpu, ptr::without_provenance_mut(stream)) };
    Ok(Some(adopt(tensor, &stream, &stream)?))
}

fn in_elements(strides: &[i64], itemsize: i64, rank: usize) -> PyResult<Vec<i64>> {
    if strides.len() != rank {
        return Err(not_exchangeable(format!(
            "__cuda_array_interface__ has {} strides for {rank} dimensions",
            strides.len()
        )));
    }
    let in_elements = |stride: &i64| match stride % itemsize {
        0 => Ok(stride / itemsize),
        _ => Err(not_exchangeable(format!(
            "a stride of {stride} bytes is no multiple of the element's {itemsize}"
        ))),
    };
    strides.iter().map(in_elements).collect()
}

/// NumPy's names of element types, of which each has one.
const NAMES: [(&str, DType); 14] = [
    ("|b1", DType::BOOL),
    ("|i1", DType::I8),
    ("<i2", DType::I16),
    ("<i4", DType::I32),
    ("<i8", DType::I64),
    ("|u1", DType::U8),
    ("<u2", DType::U16),
    ("<u4", DType::U32),
    ("<u8", DType::U64),
    ("<f2", DType::F16),
    ("<f4", DType::F32),
    ("<f8", DType::F64),
    ("<c8", DType::C64),
    ("<c16", DType::C128),
];

fn typestr_of(dtype: DType) -> Option<&'static str> {
    NAMES
        .iter()
        .find(|known| known.1 == dtype)
        .map(|known| known.0)
}

/// The byte order doesn't matter for single bytes, and is left out by some.
fn dtype_of(typestr: &str) -> Option<DType> {
    let kind = typestr.trim_start_matches(['|', '<', '=']);
    let is_native = !typestr.starts_with('>') || kind.ends_with('1');
    let kind = kind.trim_start_matches('>');
    let same = |known: &&(&str, DType)| is_native && known.0[1..] == *kind;
    NAMES.iter().find(same).map(|known| known.1)
}
