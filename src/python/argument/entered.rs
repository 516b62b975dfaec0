//! Arguments in the ledger: what their parameters ask for is checked, and what isn't as asked for
//! is put into words.

use crate::device::Device;
#[cfg(feature = "cuda")]
use crate::device::DeviceKind;
use crate::dtype::{DType, Element};
use crate::layout::LayoutRef;
#[cfg(feature = "cuda")]
use crate::python::cuda;
use crate::python::error::{Refused, not_exchangeable, unsuitable};
use crate::python::ledger::{self, Entry};
use crate::python::look::Aligned;
use crate::python::numpy;
use crate::python::spec::{ANY_RANK, Arrangement, Kind, Place};
use crate::view::View;
use pyo3::prelude::*;
use pyo3::{Borrowed, ffi};
use std::fmt;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// An entry of the ledger that is in use, and leaves it when dropped.
///
/// Neither `Send` nor `Sync`, so that it is made and dropped by threads that are attached.
pub(in crate::python) struct Entered<'py> {
    entry: NonNull<Entry>,
    attached: PhantomData<Python<'py>>,
}

impl<'py> Entered<'py> {
    /// Enters an object that satisfies what is asked for.
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
                Self::usual(object, &const { Usual::of::<T, RANK>() }, is_written)
        {
            return Ok(entered);
        }
        Self::any::<T, RANK, L, D>(object, is_written)
    }

    #[inline(never)]
    fn any<T: Kind, const RANK: usize, L: Arrangement, D: Place>(
        object: Borrowed<'_, 'py, PyAny>,
        is_written: bool,
    ) -> Result<Self, Refused> {
        Self::filled(is_written, |entry| {
            entry.look(object, is_written)?;
            entry.object = object.as_ptr();
            // SAFETY: the object is there; the entry gives the reference back.
            unsafe { ffi::Py_INCREF(entry.object) };
            #[cfg(feature = "cuda")]
            if entry.device != Device::CPU && !D::accepts(Device::new(DeviceKind::Cuda, 0)) {
                // The processor uses it, whatever GPUs have done with it before.
                entry.tensor_of_ours().map_or(Ok(()), cuda::settled)?;
            }
            let fits = Asked::of::<T, RANK>().fits(entry, L::accepts, D::accepts);
            let is_writable = !entry.read_only && entry.layout().is_contiguous();
            if fits && T::ANY_BITS && (!is_written || is_writable) {
                return Ok(());
            }
            check_further::<T, RANK, L, D>(entry, fits, is_written)
        })
    }

    /// Enters an array of NumPy whose elements lie one after another, where it satisfies what is
    /// asked for and may be used; `None` for all else. One function for all parameters, since it is
    /// what most calls need, and what they cost.
    #[inline(never)]
    fn usual(object: Borrowed<'_, 'py, PyAny>, asked: &Usual, is_written: bool) -> Option<Self> {
        // SAFETY: whoever has an object is attached.
        let mut new = unsafe { ledger::blank() };
        // SAFETY: a blank entry is nobody else's.
        let entry = unsafe { new.as_mut() };
        // SAFETY: the caller compared the type.
        let fits = unsafe { numpy::look_at_usual(object, entry) }
            && (asked.dtype == 0 || asked.dtype == entry.dtype.number())
            && (asked.rank == ANY_RANK || asked.rank == entry.layout.rank())
            && entry.first.addr() & asked.unaligned == 0
            && !(is_written && entry.read_only);
        // SAFETY: it is filled, where it fits.
        if fits && unsafe { ledger::enter(new, is_written) } {
            // SAFETY: the ledger, which has used the entry since it was filled, is done with it. The
            // object is there; the entry gives the reference back.
            unsafe {
                new.as_mut().object = object.as_ptr();
                ffi::Py_INCREF(object.as_ptr());
            }
            return Some(Self {
                entry: new,
                attached: PhantomData,
            });
        }
        // SAFETY: it isn't in the list.
        unsafe { ledger::give_back_unused(new) };
        None
    }

    /// Enters an argument of a call that compares its arguments itself, and checks them.
    #[cfg(feature = "kernels")]
    #[inline]
    pub(in crate::python) fn for_call(
        object: Borrowed<'_, 'py, PyAny>,
        is_written: bool,
        batch: usize,
    ) -> Result<Self, Refused> {
        Self::filled(is_written, |entry| {
            // SAFETY: the type is compared before.
            let is_usual =
                numpy::is_array(object) && unsafe { numpy::look_at_usual(object, entry) };
            if !is_usual {
                entry.look(object, is_written)?;
            }
            entry.batch = batch;
            entry.object = object.as_ptr();
            // SAFETY: the object is there; the entry gives the reference back.
            unsafe { ffi::Py_INCREF(entry.object) };
            Ok(())
        })
    }

    /// Enters a number.
    pub(in crate::python) fn number(bytes: Aligned, dtype: DType) -> Result<Self, Refused> {
        Self::filled(false, |entry| {
            entry.look_at_number(bytes, dtype);
            Ok(())
        })
    }

    /// Has the memory kept while other threads run Python, as [`Entry::own`] does, although the entry
    /// is looked at.
    #[cfg(feature = "kernels")]
    pub(in crate::python) fn own_during_call(&self, py: Python<'_>) -> Result<(), Refused> {
        if let Some(keep) = self.get().kept_for_good(py)? {
            // SAFETY: nobody has a reference to what keeps the memory, which was nothing but the
            // object.
            unsafe { (&raw mut (*self.entry.as_ptr()).keep).write(keep) };
        }
        Ok(())
    }

    /// Enters what `fill` fills in.
    #[inline]
    pub(super) fn filled(
        is_written: bool,
        fill: impl FnOnce(&mut Entry) -> Result<(), Refused>,
    ) -> Result<Self, Refused> {
        // SAFETY: whoever has an object is attached.
        let mut entry = unsafe { ledger::blank() };
        // SAFETY: a blank entry is nobody else's.
        let outcome = fill(unsafe { entry.as_mut() });
        // SAFETY: it is filled, where that succeeded.
        if outcome.is_ok() && unsafe { ledger::enter(entry, is_written) } {
            return Ok(Self {
                entry,
                attached: PhantomData,
            });
        }
        // SAFETY: it isn't in the list. Nothing was written.
        unsafe {
            entry.as_mut().note_written = None;
            ledger::give_back(entry);
        }
        Err(match outcome {
            Err(error) => error,
            Ok(()) => aliased(is_written),
        })
    }

    #[inline]
    pub(in crate::python) fn get(&self) -> &Entry {
        // SAFETY: an entry in use stays, and is changed through `get_mut` alone.
        unsafe { self.entry.as_ref() }
    }

    pub(super) fn get_mut(&mut self) -> &mut Entry {
        // SAFETY: as above. The ledger changes links of an entry that is in use, and reads what
        // this doesn't change, while no reference that was given out here is used.
        unsafe { self.entry.as_mut() }
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: it can't have been sent to a thread that isn't attached; it is in use until
        // here, and not any more then.
        unsafe { ledger::leave(self.entry) }
    }
}

#[cold]
fn aliased(is_written: bool) -> Refused {
    unsuitable(if is_written {
        "memory that is to be written is also in use by another argument, or another call; pass a copy".into()
    } else {
        "memory that is to be read is being written by another argument, or another call; pass a copy".into()
    })
    .into()
}

/// What an argument's parameters ask for, to be compared in few steps.
struct Usual {
    /// The element type's number; 0 for any.
    dtype: u32,
    /// Which bits of an aligned address are 0.
    unaligned: usize,
    rank: usize,
}

impl Usual {
    const fn of<T: Kind, const RANK: usize>() -> Self {
        Self {
            dtype: match T::WANTED {
                Some(dtype) => dtype.number(),
                None => 0,
            },
            unaligned: T::ALIGNMENT - 1,
            rank: RANK,
        }
    }
}

/// What an argument's parameters ask for, to be compared.
#[derive(Clone, Copy)]
struct Asked {
    dtype: Option<DType>,
    alignment: usize,
    rank: usize,
}

impl Asked {
    #[inline]
    fn of<T: Kind, const RANK: usize>() -> Self {
        Self {
            dtype: T::WANTED,
            alignment: T::ALIGNMENT,
            rank: RANK,
        }
    }

    #[inline]
    fn fits(
        self,
        entry: &Entry,
        arrangement: impl FnOnce(LayoutRef<'_>) -> bool,
        place: impl FnOnce(Device) -> bool,
    ) -> bool {
        let layout = entry.layout();
        self.dtype.is_none_or(|dtype| dtype == entry.dtype)
            && (self.rank == ANY_RANK || layout.rank() == self.rank)
            && (self.is_aligned(entry) || layout.is_empty())
            && arrangement(layout)
            && place(entry.device)
    }

    #[inline]
    fn is_aligned(self, entry: &Entry) -> bool {
        entry.first.addr().is_multiple_of(self.alignment)
    }
}

/// Checks what few arguments need, and words the error where something isn't as asked for.
#[inline(never)]
fn check_further<T: Kind, const RANK: usize, L: Arrangement, D: Place>(
    entry: &Entry,
    fits: bool,
    is_written: bool,
) -> Result<(), Refused> {
    let asked = Asked::of::<T, RANK>();
    if !fits {
        return Err(asked.explain(entry, L::WANTED, D::WANTED, L::accepts(entry.layout())));
    }
    if is_written && entry.read_only {
        return Err(not_exchangeable(format!(
            "the tensor is read-only, and the function writes it; pass a copy that can be written, such as dlbridge.from_dlpack(x, copy=True) ({})",
            Found(entry)
        ))
        .into());
    }
    if is_written && !entry.layout().overlaps_itself().is_excluded() {
        return Err(not_exchangeable(format!(
            "elements of the tensor are at one place, and the function writes them; pass a copy of it ({})",
            Found(entry)
        ))
        .into());
    }
    if !T::ANY_BITS && entry.device.is_host_accessible() {
        // SAFETY: the elements are as wide as bytes, of which every pattern is a `u8`.
        let bytes = unsafe { entry.view_unchecked::<u8>() };
        if let Some(byte) = bytes.find_invalid(|byte| byte <= 1) {
            return Err(unsuitable(format!("byte {byte:#04x} is no {}", entry.dtype)).into());
        }
    }
    Ok(())
}

impl Asked {
    /// Says what was asked for, and what came.
    #[cold]
    fn explain(self, entry: &Entry, arrangement: &str, place: &str, is_arranged: bool) -> Refused {
        let mut wanted = match self.dtype {
            Some(dtype) => format!("a tensor of {dtype}"),
            None => "a tensor".to_owned(),
        };
        if self.rank != ANY_RANK {
            wanted += &format!(", of rank {}", self.rank);
        }
        for what in [arrangement, place] {
            if !what.is_empty() {
                wanted += &format!(", {what}");
            }
        }
        let found = Found(entry);
        let is_type = self.dtype.is_none_or(|dtype| dtype == entry.dtype);
        let is_rank = self.rank == ANY_RANK || entry.layout().rank() == self.rank;
        let message = format!("expected {wanted}; got {found}");
        if is_type && is_rank && is_arranged {
            if !self.is_aligned(entry) && !entry.layout().is_empty() {
                let (first, alignment) = (entry.first.addr(), self.alignment);
                return not_exchangeable(format!(
                    "{message}, at {first:#x}, which is not aligned to {alignment} bytes; pass a copy"
                ))
                .into();
            }
            return not_exchangeable(message).into();
        }
        unsuitable(message).into()
    }
}

/// What came, in words.
pub(super) struct Found<'a>(pub(super) &'a Entry);

impl fmt::Display for Found<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(entry) = self;
        // SAFETY: an entry has a reference to its object, or none; whoever has one is attached.
        let name = Python::try_attach(|py| unsafe {
            Borrowed::from_ptr_or_opt(py, entry.object)
                .and_then(|object| Some(object.get_type().fully_qualified_name().ok()?.to_string()))
        });
        let name = name.flatten().unwrap_or_else(|| "number".to_owned());
        let layout = entry.layout();
        write!(
            f,
            "{name} of {}, shape {:?}, strides {:?}, on {}",
            entry.dtype,
            layout.shape(),
            layout.strides(),
            entry.device
        )
    }
}

impl Entry {
    /// The elements as `T`s, which was checked.
    ///
    /// # Safety
    ///
    /// They are: of this type, aligned, on the host, there for as long as the entry is in use, and
    /// nobody writes them meanwhile.
    #[inline]
    pub(super) unsafe fn view_unchecked<T: Element>(&self) -> View<'_, T> {
        // SAFETY: the caller's promise.
        unsafe { View::from_raw(self.first_of(), self.layout()) }
    }

    /// The address of the element of index 0. Where there are no elements it may have been any, also
    /// one that no `T` could be at.
    #[inline]
    pub(super) fn first_of<T: Element>(&self) -> NonNull<T> {
        NonNull::new(self.first.cast::<T>())
            .filter(|first| first.is_aligned())
            .unwrap_or(NonNull::dangling())
    }
}
