//! PyTorch's version counters: a tensor that was written says so to autograd.
//!
//! Autograd notes the version of each tensor that it keeps for a gradient, and refuses to use one
//! that changed since. PyTorch's own functions count a change; what writes the memory itself must
//! do so too. `increment_version` takes 135 ns from Python; the counter itself is one number,
//! shared by the views of a tensor, and reached by a pointer in the C++ tensor.

use super::class::{Torch, is_tensor_type, own_attribute};
use super::places::{PLACES, Places};
use super::probed::Probed;
use super::sample::{allocated, words_of};
use crate::dlpack::python::intern;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the counter is.
struct VersionPlace {
    /// In the C++ tensor: the pointer to what has the counter, NULL in inference tensors.
    pointer: usize,
    /// Behind that pointer, in bytes.
    counter: usize,
}

static PLACE: Probed<VersionPlace> = Probed::new();

/// Counts that a tensor of PyTorch was written.
#[inline]
pub(in crate::python) fn note_written(object: Borrowed<'_, '_, PyAny>) {
    if !is_tensor_type(object.get_type_ptr()) {
        return;
    }
    match (PLACES.get(), PLACE.get()) {
        // SAFETY: the object is a tensor of PyTorch, for which both were found.
        (Some(places), Some(place)) => unsafe { place.increment(places, object) },
        _ => note_first(object),
    }
}

#[cold]
#[inline(never)]
fn note_first(object: Borrowed<'_, '_, PyAny>) {
    // What was raised before stays raised.
    let raised = PyErr::take(object.py());
    match (PLACES.get(), PLACE.find(|| find_place(object))) {
        // SAFETY: the object is a tensor of PyTorch, for which both were found.
        (Some(places), Some(place)) => unsafe { place.increment(places, object) },
        // An inference tensor has no counter, and raises.
        _ => drop(ask(object)),
    }
    if let Some(raised) = raised {
        raised.restore(object.py());
    }
}

/// Does the same by PyTorch's own function.
fn ask(object: Borrowed<'_, '_, PyAny>) -> PyResult<()> {
    let py = object.py();
    let increment = Torch::of(object)?
        .c
        .bind(py)
        .getattr("_increment_version")?;
    match increment.call1(((object,),)) {
        Ok(_) => Ok(()),
        // Older releases take one tensor.
        Err(_) => increment.call1((object,)).map(drop),
    }
}

impl VersionPlace {
    /// # Safety
    ///
    /// The object is a tensor of PyTorch, for which the places were found.
    #[inline(always)]
    unsafe fn increment(&self, places: &Places, object: Borrowed<'_, '_, PyAny>) {
        // SAFETY: the C++ tensor has the pointer there, which is NULL or leads to what has the
        // counter, an atomic number of 32 bits.
        unsafe {
            let tensor = places.tensor(object.as_ptr().cast());
            let holder = tensor.byte_add(self.pointer).cast::<*mut u8>().read();
            if !holder.is_null() {
                let counter = holder.byte_add(self.counter).cast::<u32>();
                AtomicU32::from_ptr(counter).fetch_add(1, Ordering::SeqCst);
            }
        }
    }
}

/// How many bytes of what has the counter are looked at, at most.
const MOST_BYTES: usize = 32;

/// Finds the place by comparing tensors that share a counter with tensors that have others; `None`
/// where there isn't exactly one.
fn find_place(object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<VersionPlace>> {
    let py = object.py();
    let torch = Torch::of(object)?;
    let version = own_attribute(torch.base.bind(py), "_version")?;
    let version_of = |tensor: &Bound<'_, PyAny>| -> PyResult<u32> {
        version
            .call_method1(intern!(py, "__get__"), (tensor,))?
            .extract()
    };
    // Each sample is a tensor, a view of all of it and one of a part, and a new tensor with the
    // same storage, whose counter is another one.
    let mut samples = Vec::new();
    for changes in [3, 5, 11] {
        let keywords = PyDict::new(py);
        keywords.set_item("device", "cpu")?;
        let tensor = torch
            .module
            .bind(py)
            .call_method("zeros", (4, 4), Some(&keywords))?;
        for _ in 0..changes {
            tensor.call_method0("zero_")?;
        }
        let views = [
            tensor.call_method1("view", (16,))?,
            tensor.call_method1("narrow", (0, 1, 2))?,
            tensor.call_method0("detach")?,
        ];
        let other = tensor.getattr("data")?;
        if version_of(&tensor)? != changes || !tensor.get_type().is(&torch.class) {
            return Ok(None);
        }
        let shared = views.iter().map(words_of).collect::<PyResult<Vec<_>>>()?;
        samples.push((
            words_of(&tensor)?,
            shared,
            words_of(&other)?,
            changes,
            tensor,
        ));
    }
    let words = samples.iter().map(|(words, ..)| words.len()).min();
    let is_pointer = |at: &usize| {
        let mut seen = Vec::new();
        samples.iter().all(|(words, shared, other, ..)| {
            let word = words[*at];
            let is_new = !seen.contains(&word);
            seen.push(word);
            is_new
                && word != 0
                && word % align_of::<u64>() as u64 == 0
                && shared.iter().all(|words| words[*at] == word)
                && other[*at] != word
                && other[*at] != 0
        })
    };
    let pointers: Vec<_> = (0..words.unwrap_or(0)).filter(is_pointer).collect();
    let [pointer] = pointers[..] else {
        return Ok(None);
    };
    let holder = |words: &[u64]| ptr::with_exposed_provenance_mut::<u8>(words[pointer] as usize);
    let is_counter = |at: &usize| {
        samples.iter().all(|(words, _, _, changes, _)| {
            let holder = holder(words);
            // SAFETY: all of a tensor's words that its views share, and a new tensor of the same
            // storage has not, are pointers to what the allocator gave: its counter is the only
            // such thing.
            unsafe {
                at + size_of::<u32>() <= allocated(holder).min(MOST_BYTES)
                    && holder.byte_add(*at).cast::<u32>().read() == *changes
            }
        })
    };
    let counters: Vec<_> = (0..MOST_BYTES).step_by(4).filter(is_counter).collect();
    let [counter] = counters[..] else {
        return Ok(None);
    };
    // It must be what PyTorch answers with.
    for (words, _, _, changes, tensor) in &samples {
        // SAFETY: within what the allocator gave, and read before.
        let number = unsafe { AtomicU32::from_ptr(holder(words).byte_add(counter).cast()) };
        number.fetch_add(1, Ordering::SeqCst);
        if version_of(tensor)? != changes + 1 {
            return Ok(None);
        }
    }
    Ok(Some(VersionPlace {
        pointer: pointer * size_of::<u64>(),
        counter,
    }))
}
