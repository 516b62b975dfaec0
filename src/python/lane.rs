//! Which way an object's tensor is got at: found out once for each type, and remembered.

use super::class::PyTensor;
use super::error::Refused;
use crate::dlpack::DLPackExchangeAPI;
use crate::dlpack::python::Table;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use pyo3::{Borrowed, PyTypeInfo, ffi, intern};
use std::ffi::c_void;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// The ways, the fastest ones first.
#[derive(Debug, Clone, Copy)]
pub(super) enum Lane {
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
pub(super) enum Maker {
    /// PyTorch exports tensors whose memory is not their value. It knows no read-only ones.
    Torch,
    /// Paddle knows no read-only tensors.
    Paddle,
    Other,
}

impl Maker {
    /// Refuses tensors that the table exports, and whose memory isn't all that they are.
    #[inline]
    pub(super) fn guard(self, object: Borrowed<'_, '_, PyAny>) -> Result<(), Refused> {
        match self {
            Self::Torch => super::torch::guard(object),
            Self::Paddle => super::paddle::guard(object),
            Self::Other => Ok(()),
        }
    }

    /// What a table's error means, where that can be said better.
    #[cold]
    pub(super) fn clarify(self, object: Borrowed<'_, '_, PyAny>, error: PyErr) -> PyErr {
        match self {
            Self::Paddle => super::paddle::clarify(object, error),
            Self::Torch | Self::Other => error,
        }
    }
}

/// How many types are remembered. Few programs use more than ten.
const PLACES: usize = 64;
/// How many places may be taken before types without a table, and those with one, are remembered no
/// more: programs can make any number of either.
const PLACES_WITHOUT_TABLE: usize = 40;
const PLACES_WITH_TABLE: usize = 60;
const PROBES: usize = 8;

struct Place {
    /// The type, to which a reference is held for good; NULL while the place is free.
    kind: AtomicPtr<ffi::PyTypeObject>,
    /// Written before `kind`, and never again.
    lane: AtomicPtr<c_void>,
}

static REMEMBERED: [Place; PLACES] = [const {
    Place {
        kind: AtomicPtr::new(ptr::null_mut()),
        lane: AtomicPtr::new(ptr::null_mut()),
    }
}; PLACES];
static TAKEN: AtomicUsize = AtomicUsize::new(0);
static WRITING: Mutex<()> = Mutex::new(());

/// The places where a type may be, in the order in which they are tried.
#[inline]
fn places(kind: *mut ffi::PyTypeObject) -> impl Iterator<Item = &'static Place> {
    let hash = (kind.addr() >> 4) ^ (kind.addr() >> 10);
    (0..PROBES).map(move |probe| &REMEMBERED[(hash + probe) % PLACES])
}

/// A lane in one word: a table's address, which is even, or none, and what follows in its low bits.
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
    fn into_word(self) -> *mut c_void {
        let bare = |tag| ptr::without_provenance_mut(tag);
        match self {
            Self::Own => bare(OWN),
            Self::Numpy => bare(NUMPY),
            Self::Buffer(false) => bare(BUFFER),
            Self::Buffer(true) => bare(BUFFER_OR_DLPACK),
            Self::Protocol => bare(PROTOCOL),
            Self::Table(table, maker) => {
                let tag = match maker {
                    Maker::Torch => TORCH,
                    Maker::Paddle => PADDLE,
                    Maker::Other => OTHER,
                };
                let table = table.as_ptr().cast_mut().cast::<c_void>();
                table.map_addr(|address| address | tag)
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
    /// A `TypeError` where there is none.
    #[inline(always)]
    pub(super) fn of(object: Borrowed<'_, '_, PyAny>) -> Result<Self, Refused> {
        let kind = object.get_type_ptr();
        for place in places(kind) {
            let found = place.kind.load(Ordering::Acquire);
            if found == kind {
                let word = place.lane.load(Ordering::Relaxed);
                // SAFETY: the lane was written before the type, which was just seen.
                return Ok(unsafe { Self::from_word(word) });
            }
            if found.is_null() {
                break;
            }
        }
        Self::find(object)
    }

    #[cold]
    #[inline(never)]
    fn find(object: Borrowed<'_, '_, PyAny>) -> Result<Self, Refused> {
        let lane = Self::of_type(object)?;
        remember(&object.get_type(), lane);
        Ok(lane)
    }

    fn of_type(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let kind = object.get_type();
        if kind.is(PyTensor::type_object(py)) {
            return Ok(Self::Own);
        }
        if is_attribute(&kind, "numpy", "ndarray") {
            super::numpy::remember(&kind);
            return Ok(Self::Numpy);
        }
        if let Some(table) = Table::of_type(&kind) {
            let maker = if descends_from(&kind, "torch", "Tensor") {
                Maker::Torch
            } else if descends_from(&kind, "paddle", "Tensor") {
                Maker::Paddle
            } else {
                Maker::Other
            };
            return Ok(Self::Table(table, maker));
        }
        let speaks_dlpack = kind.hasattr(intern!(py, "__dlpack__"))?;
        // Of others that have both, nobody knows whether their buffers share memory.
        let module = root_module(&kind);
        let shares = ["jax", "jaxlib", "tensorflow", "mlx"].contains(&module.as_str());
        if shares && speaks_dlpack || !speaks_dlpack && super::buffer::has_buffer(object) {
            return Ok(Self::Buffer(speaks_dlpack));
        }
        if speaks_dlpack || object.is_instance_of::<pyo3::types::PyCapsule>() {
            return Ok(Self::Protocol);
        }
        Err(super::error::no_tensor(&object))
    }
}

/// Whether a type is remembered, and so there for good.
#[inline]
pub(super) fn is_remembered(kind: *mut ffi::PyTypeObject) -> bool {
    places(kind)
        .map(|place| place.kind.load(Ordering::Acquire))
        .take_while(|found| !found.is_null())
        .any(|found| found == kind)
}

fn remember(kind: &Bound<'_, PyType>, lane: Lane) {
    let _lock = WRITING.lock().unwrap_or_else(|poison| poison.into_inner());
    let limit = match lane {
        Lane::Own | Lane::Numpy => PLACES,
        Lane::Table(..) => PLACES_WITH_TABLE,
        Lane::Buffer(_) | Lane::Protocol => PLACES_WITHOUT_TABLE,
    };
    if TAKEN.load(Ordering::Relaxed) >= limit {
        return;
    }
    let pointer = kind.as_type_ptr();
    for place in places(pointer) {
        let found = place.kind.load(Ordering::Relaxed);
        if found == pointer {
            return; // Another thread was faster.
        }
        if found.is_null() {
            // Without a reference, another type could come to be at the same address.
            let _kept = kind.clone().unbind().into_ptr();
            place.lane.store(lane.into_word(), Ordering::Relaxed);
            place.kind.store(pointer, Ordering::Release);
            TAKEN.fetch_add(1, Ordering::Relaxed);
            return;
        }
    }
}

/// The first part of the name of the module that a type says it is from.
pub(super) fn root_module(kind: &Bound<'_, PyType>) -> String {
    let module = kind.module();
    let module = module.as_ref().map(|module| module.to_string_lossy());
    let module = module.unwrap_or_default();
    module.split('.').next().unwrap_or_default().to_owned()
}

/// Whether a type is what a module that is loaded has under a name.
fn is_attribute(kind: &Bound<'_, PyType>, module: &str, name: &str) -> bool {
    let py = kind.py();
    let find = || -> PyResult<bool> {
        let modules = py
            .import(intern!(py, "sys"))?
            .getattr(intern!(py, "modules"))?;
        let module = modules.get_item(PyString::new(py, module))?;
        Ok(module.getattr(PyString::new(py, name))?.is(kind))
    };
    // A module that isn't loaded has made no type.
    find().unwrap_or(false)
}

/// Whether a type is another one, or derived from it.
fn descends_from(kind: &Bound<'_, PyType>, module: &str, name: &str) -> bool {
    kind.mro().iter().any(|base| {
        base.cast::<PyType>()
            .is_ok_and(|base| is_attribute(base, module, name))
    })
}
