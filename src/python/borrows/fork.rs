//! The list of borrows in a process that was forked off while other threads had entries, or changed
//! the list of kept memory.
//!
//! Of the parent's threads the child has the one that forked. Entries of the others would never be
//! given back there, and what they borrowed would be refused for ever. An entry knows an address on
//! the stack of the thread that entered it: in the child, those that aren't on the only thread's
//! stack are taken out. The references that they hold are leaked.

use super::lists::BORROWS;
use crate::dlpack::python::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// Prepares for forks, once: before there is the first entry.
#[cold]
pub(super) fn watch() {
    static IS_WATCHING: AtomicBool = AtomicBool::new(false);
    if cfg!(miri) || IS_WATCHING.swap(true, Ordering::Relaxed) {
        return;
    }
    #[cfg(unix)]
    locks::keep_whole();
    // Without the function, which Windows hasn't, there are no forks.
    Python::try_attach(|py| call_in_children(py).ok());
}

/// Registers [`forget_other_threads`], which Python calls in the child, on the thread that forked.
fn call_in_children(py: Python<'_>) -> PyResult<()> {
    let forget = PyCFunction::new_closure(
        py,
        Some(c"_forget_other_threads"),
        None,
        |_, _| -> PyResult<()> {
            forget_other_threads();
            Ok(())
        },
    )?;
    let keywords = PyDict::new(py);
    keywords.set_item(intern!(py, "after_in_child"), forget)?;
    py.import(intern!(py, "os"))?.call_method(
        intern!(py, "register_at_fork"),
        (),
        Some(&keywords),
    )?;
    Ok(())
}

/// Removes the entries of other threads, which don't exist in the child. If the stack's bounds are
/// unknown, it removes none.
fn forget_other_threads() {
    let Some(stack) = own_stack() else { return };
    // SAFETY: Python calls this, so the thread is attached; entries in the list are whole. Those
    // that are taken out are leaked, with what they keep.
    unsafe {
        BORROWS.with(|lists| {
            let mut next = lists.used;
            while let Some(entry) = next.as_ref() {
                next = entry.older.get();
                if !stack.contains(&entry.stack) {
                    lists.unlink(entry);
                }
            }
        });
    }
}

/// Returns the addresses of this thread's stack.
#[cfg(target_os = "linux")]
fn own_stack() -> Option<Range<usize>> {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut lowest, mut bytes) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes are written by the first function, where it succeeds, read by the
    // second, and destroyed by the third.
    let outcome = unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let outcome = libc::pthread_attr_getstack(attributes.as_ptr(), &mut lowest, &mut bytes);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        outcome
    };
    (outcome == 0).then(|| lowest.addr()..lowest.addr() + bytes)
}

/// Returns the addresses of this thread's stack.
#[cfg(target_vendor = "apple")]
fn own_stack() -> Option<Range<usize>> {
    // SAFETY: both may be asked of the own thread at any time. The first one gives the highest
    // address.
    let (highest, bytes) = unsafe {
        let this = libc::pthread_self();
        (
            libc::pthread_get_stackaddr_np(this).addr(),
            libc::pthread_get_stacksize_np(this),
        )
    };
    Some(highest - bytes..highest)
}

/// Reports that this platform has no forks.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn own_stack() -> Option<Range<usize>> {
    None
}

/// Locks that no thread has while another one forks: in the child they would stay locked, and what
/// they guard half changed.
#[cfg(unix)]
mod locks {
    #[cfg(Py_GIL_DISABLED)]
    use super::BORROWS;
    use crate::python::borrows::beyond_call;
    use std::cell::UnsafeCell;
    use std::sync::MutexGuard;

    /// What was locked before the fork.
    struct Locked(UnsafeCell<Option<Guards>>);

    struct Guards {
        _kept: MutexGuard<'static, beyond_call::Head>,
        // Dropped last, as it was locked first.
        #[cfg(Py_GIL_DISABLED)]
        _lists: MutexGuard<'static, ()>,
    }

    // SAFETY: only the forking thread uses it, which holds the locks.
    unsafe impl Sync for Locked {}

    static LOCKED: Locked = Locked(UnsafeCell::new(None));

    /// Registers handlers that take the locks before every fork, and release them after it, in both
    /// processes.
    pub(super) fn keep_whole() {
        // SAFETY: the functions stay, as libraries with Python modules are never unloaded.
        unsafe { libc::pthread_atfork(Some(take), Some(give_back), Some(give_back)) };
    }

    unsafe extern "C" fn take() {
        #[cfg(Py_GIL_DISABLED)]
        let lists = BORROWS.guard();
        let guards = Guards {
            _kept: beyond_call::lock(),
            #[cfg(Py_GIL_DISABLED)]
            _lists: lists,
        };
        // SAFETY: this thread holds the locks.
        unsafe { *LOCKED.0.get() = Some(guards) };
    }

    unsafe extern "C" fn give_back() {
        // SAFETY: this thread took the locks before the fork; in the child it is the only one.
        drop(unsafe { (*LOCKED.0.get()).take() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(any(target_os = "linux", target_vendor = "apple"))]
    #[cfg_attr(miri, ignore = "Miri has no stack of this kind")]
    fn own_stack_has_own_variables_and_no_other_threads() {
        let here = 0_u8;
        let here = (&raw const here).addr();
        let check = move || {
            let there = 0_u8;
            let stack = own_stack().unwrap();
            (
                stack.contains(&(&raw const there).addr()),
                stack.contains(&here),
            )
        };
        assert_eq!(check(), (true, true));
        assert_eq!(std::thread::spawn(check).join().unwrap(), (true, false));
    }
}
