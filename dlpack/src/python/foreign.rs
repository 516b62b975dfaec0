//! Calls of code that may run Python, and so may end the calling thread.
//!
//! Before Python 3.14, a thread that wants the GIL back while the interpreter is finalized is ended
//! by `pthread_exit`. With glibc that is a forced unwind of its stack, which Rust frames abort the
//! process on. So the first Rust frame, the one that called Python, holds a guard whose destructor
//! never returns: the thread hangs, as Python 3.14 lets it do.

use super::interpreter::is_finalizing;
use crate::abi::Abi;
use crate::managed::Managed;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::hint::black_box;
use std::mem::{forget, transmute};
use std::ptr;
use std::time::Duration;

type Object = *mut ffi::PyObject;

/// Never lets an unwind pass.
struct HangOnUnwind;

impl Drop for HangOnUnwind {
    #[cold]
    fn drop(&mut self) {
        if !is_finalizing() {
            // An exception of C++: what a function of C's that calls back must not let out.
            std::process::abort();
        }
        loop {
            std::thread::sleep(Duration::from_secs(3600));
        }
    }
}

/// Runs a C function, declared as `extern "C-unwind"`, that may end the thread by unwinding it: the
/// thread hangs then.
///
/// The closure must do nothing else, as a panic in it ends the process.
#[inline(always)]
pub fn hang_on_unwind<R>(call: impl FnOnce() -> R) -> R {
    let guard = HangOnUnwind;
    let result = call();
    forget(guard);
    result
}

/// Evaluates `object.name`.
///
/// # Errors
///
/// The exception that Python raises.
pub fn get<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Bound<'py, PyAny>> {
    type Function = unsafe extern "C-unwind" fn(Object, Object) -> Object;
    type Declared = unsafe extern "C" fn(Object, Object) -> Object;
    let get: Declared = ffi::PyObject_GetAttr;
    // SAFETY: the types differ only in whether unwinding is expected. The compiler doesn't see
    // which function it is, as it would take PyO3's word that this one never unwinds.
    let get = unsafe { transmute::<Declared, Function>(black_box(get)) };
    // SAFETY: the thread is attached; an object and a string; a new reference or NULL comes back.
    unsafe {
        let answer = hang_on_unwind(|| get(object.as_ptr(), name.as_ptr()));
        Bound::from_owned_ptr_or_err(object.py(), answer)
    }
}

/// Evaluates `callable(*arguments, **keywords)`.
///
/// # Errors
///
/// The exception that Python raises.
pub fn call<'py>(
    callable: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyTuple>,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    type Function = unsafe extern "C-unwind" fn(Object, Object, Object) -> Object;
    type Declared = unsafe extern "C" fn(Object, Object, Object) -> Object;
    let call: Declared = ffi::PyObject_Call;
    // SAFETY: the types differ only in whether unwinding is expected. The compiler doesn't see
    // which function it is, as it would take PyO3's word that this one never unwinds.
    let call = unsafe { transmute::<Declared, Function>(black_box(call)) };
    let keywords = keywords.map_or(ptr::null_mut(), |keywords| keywords.as_ptr());
    // SAFETY: the thread is attached; a tuple, and a dictionary or NULL; a new reference or NULL
    // comes back.
    unsafe {
        let answer = hang_on_unwind(|| call(callable.as_ptr(), arguments.as_ptr(), keywords));
        Bound::from_owned_ptr_or_err(callable.py(), answer)
    }
}

/// Evaluates `object.name(*arguments, **keywords)`.
///
/// # Errors
///
/// The exception that Python raises.
pub fn call_method<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
    arguments: impl IntoPyObject<
        'py,
        Target = PyTuple,
        Output = Bound<'py, PyTuple>,
        Error: Into<PyErr>,
    >,
    keywords: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let arguments = arguments.into_pyobject(object.py()).map_err(Into::into)?;
    call(&get(object, name)?, &arguments, keywords)
}

/// Calls `object.__dlpack__(max_version=version)`; `names` is the tuple of that one keyword.
#[cfg(any(Py_3_12, not(Py_LIMITED_API)))]
pub(super) fn call_with_version<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
    version: &Bound<'py, PyTuple>,
    names: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    type Function = unsafe extern "C-unwind" fn(Object, *const Object, usize, Object) -> Object;
    type Declared = unsafe extern "C" fn(Object, *const Object, usize, Object) -> Object;
    let call: Declared = ffi::PyObject_VectorcallMethod;
    // SAFETY: the types differ only in whether unwinding is expected. The compiler doesn't see
    // which function it is, as it would take PyO3's word that this one never unwinds.
    let call = unsafe { transmute::<Declared, Function>(black_box(call)) };
    let arguments = [object.as_ptr(), version.as_ptr()];
    // SAFETY: the thread is attached; one positional argument, the object itself, and as many
    // values as names.
    unsafe {
        let answer = hang_on_unwind(|| call(name.as_ptr(), arguments.as_ptr(), 1, names.as_ptr()));
        Bound::from_owned_ptr_or_err(object.py(), answer)
    }
}

/// Gives a reference back, which may run whatever the object has to do at its end.
///
/// # Safety
///
/// The thread is attached, and the reference is the caller's to give.
#[inline]
pub unsafe fn release_reference(object: Object) {
    type Function = unsafe extern "C-unwind" fn(Object);
    type Declared = unsafe extern "C" fn(Object);
    let release: Declared = ffi::Py_DecRef;
    // SAFETY: the types differ only in whether unwinding is expected. The compiler doesn't see
    // which function it is, as it would take PyO3's word that this one never unwinds.
    let release = unsafe { transmute::<Declared, Function>(black_box(release)) };
    // SAFETY: the thread is attached, and owns the reference.
    unsafe { hang_on_unwind(|| release(object)) }
}

/// Calls a managed tensor's deleter, which may run Python.
#[inline]
pub fn release_managed<A: Abi>(managed: Managed<A>) {
    type Declared<A> = unsafe extern "C" fn(*mut A);
    type Function<A> = unsafe extern "C-unwind" fn(*mut A);
    let pointer = managed.into_raw().as_ptr();
    // SAFETY: the struct was owned by what gave the pointer, so it is there.
    if let Some(deleter) = unsafe { A::deleter(pointer) } {
        // SAFETY: the types differ only in whether unwinding is expected.
        let deleter = unsafe { transmute::<Declared<A>, Function<A>>(deleter) };
        // SAFETY: ownership was given up by `into_raw`, so this is the one call of the deleter.
        unsafe { hang_on_unwind(|| deleter(pointer)) }
    }
}
