//! `__cuda_array_interface__`, version 3: from before DLPack, and all that some libraries have.
//!
//! It is a dictionary that any Python object may have, so its numbers are only believed as far as
//! they can be checked: the extent of the elements must lie in one live allocation of the driver's
//! (`fields`), and of the stream only handles are used that are known to be streams (`ready`). That
//! the object keeps the memory is its promise.

mod fields;
mod own;

use super::super::error::{not_exchangeable, not_importable};
use super::gpu::gpu_of;
use super::ready::{Ready, wait_for_gpu};
use crate::cuda::{Gpu, Stream, device_of_range, import, import_unordered, is_present};
use crate::device::Device;
use crate::dlpack::python::intern;
use crate::dlpack::{DLTensor, Flags};
use crate::dtype::DType;
use crate::python::object::Object;
use crate::storage::Owner;
use crate::tensor::Tensor;
use fields::{Fields, extent};
use pyo3::Borrowed;
use pyo3::prelude::*;
use std::ptr;

/// The oldest version that can be read, and the one that is written.
const OLDEST: i64 = 2;
pub(super) const NEWEST: i64 = 3;

/// What an object with this interface says, as far as the driver confirms it.
pub(in crate::python) struct Interface {
    shape: Vec<i64>,
    strides: Option<Vec<i64>>,
    dtype: DType,
    data: *mut u8,
    device: Device,
    flags: Flags,
    ready: Ready,
}

impl Interface {
    /// Reads an object's interface; `None` if it has none.
    pub(in crate::python) fn of(object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<Self>> {
        let name = intern!(object.py(), "__cuda_array_interface__");
        if !is_present() {
            return Ok(None);
        }
        match object.getattr_opt(name)? {
            Some(interface) => Self::read(object, &interface).map(Some),
            None => Ok(None),
        }
    }

    fn read(object: Borrowed<'_, '_, PyAny>, interface: &Bound<'_, PyAny>) -> PyResult<Self> {
        let fields = Fields::of(interface)?;
        let version: i64 = fields.required("version", "an int")?;
        if version < OLDEST {
            return Err(not_exchangeable(format!(
                "__cuda_array_interface__ is of version {version}, and {OLDEST} is the oldest that can be read"
            )));
        }
        fields.check_mask()?;
        let dtype = fields.dtype()?;
        let shape = fields.shape()?;
        let (address, read_only): (usize, bool) =
            fields.required("data", "a pair of an address and a bool")?;
        let itemsize = dtype.step_bits(false) / 8;
        let strides = fields.strides(shape.len(), itemsize)?;
        let extent = extent(address, &shape, strides.as_deref(), itemsize)?;
        let (device, address) = match &extent {
            Some(extent) => (device_of_range(extent.clone())?, address),
            // There is nothing at the address of no elements.
            None => (Gpu::new(0)?.device(), 0),
        };
        let mut flags = Flags::empty();
        flags.set(Flags::READ_ONLY, read_only);
        let stream: Option<usize> = fields.given("stream", "the handle of a stream, or None")?;
        let ready = match (stream, extent) {
            (Some(number), Some(_)) => Ready::of(object, Gpu::from_device(device)?, number)?,
            _ => Ready::Now,
        };
        // The host may look at pinned and managed memory as soon as it has the address.
        let ready = match device.is_host_accessible() {
            true => ready.waited_for(object.py())?,
            false => ready,
        };
        let strides = strides.map(|strides| {
            let in_elements = strides.into_iter().map(|stride| stride / itemsize as i64);
            in_elements.collect()
        });
        Ok(Self {
            shape,
            strides,
            dtype,
            data: ptr::with_exposed_provenance_mut(address),
            device,
            flags,
            ready,
        })
    }

    /// Returns the DLPack descriptor, valid for as long as `self`.
    pub(in crate::python) fn describe(&self) -> (DLTensor, Flags) {
        let strides = self.strides.as_ref();
        let descriptor = DLTensor {
            data: self.data.cast(),
            device: self.device.into(),
            // No more than `Fields::shape` lets through.
            ndim: self.shape.len() as i32,
            dtype: self.dtype.into(),
            shape: self.shape.as_ptr().cast_mut(),
            strides: strides.map_or(ptr::null_mut(), |strides| strides.as_ptr().cast_mut()),
            byte_offset: 0,
        };
        (descriptor, self.flags)
    }

    /// Returns when the array is ready to be used.
    pub(super) fn into_ready(self) -> Ready {
        self.ready
    }
}

/// Returns whether an object has this interface.
///
/// # Errors
///
/// What looking it up raises.
pub(in crate::python) fn is_array(object: Borrowed<'_, '_, PyAny>) -> PyResult<bool> {
    let name = intern!(object.py(), "__cuda_array_interface__");
    Ok(is_present() && object.hasattr(name)?)
}

/// Returns the tensor of an object with this interface; `None` of others.
pub(in crate::python) fn by_interface(object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<Tensor>> {
    let Some(interface) = Interface::of(object)? else {
        return Ok(None);
    };
    let (descriptor, flags) = interface.describe();
    // SAFETY: the elements lie in one live allocation of the driver's, which the object keeps by
    // the interface's promise, and the object is kept. Shape and strides are as many as the
    // descriptor says, and there until `interface` is dropped.
    let tensor = unsafe { Tensor::adopt(&descriptor, flags, Owner::small(Object::new(object))) };
    let tensor = tensor.map_err(not_importable)?;
    let Some(gpu) = gpu_of(interface.device)? else {
        return Ok(Some(tensor));
    };
    Ok(Some(match interface.into_ready() {
        Ready::On(stream) => import(tensor, &stream, &stream)?,
        Ready::Now => import_unordered(tensor, &Stream::current(gpu))?,
        Ready::Untracked(gpu) => {
            object.py().detach(|| wait_for_gpu(gpu))?;
            import_unordered(tensor, &Stream::current(gpu))?
        }
    }))
}
