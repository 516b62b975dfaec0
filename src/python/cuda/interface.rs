//! `__cuda_array_interface__`, version 3: from before DLPack, and all that some libraries have.

use super::super::class::PyTensor;
use super::super::error::{not_exchangeable, not_importable, unsuitable};
use super::super::take::Object;
use super::exchange::ready_on;
use super::gpu_of;
use crate::cuda::{Gpu, Stream, adopt, adopt_unordered, device_of, is_present};
use crate::device::{Device, DeviceKind};
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

/// What an object with this interface says.
pub(in crate::python) struct Interface {
    shape: Vec<i64>,
    strides: Option<Vec<i64>>,
    dtype: DType,
    data: *mut u8,
    device: Device,
    flags: Flags,
    /// The stream on which it is ready, where that is to be waited for.
    stream: Option<Stream>,
}

impl Interface {
    /// What an object says; `None` of one that hasn't the interface.
    pub(in crate::python) fn of(object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<Self>> {
        let name = intern!(object.py(), "__cuda_array_interface__");
        if !is_present() {
            return Ok(None);
        }
        match object.getattr_opt(name)? {
            Some(interface) => Self::read(interface.cast::<PyDict>()?).map(Some),
            None => Ok(None),
        }
    }

    fn read(interface: &Bound<'_, PyDict>) -> PyResult<Self> {
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
        let device = match shape.contains(&0) {
            true => Gpu::new(0)?.device(),
            false => device_of(data)?,
        };
        let mut flags = Flags::empty();
        flags.set(Flags::READ_ONLY, read_only);
        let stream = match (given("stream")?, gpu_of(device)?) {
            (Some(stream), Some(gpu)) => Some(stream_of(gpu, stream.extract()?)?),
            _ => None,
        };
        Ok(Self {
            shape,
            strides,
            dtype,
            data,
            device,
            flags,
            stream,
        })
    }

    /// As DLPack has it, for as long as this is there.
    pub(in crate::python) fn describe(&self) -> (DLTensor, Flags) {
        let strides = self.strides.as_ref();
        let descriptor = DLTensor {
            data: self.data.cast(),
            device: self.device.into(),
            ndim: self.shape.len() as i32,
            dtype: self.dtype.into(),
            shape: self.shape.as_ptr().cast_mut(),
            strides: strides.map_or(ptr::null_mut(), |strides| strides.as_ptr().cast_mut()),
            byte_offset: 0,
        };
        (descriptor, self.flags)
    }

    /// The stream on which it is ready, where that is to be waited for.
    pub(super) fn into_stream(self) -> Option<Stream> {
        self.stream
    }
}

/// Whether an object has this interface.
pub(in crate::python) fn is_array(object: Borrowed<'_, '_, PyAny>) -> bool {
    let name = intern!(object.py(), "__cuda_array_interface__");
    is_present() && object.hasattr(name).unwrap_or(false)
}

fn stream_of(gpu: Gpu, number: usize) -> PyResult<Stream> {
    if number == 0 {
        return Err(unsuitable(
            "__cuda_array_interface__ has stream 0, which could be either of two".to_owned(),
        ));
    }
    // SAFETY: the object's promise: the stream on which it is ready.
    Ok(unsafe { Stream::from_raw(gpu, ptr::without_provenance_mut(number)) })
}

/// The tensor of an object with this interface; `None` of others.
pub(in crate::python) fn by_interface(object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<Tensor>> {
    let Some(interface) = Interface::of(object)? else {
        return Ok(None);
    };
    let (descriptor, flags) = interface.describe();
    // SAFETY: the object's promise, which is that of the interface, and the object is kept.
    let tensor = unsafe { Tensor::adopt(&descriptor, flags, Owner::small(Object::new(object))) };
    let tensor = tensor.map_err(not_importable)?;
    let Some(gpu) = gpu_of(interface.device)? else {
        return Ok(Some(tensor));
    };
    Ok(Some(match interface.into_stream() {
        Some(stream) => adopt(tensor, &stream, &stream)?,
        // Then nothing is to be waited for.
        None => adopt_unordered(tensor, &Stream::current(gpu))?,
    }))
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
