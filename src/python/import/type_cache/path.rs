//! [`ImportPath`]: how a tensor is read, and what is remembered of a type.

use crate::dlpack::python::Table;
use crate::python::frameworks::TableVendor;
use std::mem;
use std::sync::{Mutex, PoisonError};

/// How the tensor of an object is read, the fastest ways first.
#[derive(Debug, Clone, Copy)]
pub(in crate::python) enum ImportPath {
    /// An object of our own class.
    Own,
    /// A `numpy.ndarray`, and nothing derived from it.
    Numpy,
    /// A type with a C exchange table.
    Table(Table, &'static TableVendor),
    /// A type with the buffer protocol; `true`: that also has `__dlpack__`, for what its buffers
    /// can't express, and whose tensors are read-only unless its buffers say otherwise.
    Buffer(bool),
    /// A scalar of NumPy's whose buffer isn't its value: an array of it is read.
    Scalar,
    /// A type with `__dlpack__`, or a capsule.
    Protocol,
}

/// What is remembered of a type. It is never freed: there is one for each table and framework at
/// most.
#[derive(Debug, Clone, Copy)]
pub(super) struct CachedPath {
    pub(super) path: ImportPath,
    /// The framework whose own `__dlpack__` the type has.
    pub(super) vendor: &'static TableVendor,
}

impl CachedPath {
    fn is_same(&self, other: &Self) -> bool {
        let is_same_path = match (self.path, other.path) {
            (ImportPath::Table(ours, our_vendor), ImportPath::Table(theirs, their_vendor)) => {
                ours.as_ptr() == theirs.as_ptr() && our_vendor.is(their_vendor)
            }
            (ImportPath::Buffer(ours), ImportPath::Buffer(theirs)) => ours == theirs,
            (ours, theirs) => mem::discriminant(&ours) == mem::discriminant(&theirs),
        };
        is_same_path && self.vendor.is(other.vendor)
    }

    /// Returns the one that is never freed.
    pub(super) fn interned(self) -> &'static Self {
        static ALL: Mutex<Vec<&'static CachedPath>> = Mutex::new(Vec::new());
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = all.iter().find(|known| known.is_same(&self)) {
            return known;
        }
        let new = &*Box::leak(Box::new(self));
        all.push(new);
        new
    }
}
