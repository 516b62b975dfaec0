//! Managed tensors in capsules, each of which is taken once.

use super::foreign::{release_managed, release_reference};
use crate::abi::{Abi, Legacy, VERSION, Versioned};
use crate::managed::Managed;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::critical_section::with_critical_section;
use pyo3::types::PyCapsule;
use pyo3::{Borrowed, ffi};
use std::ffi::CStr;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

/// The names of capsules that hold a managed tensor of this ABI.
pub trait Named: Abi {
    /// Name of an unconsumed capsule.
    const NAME_IN_CAPSULE: &'static CStr;
    /// Name of a consumed capsule.
    const NAME_WHEN_TAKEN: &'static CStr;
}

impl Named for Legacy {
    const NAME_IN_CAPSULE: &'static CStr = c"dltensor";
    const NAME_WHEN_TAKEN: &'static CStr = c"used_dltensor";
}

impl Named for Versioned {
    const NAME_IN_CAPSULE: &'static CStr = c"dltensor_versioned";
    const NAME_WHEN_TAKEN: &'static CStr = c"used_dltensor_versioned";
}

/// Puts a managed tensor into a capsule, which releases it if no code takes it out.
///
/// # Errors
///
/// A `MemoryError` if Python can't allocate the capsule.
pub fn into_capsule<A: Named>(
    py: Python<'_>,
    managed: Managed<A>,
) -> PyResult<Bound<'_, PyCapsule>> {
    let pointer = managed.into_raw();
    // SAFETY: the name is static, and the destructor releases what is behind the pointer only
    // while the capsule still has this name.
    unsafe {
        let name = A::NAME_IN_CAPSULE.as_ptr();
        let capsule = ffi::PyCapsule_New(pointer.as_ptr().cast(), name, Some(release::<A>));
        match Bound::from_owned_ptr_or_err(py, capsule) {
            Ok(capsule) => Ok(capsule.cast_into_unchecked()),
            Err(error) => {
                drop(Managed::from_raw_unchecked(pointer));
                Err(error)
            }
        }
    }
}

/// Releases a managed tensor that no consumer took.
///
/// # Safety
///
/// Python calls it once, for a capsule that [`into_capsule`] made.
unsafe extern "C" fn release<A: Named>(capsule: *mut ffi::PyObject) {
    // SAFETY: the capsule is there; a valid one holds what `into_capsule` put in, and no other code
    // can take it any more.
    unsafe {
        let name = A::NAME_IN_CAPSULE.as_ptr();
        if ffi::PyCapsule_IsValid(capsule, name) == 0 {
            return;
        }
        let pointer = ffi::PyCapsule_GetPointer(capsule, name);
        if let Some(pointer) = NonNull::new(pointer) {
            let py = Python::assume_attached();
            let managed = Managed::<A>::from_raw_unchecked(pointer.cast());
            keeping_exception(py, || release_managed(managed));
        }
    }
}

/// Runs `release`, which may call deleters that call Python: an exception that is on its way is put
/// aside meanwhile, and one that a deleter leaves is reported as unraisable, as nothing else would
/// take it for its own.
#[allow(
    deprecated,
    reason = "the newer functions are not in every Python that is supported"
)]
#[inline]
pub fn keeping_exception(_: Python<'_>, release: impl FnOnce()) {
    // SAFETY: the thread is attached.
    if unsafe { ffi::PyErr_Occurred() }.is_null() {
        release();
        return report_left();
    }
    let (mut kind, mut value, mut trace) = (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
    // SAFETY: the thread is attached, and the fetched exception is restored below.
    unsafe {
        ffi::PyErr_Fetch(&mut kind, &mut value, &mut trace);
        release();
        report_left();
        ffi::PyErr_Restore(kind, value, trace);
    }
}

/// Reports an exception that is set, and clears it.
#[inline]
fn report_left() {
    #[cold]
    fn report() {
        // SAFETY: the thread is attached, and an exception is set. There is no object that it is
        // about.
        unsafe { ffi::PyErr_WriteUnraisable(ptr::null_mut()) };
    }
    // SAFETY: `keeping_exception` calls it, and has a token of an attached thread.
    if !unsafe { ffi::PyErr_Occurred() }.is_null() {
        report();
    }
}

/// A capsule with a managed tensor in it that no code took yet.
#[derive(Debug)]
pub enum Offer<'a, 'py> {
    /// Named `dltensor_versioned`.
    Versioned(Borrowed<'a, 'py, PyCapsule>),
    /// Named `dltensor`.
    Legacy(Borrowed<'a, 'py, PyCapsule>),
}

impl<'a, 'py> Offer<'a, 'py> {
    /// Finds the kind of capsule that an object is.
    ///
    /// # Errors
    ///
    /// A `TypeError` for an object that isn't a capsule of this kind, and a `BufferError` for a
    /// capsule that was taken already.
    pub fn from_capsule(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let is = |name: &CStr| {
            // SAFETY: the function accepts any object, and the name is a C string.
            unsafe { ffi::PyCapsule_IsValid(object.as_ptr(), name.as_ptr()) != 0 }
        };
        // SAFETY: it is called once `is` has found a name, which only capsules have.
        let capsule = || unsafe { object.cast_unchecked::<PyCapsule>() };
        if is(Versioned::NAME_IN_CAPSULE) {
            Ok(Self::Versioned(capsule()))
        } else if is(Legacy::NAME_IN_CAPSULE) {
            Ok(Self::Legacy(capsule()))
        } else if is(Versioned::NAME_WHEN_TAKEN) || is(Legacy::NAME_WHEN_TAKEN) {
            Err(already_taken())
        } else {
            let what = object.get_type().fully_qualified_name()?;
            Err(PyTypeError::new_err(format!(
                "expected a capsule of a DLPack tensor, got {what}"
            )))
        }
    }

    /// Returns what is in a capsule of this ABI, after its version was checked; it stays the
    /// capsule's.
    ///
    /// # Errors
    ///
    /// A `BufferError` when it was taken already, or is of a major version that isn't ours.
    pub fn look<A: Named>(capsule: Borrowed<'_, 'py, PyCapsule>) -> PyResult<NonNull<A>> {
        let name = A::NAME_IN_CAPSULE.as_ptr();
        // SAFETY: the object is a capsule, and the name a C string.
        let pointer = unsafe {
            if ffi::PyCapsule_IsValid(capsule.as_ptr(), name) == 0 {
                return Err(already_taken());
            }
            ffi::PyCapsule_GetPointer(capsule.as_ptr(), name)
        };
        let Some(pointer) = NonNull::new(pointer.cast::<A>()) else {
            return Err(PyErr::fetch(capsule.py()));
        };
        // SAFETY: such a capsule holds a managed tensor of some version.
        match unsafe { A::version(pointer.as_ptr()) } {
            Some(found) if found.major != VERSION.major => Err(PyBufferError::new_err(
                crate::FromRawError::Version { found }.to_string(),
            )),
            _ => Ok(pointer),
        }
    }

    /// Borrows what is in a capsule of this ABI, after its version was checked. Meanwhile no code
    /// can take it: where others have the capsule too, it looks like one that was taken.
    ///
    /// # Errors
    ///
    /// The same as for [`look`](Self::look).
    pub fn lend<A: Named>(capsule: Borrowed<'_, 'py, PyCapsule>) -> PyResult<(NonNull<A>, Lent)> {
        with_critical_section(&capsule, || {
            let pointer = Self::look::<A>(capsule)?;
            // SAFETY: the caller has a reference, so the capsule is there.
            let is_shared = unsafe { ffi::Py_REFCNT(capsule.as_ptr()) } > 1;
            if is_shared {
                rename(capsule, A::NAME_WHEN_TAKEN)?;
            }
            let lent = Lent {
                capsule: ManuallyDrop::new(capsule.to_owned().unbind()),
                name: is_shared.then_some(A::NAME_IN_CAPSULE),
            };
            Ok((pointer, lent))
        })
    }

    /// Takes what is in a capsule of this ABI, if `check` agrees; otherwise it stays there. Of
    /// several threads that try, one succeeds.
    ///
    /// # Errors
    ///
    /// That of `check`, and a `BufferError` when it was taken already or is of a major version
    /// that isn't ours.
    ///
    /// # Safety
    ///
    /// The capsule was made by a producer of DLPack, and what it holds keeps the promise of
    /// [`Managed::from_raw`].
    pub unsafe fn take<A: Named>(
        capsule: Borrowed<'_, 'py, PyCapsule>,
        check: impl FnOnce(&A) -> PyResult<()>,
    ) -> PyResult<Managed<A>> {
        with_critical_section(&capsule, || {
            let pointer = Self::look::<A>(capsule)?;
            // SAFETY: the version is one whose layout `A` is, and the capsule keeps it.
            check(unsafe { pointer.as_ref() })?;
            // `check` may have run code that took it, here or on another thread.
            if Self::look::<A>(capsule)? != pointer {
                return Err(already_taken());
            }
            rename(capsule, A::NAME_WHEN_TAKEN)?;
            // SAFETY: the name says that it is ours now, so that the capsule's destructor leaves
            // it alone.
            Ok(unsafe { Managed::from_raw_unchecked(pointer) })
        })
    }
}

fn rename(capsule: Borrowed<'_, '_, PyCapsule>, name: &'static CStr) -> PyResult<()> {
    // SAFETY: the object is a capsule, and the name is static, so it outlives the capsule.
    match unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), name.as_ptr()) } {
        0 => Ok(()),
        _ => Err(PyErr::fetch(capsule.py())),
    }
}

/// Keeps a capsule of which something was borrowed. It is dropped by a thread that is attached, or
/// no code can take the content of the capsule any more.
#[derive(Debug)]
pub struct Lent {
    capsule: ManuallyDrop<Py<PyCapsule>>,
    /// The name that the capsule gets back.
    name: Option<&'static CStr>,
}

impl Lent {
    /// Returns the capsule, which keeps the managed tensor.
    pub fn capsule<'py>(&self, py: Python<'py>) -> Borrowed<'_, 'py, PyCapsule> {
        self.capsule.bind_borrowed(py)
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // SAFETY: the field is taken once, as `self` isn't used again.
        let capsule = unsafe { ManuallyDrop::take(&mut self.capsule) };
        Python::try_attach(|py| {
            if let Some(name) = self.name {
                // A capsule takes any name.
                let _ = rename(capsule.bind_borrowed(py), name);
            }
            let capsule = capsule.into_ptr();
            // SAFETY: the thread is attached, and the reference was this one's. The producer's
            // destructor may call Python.
            keeping_exception(py, || unsafe { release_reference(capsule) });
        });
    }
}

fn already_taken() -> PyErr {
    PyBufferError::new_err("this capsule's tensor was already taken by another consumer")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DLDataType, DLDevice, Description, Flags, export};
    use std::sync::Arc;

    #[test]
    fn capsule_that_is_taken_while_it_is_checked_is_not_taken_twice() {
        Python::initialize();
        Python::attach(|py| {
            let numbers = Arc::new([1.0_f32, 2.0]);
            let description = Description {
                data: numbers.as_ptr().cast_mut().cast(),
                device: DLDevice::CPU,
                dtype: DLDataType::F32,
                shape: &[2],
                strides: &[1],
                byte_offset: 0,
                flags: Flags::READ_ONLY,
            };
            // SAFETY: the description is of the numbers, which the export keeps.
            let managed = unsafe { export::<Versioned, _>(&description, Arc::clone(&numbers)) };
            let capsule = into_capsule(py, managed).unwrap();
            let capsule = capsule.cast::<PyCapsule>().unwrap().as_borrowed();
            let mut first = None;
            // SAFETY: the capsule was made above.
            let second = unsafe {
                Offer::take::<Versioned>(capsule, |_| {
                    first = Some(Offer::take::<Versioned>(capsule, |_| Ok(()))?);
                    Ok(())
                })
            };
            let error = second.unwrap_err();
            assert!(error.to_string().contains("already taken"), "{error}");
            drop(first);
            assert_eq!(Arc::strong_count(&numbers), 1);
        });
    }
}
