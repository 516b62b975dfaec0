//! Values that are found once and kept, also in the child of a fork.
//!
//! [`PyOnceLock`](pyo3::sync::PyOnceLock) is locked while its value is found, and gives up the GIL
//! meanwhile, even for a string. If another thread forks then, the child waits for a thread that it
//! doesn't have. Here no cell is locked while Python code can run, or another thread have the GIL:
//! where two threads find a value, the first one is kept.

use pyo3::prelude::*;
use pyo3::types::PyString;
use std::sync::OnceLock;

/// A value that is found once, for a static variable.
#[derive(Debug)]
pub struct FoundOnce<T>(OnceLock<T>);

impl<T> FoundOnce<T> {
    /// Returns a cell without a value.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Returns the value, if it was found.
    #[inline]
    pub fn get(&self, _: Python<'_>) -> Option<&T> {
        self.0.get()
    }

    /// Returns the value, which is found if there is none. It may be found more than once.
    #[inline]
    pub fn get_or_find(&self, py: Python<'_>, find: impl FnOnce() -> T) -> &T {
        match self.get(py) {
            Some(value) => value,
            None => self.keep(py, find()),
        }
    }

    /// Returns the value, which is found if there is none. It may be found more than once.
    ///
    /// # Errors
    ///
    /// Those of `find`; the cell stays empty.
    #[inline]
    pub fn get_or_try_find<E>(
        &self,
        py: Python<'_>,
        find: impl FnOnce() -> Result<T, E>,
    ) -> Result<&T, E> {
        match self.get(py) {
            Some(value) => Ok(value),
            None => self.try_find(py, find),
        }
    }

    #[cold]
    fn try_find<E>(&self, py: Python<'_>, find: impl FnOnce() -> Result<T, E>) -> Result<&T, E> {
        Ok(self.keep(py, find()?))
    }

    #[cold]
    fn keep(&self, py: Python<'_>, value: T) -> &T {
        // This doesn't give up the GIL, and fails only where another thread was first.
        let _ = self.0.set(value);
        self.get(py).expect("a value was just kept")
    }
}

impl<T> Default for FoundOnce<T> {
    fn default() -> Self {
        Self::new()
    }
}

/// A string that Python has once, for [`intern!`](crate::python::intern).
#[doc(hidden)]
#[derive(Debug)]
pub struct Interned(&'static str, FoundOnce<Py<PyString>>);

impl Interned {
    pub const fn new(text: &'static str) -> Self {
        Self(text, FoundOnce::new())
    }

    #[inline]
    pub fn get<'py>(&self, py: Python<'py>) -> &Bound<'py, PyString> {
        let text = self
            .1
            .get_or_find(py, || PyString::intern(py, self.0).unbind());
        text.bind(py)
    }
}

/// Returns a string that is made at the first use, like PyO3's macro of this name, without giving
/// up the GIL.
///
/// ```
/// # use pyo3::prelude::*;
/// use dlbridge_dlpack::python::intern;
///
/// Python::initialize();
/// Python::attach(|py| {
///     let text = || intern!(py, "text").as_ptr();
///     assert_eq!(text(), text());
/// });
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! __intern {
    ($py:expr, $text:expr) => {{
        static INTERNED: $crate::python::Interned = $crate::python::Interned::new($text);
        INTERNED.get($py)
    }};
}

pub use __intern as intern;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_found_while_it_is_being_found() {
        static CELL: FoundOnce<i32> = FoundOnce::new();
        Python::initialize();
        Python::attach(|py| {
            // As in the child of a fork, where the thread that began never ends.
            let again = || *CELL.get_or_find(py, || 1);
            assert_eq!(CELL.get_or_find(py, || again() + 1), &1);
            assert_eq!(CELL.get(py), Some(&1));
        });
    }

    #[test]
    fn error_leaves_the_cell_empty() {
        static CELL: FoundOnce<i32> = FoundOnce::new();
        Python::initialize();
        Python::attach(|py| {
            assert_eq!(CELL.get_or_try_find(py, || Err("none")), Err("none"));
            assert_eq!(CELL.get_or_try_find(py, || Ok::<_, ()>(2)), Ok(&2));
        });
    }
}
