//! [`BorrowedArg`]: an argument in the list of borrows.

use super::arg_spec::{ArgSpec, FastSpec, check_further};
#[cfg(feature = "cuda")]
use crate::device::{Device, DeviceKind};
use crate::dtype::{DType, Element};
use crate::error::{Incompatibility, IncompatibilityKind};
use crate::python::argument_markers::{ANY_RANK, Arrangement, Kind, Place};
use crate::python::borrows::Aligned;
use crate::python::borrows::{self, Entry};
#[cfg(feature = "cuda")]
use crate::python::cuda;
use crate::python::error::{Refused, unsuitable};
use crate::python::frameworks::numpy;
#[cfg(feature = "cuda")]
use crate::python::import::check_borrowed;
use crate::tensor::Tensor;
use crate::view::View;
use pyo3::prelude::*;
use pyo3::{Borrowed, ffi};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// An entry of the list of borrows that is in use, and leaves it when dropped.
///
/// Neither `Send` nor `Sync`, so that it is made and dropped by threads that are attached.
pub(in crate::python) struct BorrowedArg<'py> {
    entry: NonNull<Entry>,
    attached: PhantomData<Python<'py>>,
}

impl<'py> BorrowedArg<'py> {
    /// Borrows an object that meets the requirements.
    #[inline(always)]
    pub(super) fn new<T: Kind, const RANK: usize, L: Arrangement, D: Place>(
        object: Borrowed<'_, 'py, PyAny>,
        is_written: bool,
    ) -> Result<Self, Refused> {
        if T::ANY_BITS
            && L::TAKES_USUAL
            && D::TAKES_USUAL
            && numpy::is_array(object)
            && let Some(entered) =
                Self::usual(object, &const { FastSpec::new::<T, RANK>() }, is_written)
        {
            match T::WANTED {
                [] | [_] => return Ok(entered),
                // `usual` compares no more than one.
                _ if T::alignment_of(entered.get().dtype).is_some() => return Ok(entered),
                _ => {}
            }
        }
        Self::any::<T, RANK, L, D>(object, is_written)
    }

    #[inline(never)]
    fn any<T: Kind, const RANK: usize, L: Arrangement, D: Place>(
        object: Borrowed<'_, 'py, PyAny>,
        is_written: bool,
    ) -> Result<Self, Refused> {
        Self::filled(is_written, |entry| {
            entry.borrow(object, is_written)?;
            entry.object = object.as_ptr();
            // SAFETY: the object is alive, as it is borrowed; the entry releases the reference.
            unsafe { ffi::Py_INCREF(entry.object) };
            #[cfg(feature = "cuda")]
            if entry.device != Device::CPU
                && !D::accepts(Device::new(DeviceKind::Cuda, 0))
                && let Some(tensor) = entry.tensor_of_ours()
            {
                // The host uses it, whatever GPUs have done with it before. Other threads run
                // meanwhile.
                cuda::settled(tensor)?;
                check_borrowed(object.py())?;
            }
            let fits = ArgSpec::new::<T, RANK>(entry).fits(entry, L::accepts, D::accepts);
            let is_writable = !entry.read_only && entry.layout().is_contiguous();
            if fits && T::ANY_BITS && (!is_written || is_writable) {
                return Ok(());
            }
            check_further::<T, RANK, L, D>(entry, fits, is_written)
        })
    }

    /// Registers a tensor that meets the requirements as kept by Rust code. `object` is where
    /// it came from.
    pub(super) fn keep<T: Kind, const RANK: usize, L: Arrangement, D: Place>(
        object: Option<Borrowed<'_, 'py, PyAny>>,
        tensor: Tensor,
    ) -> Result<Tensor, Refused> {
        let entered = Self::filled(false, |entry| {
            entry.borrow_tensor(&tensor)?;
            if let Some(object) = object {
                entry.object = object.as_ptr();
                // SAFETY: the object is alive, as it is borrowed; the entry releases the reference.
                unsafe { ffi::Py_INCREF(entry.object) };
            }
            #[cfg(feature = "cuda")]
            if entry.device != Device::CPU && !D::accepts(Device::new(DeviceKind::Cuda, 0)) {
                cuda::settled(&tensor)?;
            }
            let fits = ArgSpec::new::<T, RANK>(entry).fits(entry, L::accepts, D::accepts);
            match fits && T::ANY_BITS {
                true => Ok(()),
                false => check_further::<T, RANK, L, D>(entry, fits, false),
            }
        })?;
        Ok(borrows::hold(entered.get(), tensor))
    }

    /// Enters an array of NumPy whose elements lie one after another, where it satisfies what is
    /// asked for and may be used; `None` for all else. One function for all parameters, since it is
    /// what most calls need, and what they cost.
    #[inline(never)]
    fn usual(object: Borrowed<'_, 'py, PyAny>, asked: &FastSpec, is_written: bool) -> Option<Self> {
        // SAFETY: a `Borrowed` or `Bound` object proves that the thread is attached.
        let mut new = unsafe { borrows::blank() };
        // SAFETY: `blank` returned the entry, so no other code has it.
        let entry = unsafe { new.as_mut() };
        // SAFETY: the caller has compared the object's type.
        let fits = unsafe { numpy::borrow_usual(object, entry) }
            && (asked.dtype == 0 || asked.dtype == entry.dtype.number())
            && (asked.rank == ANY_RANK || asked.rank == entry.layout.rank())
            && entry.first.addr() & asked.unaligned == 0
            && !(is_written && entry.read_only);
        // SAFETY: the entry was filled if `fits` is true.
        if fits && unsafe { borrows::enter(new, is_written) } {
            // SAFETY: no reference to the entry is in use, as the thread is attached and no other
            // code has run since it was entered. The object is there; the entry gives the reference
            // back.
            unsafe {
                (&raw mut (*new.as_ptr()).object).write(object.as_ptr());
                ffi::Py_INCREF(object.as_ptr());
            }
            return Some(Self {
                entry: new,
                attached: PhantomData,
            });
        }
        // SAFETY: the entry isn't in the list yet.
        unsafe { borrows::give_back_unused(new) };
        None
    }

    /// Borrows an argument of a call that compares its arguments itself, and checks it.
    #[cfg(feature = "kernels")]
    #[inline]
    pub(in crate::python) fn for_call(
        object: Borrowed<'_, 'py, PyAny>,
        is_written: bool,
        call_id: usize,
    ) -> Result<Self, Refused> {
        Self::filled(is_written, |entry| {
            // SAFETY: the object's type was compared before.
            let is_usual = numpy::is_array(object) && unsafe { numpy::borrow_usual(object, entry) };
            if !is_usual {
                entry.borrow(object, is_written)?;
            }
            entry.call_id = call_id;
            entry.object = object.as_ptr();
            // SAFETY: the object is alive, as it is borrowed; the entry releases the reference.
            unsafe { ffi::Py_INCREF(entry.object) };
            Ok(())
        })
    }

    /// Borrows a number, as a tensor of rank 0.
    pub(in crate::python) fn number(bytes: Aligned, dtype: DType) -> Result<Self, Refused> {
        // SAFETY: the caller has read a number of Python's, so its thread is attached.
        let mut entry = unsafe { borrows::blank() };
        // SAFETY: a blank entry is this thread's alone, and the reference to it is gone when the
        // pointer to the number is made.
        unsafe {
            entry.as_mut().borrow_number(bytes, dtype);
            borrows::point_to_number(entry, dtype.item_bits() / 8);
            Self::admit(entry, false)
        }
    }

    /// Keeps the memory while other threads run Python.
    pub(in crate::python) fn own(&self, py: Python<'_>) -> Result<(), Refused> {
        self.get().own(py)
    }

    /// Enters an entry that `fill` fills.
    #[inline]
    pub(super) fn filled(
        is_written: bool,
        fill: impl FnOnce(&mut Entry) -> Result<(), Refused>,
    ) -> Result<Self, Refused> {
        // SAFETY: a `Borrowed` or `Bound` object proves that the thread is attached.
        let mut entry = unsafe { borrows::blank() };
        // SAFETY: `blank` returned the entry, so no other code has it.
        match fill(unsafe { entry.as_mut() }) {
            // SAFETY: the entry was filled.
            Ok(()) => unsafe { Self::admit(entry, is_written) },
            Err(error) => {
                // SAFETY: the entry isn't in the list yet.
                unsafe { borrows::give_back(entry) };
                Err(error)
            }
        }
    }

    /// Enters a filled entry into the list of borrows, or releases it.
    ///
    /// # Safety
    ///
    /// [`borrows::blank`] gave the entry, it is filled, and no reference to it is in use.
    #[inline(always)]
    unsafe fn admit(entry: NonNull<Entry>, is_written: bool) -> Result<Self, Refused> {
        // SAFETY: the thread has an object or a number, so it is attached; the entry is filled, and
        // `blank` gave it.
        if unsafe { borrows::enter(entry, is_written) } {
            return Ok(Self {
                entry,
                attached: PhantomData,
            });
        }
        // SAFETY: the entry isn't in the list, so this thread alone has it.
        unsafe {
            let error = conflict(entry.as_ref(), is_written);
            borrows::give_back(entry);
            Err(error)
        }
    }

    #[inline]
    pub(in crate::python) fn get(&self) -> &Entry {
        // SAFETY: an entry in use stays, and only shared references to it are made.
        unsafe { self.entry.as_ref() }
    }
}

impl Drop for BorrowedArg<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it can't have been sent to a thread that isn't attached; it is in use until
        // here, and not any more then.
        unsafe { borrows::leave(self.entry) }
    }
}

/// Makes the error of an entry that the list of borrows refused.
#[cold]
fn conflict(entry: &Entry, is_written: bool) -> Refused {
    let (reason, remedy) = if is_written && borrows::is_kept(entry) {
        (
            "memory that is to be written is kept by Rust code, which may read it at any time: as a Tensor or Owned argument of this call, or of an earlier one",
            "pass a copy, or release what keeps it",
        )
    } else if is_written {
        (
            "memory that is to be written is also in use by another argument, or another call",
            "pass a copy",
        )
    } else {
        (
            "memory that is to be read is being written by another argument, or another call",
            "pass a copy",
        )
    };
    let error = Incompatibility::new(
        IncompatibilityKind::Alias,
        "memory in use",
        "memory that isn't in use",
    );
    unsuitable(error.with_reason(reason).with_remedy(remedy)).into()
}

impl Entry {
    /// Returns a view of the elements as `T`s, which was checked.
    ///
    /// # Safety
    ///
    /// They are: of this type, aligned, on the host, there for as long as the entry is in use, and
    /// no code writes them meanwhile.
    #[inline]
    pub(super) unsafe fn view_unchecked<T: Element>(&self) -> View<'_, T> {
        // SAFETY: the elements are `T`s on the host, aligned, which no code writes while the entry
        // is in use.
        unsafe { View::from_raw(self.first_of(), self.layout()) }
    }

    /// Returns the address of the element of index 0; a dangling, aligned one if there are no
    /// elements.
    #[inline]
    pub(super) fn first_of<T: Element>(&self) -> NonNull<T> {
        NonNull::new(self.first.cast::<T>())
            .filter(|first| first.is_aligned())
            .unwrap_or(NonNull::dangling())
    }
}
