//! Which way an object's tensor is got at: found out once for each type, and remembered.

mod discover;
mod library;
mod remembered;
mod version_tag;

pub(in crate::python) use discover::root_module;
pub(in crate::python) use remembered::is_remembered;

use crate::dlpack::DLPackExchangeAPI;
use crate::dlpack::python::{Table, type_lookup};
use crate::python::borrows::NoteWritten;
use crate::python::error::{Refused, not_exchangeable};
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ffi::c_void;
use std::ptr;

/// How often a type is looked at again, as the object got another one meanwhile.
const MOST_ATTEMPTS: usize = 4;

/// The ways, the fastest ones first.
#[derive(Debug, Clone, Copy)]
pub(in crate::python) enum Lane {
    /// An object of our own class.
    Own,
    /// A `numpy.ndarray`, and nothing derived from it.
    Numpy,
    /// A type with a C exchange table.
    Table(Table, Maker),
    /// A type with the buffer protocol; `true`: that also has `__dlpack__`, for what its buffers
    /// can't express, and whose tensors are read-only unless its buffers say otherwise.
    Buffer(bool),
    /// A type with `__dlpack__`, or a capsule.
    Protocol,
}

/// Whose tables need more than calling them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::python) enum Maker {
    /// PyTorch exports tensors whose memory is not their value. It knows no read-only ones.
    Torch,
    /// Paddle knows no read-only tensors.
    Paddle,
    Other,
}

impl Maker {
    /// Refuses tensors that the table exports, and whose memory isn't all that they are.
    #[inline]
    pub(in crate::python) fn guard(self, object: Borrowed<'_, '_, PyAny>) -> Result<(), Refused> {
        match self {
            Self::Torch => crate::python::frameworks::torch::guard(object),
            Self::Paddle => crate::python::frameworks::paddle::guard(object),
            Self::Other => Ok(()),
        }
    }

    /// # Safety
    ///
    /// The word came from [`into_word`](Lane::into_word).
    unsafe fn from_word(word: *mut c_void) -> Self {
        let framework = match word.addr() & TAG {
            tag @ (TORCH | PADDLE | OTHER) => tag,
            _ => word.addr() / (TAG + 1),
        };
        match framework {
            TORCH => Self::Torch,
            PADDLE => Self::Paddle,
            _ => Self::Other,
        }
    }

    /// What a table's error means, where that can be said better.
    #[cold]
    pub(in crate::python) fn clarify(self, object: Borrowed<'_, '_, PyAny>, error: PyErr) -> PyErr {
        let error = match self {
            Self::Paddle => crate::python::frameworks::paddle::clarify(object, error),
            Self::Torch => crate::python::frameworks::torch::clarify(object.py(), error),
            Self::Other => error,
        };
        crate::python::refusal::by_producer(object, error)
    }

    /// What tells the framework that a tensor was written, where it wants to know.
    #[inline]
    pub(in crate::python) fn note_written(self) -> Option<NoteWritten> {
        match self {
            Self::Torch => Some(crate::python::frameworks::torch::note_written),
            Self::Paddle => Some(crate::python::frameworks::paddle::note_written),
            Self::Other => None,
        }
    }
}

/// A lane in one word: a table's address, which is even, or that of none and a framework, and what follows in its low bits.
const TAG: usize = align_of::<DLPackExchangeAPI>() - 1;
const OWN: usize = 0;
const NUMPY: usize = 1;
const BUFFER: usize = 2;
const BUFFER_OR_DLPACK: usize = 3;
const PROTOCOL: usize = 4;
const TORCH: usize = 5;
const PADDLE: usize = 6;
const OTHER: usize = 7;
const _: () = assert!(OTHER <= TAG);

impl Lane {
    /// The word, and in that of a lane without a table the framework whose own `__dlpack__` the type has.
    fn into_word(self, maker: Maker) -> *mut c_void {
        let framework = match maker {
            Maker::Torch => TORCH,
            Maker::Paddle => PADDLE,
            Maker::Other => OTHER,
        };
        let bare = |tag| ptr::without_provenance_mut((framework * (TAG + 1)) | tag);
        match self {
            Self::Own => bare(OWN),
            Self::Numpy => bare(NUMPY),
            Self::Buffer(false) => bare(BUFFER),
            Self::Buffer(true) => bare(BUFFER_OR_DLPACK),
            Self::Protocol => bare(PROTOCOL),
            Self::Table(table, _) => {
                let table = table.as_ptr().cast_mut().cast::<c_void>();
                table.map_addr(|address| address | framework)
            }
        }
    }

    /// # Safety
    ///
    /// The word came from [`into_word`](Self::into_word).
    #[inline(always)]
    unsafe fn from_word(word: *mut c_void) -> Self {
        let maker = match word.addr() & TAG {
            OWN => return Self::Own,
            NUMPY => return Self::Numpy,
            BUFFER => return Self::Buffer(false),
            BUFFER_OR_DLPACK => return Self::Buffer(true),
            PROTOCOL => return Self::Protocol,
            TORCH => Maker::Torch,
            PADDLE => Maker::Paddle,
            _ => Maker::Other,
        };
        let table = word.map_addr(|address| address & !TAG);
        // SAFETY: the caller's promise: these tags are on tables.
        Self::Table(unsafe { Table::from_ptr(table.cast_const().cast()) }, maker)
    }

    /// The way for an object.
    ///
    /// # Errors
    ///
    /// A `TypeError` where there is none, and a `BufferError` for a type whose objects' memory isn't their value.
    #[inline(always)]
    pub(in crate::python) fn of(object: Borrowed<'_, '_, PyAny>) -> Result<Self, Refused> {
        match Self::known(object) {
            Some(lane) => Ok(lane),
            None => Self::find(object),
        }
    }

    /// The way for an object whose type is remembered. No Python code runs for that.
    #[inline(always)]
    pub(in crate::python) fn known(object: Borrowed<'_, '_, PyAny>) -> Option<Self> {
        // SAFETY: an object has a reference to its type.
        let word = unsafe { remembered::word_of(object.get_type_ptr()) }?;
        // SAFETY: it was remembered.
        Some(unsafe { Self::from_word(word) })
    }

    /// Finds out the way for an object, by asking its type, which may run Python code.
    ///
    /// # Errors
    ///
    /// As of [`of`](Self::of).
    #[cold]
    #[inline(never)]
    pub(in crate::python) fn find(object: Borrowed<'_, '_, PyAny>) -> Result<Self, Refused> {
        find(object).map(|(lane, _)| lane)
    }
}

/// Finds the lane of an object's type, and the framework whose own `__dlpack__` it has.
///
/// What is remembered is of the type that was looked at, whatever the object has become meanwhile.
#[cold]
#[inline(never)]
fn find(object: Borrowed<'_, '_, PyAny>) -> Result<(Lane, Maker), Refused> {
    for _ in 0..MOST_ATTEMPTS {
        let kind = object.get_type();
        let found = find_and_remember(&kind)?;
        if object.get_type_ptr() != kind.as_type_ptr() {
            continue;
        }
        return found.ok_or_else(|| crate::python::error::no_tensor(&object).into());
    }
    Err(not_exchangeable("the object's class changed while it was looked at").into())
}

fn find_and_remember(kind: &Bound<'_, PyType>) -> PyResult<Option<(Lane, Maker)>> {
    let py = kind.py();
    let pointer = kind.as_type_ptr();
    let is_immutable = type_lookup::mro(kind)?.iter().all(|base| {
        base.cast::<PyType>()
            .is_ok_and(|base| type_lookup::is_immutable(base))
    });
    let has_tag = !is_immutable && version_tag::work(py);
    let tag = || {
        type_lookup::assign_version_tag(kind);
        // SAFETY: there is a reference to the type, and tags work.
        unsafe { version_tag::tag_of(pointer) }
    };
    let before = if has_tag { tag() } else { 0 };
    let found = discover::find(kind)?;
    // Our own class is known by its address alone.
    let is_immutable = is_immutable || matches!(found, Some((Lane::Own, _)));
    if let Some((lane, maker)) = found {
        let version = match (is_immutable, has_tag) {
            (true, _) => Some(remembered::IMMUTABLE),
            // A type has none after it was changed very often, or where it changed just now.
            (false, true) => Some(before).filter(|before| *before != 0 && *before == tag()),
            (false, false) => None,
        };
        if let Some(version) = version {
            remembered::remember(kind, lane, lane.into_word(maker), version);
        }
    }
    Ok(found)
}

/// Refuses objects that come through `__dlpack__`, where that is their framework's own and gives tensors whose memory is
/// not their value.
pub(in crate::python) fn guard_protocol(object: Borrowed<'_, '_, PyAny>) -> Result<(), Refused> {
    // SAFETY: an object has a reference to its type.
    let maker = match unsafe { remembered::word_of(object.get_type_ptr()) } {
        // SAFETY: it was remembered.
        Some(word) => unsafe { Maker::from_word(word) },
        None => find(object)?.1,
    };
    if maker == Maker::Other
        && crate::python::frameworks::torch::is_tensor_type(object.get_type_ptr())
    {
        // A class that overrides the method may call PyTorch's own.
        return crate::python::frameworks::torch::guard_negated(object);
    }
    maker.guard(object)
}
