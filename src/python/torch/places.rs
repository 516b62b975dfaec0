//! Where PyTorch keeps what tells a plain tensor from others.

use super::shim::{Held, Shim};
use crate::dlpack::DLTensor;
use crate::dlpack::python::Table;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use pyo3::{Borrowed, ffi};
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;

/// How many of a tensor's words are looked at, at most: the struct had up to 26 in the versions
/// so far, and has 22 in the newest.
const MOST_WORDS: usize = 26;

/// How many bytes lie behind a pointer that the system's allocator gave; where it doesn't tell, 0,
/// and nothing is looked at.
///
/// # Safety
///
/// The pointer is one that the allocator gave.
unsafe fn allocated(pointer: *const u8) -> usize {
    #[cfg(target_os = "linux")]
    unsafe extern "C" {
        fn malloc_usable_size(pointer: *const u8) -> usize;
    }
    #[cfg(target_os = "macos")]
    unsafe extern "C" {
        #[link_name = "malloc_size"]
        fn malloc_usable_size(pointer: *const u8) -> usize;
    }
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    // SAFETY: the caller's promise.
    return unsafe { malloc_usable_size(pointer) };
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    return {
        let _ = pointer;
        0
    };
}

/// Where PyTorch keeps what is asked for, in bytes.
#[derive(Debug)]
pub(super) struct Places {
    /// The type `torch.Tensor`, to which a reference is held for good.
    pub(super) kind: *mut ffi::PyTypeObject,
    /// Its exchange table, of which the call that borrows is there.
    table: Table,
    /// In the Python object: the pointer to the tensor.
    tensor: usize,
    /// In the tensor: the set of dispatch keys.
    keys: usize,
    /// In the tensor: the pointer to what autograd knows.
    autograd: usize,
    /// A faster way than the table, where there is one.
    shim: Option<Shim>,
}

impl Places {
    /// The keys, and whether autograd knows anything.
    ///
    /// # Safety
    ///
    /// The object is a tensor of PyTorch, and the places were found.
    #[inline]
    pub(super) unsafe fn read(&self, object: *const u8) -> (u64, usize) {
        // SAFETY: the caller's promise.
        unsafe {
            let tensor = object.byte_add(self.tensor).cast::<*const u8>().read();
            let keys = tensor.byte_add(self.keys).cast::<u64>().read();
            let autograd = tensor.byte_add(self.autograd).cast::<usize>().read();
            (keys, autograd)
        }
    }

    /// What a tensor on the host looks like, for as long as it stays as it is; `None` where it is
    /// to be asked in another way.
    ///
    /// # Safety
    ///
    /// As of [`read`](Self::read); the tensor's memory is its value.
    #[inline(always)]
    pub(super) unsafe fn describe(&self, object: Borrowed<'_, '_, PyAny>) -> Option<DLTensor> {
        // SAFETY: the caller's promise; the C++ tensor is one pointer, in the object.
        unsafe {
            match &self.shim {
                Some(shim) => shim.describe(object.as_ptr().byte_add(self.tensor).cast()),
                None => self.borrow(object),
            }
        }
    }

    /// The same, and what keeps the tensor.
    ///
    /// # Safety
    ///
    /// As of [`describe`](Self::describe).
    #[inline(always)]
    pub(super) unsafe fn take(&self, object: Borrowed<'_, '_, PyAny>) -> Option<(DLTensor, Held)> {
        let shim = self.shim.as_ref()?;
        // SAFETY: as above.
        unsafe {
            let handle = object.as_ptr().byte_add(self.tensor).cast();
            Some((shim.describe(handle)?, shim.hold(handle)?))
        }
    }

    /// # Safety
    ///
    /// The object is a tensor of PyTorch.
    unsafe fn borrow(&self, object: Borrowed<'_, '_, PyAny>) -> Option<DLTensor> {
        let mut room = MaybeUninit::uninit();
        // SAFETY: the table is that of the type.
        let descriptor = unsafe { self.table.borrow_to(object, &mut room) };
        if descriptor.is_none() {
            // It will fail again where its error is passed on.
            drop(self.table.borrow_error(object.py()));
        }
        descriptor.copied()
    }
}

/// Tensors, and the words of each.
pub(super) struct Sample<'py> {
    pub(super) object: Bound<'py, PyAny>,
    words: Vec<u64>,
}

/// Finds out where things are, from tensors that differ in just these. `None` where that isn't
/// beyond doubt.
pub(super) fn find_places(torch: &Bound<'_, PyModule>) -> PyResult<Option<Places>> {
    let py = torch.py();
    let plain_type = torch.getattr("Tensor")?;
    let make = |shape: (i64, i64), dtype: &str| {
        let keywords = PyDict::new(py);
        keywords.set_item("dtype", torch.getattr(dtype)?)?;
        keywords.set_item("device", "cpu")?;
        torch.call_method("zeros", (shape,), Some(&keywords))
    };
    let sample = |object: Bound<'_, PyAny>| -> PyResult<Option<_>> {
        if !object.get_type().is(&plain_type) {
            return Ok(None);
        }
        let tensor: usize = object.getattr("_cdata")?.extract()?;
        let tensor = ptr::with_exposed_provenance::<u64>(tensor);
        // SAFETY: PyTorch says that its tensor is there, which it made with `new`.
        let words = unsafe {
            let count = allocated(tensor.cast()) / size_of::<u64>();
            std::slice::from_raw_parts(tensor, count.min(MOST_WORDS)).to_vec()
        };
        Ok(Some(Sample {
            object: object.unbind().into_bound(py),
            words,
        }))
    };
    let all = |objects: Vec<Bound<'_, PyAny>>| -> PyResult<Option<Vec<_>>> {
        objects.into_iter().map(&sample).collect()
    };
    let complex = || make((2, 1), "complex64");
    let negated = |object| torch.call_method1("_neg_view", (object,));
    let plain = all(vec![
        make((1, 1), "float32")?,
        make((2, 3), "float32")?,
        make((0, 1), "float64")?,
        make((5, 2), "int64")?,
        complex()?,
    ])?;
    let conjugated = all(vec![
        complex()?.call_method0("conj")?,
        complex()?.call_method0("conj")?.call_method0("t")?,
    ])?;
    let negated = all(vec![
        negated(make((2, 2), "float32")?)?,
        complex()?.call_method0("conj")?.getattr("imag")?,
    ])?;
    let followed = all(vec![
        make((1, 1), "float32")?.call_method0("requires_grad_")?,
        make((2, 3), "float64")?.call_method0("requires_grad_")?,
    ])?;
    let (Some(plain), Some(conjugated), Some(negated), Some(followed)) =
        (plain, conjugated, negated, followed)
    else {
        return Ok(None);
    };

    let word = |samples: &[Sample<'_>], at: usize| -> Option<u64> {
        let first = samples[0].words[at];
        samples
            .iter()
            .all(|s| s.words[at] == first)
            .then_some(first)
    };
    let has_keys = |at: &usize| {
        let words = [&plain, &conjugated, &negated, &followed].map(|s| word(s, *at));
        let [Some(plain), Some(conjugated), Some(negated), Some(followed)] = words else {
            return false;
        };
        let (conjugation, negation) = (conjugated ^ plain, negated ^ plain);
        plain != 0
            && followed == plain
            && conjugation.is_power_of_two()
            && negation.is_power_of_two()
            && conjugation != negation
            && conjugated & conjugation != 0
            && negated & negation != 0
    };
    let has_autograd = |at: &usize| {
        plain.iter().all(|s| s.words[*at] == 0) && followed.iter().all(|s| s.words[*at] != 0)
    };
    let only = |places: Vec<usize>| match places[..] {
        [place] => Some(place),
        _ => None,
    };
    let samples = [&plain, &conjugated, &negated, &followed]
        .into_iter()
        .flatten();
    let words = samples.map(|sample| sample.words.len()).min().unwrap_or(0);
    let keys = only((0..words).filter(has_keys).collect());
    let autograd = only((0..words).filter(has_autograd).collect());
    let (Some(keys), Some(autograd), Some(tensor)) = (keys, autograd, pointer_to_tensor(&plain)?)
    else {
        return Ok(None);
    };
    let kind = plain_type.cast_into::<PyType>()?;
    let Some(table) = Table::of_type(&kind).filter(|table| table.can_borrow()) else {
        return Ok(None);
    };
    let shim = Shim::load(torch).unwrap_or(None).filter(|shim| {
        // SAFETY: the pointer to the tensor was found there, and the samples are PyTorch's.
        unsafe { shim.agrees(table, &plain, tensor) }
    });
    Ok(Some(Places {
        shim,
        kind: kind.into_ptr().cast(),
        table,
        tensor,
        keys: keys * 8,
        autograd: autograd * 8,
    }))
}

/// Where in the Python object the pointer to the tensor is.
fn pointer_to_tensor(samples: &[Sample<'_>]) -> PyResult<Option<usize>> {
    let mut found = None;
    // Behind the object's head, and before its end.
    let kind = samples[0].object.get_type();
    let end: usize = kind.getattr("__basicsize__")?.extract()?;
    for at in (size_of::<ffi::PyObject>()..end).step_by(size_of::<*mut c_void>()) {
        let mut fits = true;
        for sample in samples {
            let tensor: usize = sample.object.getattr("_cdata")?.extract()?;
            // SAFETY: the type says that its objects are as large as that.
            let word = unsafe { sample.object.as_ptr().byte_add(at).cast::<usize>().read() };
            fits &= word == tensor;
        }
        if fits && found.replace(at).is_some() {
            return Ok(None);
        }
    }
    Ok(found)
}
