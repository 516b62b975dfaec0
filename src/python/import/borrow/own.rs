//! Borrowed memory that becomes owned, before other threads run Python.

use crate::dlpack::{DLTensor, Flags};
use crate::interchange::Usual;
use crate::python::borrows::{Entry, Keep};
use crate::python::error::{Refused, not_exchangeable};
use crate::python::frameworks::{Time, torch};
use crate::python::import::recheck::check_borrowed;
use crate::python::import::type_cache::ImportPath;
use crate::storage::Owner;
use pyo3::Borrowed;
use pyo3::prelude::*;

impl Entry {
    /// Keeps the memory by something that also keeps it while other threads run Python.
    pub(in crate::python) fn own(&self, py: Python<'_>) -> Result<(), Refused> {
        if let Some(keep) = self.kept_for_good(py)? {
            self.keep_for_good(keep);
        }
        Ok(())
    }

    /// Returns what also keeps the memory while other threads run Python; `None` where that is so
    /// already: the reference to an object does, unless what was borrowed from it through its table
    /// may change.
    fn kept_for_good(&self, py: Python<'_>) -> Result<Option<Keep>, Refused> {
        if !matches!(self.keep(), Keep::Object) || self.object.is_null() {
            return Ok(None);
        }
        // SAFETY: the entry has a reference to the object.
        let object = unsafe { Borrowed::from_ptr(py, self.object) };
        let by_table = match ImportPath::for_object(object) {
            Ok(ImportPath::Table(table, vendor)) => Some((table, vendor)),
            // A tensor of a release without a table, read by PyTorch's functions.
            Ok(ImportPath::Protocol) => None,
            _ => return Ok(None),
        };
        let keep = if let Some((usual, alias)) = torch::take_usual(object, false, Time::Call) {
            // SAFETY: the alias keeps the storage, and the object its sizes and strides.
            unsafe {
                if !self.is_described_by(&usual) {
                    let (descriptor, flags) = usual.descriptor();
                    self.check_unchanged(&descriptor, flags)?;
                }
            }
            Keep::Owner {
                _kept: Owner::small(alias),
            }
        } else if let Some((table, vendor)) = by_table {
            let owner = (vendor.keep_memory)(object, false)?;
            // SAFETY: the type cache found the table in the object's type, so its functions take
            // the object.
            let managed = unsafe { table.own(object) }?;
            if vendor.runs_python {
                check_borrowed(py)?;
            }
            let (descriptor, flags) = (managed.descriptor(), managed.flags());
            let usual = Usual::from_descriptor(descriptor, flags);
            // SAFETY: the managed tensor keeps what the descriptor says.
            unsafe {
                if !usual.is_some_and(|usual| self.is_described_by(&usual)) {
                    self.check_unchanged(descriptor, flags)?;
                }
            }
            match owner {
                Some(owner) => Keep::Owner { _kept: owner },
                None => Keep::Managed { _kept: managed },
            }
        } else {
            return Err(changed());
        };
        Ok(Some(keep))
    }

    /// Checks that the object is described as it was when it was borrowed.
    ///
    /// # Safety
    ///
    /// The descriptor is true, and stays so for the time of the call.
    #[inline(never)]
    unsafe fn check_unchanged(&self, descriptor: &DLTensor, flags: Flags) -> Result<(), Refused> {
        let mut now = Self::new();
        // SAFETY: the descriptor is true, and `now` is dropped here.
        unsafe { now.fill(descriptor, flags) }?;
        match self.is_the_same_as(&now) {
            true => Ok(()),
            false => Err(changed()),
        }
    }
}

#[cold]
fn changed() -> Refused {
    not_exchangeable("other code changed the tensor during the call").into()
}
