//! Tensors by `__dlpack__`, and in capsules.

use super::wanted::{Purpose, Wanted, moved};
use crate::device::Device;
use crate::dlpack::python::{Named, Offer, Wish, foreign, intern, keeping_exception};
use crate::dlpack::{Abi, Legacy, Managed, Versioned};
use crate::error::{Incompatibility, IncompatibilityKind};
use crate::interchange::Described;
use crate::layout::Layout;
use crate::python::attach;
use crate::python::cuda;
use crate::python::error::{is_final, not_exchangeable, not_importable};
use crate::python::frameworks::{Framework, Time, vendor_of_layout};
use crate::python::import::capsule::by_dlpack;
use crate::python::import::guard::guard_protocol;
use crate::python::object::Object;
use crate::python::refusal;
use crate::storage::{Owner, SmallOwner};
use crate::tensor::Tensor;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::mem::ManuallyDrop;

pub(super) fn by_protocol(
    object: Borrowed<'_, '_, PyAny>,
    wanted: Wanted,
    purpose: Purpose,
) -> PyResult<Tensor> {
    guard_protocol(object, Time::Beyond)?;
    // The framework's own export may keep the tensor, which may get other memory: so the memory is
    // kept beside it.
    let storage = match vendor_of_layout(object.get_type_ptr()) {
        // A wrapper without memory may still answer for itself.
        Some(vendor) => (vendor.keep_memory)(object, purpose == Purpose::Keep).unwrap_or_default(),
        None => None,
    };
    let framework = Framework::of_type(&object.get_type());
    let copies_right = framework.is_none_or(|framework| framework.copies_right);
    let keeps = framework.is_none_or(|framework| framework.capsule_keeps_memory);
    let object_too = (!keeps).then(|| Object::new(object));
    let keep = match (storage, object_too) {
        (None, None) => None,
        several => Some(several),
    };
    let wish = Wish {
        copy: wanted.copy.filter(|copy| !copy || copies_right),
        device: wanted.device.map(Into::into),
        stream: cuda::to_ask(&object)?,
    };
    // Who can't copy is asked to share, and copied here. Who knows no devices may be asked without.
    let (capsule, mut refusal) = match by_dlpack(object, &wish) {
        Ok(capsule) => (capsule, None),
        Err(refusal) if is_final(object.py(), &refusal) => {
            return Err(refusal::by_producer(object, refusal));
        }
        Err(refusal)
            if wanted.copy == Some(true)
                || may_be_moved(wanted, Device::CPU)
                || is_where_wanted(object, wanted)? =>
        {
            let plain = Wish {
                copy: wanted.copy.filter(|copy| !copy),
                device: None,
                ..wish
            };
            match by_dlpack(object, &plain) {
                Ok(capsule) => (capsule, Some(refusal)),
                Err(other) if is_final(object.py(), &other) => return Err(other),
                Err(_) => return Err(refusal::by_producer(object, refusal)),
            }
        }
        Err(refusal) => return Err(refusal::by_producer(object, refusal)),
    };
    let tensor = match Offer::from_capsule(capsule.as_any().as_borrowed())? {
        Offer::Versioned(capsule) => of_capsule::<Versioned>(capsule, wanted, keep, purpose),
        Offer::Legacy(capsule) => {
            let tensor = of_capsule::<Legacy>(capsule, wanted, keep, purpose);
            match framework.is_some_and(|framework| framework.legacy_is_read_only) {
                true => tensor.map(Tensor::into_read_only),
                false => tensor,
            }
        }
    };
    let capsule = capsule.into_ptr();
    // SAFETY: this thread is attached, and the reference was its own. The producer's destructor may
    // run Python.
    keeping_exception(object.py(), || unsafe {
        foreign::release_reference(capsule)
    });
    let tensor = match (tensor, refusal.take()) {
        // The first error is why there was a second attempt.
        (Err(_), Some(refusal)) => return Err(refusal),
        (tensor, before) => {
            refusal = before;
            cuda::adopted(object, tensor?)?
        }
    };
    if let Some(device) = wanted.device
        && device != tensor.device()
    {
        return moved(&tensor, device, wanted.copy).map_err(|error| refusal.unwrap_or(error));
    }
    match wanted.copy {
        // Some producers take the keyword, and share all the same, or give what is not to be
        // written.
        Some(true) if !tensor.is_copied() || tensor.is_read_only() => cuda::copy(&tensor),
        Some(false) if tensor.is_copied() => Err(not_exchangeable(
            Incompatibility::new(IncompatibilityKind::Copy, "a copy", "shared memory")
                .with_reason("the producer copied the tensor, though copy=False was requested"),
        )),
        _ => Ok(tensor),
    }
}

/// Returns whether a producer says that its tensor is on the requested device.
fn is_where_wanted(object: Borrowed<'_, '_, PyAny>, wanted: Wanted) -> PyResult<bool> {
    let py = object.py();
    let Some(device) = wanted.device else {
        return Ok(false);
    };
    let said = object.call_method0(intern!(py, "__dlpack_device__"));
    match said.and_then(|said| said.extract::<Device>()) {
        Ok(said) => Ok(said == device),
        Err(error) if is_final(py, &error) => Err(error),
        Err(_) => Ok(false),
    }
}

/// Returns whether a tensor that is on a device is copied to the one where it is wanted.
fn may_be_moved(wanted: Wanted, from: Device) -> bool {
    let is_possible = |to| cuda::can_move(from, to);
    wanted.copy != Some(false) && wanted.device.is_some_and(is_possible)
}

/// What keeps the memory beside the managed tensor: the framework's storage, or the object itself.
type Beside = (Option<Owner>, Option<Object>);

fn of_capsule<A: Named>(
    capsule: Borrowed<'_, '_, PyCapsule>,
    wanted: Wanted,
    keep: Option<Beside>,
    purpose: Purpose,
) -> PyResult<Tensor> {
    let check = |managed: &A| {
        let mut layout = Layout::SCALAR;
        // SAFETY: the capsule's promise, which is DLPack's.
        let described =
            unsafe { Described::read(managed.descriptor(), managed.flags(), &mut layout) };
        let found = described.map_err(not_importable)?.device;
        match wanted.device {
            Some(device) if device != found && !may_be_moved(wanted, found) => {
                let reason = format!("expected memory on {device}, got the producer's on {found}");
                let kind = IncompatibilityKind::Device;
                let error = Incompatibility::new(kind, found.to_string(), device.to_string());
                Err(not_exchangeable(error.with_reason(reason)))
            }
            _ => Ok(()),
        }
    };
    if purpose == Purpose::Ask {
        let (managed, lent) = Offer::lend::<A>(capsule)?;
        // SAFETY: a capsule with this name holds a managed tensor, as DLPack requires of producers,
        // and keeps it while it is lent.
        let managed = unsafe { managed.as_ref() };
        check(managed)?;
        let owner = Owner::lend((lent, keep), |_| ()).0;
        // SAFETY: the managed tensor keeps the memory that it describes.
        return unsafe { Tensor::adopt(managed.descriptor(), managed.flags(), owner) }
            .map_err(not_importable);
    }
    // SAFETY: a capsule with this name holds a managed tensor, as DLPack requires of producers.
    let managed: Managed<A> = unsafe { Offer::take(capsule, check) }?;
    let managed = match Tensor::returning(managed) {
        Ok(tensor) => return Ok(tensor),
        Err(managed) => managed,
    };
    let (descriptor, flags) = (*managed.descriptor(), managed.flags());
    let managed = Attached::new(managed);
    let owner = match keep {
        None => Owner::small(managed),
        Some(beside) => Owner::lend((managed, beside), |_| ()).0,
    };
    // SAFETY: the managed tensor keeps the memory that it describes.
    unsafe { Tensor::adopt(&descriptor, flags, owner) }.map_err(not_importable)
}

/// A managed tensor of another library, released by a thread that is attached. There are deleters
/// that need the GIL and don't take it, such as that of NumPy 1.23; and those that take it would
/// have a thread that holds other locks wait for it.
pub(super) struct Attached<A: Abi>(ManuallyDrop<Managed<A>>);

impl<A: Abi> Attached<A> {
    pub(super) fn new(managed: Managed<A>) -> Self {
        Self(ManuallyDrop::new(managed))
    }
}

// SAFETY: those of a managed tensor.
unsafe impl<A: Abi> SmallOwner for Attached<A> {
    fn into_words(self) -> [*mut (); 2] {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: it is taken once, as nothing else is done with what has it.
        unsafe { ManuallyDrop::take(&mut this.0) }.into_words()
    }

    unsafe fn from_words(words: [*mut (); 2]) -> Self {
        // SAFETY: the words came from `into_words`, which made them of a managed tensor.
        Self(ManuallyDrop::new(unsafe { SmallOwner::from_words(words) }))
    }
}

impl<A: Abi> Drop for Attached<A> {
    fn drop(&mut self) {
        // SAFETY: it is dropped once, and not used again.
        let managed = unsafe { ManuallyDrop::take(&mut self.0) };
        attach::release(move || foreign::release_managed(managed));
    }
}
