//! Keeping a tensor's memory: the storage, rather than the tensor that may get another one.
//!
//! `x.set_()`, `x.data = y`, `module.to(dtype)` and `torch.utils.swap_tensors` put another storage
//! into a tensor, and release the old one, if nothing else has it. So an alias of the tensor is
//! kept: another C++ tensor with the same storage. Where PyTorch's C functions aren't there, it is
//! the storage's Python object.
//!
//! `x.resize_()` and `x.untyped_storage().resize_()` replace the memory within the storage. A
//! storage of which something is kept is marked as not resizable, as `Tensor.numpy()` marks it;
//! PyTorch then refuses to.

use super::alias::Alias;
use super::class::{Torch, address_of, own_attribute, static_class};
use super::places::PLACES;
use super::probed::Probed;
use super::sample::{allocated, words_of};
use crate::dlpack::python::intern;
use crate::python::object::Object;
use crate::storage::Owner;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyDict};
use std::ptr;
use std::sync::atomic::{AtomicU8, Ordering};

/// What keeps a tensor's memory.
pub(super) enum Kept {
    /// Another C++ tensor with the same storage.
    Alias(Alias),
    /// The storage's Python object.
    Storage(Object),
}

impl Kept {
    pub(super) fn into_owner(self) -> Owner {
        match self {
            Self::Alias(alias) => Owner::small(alias),
            Self::Storage(object) => Owner::small(object),
        }
    }
}

/// Keeps the storage of a tensor that the guard let pass.
///
/// # Errors
///
/// What PyTorch raises where the tensor has no storage.
pub(super) fn keep(object: Borrowed<'_, '_, PyAny>) -> PyResult<Kept> {
    if let Some(places) = PLACES.get()
        // SAFETY: the object is a tensor of PyTorch, for which the places were found.
        && let Some(alias) = unsafe { places.alias(object) }
    {
        return Ok(Kept::Alias(alias));
    }
    let storage = storage_of(object)?;
    Ok(Kept::Storage(Object::new(storage.as_borrowed())))
}

fn storage_of<'py>(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let torch = Torch::of(object)?;
    torch
        .call(object, "untyped_storage")
        // PyTorch 1
        .or_else(|_| object.call_method0(intern!(object.py(), "storage")))
}

/// Where the storage is, and what says that it may be resized.
struct StoragePlace {
    /// In the C++ tensor: the pointer to the storage, in bytes.
    pointer: usize,
    /// In the C++ storage: the byte that is 1 where it may be resized.
    resizable: usize,
}

static PLACE: Probed<StoragePlace> = Probed::new();

/// Has PyTorch refuse to resize a tensor's storage, whose memory is kept from now on.
#[inline(always)]
pub(super) fn lock(object: Borrowed<'_, '_, PyAny>) {
    match (PLACES.get(), PLACE.get()) {
        // SAFETY: the object is a tensor of PyTorch, for which both were found.
        (Some(places), Some(place)) => unsafe { place.lock(places.tensor(object.as_ptr().cast())) },
        _ => lock_first(object),
    }
}

#[cold]
#[inline(never)]
fn lock_first(object: Borrowed<'_, '_, PyAny>) {
    // The caller may not be known to PyO3 as attached.
    Python::attach(|_| {
        let places = PLACES.get();
        let place = PLACE.find(|| find_place(object));
        match (places, place) {
            // SAFETY: the object is a tensor of PyTorch, for which both were found.
            (Some(places), Some(place)) => unsafe {
                place.lock(places.tensor(object.as_ptr().cast()))
            },
            // A device whose tensors NumPy doesn't take, or no NumPy: see docs/soundness.md.
            _ => drop(lock_by_numpy(object)),
        }
    });
}

impl StoragePlace {
    /// # Safety
    ///
    /// The address is a C++ tensor's, whose class the place was found for.
    #[inline(always)]
    unsafe fn lock(&self, tensor: *const u8) {
        // SAFETY: the tensor has the pointer there, which is NULL or leads to a storage; that has
        // the byte. PyTorch changes it under the GIL, as this does.
        unsafe {
            let storage = tensor.byte_add(self.pointer).cast::<*mut u8>().read();
            if !storage.is_null() {
                AtomicU8::from_ptr(storage.byte_add(self.resizable)).store(0, Ordering::Relaxed);
            }
        }
    }
}

/// Does the same by PyTorch's own function, whatever the tensor's element type.
fn lock_by_numpy(object: Borrowed<'_, '_, PyAny>) -> PyResult<()> {
    let py = object.py();
    let storage = storage_of(object)?;
    let bytes = empty(py, Torch::of(object)?, 0)?;
    bytes
        .call_method1(intern!(py, "set_"), (storage,))?
        .call_method0(intern!(py, "numpy"))?;
    Ok(())
}

/// Returns a tensor of some bytes, on the host.
fn empty<'py>(py: Python<'py>, torch: &Torch, len: usize) -> PyResult<Bound<'py, PyAny>> {
    let module = torch.module.bind(py);
    let keywords = PyDict::new(py);
    keywords.set_item("dtype", module.getattr("uint8")?)?;
    keywords.set_item("device", "cpu")?;
    module.call_method("empty", (len,), Some(&keywords))
}

/// How many bytes of a storage are looked at, at most: it has 104 in the newest release.
const MOST_BYTES: usize = 128;

/// A tensor, the address of its storage, and the storage's bytes.
struct Sample<'py> {
    tensor: Bound<'py, PyAny>,
    words: Vec<u64>,
    storage: Bound<'py, PyAny>,
    address: usize,
    bytes: Vec<u8>,
}

/// Finds the place by comparing storages that may be resized with storages that may not; `None`
/// where there isn't exactly one.
fn find_place(object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<StoragePlace>> {
    let py = object.py();
    let torch = Torch::of(object)?;
    let sample = |tensor: Bound<'_, PyAny>| -> PyResult<_> {
        let storage = storage_of(tensor.as_borrowed())?;
        let address = address_of(&storage)?;
        let bytes = ptr::with_exposed_provenance::<u8>(address);
        // SAFETY: the storage's own C type says where it is, and PyTorch made it with `new`.
        let bytes = unsafe {
            let count = allocated(bytes).min(MOST_BYTES);
            std::slice::from_raw_parts(bytes, count).to_vec()
        };
        Ok(Sample {
            words: words_of(&tensor)?,
            tensor: tensor.unbind().into_bound(py),
            storage: storage.unbind().into_bound(py),
            address,
            bytes,
        })
    };
    let mut resizable = Vec::new();
    let mut fixed = Vec::new();
    for len in [8, 100, 4096] {
        resizable.push(sample(empty(py, torch, len)?)?);
        let bytes = PyByteArray::new(py, &vec![0; len]);
        let keywords = PyDict::new(py);
        keywords.set_item("dtype", torch.module.bind(py).getattr("uint8")?)?;
        let tensor = torch.module.bind(py);
        fixed.push(sample(tensor.call_method(
            "frombuffer",
            (bytes,),
            Some(&keywords),
        )?)?);
    }
    let all = || resizable.iter().chain(&fixed);
    if !all().all(|sample| sample.tensor.get_type().is(&torch.class)) {
        return Ok(None);
    }
    let words = all().map(|s| s.words.len()).min().unwrap_or(0);
    let pointers: Vec<_> = (0..words)
        .filter(|at| all().all(|s| s.words[*at] == s.address as u64))
        .collect();
    let bytes = all().map(|s| s.bytes.len()).min().unwrap_or(0);
    let flags: Vec<_> = (0..bytes)
        .filter(|at| resizable.iter().all(|s| s.bytes[*at] == 1))
        .filter(|at| fixed.iter().all(|s| s.bytes[*at] == 0))
        .collect();
    let ([pointer], [flag]) = (&pointers[..], &flags[..]) else {
        return Ok(None);
    };
    // It must be what PyTorch answers with, in both directions.
    let class = static_class(resizable[0].storage.get_type())?;
    let is_resizable = own_attribute(&class, "resizable")?;
    for sample in &resizable {
        let byte = ptr::with_exposed_provenance_mut::<u8>(sample.address + flag);
        // SAFETY: within the bytes that were read, of a storage that only the sample has.
        let byte = unsafe { AtomicU8::from_ptr(byte) };
        let answers = [0, 1].map(|value| {
            byte.store(value, Ordering::Relaxed);
            is_resizable.call1((&sample.storage,))?.extract::<bool>()
        });
        byte.store(1, Ordering::Relaxed);
        if !matches!(answers, [Ok(false), Ok(true)]) {
            return Ok(None);
        }
    }
    Ok(Some(StoragePlace {
        pointer: pointer * size_of::<u64>(),
        resizable: *flag,
    }))
}
