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

mod alias;
mod class;
mod forward;
mod grad_mode;
mod library;
mod places;
mod probed;
mod row;
mod sample;
mod shim;
mod storage;
mod version_counter;

use crate::dlpack::python::{FoundOnce, intern};
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use crate::interchange::Usual;
use crate::python::error::{Refused, not_exchangeable};
use crate::python::frameworks::row_type::Time;
use crate::python::type_attribute::Attribute;
use alias::Alias;
use class::{Torch, own_attribute};
use places::{PLACES, Places, find_places};
use pyo3::Borrowed;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

use class::is_tensor_type;
pub(super) use row::ROW;
use storage::{keep, lock};
pub(in crate::python) use version_counter::note_written;

/// The keys that a plain tensor may have.
static PLAIN_KEYS: AtomicU64 = AtomicU64::new(0);

/// Returns what a tensor looks like in the usual case: a plain one on the host, that autograd
/// doesn't follow. `None` for any other object.
#[inline(always)]
pub(in crate::python) fn describe_usual(object: Borrowed<'_, '_, PyAny>) -> Option<Usual> {
    // SAFETY: the tensor is a plain one.
    unsafe { places_of_plain(object, Time::Call)?.describe(object) }
}

/// [`describe_usual`], and what keeps the memory. With `locks` that isn't resized from now on.
#[inline(always)]
pub(in crate::python) fn take_usual(
    object: Borrowed<'_, '_, PyAny>,
    locks: bool,
    time: Time,
) -> Option<(Usual, Alias)> {
    let places = places_of_plain(object, time)?;
    if locks {
        lock(object);
    }
    // SAFETY: the tensor is a plain one.
    unsafe { places.take(object) }
}

/// Returns the places in a plain tensor, that autograd doesn't follow at this time; `None` for any
/// other object.
#[inline(always)]
fn places_of_plain(object: Borrowed<'_, '_, PyAny>, time: Time) -> Option<&'static Places> {
    let places = PLACES.get()?;
    if object.get_type_ptr() != places.kind {
        return None;
    }
    // SAFETY: the object is a tensor of PyTorch, for which the places were found. One of which the
    // keys are plain is its memory's value.
    unsafe {
        let (keys, autograd) = places.read(object.as_ptr().cast());
        if keys & !PLAIN_KEYS.load(Ordering::Relaxed) != 0
            || autograd != 0 && check_autograd(object, time).is_err()
        {
            return None;
        }
    }
    Some(places)
}

/// Refuses a tensor whose memory is not its value, saying what makes one of it whose memory is.
/// Returns whether Python code may have run.
#[inline]
fn guard(object: Borrowed<'_, '_, PyAny>, time: Time) -> Result<bool, Refused> {
    if !is_tensor_type(object.get_type_ptr()) {
        return ask_by_name(object).map(|()| false);
    }
    if let Some(places) = PLACES.get() {
        // SAFETY: the object is a tensor of PyTorch, for which the places were found.
        let (keys, autograd) = unsafe { places.read(object.as_ptr().cast()) };
        if keys & !PLAIN_KEYS.load(Ordering::Relaxed) == 0 {
            if autograd == 0 {
                return Ok(false);
            }
            // Of a derived class it may be answered by Python code.
            check_autograd(object, time)?;
            return Ok(true);
        }
    }
    ask(object, time)?;
    Ok(true)
}

/// Refuses tensors that autograd follows, unless they are used for a call while it is off: then
/// PyTorch's own functions don't record what they do with them either. Views have something about
/// autograd too; of those that it doesn't follow the ones with a tangent are refused.
#[inline(never)]
fn check_autograd(object: Borrowed<'_, '_, PyAny>, time: Time) -> Result<(), Refused> {
    let places = PLACES.get();
    // SAFETY: the object is a tensor of PyTorch, as all callers have checked its type.
    let is_followed = places.and_then(|places| unsafe { places.is_followed(object) });
    if let Some(is_followed) = is_followed {
        if is_followed && (time == Time::Beyond || grad_mode::is_enabled(object)?) {
            return Err(not_exchangeable(followed()).into());
        }
        return forward::guard(object);
    }
    static REQUIRES_GRAD: FoundOnce<Attribute> = FoundOnce::new();
    let py = object.py();
    let attribute = match REQUIRES_GRAD.get(py) {
        Some(attribute) => attribute,
        None => REQUIRES_GRAD.get_or_try_find(py, || {
            let base = Torch::of(object)?.base.bind(py);
            Attribute::new(own_attribute(base, "requires_grad")?)
        })?,
    };
    if attribute.is(object, false)? || time == Time::Call && !grad_mode::is_enabled(object)? {
        return forward::guard(object);
    }
    Err(not_exchangeable(followed()).into())
}

/// Asks PyTorch in words.
#[cold]
fn ask(object: Borrowed<'_, '_, PyAny>, time: Time) -> Result<(), Refused> {
    let py = object.py();
    let torch = Torch::of(object)?;
    let c = torch.c.bind(py);
    let plain_dispatch = c.getattr_opt(intern!(py, "_disabled_torch_dispatch_impl"))?;
    let dispatch = object
        .get_type()
        .getattr_opt(intern!(py, "__torch_dispatch__"))?;
    if let (Some(dispatch), Some(plain)) = (dispatch, plain_dispatch)
        && !dispatch.is(&plain)
    {
        let what = object.get_type().fully_qualified_name()?;
        let reason =
            format!("{what} computes its value when it is used, and its own memory isn't that");
        let error = Incompatibility::from_reason(Kind::Exchange, reason);
        return Err(not_exchangeable(error.with_remedy("pass a plain torch.Tensor")).into());
    }
    check_autograd(object, time)?;
    if torch.call(object, "is_conj")?.is_truthy()? {
        return Err(not_exchangeable(conjugated()).into());
    }
    if torch.call(object, "is_neg")?.is_truthy()? {
        return Err(not_exchangeable(negated()).into());
    }
    Ok(check_keys(object, torch)?)
}

/// Refuses what PyTorch's own `__dlpack__` gives with wrong values: it asks whether a tensor is
/// conjugated, or followed by autograd, and not whether it is negated.
#[cold]
fn guard_negated(object: Borrowed<'_, '_, PyAny>) -> Result<(), Refused> {
    match Torch::of(object)?.call(object, "is_neg")?.is_truthy()? {
        true => Err(not_exchangeable(negated()).into()),
        false => Ok(()),
    }
}

/// Asks a tensor of a class that only goes by PyTorch's name, by its own methods: PyTorch's C type
/// may get another name.
#[cold]
fn ask_by_name(object: Borrowed<'_, '_, PyAny>) -> Result<(), Refused> {
    let refusals: [(_, fn() -> Incompatibility); 3] = [
        ("is_conj", conjugated),
        ("is_neg", negated),
        ("requires_grad", followed),
    ];
    for (name, refusal) in refusals {
        // A class that isn't PyTorch's needn't have its methods.
        let Some(answer) = object.getattr_opt(name)? else {
            continue;
        };
        let answer = match answer.is_callable() {
            true => answer.call0()?,
            false => answer,
        };
        if answer.is_truthy()? {
            return Err(not_exchangeable(refusal()).into());
        }
    }
    Ok(())
}

#[cold]
fn conjugated() -> Incompatibility {
    Incompatibility::new(Kind::Conjugate, "conjugated lazily", "not conjugated")
        .with_reason("the tensor is conjugated lazily, so its memory isn't its value")
        .with_remedy("pass tensor.resolve_conj()")
}

#[cold]
fn negated() -> Incompatibility {
    Incompatibility::new(Kind::Negative, "negated lazily", "not negated")
        .with_reason("the tensor is negated lazily, so its memory isn't its value")
        .with_remedy("pass tensor.resolve_neg()")
}

#[cold]
fn followed() -> Incompatibility {
    Incompatibility::new(
        Kind::RequiresGrad,
        "requires_grad=True",
        "requires_grad=False",
    )
    .with_reason("autograd follows this tensor (requires_grad), which it can't outside of PyTorch")
    .with_remedy("pass tensor.detach()")
}

/// Refuses what has keys that none of the questions explain. Keys that are as in a plain tensor are
/// remembered, once it is known where they are.
fn check_keys(object: Borrowed<'_, '_, PyAny>, torch: &Torch) -> PyResult<()> {
    let py = object.py();
    let keys = torch
        .c
        .bind(py)
        .call_method1(intern!(py, "_dispatch_keys"), (object,))?
        .str()?;
    let keys = keys.to_string_lossy();
    let device = object.getattr(intern!(py, "device"))?;
    let device = device.getattr(intern!(py, "type"))?;
    if device.eq("meta")? {
        return Err(not_exchangeable(
            Incompatibility::new(Kind::Device, "meta", "a device that has memory")
                .with_reason("the tensor is on the device meta, where there is no memory")
                .with_remedy("pass one that is on another device"),
        ));
    }
    if !are_plain(&keys, &device.str()?.to_string_lossy()) {
        let remedy = remedy(&keys);
        let reason =
            format!("the tensor isn't a plain one ({keys}), so its memory may not be its value");
        let error = Incompatibility::from_reason(Kind::Layout, reason);
        return Err(not_exchangeable(
            error.with_remedy(format!("pass {remedy}")),
        ));
    }
    // Whatever goes wrong here may not next time.
    if let Some(places) = PLACES.find(|| torch.without_modes(py, || find_places(py, torch))) {
        // SAFETY: the object is a tensor of PyTorch, for which the places were found.
        let (keys, _) = unsafe { places.read(object.as_ptr().cast()) };
        PLAIN_KEYS.fetch_or(keys, Ordering::Relaxed);
    }
    Ok(())
}

/// Returns what makes a plain tensor of one with these keys.
fn remedy(keys: &str) -> &'static str {
    let remedies = [
        ("Quantized", "tensor.dequantize() or tensor.int_repr()"),
        ("Nested", "the tensors of tensor.unbind()"),
        ("ZeroTensor", "tensor.clone()"),
        ("Sparse", "tensor.to_dense()"),
        ("Mkldnn", "tensor.to_dense()"),
    ];
    let found = remedies.iter().find(|(key, _)| keys.contains(key));
    found.map_or("a plain copy", |(_, remedy)| remedy)
}

/// Returns what PyTorch's error is about, where it can't export a tensor that the guard let pass.
#[cold]
fn clarify(py: Python<'_>, error: PyErr) -> PyErr {
    if !error.is_instance_of::<pyo3::exceptions::PyRuntimeError>(py) {
        return error;
    }
    let message = error.value(py).to_string();
    let first = message.lines().next().unwrap_or_default();
    let reason = format!("PyTorch can't export the tensor ({first})");
    let remedy = "pass one of another dtype, such as tensor.view(torch.uint8)";
    let clear =
        not_exchangeable(Incompatibility::from_reason(Kind::Exchange, reason).with_remedy(remedy));
    clear.set_cause(py, Some(error));
    clear
}

/// Returns whether keys, as in `DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU, AutocastCPU)`,
/// are those of a tensor whose memory, on this device, is its value.
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
