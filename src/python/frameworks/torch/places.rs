//! Offsets in PyTorch's tensor struct that tell plain tensors from others.
//!
//! Gain: asking PyTorch instead takes 8 to 370 times as long for a whole call.

use super::alias::Alias;
use super::class::{Torch, address_of};
use super::library::{IsFollowed, finds_same_tensor, is_followed};
use super::probed::Probed;
use super::sample::{Sample, words_of};
use super::shim::Shim;
use crate::dlpack::python::{Offer, Table};
use crate::dlpack::{Abi, DLTensor, Flags, Legacy};
use crate::interchange::Usual;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3::{Borrowed, ffi};
use std::ffi::c_void;
use std::mem::MaybeUninit;

/// Where PyTorch keeps what is requested, in bytes.
#[derive(Debug)]
pub(super) struct Places {
    /// The type `torch.Tensor`, to which [`Torch`] holds a reference for good.
    pub(super) kind: *mut ffi::PyTypeObject,
    /// Its exchange table, of which the call that borrows is there; releases before 2.10 have none.
    table: Option<Table>,
    /// In the Python object: the pointer to the tensor.
    tensor: usize,
    /// In the tensor: the set of dispatch keys.
    keys: usize,
    /// In the tensor: the pointer to what autograd knows.
    autograd: usize,
    /// A faster way than the table, where there is one.
    shim: Option<Shim>,
    /// Whether autograd follows a tensor, of its C++ tensor.
    is_followed: Option<IsFollowed>,
}

// SAFETY: the type is only compared; the functions may be called by any thread.
unsafe impl Send for Places {}
// SAFETY: nothing in it changes.
unsafe impl Sync for Places {}

/// The places, once they were found.
pub(super) static PLACES: Probed<Places> = Probed::new();

impl Places {
    /// Returns the keys, and whether autograd knows anything.
    ///
    /// # Safety
    ///
    /// The object is a tensor of PyTorch, and the places were found.
    #[inline]
    pub(super) unsafe fn read(&self, object: *const u8) -> (u64, usize) {
        // SAFETY: the object is a tensor of PyTorch; its C++ tensor has a word at both places.
        unsafe {
            let tensor = self.tensor(object);
            let keys = tensor.byte_add(self.keys).cast::<u64>().read();
            let autograd = tensor.byte_add(self.autograd).cast::<usize>().read();
            (keys, autograd)
        }
    }

    /// Returns whether autograd follows the tensor; `None` where the function for that isn't there.
    /// No Python code runs, which PyTorch's attribute may for derived classes.
    ///
    /// Gain: the attribute takes as long as the rest of the exchange.
    ///
    /// # Safety
    ///
    /// The object is a tensor of PyTorch.
    #[inline(always)]
    pub(super) unsafe fn is_followed(&self, object: Borrowed<'_, '_, PyAny>) -> Option<bool> {
        let is_followed = self.is_followed?;
        // SAFETY: the object is a tensor of PyTorch, as callers see to. The function was found
        // under its C++ name in PyTorch's library, and answered right for samples.
        Some(unsafe { is_followed(self.tensor(object.as_ptr().cast())) })
    }

    /// Returns the address of the C++ tensor.
    ///
    /// # Safety
    ///
    /// The object is a tensor of PyTorch.
    #[inline(always)]
    pub(super) unsafe fn tensor(&self, object: *const u8) -> *const u8 {
        // SAFETY: the object is a tensor of PyTorch, as callers see to, in which the pointer was
        // found this many bytes behind the start.
        unsafe { object.byte_add(self.tensor).cast::<*const u8>().read() }
    }

    /// Returns what a tensor on the host looks like, for as long as it stays as it is; `None` where
    /// it is to be asked in another way.
    ///
    /// # Safety
    ///
    /// The same as for [`read`](Self::read); the tensor's memory is its value.
    #[inline(always)]
    pub(super) unsafe fn describe(&self, object: Borrowed<'_, '_, PyAny>) -> Option<Usual> {
        // SAFETY: the object is a plain tensor of PyTorch, as callers see to. A C++ tensor is one
        // pointer, which was found this many bytes behind the object's start, so its address there
        // is a handle.
        unsafe {
            match &self.shim {
                Some(shim) => shim.describe(object.as_ptr().byte_add(self.tensor).cast()),
                None => self.borrow(object),
            }
        }
    }

    /// Returns the same, and what keeps the memory; `None` where that is to be got in another way.
    ///
    /// # Safety
    ///
    /// The same as for [`describe`](Self::describe).
    #[inline(always)]
    pub(super) unsafe fn take(&self, object: Borrowed<'_, '_, PyAny>) -> Option<(Usual, Alias)> {
        let shim = self.shim.as_ref()?;
        // SAFETY: the object is a plain tensor, which has the address of its C++ tensor there.
        unsafe {
            let handle = object.as_ptr().byte_add(self.tensor).cast();
            Some((shim.describe(handle)?, shim.alias(handle)?))
        }
    }

    /// Another C++ tensor with the tensor's storage; `None` where PyTorch's C functions aren't
    /// there.
    ///
    /// # Safety
    ///
    /// The object is a tensor of PyTorch.
    pub(super) unsafe fn alias(&self, object: Borrowed<'_, '_, PyAny>) -> Option<Alias> {
        // SAFETY: the object has the address of its C++ tensor there.
        unsafe {
            let handle = object.as_ptr().byte_add(self.tensor).cast();
            self.shim.as_ref()?.alias(handle)
        }
    }

    /// # Safety
    ///
    /// The object is a tensor of PyTorch.
    unsafe fn borrow(&self, object: Borrowed<'_, '_, PyAny>) -> Option<Usual> {
        let table = self.table?;
        let mut room = MaybeUninit::uninit();
        // SAFETY: the object is a tensor of PyTorch, as callers see to, and the table is that of
        // PyTorch's class, whose `can_borrow` was checked when it was found.
        let descriptor = unsafe { table.borrow_to(object, &mut room) };
        if descriptor.is_none() {
            // It will fail again where its error is passed on.
            drop(table.borrow_error(object.py()));
        }
        Usual::from_descriptor(descriptor?, Flags::empty())
    }
}

/// Finds out where things are, from tensors that differ in just these. `None` where that isn't
/// beyond doubt.
pub(super) fn find_places(py: Python<'_>, of: &Torch) -> PyResult<Option<Places>> {
    let torch = of.module.bind(py);
    let plain_type = of.class.bind(py);
    let make = |shape: (i64, i64), dtype: &str| {
        let keywords = PyDict::new(py);
        keywords.set_item("dtype", torch.getattr(dtype)?)?;
        keywords.set_item("device", "cpu")?;
        torch.call_method("zeros", (shape,), Some(&keywords))
    };
    let sample = |object: Bound<'_, PyAny>| -> PyResult<Option<_>> {
        if !object.get_type().is(plain_type) {
            return Ok(None);
        }
        let words = words_of(&object)?;
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
    let (Some(keys), Some(autograd), Some(tensor)) =
        (keys, autograd, pointer_to_tensor(of, &plain)?)
    else {
        return Ok(None);
    };
    let table = Table::of_type(plain_type);
    if table.is_some_and(|table| !table.can_borrow()) {
        return Ok(None);
    };
    let objects: Vec<_> = plain.iter().chain(&followed).map(|s| &s.object).collect();
    // SAFETY: the samples are tensors of PyTorch, of which the words there were compared.
    if unsafe { finds_same_tensor(py, of, &objects, tensor)? } == Some(false) {
        return Ok(None);
    }
    let shim = Shim::load(py, of).unwrap_or(None).filter(|shim| {
        plain.iter().all(|sample| {
            let object = sample.object.as_borrowed();
            // SAFETY: the pointer to the tensor was found there, and the samples are PyTorch's, as
            // is the table.
            unsafe {
                match table {
                    Some(table) => table
                        .borrow(object)
                        .is_ok_and(|theirs| shim.agrees(object, tensor, &theirs)),
                    None => by_capsule(of, object, |theirs| shim.agrees(object, tensor, theirs)),
                }
            }
        })
    });
    let is_followed = is_followed(py, of).unwrap_or(None).filter(|ask| {
        // SAFETY: the samples are tensors of PyTorch, whose pointer to the C++ tensor is there; the
        // function has the signature of its C++ name.
        let is = |sample: &Sample<'_>| unsafe {
            ask(sample
                .object
                .as_ptr()
                .byte_add(tensor)
                .cast::<*const u8>()
                .read())
        };
        followed.iter().all(is) && !plain.iter().chain(&conjugated).any(is)
    });
    Ok(Some(Places {
        shim,
        is_followed,
        kind: plain_type.as_type_ptr(),
        table,
        tensor,
        keys: keys * 8,
        autograd: autograd * 8,
    }))
}

/// Returns whether the descriptor in a tensor's capsule passes a check.
fn by_capsule(
    of: &Torch,
    object: Borrowed<'_, '_, PyAny>,
    check: impl FnOnce(&DLTensor) -> bool,
) -> bool {
    let function = of.c.bind(object.py()).getattr("_to_dlpack");
    let Ok(capsule) = function.and_then(|function| function.call1((object,))) else {
        return false;
    };
    match Offer::from_capsule(capsule.as_borrowed()) {
        Ok(Offer::Legacy(capsule)) => Offer::look::<Legacy>(capsule)
            // SAFETY: the capsule was just made, and keeps the managed tensor.
            .is_ok_and(|managed| check(unsafe { managed.as_ref() }.descriptor())),
        _ => false,
    }
}

/// Where in the Python object the pointer to the tensor is.
fn pointer_to_tensor(of: &Torch, samples: &[Sample<'_>]) -> PyResult<Option<usize>> {
    let mut found = None;
    // Behind the object's head, and before the end of what the C type has.
    let base = of.base.bind(samples[0].object.py());
    let end: usize = base.getattr("__basicsize__")?.extract()?;
    for at in (size_of::<ffi::PyObject>()..end).step_by(size_of::<*mut c_void>()) {
        let mut fits = true;
        for sample in samples {
            let tensor = address_of(&sample.object)?;
            // SAFETY: the object's C type says that its objects are as large as that.
            let word = unsafe { sample.object.as_ptr().byte_add(at).cast::<usize>().read() };
            fits &= word == tensor;
        }
        if fits && found.replace(at).is_some() {
            return Ok(None);
        }
    }
    Ok(found)
}
