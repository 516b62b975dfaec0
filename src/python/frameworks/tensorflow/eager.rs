//! Eager tensors by TensorFlow's C library, for element types that its DLPack refuses: 8-bit
//! floats and smaller numbers.
//!
//! Functions of its extension module lead from a C handle to a Python object and back. They are
//! C++, and in no header for users. So they are used in the versions that were compared only, found
//! in the library that the class's own destructor is in, and compared at first use with a tensor
//! that came by DLPack: class, memory, dtype, shape, and that the object releases the memory.

use super::super::entrance::legacy_capsule;
use super::capsule::{self, from_dlpack};
use super::sample::Sample;
use crate::device::Device;
use crate::dlpack::python::into_capsule;
use crate::dtype::DType;
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use crate::python::error::not_exchangeable;
use crate::python::frameworks::constraints::lacks_dtype;
use crate::tensor::Tensor;
use crate::tensorflow::{
    Handle, TensorFlow, TensorFlowError, TfTensor, check, is_known, library_of,
};
use crate::tensorflow_types::code_of;
use pyo3::exceptions::PyImportError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};
use pyo3::{Borrowed, ffi};
use std::ffi::{c_int, c_void};
use std::sync::{Arc, OnceLock};

/// `EagerTensorFromHandle(TFE_TensorHandle*, bool)`: an object that deletes the handle.
type MakeObject = unsafe extern "C" fn(*mut c_void, bool) -> *mut ffi::PyObject;
/// Its name by the C++ ABI of Linux and macOS.
const MAKE_OBJECT: &[u8] = b"_Z21EagerTensorFromHandleP16TFE_TensorHandleb";

/// `EagerTensor_Handle(const PyObject*)`: the handle, which stays the object's.
type HandleOf = unsafe extern "C" fn(*mut ffi::PyObject) -> *mut c_void;
const HANDLE_OF: &[u8] = b"_Z18EagerTensor_HandlePK7_object";

/// `EagerTensor_CheckExact(const PyObject*)`: whether the object is of the class that the other
/// functions are for.
type IsExact = unsafe extern "C" fn(*mut ffi::PyObject) -> bool;
const IS_EXACT: &[u8] = b"_Z22EagerTensor_CheckExactPK7_object";

/// The functions.
#[derive(Clone, Copy)]
struct Functions {
    make_object: MakeObject,
    handle_of: HandleOf,
    is_exact: IsExact,
}

/// The functions, and the class whose objects they are for.
struct Eager {
    tensorflow: TensorFlow,
    class: Py<PyType>,
    functions: Functions,
}

/// What was found at first use, or why it can't be used.
static FOUND: OnceLock<Result<Eager, Arc<str>>> = OnceLock::new();

/// Returns whether TensorFlow may have such elements, and its DLPack hasn't.
pub(super) fn may_have(dtype: DType) -> bool {
    code_of(dtype).is_some() && !capsule::has_dtype(dtype)
}

/// Returns what of such a tensor TensorFlow can't have, and a copy wouldn't cure.
pub(super) fn lacks(py: Python<'_>, tensor: &Tensor) -> PyResult<Option<Incompatibility>> {
    let dtype = tensor.dtype();
    if !may_have(dtype) {
        return Ok(None);
    }
    let eager = match find(py) {
        Ok(Ok(eager)) => eager,
        Ok(Err(why)) => return Ok(Some(no_way(dtype, &why))),
        // A conversion raises it.
        Err(error) if error.is_instance_of::<PyImportError>(py) => return Ok(None),
        Err(error) => return Err(error),
    };
    if tensor.device() != Device::CPU {
        let found = tensor.device().to_string();
        let reason = format!("TensorFlow takes {dtype} on the CPU only, and it is on {found}");
        return Ok(Some(
            Incompatibility::new(Kind::Device, found, "cpu").with_reason(reason),
        ));
    }
    let unfit = check(eager.tensorflow, tensor).err();
    // The row's needs say the others.
    Ok(unfit.and_then(|unfit| match unfit.kind {
        Kind::DType => {
            let version = eager.tensorflow.version_text();
            let reason = format!("TensorFlow {version} has no {dtype}");
            Some(lacks_dtype(dtype.to_string(), reason))
        }
        Kind::Padding => {
            let (found, wanted) = (format!("packed {dtype}"), format!("padded {dtype}"));
            let reason = format!("TensorFlow has no {found}");
            Some(Incompatibility::new(Kind::Padding, found, wanted).with_reason(reason))
        }
        _ => None,
    }))
}

#[cold]
fn no_way(dtype: DType, why: &str) -> Incompatibility {
    let reason =
        format!("TensorFlow's DLPack has no {dtype}, and its C library wasn't used: {why}");
    lacks_dtype(dtype.to_string(), reason)
}

/// Makes an object of such a tensor, which shares its memory.
pub(super) fn make<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    match find(py)? {
        Ok(eager) => eager.make(py, tensor),
        Err(why) => Err(not_exchangeable(no_way(tensor.dtype(), &why))),
    }
}

/// Makes a capsule of an object with such elements on the CPU, which shares its memory; `None` for
/// other objects.
pub(super) fn export<'py>(
    object: Borrowed<'_, 'py, PyAny>,
) -> PyResult<Option<Bound<'py, PyCapsule>>> {
    let py = object.py();
    let Ok(eager) = find(py)? else {
        return Ok(None);
    };
    let Some(tensor) = eager.read(object)? else {
        return Ok(None);
    };
    into_capsule(py, tensor.into_dlpack()).map(Some)
}

/// Returns the functions, or why they can't be used.
fn find(py: Python<'_>) -> PyResult<Result<&'static Eager, Arc<str>>> {
    let found = match FOUND.get() {
        Some(found) => found,
        None => {
            let found = Eager::search(py)?.map_err(Arc::from);
            // Python code ran meanwhile, so that another thread may have been first.
            FOUND.get_or_init(|| found)
        }
    };
    Ok(found.as_ref().map_err(Arc::clone))
}

impl Eager {
    /// Finds the functions, and compares what they do.
    #[cold]
    fn search(py: Python<'_>) -> PyResult<Result<Self, String>> {
        let sample = Sample::new()?;
        let theirs = from_dlpack(py, legacy_capsule(py, sample.tensor.clone())?)?;
        let tensorflow = match TensorFlow::from_process() {
            Ok(tensorflow) => tensorflow,
            Err(error) => return Ok(Err(error.to_string())),
        };
        if !is_known(tensorflow.version()) {
            let version = tensorflow.version_text();
            return Ok(Err(format!("version {version} wasn't compared yet")));
        }
        let class = theirs.get_type();
        let Some(functions) = Functions::of(&class) else {
            return Ok(Err("its extension module lacks the functions".to_owned()));
        };
        // SAFETY: the function of this name has this type, and takes any object.
        if !unsafe { (functions.is_exact)(theirs.as_ptr()) } {
            return Ok(Err(format!("from_dlpack returned {}", class.name()?)));
        }
        let eager = Self {
            tensorflow,
            class: class.unbind(),
            functions,
        };
        let is_read = matches!(eager.read_any(theirs.as_borrowed()), Ok(read) if sample.is(&read));
        drop(theirs);
        let made = eager.make(py, &sample.tensor)?;
        let is_made = made.get_type().as_ptr() == eager.class.as_ptr()
            && matches!(eager.read_any(made.as_borrowed()), Ok(read) if sample.is(&read));
        drop(made);
        match is_read && is_made && sample.release() {
            true => Ok(Ok(eager)),
            false => Ok(Err("its functions didn't do what they should".to_owned())),
        }
    }

    /// Makes an object that shares a tensor's memory.
    fn make<'py>(&self, py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
        let shared = TfTensor::from_tensor(self.tensorflow, tensor).map_err(refusal)?;
        let handle = Handle::from_tf_tensor(&shared).map_err(refusal)?.into_raw();
        // SAFETY: the function of this name has this type, the handle is valid, and the GIL is
        // held. The object that is returned deletes the handle; where there is none, an object that
        // was begun may have it still, so that it isn't deleted here.
        unsafe {
            let object = (self.functions.make_object)(handle, false);
            Bound::from_owned_ptr_or_err(py, object)
        }
    }

    /// Reads an object whose elements only the C library gives, and are in the CPU's memory.
    fn read(&self, object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<Tensor>> {
        if object.get_type().as_ptr() != self.class.as_ptr() {
            return Ok(None);
        }
        // SAFETY: the object is of the class that the function is for.
        let handle = unsafe { self.handle(object) };
        let dtype = handle
            .as_ref()
            .and_then(|handle| handle.data_type().dtype().ok());
        if !dtype.is_some_and(may_have) {
            return Ok(None);
        }
        self.read_any(object)
    }

    /// Reads an object of the class; `None` for one that isn't in the CPU's memory.
    fn read_any(&self, object: Borrowed<'_, '_, PyAny>) -> PyResult<Option<Tensor>> {
        // SAFETY: the object is of the class that the function is for, and kept by the caller.
        let Some(handle) = (unsafe { self.handle(object) }) else {
            return Ok(None);
        };
        // An op that is still running may be one of Python's, which needs the GIL.
        let read = object.py().detach(|| {
            let is_on_cpu = handle.device_name()?.contains("device:CPU:");
            match is_on_cpu {
                true => handle.to_tf_tensor()?.to_tensor().map(Some),
                false => Ok(None),
            }
        });
        read.map_err(refusal)
    }

    /// Returns the handle of an object, whose it stays.
    ///
    /// # Safety
    ///
    /// The object is of the class, and lives as long as the result is used.
    unsafe fn handle(
        &self,
        object: Borrowed<'_, '_, PyAny>,
    ) -> Option<std::mem::ManuallyDrop<Handle>> {
        // SAFETY: the function of this name has this type, and takes objects of the class, of which
        // this is one, a precondition of this function; the object keeps its handle.
        unsafe { Handle::borrowed(self.tensorflow, (self.functions.handle_of)(object.as_ptr())) }
    }
}

impl Functions {
    /// Returns the functions in the library that the class is from.
    fn of(class: &Bound<'_, PyType>) -> Option<Self> {
        const DEALLOC: c_int = ffi::Py_tp_dealloc;
        // SAFETY: the class is a type, and the thread is attached.
        let destructor = unsafe { ffi::PyType_GetSlot(class.as_ptr().cast(), DEALLOC) };
        if destructor.is_null() {
            return None;
        }
        let library = library_of(destructor.cast_const().cast())?;
        // SAFETY: the functions of these names have these types in the versions that were compared;
        // Python never unloads the library of a module.
        unsafe {
            Some(Self {
                make_object: *library.get::<MakeObject>(MAKE_OBJECT).ok()?,
                handle_of: *library.get::<HandleOf>(HANDLE_OF).ok()?,
                is_exact: *library.get::<IsExact>(IS_EXACT).ok()?,
            })
        }
    }
}

#[cold]
fn refusal(error: TensorFlowError) -> PyErr {
    match error {
        TensorFlowError::Tensor(error) => error.into(),
        error => not_exchangeable(error.to_string()),
    }
}
