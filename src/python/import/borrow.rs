//! Borrowed tensors: an object describes its tensor, by the fastest way that it offers, in an entry
//! of the list of borrows.

mod own;

use crate::dlpack::python::{Named, Offer, Table, Wish};
use crate::dlpack::{Abi, Flags, Legacy, Versioned};
use crate::interchange::Usual;
use crate::python::borrows::{Entry, Keep, NoteWritten};
use crate::python::cuda;
use crate::python::error::Refused;
use crate::python::frameworks::{
    CapsuleMethods, TableVendor, Time, numpy, torch, vendor_of_layout,
};
use crate::python::import::buffer::{Buffer, Strides};
use crate::python::import::capsule::{
    by_dlpack, by_method, flags_of, guard_capsule, is_immutable_in_legacy,
};
use crate::python::import::guard::{clarify, guard_protocol, guard_table};
use crate::python::import::recheck::check_borrowed;
use crate::python::import::type_cache::ImportPath;
use crate::python::object::Object;
use crate::python::refusal;
use crate::python::tensor_object;
use crate::storage::Owner;
use crate::tensor::Tensor;
use pyo3::Borrowed;
use pyo3::exceptions::PyBufferError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::mem::MaybeUninit;

impl Entry {
    /// Borrows an object's tensor: fills the entry with its description.
    ///
    /// # Errors
    ///
    /// When the object isn't a tensor, or can't be used.
    #[inline(never)]
    pub(in crate::python) fn borrow(
        &mut self,
        object: Borrowed<'_, '_, PyAny>,
        is_written: bool,
    ) -> Result<(), Refused> {
        if let Some(usual) = torch::describe_usual(object) {
            self.note_written = is_written.then_some(torch::note_written as NoteWritten);
            // SAFETY: the object keeps what it says.
            return unsafe { self.fill_or_validate(&usual) };
        }
        self.borrow_any(object, is_written)
    }

    #[inline(never)]
    fn borrow_any(
        &mut self,
        object: Borrowed<'_, '_, PyAny>,
        is_written: bool,
    ) -> Result<(), Refused> {
        match ImportPath::cached(object) {
            // SAFETY: the type cache found that the object is a `numpy.ndarray`.
            Some(ImportPath::Numpy) => unsafe { numpy::borrow(object, self) },
            // SAFETY: the type cache found that the object is of our own class.
            Some(ImportPath::Own) => unsafe { self.borrow_own(object) },
            // Guards that run Python code have borrowed memory checked by themselves.
            Some(&ImportPath::Table(table, vendor)) if !vendor.runs_python => {
                // SAFETY: the table was found in the object's type, which its functions are for.
                unsafe { self.borrow_by_table(table, vendor, object, is_written) }
            }
            known => self.borrow_with_python(known, object, is_written),
        }
    }

    /// Borrows from an object that runs Python code meanwhile, or whose type does: that may take
    /// away what other arguments have borrowed.
    #[inline(never)]
    fn borrow_with_python(
        &mut self,
        known: Option<&ImportPath>,
        object: Borrowed<'_, '_, PyAny>,
        is_written: bool,
    ) -> Result<(), Refused> {
        match known.map_or_else(|| ImportPath::discover(object), |known| Ok(*known)) {
            Ok(path) => self.borrow_along(path, object, is_written)?,
            Err(error) => match by_method(object, is_written)? {
                Some((capsule, methods)) => self.borrow_corrected_capsule(&capsule, methods)?,
                None => self.borrow_by_interface(object, error)?,
            },
        }
        check_borrowed(object.py())
    }

    fn borrow_along(
        &mut self,
        path: ImportPath,
        object: Borrowed<'_, '_, PyAny>,
        is_written: bool,
    ) -> Result<(), Refused> {
        match path {
            // SAFETY: the type cache found that the object is a `numpy.ndarray`.
            ImportPath::Numpy => unsafe { numpy::borrow(object, self) },
            // SAFETY: the table was found in the object's type, which its functions are for.
            ImportPath::Table(table, vendor) => unsafe {
                self.borrow_by_table(table, vendor, object, is_written)
            },
            // SAFETY: the type cache found that the object is of our own class.
            ImportPath::Own => unsafe { self.borrow_own(object) },
            ImportPath::Buffer(speaks_dlpack) => {
                let buffer = Buffer::from_object(object);
                let read_only = buffer.as_ref().map_or(true, |buffer| buffer.is_read_only());
                let outcome = match buffer {
                    Ok(buffer) => self.borrow_buffer(buffer),
                    Err(error) => Err(error.into()),
                };
                if outcome.is_ok() {
                    return outcome;
                }
                if !speaks_dlpack {
                    return match by_method(object, false)? {
                        Some((capsule, methods)) => {
                            self.borrow_corrected_capsule(&capsule, methods)
                        }
                        None => outcome,
                    };
                }
                guard_capsule(object)?;
                self.borrow_capsule(object)?;
                // The older kind of capsule doesn't tell.
                self.read_only |= read_only;
                Ok(())
            }
            ImportPath::Scalar => {
                let array = numpy::array_of(object)?;
                // SAFETY: `array_of` gives a `numpy.ndarray`, which the entry keeps.
                unsafe { numpy::borrow(array.as_borrowed(), self) }?;
                self.read_only = true;
                self.set_keep(Keep::Owner {
                    _kept: Owner::small(Object::new(array.as_borrowed())),
                });
                Ok(())
            }
            ImportPath::Protocol => {
                // A class that changes PyTorch's own export, or a release that has no table.
                if is_written && let Some(vendor) = vendor_of_layout(object.get_type_ptr()) {
                    self.note_written = vendor.note_written;
                }
                self.borrow_capsule(object)
            }
        }
    }

    /// Borrows a tensor of ours that isn't an object's.
    pub(in crate::python) fn borrow_tensor(&mut self, tensor: &Tensor) -> Result<(), Refused> {
        if let Some(usual) = Usual::from_tensor(tensor) {
            // SAFETY: the caller keeps the tensor for as long as the entry is used.
            return unsafe { self.fill_or_validate(&usual) };
        }
        let descriptor = tensor.describe();
        let mut flags = Flags::empty();
        flags.set(Flags::READ_ONLY, tensor.is_read_only());
        flags.set(Flags::IS_SUBBYTE_TYPE_PADDED, tensor.is_padded());
        // SAFETY: the caller keeps the tensor for as long as the entry is used.
        unsafe { self.fill(&descriptor, flags) }
    }

    /// # Safety
    ///
    /// The table is that of the object's type.
    #[inline]
    unsafe fn borrow_by_table(
        &mut self,
        table: Table,
        vendor: &'static TableVendor,
        object: Borrowed<'_, '_, PyAny>,
        is_written: bool,
    ) -> Result<(), Refused> {
        guard_table(vendor, object, Time::Call)?;
        if is_written {
            self.note_written = vendor.note_written;
        }
        // Only the owned call tells whether memory is read-only: it is taken where that matters,
        // of those who know the difference.
        let is_borrowed = table.can_borrow() && !(is_written && vendor.knows_read_only);
        if is_borrowed {
            let mut room = MaybeUninit::uninit();
            // SAFETY: the table was found in the object's type, which its functions are for.
            let Some(descriptor) = (unsafe { table.borrow_to(object, &mut room) }) else {
                let error = table.borrow_error(object.py());
                // SAFETY: the table was found in the object's type, which its functions are for.
                return unsafe { self.borrow_after_refusal(table, vendor, object, error) };
            };
            // SAFETY: the object keeps what the descriptor says.
            return unsafe { self.fill(descriptor, Flags::empty()) };
        }
        // SAFETY: the table was found in the object's type, which its functions are for.
        unsafe { self.borrow_by_owning(table, vendor, object) }
    }

    /// Borrows by the owned call after the borrowed one was refused: a producer can tell by flags
    /// alone that its memory is read-only, and may refuse what carries none.
    ///
    /// # Safety
    ///
    /// The table is that of the object's type.
    #[cold]
    unsafe fn borrow_after_refusal(
        &mut self,
        table: Table,
        vendor: &'static TableVendor,
        object: Borrowed<'_, '_, PyAny>,
        error: PyErr,
    ) -> Result<(), Refused> {
        if !vendor.knows_read_only || !error.is_instance_of::<PyBufferError>(object.py()) {
            return Err(clarify(vendor, object, error).into());
        }
        // SAFETY: the table was found in the object's type, which its functions are for.
        unsafe { self.borrow_by_owning(table, vendor, object) }
    }

    /// # Safety
    ///
    /// The table is that of the object's type.
    unsafe fn borrow_by_owning(
        &mut self,
        table: Table,
        vendor: &'static TableVendor,
        object: Borrowed<'_, '_, PyAny>,
    ) -> Result<(), Refused> {
        // SAFETY: the table was found in the object's type, which its functions are for.
        let managed = unsafe { table.own(object) };
        let managed = managed.map_err(|error| clarify(vendor, object, error))?;
        // SAFETY: the managed tensor keeps what the descriptor says.
        unsafe { self.fill(managed.descriptor(), managed.flags()) }?;
        self.set_keep(Keep::Managed { _kept: managed });
        Ok(())
    }

    /// # Safety
    ///
    /// The object is of our own class.
    unsafe fn borrow_own(&mut self, object: Borrowed<'_, '_, PyAny>) -> Result<(), Refused> {
        // SAFETY: the type cache found that the object is of our own class.
        self.borrow_tensor(unsafe { tensor_object::tensor_of(object) })
    }

    fn borrow_buffer(&mut self, buffer: Box<Buffer>) -> Result<(), Refused> {
        let mut strides = Strides::new();
        let (descriptor, flags) = buffer.describe(&mut strides)?;
        // SAFETY: a buffer keeps its memory until it is released; the strides are only read here.
        unsafe { self.fill(&descriptor, flags) }?;
        self.set_keep(Keep::Buffer { _kept: buffer });
        Ok(())
    }

    /// Returns the tensor of an object of our own class.
    #[cfg(feature = "kernels")]
    pub(in crate::python) fn tensor_of_ours(&self) -> Option<&Tensor> {
        if self.object.is_null() {
            return None;
        }
        // SAFETY: the entry has a reference to the object, and the thread is attached.
        let object = unsafe { Borrowed::from_ptr(Python::assume_attached(), self.object) };
        match ImportPath::for_object(object) {
            // SAFETY: the type cache found that the object is of our own class; it keeps its
            // tensor, and the entry the object.
            Ok(ImportPath::Own) => Some(unsafe { tensor_object::tensor_of(object) }),
            _ => None,
        }
    }

    /// Returns the capsule that keeps the memory, if one does.
    #[cfg(feature = "cuda")]
    pub(in crate::python) fn kept_capsule(&self, py: Python<'_>) -> Option<Object> {
        match self.keep() {
            Keep::Capsule { _lent: lent } => {
                Some(Object::new(lent.capsule(py).as_any().as_borrowed()))
            }
            _ => None,
        }
    }

    fn borrow_capsule(&mut self, object: Borrowed<'_, '_, PyAny>) -> Result<(), Refused> {
        guard_protocol(object, Time::Call)?;
        let wish = Wish {
            stream: cuda::to_ask(&object)?,
            ..Wish::default()
        };
        let capsule =
            by_dlpack(object, &wish).map_err(|error| refusal::by_producer(object, error))?;
        match Offer::from_capsule(capsule.as_any().as_borrowed())? {
            Offer::Versioned(capsule) => self.borrow_managed::<Versioned>(capsule)?,
            Offer::Legacy(capsule) => {
                self.borrow_managed::<Legacy>(capsule)?;
                self.read_only |= is_immutable_in_legacy(object);
            }
        }
        Ok(cuda::wait_as_asked(self.device, wish.stream.as_ref())?)
    }

    /// Borrows by what is older than DLPack, where an object has that; otherwise returns the error.
    fn borrow_by_interface(
        &mut self,
        object: Borrowed<'_, '_, PyAny>,
        error: Refused,
    ) -> Result<(), Refused> {
        let Some(interface) = cuda::Interface::of(object)? else {
            return Err(error);
        };
        let (descriptor, flags) = interface.describe();
        // SAFETY: the object keeps its memory; its sizes are only read here.
        unsafe { self.fill(&descriptor, flags) }
    }

    fn borrow_corrected_capsule(
        &mut self,
        capsule: &Bound<'_, PyCapsule>,
        methods: Option<&CapsuleMethods>,
    ) -> Result<(), Refused> {
        let Some(methods) = methods else {
            return self.borrow_managed::<Versioned>(capsule.as_borrowed());
        };
        let (managed, lent) = Offer::lend::<Legacy>(capsule.as_borrowed())?;
        // SAFETY: the capsule keeps the managed tensor.
        let descriptor = (methods.correct)(unsafe { managed.as_ref() }.descriptor());
        // SAFETY: the capsule keeps the managed tensor; it was just made, so no other code takes
        // it.
        unsafe { self.fill(&descriptor, flags_of(methods)) }?;
        self.set_keep(Keep::Capsule { _lent: lent });
        Ok(())
    }

    fn borrow_managed<A: Named>(
        &mut self,
        capsule: Borrowed<'_, '_, PyCapsule>,
    ) -> Result<(), Refused> {
        let (managed, lent) = Offer::lend::<A>(capsule)?;
        // SAFETY: the version was checked, and the capsule keeps the managed tensor.
        let managed = unsafe { managed.as_ref() };
        // SAFETY: the managed tensor keeps what it says, and is kept by the capsule, from which
        // no code takes it meanwhile.
        unsafe { self.fill(managed.descriptor(), managed.flags()) }?;
        self.set_keep(Keep::Capsule { _lent: lent });
        Ok(())
    }
}
