//! Functions of PyTorch's libraries, by their names.

use super::alias::{Handle, Release};
use super::class::Torch;
use crate::dlpack::python::intern;
use pyo3::ffi;
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::path::PathBuf;
use std::ptr;

/// `bool c10::TensorImpl::requires_grad() const`, whose first argument is the C++ tensor.
pub(super) type IsFollowed = unsafe extern "C" fn(*const u8) -> bool;

/// Its name in `libc10.so`, by the C++ ABI of Linux and macOS.
const IS_FOLLOWED: &str = "_ZNK3c1010TensorImpl13requires_gradEv";

/// Returns PyTorch's function that says whether autograd follows a tensor.
pub(super) fn is_followed(py: Python<'_>, of: &Torch) -> PyResult<Option<IsFollowed>> {
    if cfg!(windows) {
        return Ok(None);
    }
    let Some(library) = Library::loaded(py, of, "c10")? else {
        return Ok(None);
    };
    let function = library.function(IS_FOLLOWED)?;
    // SAFETY: a C++ member function without arguments is called, by the ABI that gives it this
    // name, as a C function of the object's address.
    Ok(
        function
            .map(|function| unsafe { std::mem::transmute::<*mut c_void, IsFollowed>(function) }),
    )
}

/// `torch_tensor_from_pyobject`: another handle to an object's C++ tensor; 0 where there is one.
type FromObject = unsafe extern "C" fn(*mut ffi::PyObject, *mut Handle) -> c_int;

/// Returns whether PyTorch's own function finds the same C++ tensor in each object as is that many
/// bytes behind its start; `None` for releases before 2.14, which have no such function.
///
/// It isn't used for each tensor, as it makes a new handle: 56 ns, where reading the word takes 1.
///
/// # Safety
///
/// Each object is a tensor of PyTorch, and has a word there.
pub(super) unsafe fn finds_same_tensor(
    py: Python<'_>,
    of: &Torch,
    objects: &[&Bound<'_, PyAny>],
    tensor: usize,
) -> PyResult<Option<bool>> {
    let Some(library) = Library::loaded(py, of, "torch_cpu")? else {
        return Ok(None);
    };
    let from_object = library.function("torch_tensor_from_pyobject")?;
    let release = library.function("aoti_torch_delete_tensor_object")?;
    let (Some(from_object), Some(release)) = (from_object, release) else {
        return Ok(None);
    };
    // SAFETY: the functions of these names have these signatures, in every version that has them.
    let (from_object, release) = unsafe {
        (
            std::mem::transmute::<*mut c_void, FromObject>(from_object),
            std::mem::transmute::<*mut c_void, Release>(release),
        )
    };
    let same = |object: &&Bound<'_, PyAny>| {
        let mut handle = ptr::null();
        // SAFETY: the object is a tensor, the GIL is held, and there is room for the answer. A
        // handle is the address of a C++ tensor, which is one pointer; it is released once.
        unsafe {
            if from_object(object.as_ptr(), &mut handle) != 0 || handle.is_null() {
                return false;
            }
            let theirs = handle.cast::<usize>().read();
            release(handle);
            theirs == object.as_ptr().byte_add(tensor).cast::<usize>().read()
        }
    };
    Ok(Some(objects.iter().all(same)))
}

/// One of PyTorch's libraries.
pub(super) struct Library<'py> {
    library: Bound<'py, PyAny>,
    ctypes: Bound<'py, PyModule>,
}

impl<'py> Library<'py> {
    /// Returns the library of this name, without prefix and suffix, that the process has loaded;
    /// `None` where it isn't a file of its own.
    pub(super) fn loaded(py: Python<'py>, torch: &Torch, name: &str) -> PyResult<Option<Self>> {
        let ctypes = py.import("ctypes")?;
        let Some(beside) = file_of(py, torch)? else {
            return Ok(None);
        };
        let file = if cfg!(windows) {
            format!("{name}.dll")
        } else if cfg!(target_os = "macos") {
            format!("lib{name}.dylib")
        } else {
            format!("lib{name}.so")
        };
        // What isn't loaded isn't what PyTorch uses.
        let mode = py.import("os")?.getattr_opt("RTLD_NOLOAD")?;
        let mode: i32 = mode.map_or(Ok(0), |mode| mode.extract())?;
        let path = beside.with_file_name(file);
        match ctypes.call_method1("CDLL", (path, mode)) {
            Ok(library) => Ok(Some(Self { library, ctypes })),
            Err(_) => Ok(None),
        }
    }

    /// Returns where a function is.
    pub(super) fn function(&self, name: &str) -> PyResult<Option<*mut c_void>> {
        let py = self.library.py();
        let Some(function) = self.library.getattr_opt(name)? else {
            return Ok(None);
        };
        let pointer = self.ctypes.getattr(intern!(py, "c_void_p"))?;
        let pointer = self.ctypes.call_method1("cast", (function, pointer))?;
        let address: Option<usize> = pointer.getattr(intern!(py, "value"))?.extract()?;
        Ok(address.map(ptr::with_exposed_provenance_mut))
    }
}

/// Returns the file of the library that PyTorch's C type is in.
#[cfg(unix)]
fn file_of(py: Python<'_>, torch: &Torch) -> PyResult<Option<PathBuf>> {
    use std::ffi::{CStr, OsStr, c_char};
    use std::os::unix::ffi::OsStrExt;

    /// `Dl_info`
    #[repr(C)]
    struct Found {
        file: *const c_char,
        base: *mut c_void,
        name: *const c_char,
        address: *mut c_void,
    }
    unsafe extern "C" {
        fn dladdr(address: *const c_void, found: *mut Found) -> c_int;
    }
    let mut found = Found {
        file: ptr::null(),
        base: ptr::null_mut(),
        name: ptr::null(),
        address: ptr::null_mut(),
    };
    // SAFETY: any address may be asked about; there is room for the answer. The name stays while
    // the library is loaded, which Python doesn't undo.
    unsafe {
        if dladdr(torch.base.bind(py).as_ptr().cast(), &mut found) == 0 || found.file.is_null() {
            return Ok(None);
        }
        let file = CStr::from_ptr(found.file).to_bytes();
        Ok(Some(PathBuf::from(OsStr::from_bytes(file))))
    }
}

/// Returns the file of the library that PyTorch's C type is in, as PyTorch says.
#[cfg(not(unix))]
fn file_of(py: Python<'_>, torch: &Torch) -> PyResult<Option<PathBuf>> {
    let file: PathBuf = torch.module.bind(py).getattr("__file__")?.extract()?;
    Ok(Some(file.with_file_name("lib").join("torch_cpu.dll")))
}
