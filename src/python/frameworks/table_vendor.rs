//! What calling a framework's exchange table takes besides the call.

use super::Framework;
use crate::dlpack::python::Table;
use crate::python::borrows::NoteWritten;
use crate::python::error::Refused;
use crate::storage::Owner;
use crate::tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::{Borrowed, ffi};
use std::fmt;

/// Whose exchange table it is, and what that one's tensors need.
pub(in crate::python) struct TableVendor {
    /// The name in error messages.
    pub(in crate::python) name: &'static str,
    /// How the file name of the library with the table's functions begins, without `lib`.
    pub(super) library: Option<&'static str>,
    /// Recognises the class that the vendor's tensor classes derive from. Returns how many classes before it, in the
    /// method resolution order, are the vendor's own.
    pub(super) recognise: fn(&Bound<'_, PyType>) -> Option<usize>,
    /// Whether a derived class changes what its tensors mean by another method than `__dlpack__`; `usize`: where in the
    /// method resolution order the vendor's own methods begin.
    pub(in crate::python) overrides: fn(&Bound<'_, PyType>, usize) -> bool,
    /// Whether objects of a type have the vendor's C struct, whatever Python code made of the class.
    pub(super) has_layout: fn(*mut ffi::PyTypeObject) -> bool,
    /// Refuses tensors that the table exports though their memory isn't their value.
    pub(in crate::python) guard: Option<Guard>,
    /// The same of tensors of a class that overrides `__dlpack__`, and may call the vendor's.
    pub(in crate::python) guard_override:
        Option<fn(Borrowed<'_, '_, PyAny>) -> Result<(), Refused>>,
    /// Says better what an error of the table means.
    pub(in crate::python) clarify: fn(Borrowed<'_, '_, PyAny>, PyErr) -> PyErr,
    /// Tells the framework that a tensor was written, where it counts that.
    pub(in crate::python) note_written: Option<NoteWritten>,
    /// Whether the table marks read-only tensors.
    pub(in crate::python) knows_read_only: bool,
    /// Whether the table's functions may run Python code.
    pub(in crate::python) runs_python: bool,
    /// Keeps a tensor's memory, where the tensor that the table exports may get another one; `true`: for longer than
    /// the call.
    pub(in crate::python) keep_memory: fn(Borrowed<'_, '_, PyAny>, bool) -> PyResult<Option<Owner>>,
    /// Whether the GPU stream of a handle, which is the current one of a GPU, is never destroyed.
    #[cfg_attr(
        not(feature = "cuda"),
        expect(dead_code, reason = "there are no streams")
    )]
    pub(in crate::python) stream_lasts: fn(Python<'_>, i32, usize) -> bool,
    /// The framework whose constraints a tensor must meet before it is handed to the table, which loses one that it
    /// refuses; `None` for tables that refuse by themselves.
    pub(in crate::python) framework: Option<&'static Framework>,
    /// Makes an object of a tensor.
    pub(in crate::python) make:
        for<'py> fn(Python<'py>, Table, Tensor) -> PyResult<Bound<'py, PyAny>>,
}

/// Refuses a tensor whose memory isn't its value. Returns whether Python code may have run.
type Guard = fn(Borrowed<'_, '_, PyAny>) -> Result<bool, Refused>;

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
            make: |py, table, tensor| table.make_object(py, tensor.into_dlpack()),
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
