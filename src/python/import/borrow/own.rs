//! Borrowed memory becomes owned, before other threads run Python.

use super::Keep;
use crate::dlpack::Flags;
use crate::python::borrows::{Entry, check_borrowed};
use crate::python::error::{Refused, not_exchangeable};
use crate::python::frameworks::torch;
use crate::python::import::type_cache::{Lane, Maker};
use pyo3::Borrowed;
use pyo3::prelude::*;

impl Entry {
    /// Has the memory kept by something that also keeps it while other threads run Python.
    pub(in crate::python) fn own(&self, py: Python<'_>) -> Result<(), Refused> {
        if let Some(keep) = self.kept_for_good(py)? {
            self.keep_for_good(keep);
        }
        Ok(())
    }

    /// What also keeps the memory while other threads run Python; `None` where that is so already: the
    /// reference to an object does, unless what was borrowed from it through its table may change.
    fn kept_for_good(&self, py: Python<'_>) -> Result<Option<Keep>, Refused> {
        if !matches!(self.keep(), Keep::Object) || self.object.is_null() {
            return Ok(None);
        }
        // SAFETY: the entry has a reference to the object.
        let object = unsafe { Borrowed::from_ptr(py, self.object) };
        let Ok(Lane::Table(table, maker)) = Lane::of(object) else {
            return Ok(None);
        };
        let mut now = Self::new();
        let keep = if let Some((descriptor, alias)) = torch::take_usual(object, false) {
            // SAFETY: the alias keeps the storage, and the object its sizes and strides, which are copied.
            unsafe { now.fill(&descriptor, Flags::empty()) }?;
            let kept = torch::Kept::Alias(alias);
            Keep::Storage { _kept: kept }
        } else {
            let storage = match maker {
                Maker::Torch if torch::is_tensor_type(object.get_type_ptr()) => {
                    Some(torch::keep(object)?)
                }
                Maker::Torch | Maker::Paddle | Maker::Other => None,
            };
            // SAFETY: the table is that of the object's type.
            let managed = unsafe { table.own(object) }?;
            if maker == Maker::Other {
                check_borrowed(py)?;
            }
            // SAFETY: the managed tensor keeps what the descriptor says.
            unsafe { now.fill(managed.descriptor(), managed.flags()) }?;
            match storage {
                Some(kept) => Keep::Storage { _kept: kept },
                None => Keep::Managed { _kept: managed },
            }
        };
        if !self.is_the_same_as(&now) {
            return Err(
                not_exchangeable("the tensor was changed by someone else during the call").into(),
            );
        }
        Ok(Some(keep))
    }

    /// Whether it is about the same elements.
    pub(in crate::python) fn is_the_same_as(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.layout(), other.layout());
        let memory = |entry: &Self| (entry.first.addr(), entry.bytes.clone());
        let have_same_strides = || {
            let strides = ours.strides().iter().zip(theirs.strides());
            let mut dims = ours.shape().iter().zip(strides);
            dims.all(|(size, (ours, theirs))| *size == 1 || ours == theirs)
        };
        ours.shape() == theirs.shape()
            && (self.dtype, self.device, self.padded) == (other.dtype, other.device, other.padded)
            && (ours.is_empty() || memory(self) == memory(other) && have_same_strides())
    }
}
