//! Export of tensors to objects of a framework.

mod conversion;
mod convert;
mod deliver;
mod export_to;
mod misfit;
mod permitted;

use crate::device::Device;
use crate::dlpack::python::Table;
use crate::dlpack::python::intern;
use crate::dlpack::{DLTensor, Flags};
use crate::dtype::{DType, Element};
use crate::error::{Error, IncompatibilityKind};
use crate::layout::Layout;
use crate::python::cuda;
use crate::python::error::{Refused, not_exchangeable, not_importable};
use crate::python::frameworks::{Export, Framework, NUMPY, vendor_of_bases};
use crate::python::import::check_borrowed;
use crate::python::import::passed::Passed;
use crate::python::import::type_cache::ImportPath;
use crate::python::readonly::ReadOnlyPolicy;
use crate::storage::Owner;
use crate::tensor::Tensor;
pub use conversion::Conversion;
pub use convert::{Explanation, Outcome, convert, explain};
use deliver::own;
use export_to::{by_table, export_to};
pub(super) use permitted::answer_read_only;
use pyo3::Borrowed;
use pyo3::prelude::*;

/// A tensor that becomes an object of the framework that an argument was of.
///
/// A result that no framework was found for, such as one like a Python number, becomes an object
/// of our own class.
#[derive(Debug)]
pub struct Like<'py> {
    object: Option<Bound<'py, PyAny>>,
    tensor: Tensor,
    readonly: Option<ReadOnlyPolicy>,
}

impl<'py> Like<'py> {
    pub(super) fn new(object: Option<Bound<'py, PyAny>>, tensor: Tensor) -> Self {
        Self {
            object,
            tensor,
            readonly: None,
        }
    }

    /// Returns the number of elements.
    pub(super) fn len(&self) -> usize {
        self.tensor.len()
    }

    /// Sets what happens where the tensor is read-only and the framework has no read-only tensors;
    /// without it, the [current policy](ReadOnlyPolicy::current) holds.
    ///
    /// ```no_run
    /// use dlbridge::python::{In, Like, ReadOnlyPolicy};
    /// use pyo3::prelude::*;
    ///
    /// /// The weights that belong to a tensor, which must not be written.
    /// #[pyfunction]
    /// fn weights<'py>(x: In<'py, f32>) -> PyResult<Like<'py>> {
    ///     static WEIGHTS: [f32; 3] = [1.0, 2.0, 4.0];
    ///     let weights = dlbridge::Tensor::from_owner(&WEIGHTS, &[3])?;
    ///     Ok(x.like(weights).readonly(ReadOnlyPolicy::Share))
    /// }
    /// ```
    #[must_use]
    pub fn readonly(mut self, policy: ReadOnlyPolicy) -> Self {
        self.readonly = Some(policy);
        self
    }
}

impl<'py> IntoPyObject<'py> for Like<'py> {
    type Target = PyAny;
    type Output = Bound<'py, PyAny>;
    type Error = PyErr;

    #[cfg(feature = "experimental-inspect")]
    const OUTPUT_TYPE: pyo3::inspect::PyStaticExpr = crate::python::hints::OF_FRAMEWORK;

    fn into_pyobject(self, py: Python<'py>) -> PyResult<Self::Output> {
        let Self {
            object,
            tensor,
            readonly,
        } = self;
        let tensor = tensor.unguarded();
        let conversion = &Conversion::SHARED.readonly(readonly);
        let Some(object) = object else {
            return own(py, tensor);
        };
        match path_for_result(object.as_borrowed())? {
            ImportPath::Own => own(py, tensor),
            ImportPath::Numpy | ImportPath::Scalar => export_to(NUMPY, py, tensor, conversion),
            ImportPath::Table(table, vendor) => by_table(py, table, vendor, tensor, conversion),
            ImportPath::Buffer(_) | ImportPath::Protocol => match framework_of(&object) {
                Some(framework) => {
                    let made = export_to(framework, py, tensor, conversion)?;
                    match framework.alike {
                        Some(alike) => alike(&object, made),
                        None => Ok(made),
                    }
                }
                None => by_namespace(&object, tensor),
            },
        }
    }
}

/// Returns the import path of an object that results are to be like.
#[inline]
pub(super) fn path_for_result(object: Borrowed<'_, '_, PyAny>) -> Result<ImportPath, Refused> {
    match ImportPath::for_object(object) {
        Err(_) if has_capsule_methods(object)? || cuda::is_array(object)? => {
            Ok(ImportPath::Protocol)
        }
        path => path,
    }
}

/// Returns the framework of an object that isn't exchanged by a table: that of its type, or of a
/// base class.
#[cold]
fn framework_of(object: &Bound<'_, PyAny>) -> Option<&'static Framework> {
    let kind = object.get_type();
    Framework::of_type(&kind).or_else(|| {
        let bases = kind.mro();
        let bases = bases.iter().filter_map(|base| base.cast_into().ok());
        vendor_of_bases(bases).0.framework
    })
}

/// Returns whether an object gives capsules by methods of its framework.
#[cold]
fn has_capsule_methods(object: Borrowed<'_, '_, PyAny>) -> PyResult<bool> {
    let framework = Framework::of_type(&object.get_type());
    match framework.and_then(|framework| framework.capsule_methods.as_ref()) {
        Some(methods) => (methods.is_tensor)(object),
        None => Ok(false),
    }
}

/// A tensor as an object of the framework of this name: `"numpy"`, `"torch"`, `"jax"`,
/// `"tensorflow"`, `"paddle"`, `"mlx"`, `"cupy"`, `"pyarrow"`, `"tvm"`, `"tvm_ffi"`, `"mxnet"`,
/// `"onnxruntime"`, or `"dlbridge"` for our own class.
///
/// Nothing is copied, but by `"mlx"`, which does that with all that comes in. Read-only memory is
/// shared by the [current policy](ReadOnlyPolicy::current); [`convert`] takes another one.
///
/// # Errors
///
/// A `LookupError` for another name, an `ImportError` where the framework isn't installed, and a
/// `BufferError` where it can't have the tensor without a copy.
pub fn to_framework<'py>(
    py: Python<'py>,
    tensor: impl Into<Passed>,
    name: &str,
) -> PyResult<Bound<'py, PyAny>> {
    export_to(
        Framework::named(name)?,
        py,
        tensor.into().0,
        &Conversion::SHARED,
    )
}

/// For libraries after the array API standard.
fn by_namespace<'py>(object: &Bound<'py, PyAny>, tensor: Tensor) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let tensor = own(py, tensor)?;
    match object.getattr_opt(intern!(py, "__array_namespace__"))? {
        Some(namespace) => namespace
            .call0()?
            .call_method1(intern!(py, "from_dlpack"), (tensor,)),
        None => Ok(tensor),
    }
}

/// Returns whether an object's framework has tensors of a dtype; `true` where it isn't known.
pub(super) fn supports(like: Option<&Bound<'_, PyAny>>, dtype: DType) -> PyResult<bool> {
    let Some(object) = like else {
        return Ok(true);
    };
    let framework = match path_for_result(object.as_borrowed())? {
        ImportPath::Own => None,
        ImportPath::Numpy | ImportPath::Scalar => Some(NUMPY),
        ImportPath::Table(_, vendor) => vendor.framework,
        ImportPath::Buffer(_) | ImportPath::Protocol => framework_of(object),
    };
    let Some(framework) = framework else {
        return Ok(true);
    };
    // Nothing but the dtype of such a tensor is refused by any framework.
    let sample = Tensor::zeroed(&[2], dtype)?;
    let found = misfit::misfit(framework, object.py(), &sample)?;
    check_borrowed(object.py())?; // Frameworks are asked in Python.
    Ok(found.is_none_or(|misfit| misfit.kind != IncompatibilityKind::DType))
}

/// Memory in which every bit is 0, from the allocator of an object's framework, where it has one.
pub(super) fn zeroed(
    like: Option<&Bound<'_, PyAny>>,
    shape: &[usize],
    dtype: DType,
) -> PyResult<Tensor> {
    match allocated(like, shape, dtype)? {
        Some(tensor) => {
            // SAFETY: no other code has the memory, all of which is written.
            unsafe { tensor.data_mut().write_bytes(0, tensor.nbytes()) };
            Ok(tensor)
        }
        None => Ok(Tensor::zeroed(shape, dtype)?),
    }
}

/// Returns a tensor of elements from a function, the last index changing fastest, in memory from
/// the allocator of an object's framework, where it has one.
pub(super) fn written<T: Element>(
    like: Option<&Bound<'_, PyAny>>,
    shape: &[usize],
    next: impl FnMut() -> Option<T>,
) -> PyResult<Tensor> {
    let tensor = match allocated(like, shape, T::DTYPE)? {
        Some(tensor) => tensor,
        // SAFETY: every element is written in the next statement, or the tensor dropped unread.
        None => unsafe { Tensor::uninit(shape, T::DTYPE) }?,
    };
    // SAFETY: the memory is new, no other code has it, and its elements are `T`s.
    unsafe { tensor.write_each(next) }?;
    Ok(tensor)
}

/// Returns memory with whatever bits it has from the allocator of an object's framework; `None`
/// where there is none.
fn allocated(
    like: Option<&Bound<'_, PyAny>>,
    shape: &[usize],
    dtype: DType,
) -> PyResult<Option<Tensor>> {
    let Some(object) = like else {
        return Ok(None);
    };
    let table = match path_for_result(object.as_borrowed())? {
        ImportPath::Table(table, _) => Some(table),
        // Such as one whose class has its own functions for what PyTorch does.
        ImportPath::Protocol => match framework_of(object).map(|framework| &framework.export) {
            Some(Export::Table { table, .. }) => table.find(object.py())?,
            _ => None,
        },
        _ => None,
    };
    if let Some(table) = table
        && table.can_allocate()
    {
        let tensor = allocate(object.py(), table, shape, dtype)?;
        // It may have run Python code (a mode of PyTorch's dispatcher) while arguments are
        // borrowed, of which a kernel or a function may have views.
        check_borrowed(object.py())?;
        return Ok(Some(tensor));
    }
    Ok(None)
}

fn allocate(py: Python<'_>, table: Table, shape: &[usize], dtype: DType) -> PyResult<Tensor> {
    let layout = Layout::contiguous(shape).map_err(Error::from)?;
    let sizes: Vec<i64> = shape.iter().map(|size| *size as i64).collect();
    let prototype = DLTensor {
        data: std::ptr::null_mut(),
        device: Device::CPU.into(),
        ndim: layout.rank() as i32,
        dtype: dtype.into(),
        shape: sizes.as_ptr().cast_mut(),
        strides: std::ptr::null_mut(),
        byte_offset: 0,
    };
    // SAFETY: the prototype's shape has `ndim` sizes, which outlive the call.
    let managed = unsafe { table.allocate(py, &prototype) }?;
    let descriptor = *managed.descriptor();
    // What was allocated for us is ours alone, which is what this flag says of memory.
    let flags = managed.flags() | Flags::IS_COPIED;
    // SAFETY: the managed tensor keeps the memory that it describes.
    let tensor = unsafe { Tensor::adopt(&descriptor, flags, Owner::small(managed)) }
        .map_err(not_importable)?;
    let is_as_asked =
        tensor.shape() == shape && tensor.dtype() == dtype && tensor.layout().is_contiguous();
    if !is_as_asked || tensor.is_read_only() || tensor.device() != Device::CPU {
        return Err(not_exchangeable(
            "the framework's allocator returned another tensor than requested",
        ));
    }
    Ok(tensor)
}
