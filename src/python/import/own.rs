//! Owned tensors: an object gives its tensor to be kept, by the fastest way that it offers, without
//! a copy unless asked for.

mod protocol;
mod wanted;

use crate::device::Device;
use crate::dlpack::python::Table;
use crate::dlpack::{DLTensor, Flags, Managed, Versioned};
use crate::error::{Incompatibility, IncompatibilityKind};
use crate::interchange::Usual;
use crate::python::cuda;
use crate::python::error::{Refused, not_exchangeable, not_importable};
use crate::python::frameworks::{TableVendor, Time, numpy, torch};
use crate::python::import::buffer::{Buffer, Strides};
use crate::python::import::capsule::{self, guard_capsule};
use crate::python::import::guard::{clarify, guard_table};
use crate::python::import::type_cache::ImportPath;
use crate::python::object::Object;
use crate::python::tensor_object;
use crate::storage::Owner;
use crate::tensor::Tensor;
use protocol::{Attached, by_protocol};
use pyo3::Borrowed;
use pyo3::prelude::*;
use std::mem::MaybeUninit;
use std::ptr;
pub(in crate::python) use wanted::Purpose;
pub use wanted::Wanted;
use wanted::moved;

/// Imports the tensor of a Python object: of any framework's, of NumPy's, of a buffer, or in a
/// capsule.
///
/// What is shared stays the object's: it isn't written through the [`Tensor`].
///
/// # Errors
///
/// A `TypeError` for an object that isn't a tensor, and a `BufferError` for one that can't be
/// exchanged, or not in the way that is wanted.
pub(in crate::python) fn from_object(
    object: &Bound<'_, PyAny>,
    wanted: Wanted,
) -> PyResult<Tensor> {
    let purpose = match wanted.copy {
        Some(true) => Purpose::Inspect,
        _ => Purpose::Keep,
    };
    from_object_for(object.as_borrowed(), wanted, purpose)
}

/// Imports like [`from_object`], for this purpose.
pub(in crate::python) fn from_object_for(
    object: Borrowed<'_, '_, PyAny>,
    wanted: Wanted,
    purpose: Purpose,
) -> PyResult<Tensor> {
    let shared = |tensor: Tensor| -> PyResult<Tensor> {
        let tensor = cuda::adopted(object, tensor)?;
        match wanted.device {
            Some(device) if device != tensor.device() => moved(&tensor, device, wanted.copy),
            _ if wanted.copy == Some(true) => cuda::copy(&tensor),
            _ => Ok(tensor),
        }
    };
    match find(object, purpose)? {
        Found::Tensor(tensor) => shared(tensor),
        // SAFETY: that is what was found.
        Found::Own => shared(unsafe { tensor_object::tensor_of(object) }.clone()),
        Found::BadBuffer { is_read_only, .. } => instead_of_buffer(object, is_read_only, wanted),
        Found::Scalar => of_scalar(object, wanted).and_then(shared),
        Found::Protocol => by_protocol(object, wanted, purpose),
        Found::Nothing(error) => {
            if let Some(made) = capsule::by_method(object, true)? {
                return shared(capsule::take(made)?);
            }
            match cuda::by_interface(object)? {
                Some(tensor) => shared(tensor),
                None => Err(error.into()),
            }
        }
    }
}

/// Imports the tensor of an object, shared, in the ways that take few steps; `None` where there is
/// another way, or none. The caller needn't be counted by PyO3 as attached.
#[inline]
pub(in crate::python) fn quick(object: Borrowed<'_, '_, PyAny>) -> Option<PyResult<Tensor>> {
    let found = match find(object, Purpose::Keep) {
        Ok(found) => found,
        Err(error) => return Some(Err(error)),
    };
    match found {
        Found::Tensor(tensor) if tensor.device() == Device::CPU => Some(Ok(tensor)),
        Found::Tensor(tensor) => Some(Python::attach(|_| cuda::adopted(object, tensor))),
        // What came with the error goes there, too.
        Found::BadBuffer {
            error,
            is_read_only,
        } => Python::attach(move |_| {
            let tensor = instead_of_buffer(object, is_read_only, Wanted::default());
            drop(error);
            Some(tensor)
        }),
        Found::Own | Found::Scalar | Found::Protocol | Found::Nothing(_) => None,
    }
}

/// The tensor of an object, by import path.
enum Found {
    Tensor(Tensor),
    /// It is of our own class.
    Own,
    /// Its buffer doesn't do, but it speaks DLPack, too.
    BadBuffer {
        error: PyErr,
        /// Whether it is read-only, as far as is known.
        is_read_only: bool,
    },
    /// It is one of NumPy's scalars that an array is made of.
    Scalar,
    Protocol,
    /// None of what most have.
    Nothing(Refused),
}

// Where it is called, no result is moved: that is a twentieth of an import.
#[inline(always)]
fn find(object: Borrowed<'_, '_, PyAny>, purpose: Purpose) -> PyResult<Found> {
    let locks = purpose == Purpose::Keep;
    if let Some((usual, alias)) = torch::take_usual(object, locks, Time::Beyond) {
        // SAFETY: the alias keeps what is said.
        return unsafe { of_usual(&usual, Owner::small(alias)) }.map(Found::Tensor);
    }
    let path = match ImportPath::for_object(object) {
        Ok(path) => path,
        Err(error) => return Ok(Found::Nothing(error)),
    };
    match path {
        ImportPath::Own => Ok(Found::Own),
        // SAFETY: the type cache found that the object is a `numpy.ndarray`.
        ImportPath::Numpy => unsafe { of_array(object) }.map(Found::Tensor),
        ImportPath::Table(table, vendor) => {
            guard_table(vendor, object, Time::Beyond)?;
            if let Some(owner) = (vendor.keep_memory)(object, locks)? {
                return by_borrowing(object, table, vendor, owner).map(Found::Tensor);
            }
            // SAFETY: the type cache found the table in the object's type, so its functions take
            // the object.
            let managed = unsafe { table.own(object) };
            let managed = managed.map_err(|error| clarify(vendor, object, error))?;
            of_table(managed).map(Found::Tensor)
        }
        ImportPath::Buffer(speaks_dlpack) => match by_buffer(object) {
            Ok(tensor) => Ok(Found::Tensor(tensor)),
            Err((error, is_read_only)) if speaks_dlpack => Ok(Found::BadBuffer {
                error,
                is_read_only,
            }),
            // There may be another way, and else the error stays the same.
            Err((error, _)) => Ok(Found::Nothing(error.into())),
        },
        ImportPath::Scalar => Ok(Found::Scalar),
        ImportPath::Protocol => Ok(Found::Protocol),
    }
}

/// Imports a buffer. What goes with an error is whether the buffer is read-only, as far as is
/// known.
fn by_buffer(object: Borrowed<'_, '_, PyAny>) -> Result<Tensor, (PyErr, bool)> {
    let buffer = Buffer::from_object(object).map_err(|error| (error, true))?;
    let is_read_only = buffer.is_read_only();
    of_buffer(buffer).map_err(|error| (error, is_read_only))
}

/// Imports by DLPack what buffers can't express.
fn instead_of_buffer(
    object: Borrowed<'_, '_, PyAny>,
    is_read_only: bool,
    wanted: Wanted,
) -> PyResult<Tensor> {
    guard_capsule(object)?;
    let tensor = by_protocol(object, wanted, Purpose::Keep)?;
    // The older kind of capsule doesn't tell. A copy may be written.
    Ok(match is_read_only && !tensor.is_copied() {
        true => tensor.into_read_only(),
        false => tensor,
    })
}

fn of_buffer(buffer: Box<Buffer>) -> PyResult<Tensor> {
    let mut strides = Strides::new();
    let (descriptor, flags) = buffer.describe(&mut strides)?;
    let (owner, ()) = Owner::lend(buffer, |_| ());
    // SAFETY: the buffer keeps the memory until it is released, which dropping the owner does.
    unsafe { of_descriptor(&descriptor, flags, owner) }
}

/// Borrows by a table what an owner keeps: an owned export would keep the tensor, which may get
/// other memory.
fn by_borrowing(
    object: Borrowed<'_, '_, PyAny>,
    table: Table,
    vendor: &TableVendor,
    owner: Owner,
) -> PyResult<Tensor> {
    let mut room = MaybeUninit::uninit();
    // SAFETY: the type cache found the table in the object's type, so its functions take the
    // object.
    if let Some(descriptor) = unsafe { table.borrow_to(object, &mut room) } {
        // SAFETY: the owner keeps the memory; sizes and strides, which the object keeps until here,
        // are copied.
        return unsafe { of_descriptor(descriptor, Flags::empty(), owner) };
    }
    let error = table.borrow_error(object.py());
    Err((vendor.clarify)(object, error))
}

/// Makes a tensor of what an exchange table gave.
#[inline]
fn of_table(managed: Managed<Versioned>) -> PyResult<Tensor> {
    let managed = match Tensor::returning(managed) {
        Ok(tensor) => return Ok(tensor),
        Err(managed) => managed,
    };
    let (descriptor, flags) = (*managed.descriptor(), managed.flags());
    let owner = Owner::small(Attached::new(managed));
    // SAFETY: the managed tensor keeps the memory that it describes.
    unsafe { of_descriptor(&descriptor, flags, owner) }
}

/// Makes a tensor of a descriptor.
///
/// # Safety
///
/// The owner keeps what the descriptor says.
#[inline]
unsafe fn of_descriptor(descriptor: &DLTensor, flags: Flags, owner: Owner) -> PyResult<Tensor> {
    // SAFETY: the owner keeps the memory that the descriptor says.
    unsafe {
        match Usual::from_descriptor(descriptor, flags) {
            Some(usual) => of_usual(&usual, owner),
            None => Tensor::adopt(descriptor, flags, owner).map_err(not_importable),
        }
    }
}

/// Makes a tensor of what an object says of it.
///
/// # Safety
///
/// The owner keeps the memory, and what is said is true.
#[inline]
unsafe fn of_usual(usual: &Usual, owner: Owner) -> PyResult<Tensor> {
    // SAFETY: what is said is true, and the owner keeps the memory.
    match unsafe { Tensor::adopt_usual(usual, owner) } {
        Ok(tensor) => Ok(tensor),
        Err(owner) => {
            let (descriptor, flags) = usual.descriptor();
            // SAFETY: the descriptor says the same.
            unsafe { Tensor::adopt(&descriptor, flags, owner) }.map_err(not_importable)
        }
    }
}

/// Makes a tensor of a copy of a scalar's value, to be read only, as NumPy's other scalars are.
fn of_scalar(object: Borrowed<'_, '_, PyAny>, wanted: Wanted) -> PyResult<Tensor> {
    if wanted.copy == Some(false) {
        let reason = "the value of this scalar needs a copy, which copy=False forbids";
        let error = Incompatibility::new(IncompatibilityKind::Copy, "copy=False", "copy=None");
        return Err(not_exchangeable(error.with_reason(reason)));
    }
    let array = numpy::array_of(object)?;
    // SAFETY: `array_of` gives a `numpy.ndarray`.
    let tensor = unsafe { of_array(array.as_borrowed()) }?;
    Ok(tensor.into_read_only())
}

/// Makes a tensor of an array.
///
/// # Safety
///
/// The object is a `numpy.ndarray`.
unsafe fn of_array(object: Borrowed<'_, '_, PyAny>) -> PyResult<Tensor> {
    // SAFETY: the type cache found that the object is a `numpy.ndarray`.
    let array = unsafe { numpy::fields(object) };
    let (dtype, padded) = array.dtype(object.py())?;
    let mut owner = Owner::small(Object::new(object));
    if array.is_row_major() && !padded {
        let usual = Usual {
            first: array.data,
            dtype,
            rank: array.rank as usize,
            sizes: array.sizes,
            strides: ptr::null(),
            read_only: !array.is_writable(),
        };
        // SAFETY: the array keeps its memory, and the owner the array.
        match unsafe { Tensor::adopt_usual(&usual, owner) } {
            Ok(tensor) => return Ok(tensor),
            Err(unused) => owner = unused,
        }
    }
    let mut strides = numpy::Numbers::new();
    let mut flags = Flags::empty();
    flags.set(Flags::READ_ONLY, !array.is_writable());
    flags.set(Flags::IS_SUBBYTE_TYPE_PADDED, padded);
    let descriptor = DLTensor {
        data: array.data.cast(),
        device: Device::CPU.into(),
        ndim: array.rank,
        dtype: dtype.into(),
        shape: array.sizes.cast(),
        strides: array.strides_in_elements(dtype, padded, &mut strides)?,
        byte_offset: 0,
    };
    // SAFETY: the array keeps its memory, and the owner the array. Its strides are copied.
    unsafe { Tensor::adopt(&descriptor, flags, owner) }.map_err(not_importable)
}
