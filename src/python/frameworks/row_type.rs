//! The form of a row: what is known of a framework, and of whose exchange table its tensors have.

use super::class_table::ClassTable;
use super::constraints::Needs;
use super::entrance::{Entrance, ImportCapsule};
use super::tried::Tried;
use crate::dlpack::DLTensor;
use crate::dtype::DType;
use crate::error::{Error, Incompatibility};
use crate::python::borrows::NoteWritten;
use crate::python::error::Refused;
use crate::storage::Owner;
use crate::tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};
use pyo3::{Borrowed, ffi};
use std::fmt;

/// What is known of a framework.
pub(in crate::python) struct Framework {
    /// The name by which a conversion asks for it.
    pub(in crate::python) name: &'static str,
    /// As people call it.
    pub(in crate::python) title: &'static str,
    /// The packages that its types and errors say that they are from.
    pub(super) packages: &'static [&'static str],
    /// The expression that casts a tensor `x`, with `{}` for the name of the dtype.
    pub(super) cast: Option<&'static str>,

    // Its tensors, as they come in.
    /// Whose exchange table its tensors have, where that takes more than calling it.
    pub(super) vendor: Option<&'static TableVendor>,
    /// Whether the buffers of its tensors share their memory.
    pub(in crate::python) shares_buffers: bool,
    /// Refuses tensors from which no capsule may be requested.
    pub(in crate::python) guard_capsule: Option<fn(Borrowed<'_, '_, PyAny>) -> PyResult<()>>,
    /// Whether a copy that `__dlpack__(copy=True)` makes has the tensor's elements.
    pub(in crate::python) copies_right: bool,
    /// Whether a capsule keeps the memory, without the object that gave it.
    pub(in crate::python) capsule_keeps_memory: bool,
    /// Whether its arrays are immutable, which legacy capsules of its older releases can't say.
    pub(in crate::python) legacy_is_read_only: bool,
    /// Makes a capsule of a tensor that `__dlpack__` refuses; `None` where that isn't possible.
    pub(in crate::python) export_refused: Option<ExportRefused>,
    /// In place of `__dlpack__`, methods that give capsules.
    pub(in crate::python) capsule_methods: Option<CapsuleMethods>,

    /// The GPU streams on which it works.
    pub(in crate::python) streams: Streams,

    // Tensors that are handed to it.
    pub(in crate::python) needs: Needs,
    /// Whether it copies all that it takes.
    pub(in crate::python) copies: bool,
    /// Whether a tensor surely meets its needs, and `more` has nothing against it, which is asked
    /// first. What only some of its releases can have is `tried` all the same, but by an exchange
    /// table: each release that has one has such tensors.
    pub(in crate::python) surely_has: fn(&Tensor) -> bool,
    /// Finds what takes Python code to find out.
    pub(in crate::python) more: Option<Ask>,
    /// What its releases differ in, and what the installed one accepts of that.
    pub(in crate::python) tried: Option<&'static Tried>,
    /// How it takes a tensor that meets its constraints.
    pub(in crate::python) export: Export,
    /// Makes an exported object one of the same class as another object of the framework.
    pub(in crate::python) alike: Option<Alike>,
}

type ExportRefused =
    for<'py> fn(Borrowed<'_, 'py, PyAny>) -> PyResult<Option<Bound<'py, PyCapsule>>>;
type Ask = fn(Python<'_>, &Tensor) -> PyResult<Option<Incompatibility>>;
type Alike = for<'py> fn(&Bound<'py, PyAny>, Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>;
type Import<T> = for<'py> fn(Python<'py>, Bound<'py, T>, DType) -> PyResult<Bound<'py, PyAny>>;

/// How a framework takes a tensor.
pub(in crate::python) enum Export {
    /// As an object of our own class, which is its own.
    OurClass,
    /// The tensor itself becomes an object.
    Tensor(for<'py> fn(Python<'py>, Tensor) -> PyResult<Bound<'py, PyAny>>),
    /// By the exchange table of its tensors; in releases without one, by a function of the
    /// framework that takes a legacy capsule.
    Table {
        table: &'static ClassTable,
        vendor: &'static TableVendor,
        without: ImportCapsule,
    },
    /// By a function of the framework that takes an object with `__dlpack__`.
    Object(Import<PyAny>),
    /// By a function of the framework that takes a legacy capsule.
    LegacyCapsule {
        /// Makes the tensor one whose descriptor the framework understands.
        prepare: fn(Tensor) -> Result<Tensor, Error>,
        /// Imports the capsule; the element type is that before `prepare`.
        import: Import<PyCapsule>,
    },
}

/// Methods that give legacy capsules in place of `__dlpack__`.
pub(in crate::python) struct CapsuleMethods {
    /// Whether an object of the framework has them.
    pub(in crate::python) is_tensor: fn(Borrowed<'_, '_, PyAny>) -> PyResult<bool>,
    pub(in crate::python) ask: AskCapsule,
    /// Whether the framework's tensors are immutable, which such a capsule can't say.
    pub(in crate::python) read_only: bool,
    /// Corrects a descriptor of the framework's to what it means.
    pub(in crate::python) correct: fn(&DLTensor) -> DLTensor,
}

/// Asks an object for a capsule, to be written or only read; `None` where it isn't a tensor.
type AskCapsule =
    for<'py> fn(Borrowed<'_, 'py, PyAny>, bool) -> PyResult<Option<Bound<'py, PyCapsule>>>;

/// What is known of a framework's GPU streams.
#[cfg_attr(
    not(feature = "cuda"),
    expect(dead_code, reason = "there are no streams")
)]
pub(in crate::python) struct Streams {
    /// Returns the handle of its current stream on a GPU, and the object that keeps the stream,
    /// where its exchange table doesn't tell.
    pub(in crate::python) current: Option<CurrentStream>,
    /// Whether it asks for an order of work when it imports a tensor, or its exchange table tells
    /// its stream.
    pub(in crate::python) asks: bool,
    /// Where it takes -1, which asks for no order, for a stream: what can't be done while a graph
    /// is captured.
    pub(in crate::python) misreads_unordered: Option<&'static str>,
}

pub(in crate::python) type CurrentStream =
    for<'py> fn(Python<'py>, i32) -> PyResult<(usize, Bound<'py, PyAny>)>;

impl Streams {
    /// Those of a framework that says nothing of its streams.
    pub(in crate::python) const UNKNOWN: Self = Self {
        current: None,
        asks: false,
        misreads_unordered: None,
    };
}

impl Framework {
    /// Creates a framework of which nothing special is known.
    pub(super) const fn new(
        name: &'static str,
        title: &'static str,
        packages: &'static [&'static str],
        needs: Needs,
        export: Export,
    ) -> Self {
        Self {
            name,
            title,
            packages,
            cast: None,
            vendor: None,
            shares_buffers: false,
            guard_capsule: None,
            copies_right: true,
            capsule_keeps_memory: true,
            legacy_is_read_only: false,
            export_refused: None,
            capsule_methods: None,
            streams: Streams::UNKNOWN,
            needs,
            copies: false,
            surely_has: |_| false,
            more: None,
            tried: None,
            export,
            alike: None,
        }
    }
}

impl Framework {
    /// Returns the expression that casts a tensor `x` to a dtype that the framework has.
    #[cold]
    pub(in crate::python) fn cast_to(&self, dtype: DType) -> Option<String> {
        let cast = self.cast.filter(|_| (self.needs.has)(dtype))?;
        Some(cast.replace("{}", &dtype.to_string()))
    }
}

/// Whose exchange table it is, and what that one's tensors need.
pub(in crate::python) struct TableVendor {
    /// The name in error messages.
    pub(in crate::python) name: &'static str,
    /// How the file name of the library with the table's functions begins, without `lib`.
    pub(super) library: Option<&'static str>,
    /// Recognises the class that the vendor's tensor classes derive from. Returns how many classes
    /// before it, in the method resolution order, are the vendor's own.
    pub(super) recognise: fn(&Bound<'_, PyType>) -> Option<usize>,
    /// Whether a derived class changes what its tensors mean by another method than `__dlpack__`;
    /// `usize`: where in the method resolution order the vendor's own methods begin.
    pub(in crate::python) overrides: fn(&Bound<'_, PyType>, usize) -> bool,
    /// Whether objects of a type have the vendor's C struct, whatever Python code made of the
    /// class.
    pub(super) has_layout: fn(*mut ffi::PyTypeObject) -> bool,
    /// Refuses tensors that the table exports though their memory isn't their value.
    pub(in crate::python) guard: Option<Guard>,
    /// The same of tensors of a class that overrides `__dlpack__`, and may call the vendor's.
    pub(in crate::python) guard_override: Option<OverrideGuard>,
    /// Says better what an error of the table means.
    pub(in crate::python) clarify: fn(Borrowed<'_, '_, PyAny>, PyErr) -> PyErr,
    /// Tells the framework that a tensor was written, where it counts that.
    pub(in crate::python) note_written: Option<NoteWritten>,
    /// Whether the table marks read-only tensors.
    pub(in crate::python) knows_read_only: bool,
    /// Whether the table's functions may run Python code.
    pub(in crate::python) runs_python: bool,
    /// Keeps a tensor's memory, where the tensor that the table exports may get another one;
    /// `true`: for longer than the call.
    pub(in crate::python) keep_memory: fn(Borrowed<'_, '_, PyAny>, bool) -> PyResult<Option<Owner>>,
    /// Whether the GPU stream of a handle, which is the current one of a GPU, is never destroyed.
    #[cfg_attr(
        not(feature = "cuda"),
        expect(dead_code, reason = "there are no streams")
    )]
    pub(in crate::python) stream_lasts: fn(Python<'_>, i32, usize) -> bool,
    /// The framework whose constraints a tensor must meet before it is handed to the table, which
    /// loses one that it refuses; `None` for tables that refuse by themselves.
    pub(in crate::python) framework: Option<&'static Framework>,
    /// Makes an object of a tensor.
    pub(in crate::python) make:
        for<'py> fn(Python<'py>, Entrance, Tensor) -> PyResult<Bound<'py, PyAny>>,
}

/// Refuses a tensor whose memory isn't its value, or can't be used for this time. Returns whether
/// Python code may have run.
type Guard = fn(Borrowed<'_, '_, PyAny>, Time) -> Result<bool, Refused>;

/// For how long a tensor's memory is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::python) enum Time {
    /// For a call, during which the framework's modes stay as they are.
    Call,
    /// For any time.
    Beyond,
}

/// Refuses a tensor that its class may export though its memory isn't its value.
type OverrideGuard = fn(Borrowed<'_, '_, PyAny>) -> Result<(), Refused>;

/// The vendor of tables that need nothing more.
pub(in crate::python) static OTHER: TableVendor = TableVendor::new("the framework");

impl TableVendor {
    pub(super) const fn new(name: &'static str) -> Self {
        Self {
            name,
            library: None,
            recognise: |_| None,
            overrides: |_, _| false,
            has_layout: |_| false,
            guard: None,
            guard_override: None,
            clarify: |_, error| error,
            note_written: None,
            knows_read_only: true,
            runs_python: true,
            keep_memory: |_, _| Ok(None),
            stream_lasts: |_, _, _| false,
            framework: None,
            make: |py, entrance, tensor| entrance.make_object(py, tensor),
        }
    }

    /// Returns whether two are the same one.
    #[inline]
    pub(in crate::python) fn is(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl fmt::Debug for TableVendor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}
