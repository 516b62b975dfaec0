//! PyTorch's tensors whose memory is not their value.
//!
//! A conjugated tensor is the memory of the plain one and a bit that says so; a negated one
//! likewise; a `FakeTensor` has no memory at all. PyTorch exports each of them without a word,
//! and those that autograd follows too. So they are looked at before.
//!
//! Asking PyTorch (`is_conj()`, `is_neg()`, `requires_grad`) costs more than the whole exchange.
//! All of it is in two words of the tensor: the set of its dispatch keys, in which a plain tensor
//! has no key that others add, and a pointer to what autograd knows, NULL where that is nothing.
//! Where these words lie differs between versions, so it is found out at first: tensors are
//! made that differ in just this, and their words compared. Where exactly one place fits, it is
//! read from then on, and anything that isn't as in a plain tensor is asked about in words; where
//! none fits, everything is.

mod places;
mod shim;

use super::attribute::Attribute;
use super::error::{Refused, not_exchangeable};
use crate::dlpack::DLTensor;
use places::{Places, find_places};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::{Borrowed, intern};
use shim::Held;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

static PLACES: AtomicPtr<Places> = AtomicPtr::new(std::ptr::null_mut());
/// The keys that a plain tensor may have.
static PLAIN_KEYS: AtomicU64 = AtomicU64::new(0);
/// How often the places were looked for in vain.
static ATTEMPTS: AtomicUsize = AtomicUsize::new(0);
const MOST_ATTEMPTS: usize = 8;

/// What a tensor looks like in the usual case: a plain one on the host, that autograd doesn't follow.
/// `None` for any other object.
#[inline(always)]
pub(super) fn describe_usual(object: Borrowed<'_, '_, PyAny>) -> Option<DLTensor> {
    // SAFETY: the tensor is a plain one.
    unsafe { places_of_plain(object)?.describe(object) }
}

/// [`describe_usual`], and what keeps the tensor.
#[inline(always)]
pub(super) fn take_usual(object: Borrowed<'_, '_, PyAny>) -> Option<(DLTensor, Held)> {
    // SAFETY: the tensor is a plain one.
    unsafe { places_of_plain(object)?.take(object) }
}

/// The places in a plain tensor, that autograd doesn't follow; `None` for any other object.
#[inline(always)]
fn places_of_plain(object: Borrowed<'_, '_, PyAny>) -> Option<&'static Places> {
    // SAFETY: NULL, or what was leaked after it was written.
    let places = unsafe { PLACES.load(Ordering::Acquire).as_ref() }?;
    if object.get_type_ptr() != places.kind {
        return None;
    }
    // SAFETY: the object is a tensor of PyTorch, for which the places were found. One of which the
    // keys are plain is its memory's value.
    unsafe {
        let (keys, autograd) = places.read(object.as_ptr().cast());
        if keys & !PLAIN_KEYS.load(Ordering::Relaxed) != 0
            || autograd != 0 && check_autograd(object).is_err()
        {
            return None;
        }
    }
    Some(places)
}

/// Refuses a tensor whose memory is not its value, saying what makes one of it whose memory is.
#[inline]
pub(super) fn guard(object: Borrowed<'_, '_, PyAny>) -> Result<(), Refused> {
    let places = PLACES.load(Ordering::Acquire);
    // SAFETY: NULL, or what was leaked after it was written.
    if let Some(places) = unsafe { places.as_ref() } {
        // SAFETY: the object is a tensor of PyTorch, for which the places were found.
        let (keys, autograd) = unsafe { places.read(object.as_ptr().cast()) };
        if keys & !PLAIN_KEYS.load(Ordering::Relaxed) == 0 {
            return if autograd == 0 {
                Ok(())
            } else {
                check_autograd(object)
            };
        }
    }
    ask(object)
}

/// Views have something about autograd too; only those that it follows are refused.
#[inline(never)]
fn check_autograd(object: Borrowed<'_, '_, PyAny>) -> Result<(), Refused> {
    static REQUIRES_GRAD: PyOnceLock<Attribute> = PyOnceLock::new();
    let py = object.py();
    let attribute = match REQUIRES_GRAD.get(py) {
        Some(attribute) => attribute,
        None => REQUIRES_GRAD.get_or_try_init(py, || {
            let class = py.import("torch")?.getattr("Tensor")?;
            Attribute::of(&class, "requires_grad")
        })?,
    };
    if attribute.is(object, false)? {
        return Ok(());
    }
    Err(not_exchangeable(
        "autograd follows this tensor (requires_grad), which it can't outside of PyTorch; pass tensor.detach()",
    )
    .into())
}

/// Asks PyTorch in words.
#[cold]
fn ask(object: Borrowed<'_, '_, PyAny>) -> Result<(), Refused> {
    let py = object.py();
    let torch = py.import(intern!(py, "torch"))?;
    let plain_dispatch = torch
        .getattr(intern!(py, "_C"))?
        .getattr_opt(intern!(py, "_disabled_torch_dispatch_impl"))?;
    let dispatch = object
        .get_type()
        .getattr_opt(intern!(py, "__torch_dispatch__"))?;
    if let (Some(dispatch), Some(plain)) = (dispatch, plain_dispatch)
        && !dispatch.is(&plain)
    {
        let what = object.get_type().fully_qualified_name()?;
        return Err(not_exchangeable(format!(
            "{what} computes its value when it is used, and its own memory isn't that; pass a plain torch.Tensor"
        ))
        .into());
    }
    check_autograd(object)?;
    if object.call_method0(intern!(py, "is_conj"))?.is_truthy()? {
        return Err(not_exchangeable(
            "the tensor is conjugated lazily, so its memory isn't its value; pass tensor.resolve_conj()",
        )
        .into());
    }
    if object.call_method0(intern!(py, "is_neg"))?.is_truthy()? {
        return Err(not_exchangeable(
            "the tensor is negated lazily, so its memory isn't its value; pass tensor.resolve_neg()",
        )
        .into());
    }
    Ok(check_keys(object, &torch)?)
}

/// Refuses what has keys that none of the questions explain. Keys that are as in a plain tensor are
/// remembered, once it is known where they are.
fn check_keys(object: Borrowed<'_, '_, PyAny>, torch: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = object.py();
    let keys = torch
        .getattr(intern!(py, "_C"))?
        .call_method1(intern!(py, "_dispatch_keys"), (object,))?
        .str()?;
    let device = object.getattr(intern!(py, "device"))?;
    let device = device.getattr(intern!(py, "type"))?;
    if device.eq("meta")? {
        return Err(not_exchangeable(
            "the tensor is on the device meta, where there is no memory; pass one that is on another device",
        ));
    }
    if !are_plain(&keys.to_string_lossy(), &device.str()?.to_string_lossy()) {
        return Err(not_exchangeable(format!(
            "the tensor isn't a plain one ({keys}), so its memory may not be its value; pass tensor.to_dense(), or a copy"
        )));
    }
    let mut places = PLACES.load(Ordering::Acquire);
    if places.is_null() && ATTEMPTS.fetch_add(1, Ordering::Relaxed) < MOST_ATTEMPTS {
        // Whatever goes wrong here, under one of PyTorch's modes for example, may not next time.
        if let Ok(Some(found)) = find_places(torch) {
            places = Box::leak(Box::new(found));
            PLACES.store(places, Ordering::Release);
        }
    }
    // SAFETY: NULL, or what was leaked after it was written.
    if let Some(places) = unsafe { places.as_ref() } {
        // SAFETY: the object is a tensor of PyTorch, for which the places were found.
        let (keys, _) = unsafe { places.read(object.as_ptr().cast()) };
        PLAIN_KEYS.fetch_or(keys, Ordering::Relaxed);
    }
    Ok(())
}

/// Whether keys, as in `DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)`, are those
/// of a tensor whose memory, on this device, is its value.
fn are_plain(keys: &str, device: &str) -> bool {
    let names = keys
        .strip_prefix("DispatchKeySet(")
        .and_then(|keys| keys.strip_suffix(')'));
    names.is_some_and(|names| {
        names.split(", ").all(|name| {
            name.eq_ignore_ascii_case(device)
                || ["ADInplaceOrView", "PrivateUse1"].contains(&name)
                || name.starts_with("Autograd")
                || name.starts_with("Autocast")
        })
    })
}
