//! The table of frameworks: one row for each, in a file that has all that is known of it.
//!
//! A framework is added by its file and its line in [`FRAMEWORKS`]; the code elsewhere asks the rows.

pub(super) mod constraints;
mod cupy;
mod dlbridge;
mod dtypes;
mod jax;
#[cfg(test)]
mod made_up;
mod mlx;
mod mxnet;
#[cfg(feature = "cuda")]
mod numba;
pub(super) mod numpy;
mod onnxruntime;
mod paddle;
mod pyarrow;
mod table_vendor;
mod tensorflow;
pub(super) mod torch;
mod tvm;
mod tvm_ffi;

use crate::device::{Device, DeviceKind};
use crate::dlpack::DLTensor;
use crate::dlpack::python::{Table, type_lookup};
use crate::dtype::DType;
use crate::error::Error;
use crate::python::error::{not_exchangeable, unknown_name};
use crate::tensor::Tensor;
use constraints::{Misfit, Needs};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyType};
use pyo3::{Borrowed, ffi, intern};
pub(super) use table_vendor::{OTHER, TableVendor};

/// All frameworks, in the order in which error messages list them.
static FRAMEWORKS: &[&Framework] = &[
    &dlbridge::ROW,
    &numpy::ROW,
    &torch::ROW,
    &jax::ROW,
    &tensorflow::ROW,
    &paddle::ROW,
    &mlx::ROW,
    &cupy::ROW,
    &pyarrow::ROW,
    &tvm::ROW,
    &tvm_ffi::ROW,
    &mxnet::ROW,
    &onnxruntime::ROW,
    #[cfg(test)]
    &made_up::ROW,
];

/// The framework of host arrays that Python code asks for with `__array__`.
pub(super) static NUMPY: &Framework = &numpy::ROW;

/// What is known of a framework.
pub(super) struct Framework {
    /// The name by which a conversion asks for it.
    pub(super) name: &'static str,
    /// As people call it.
    pub(super) title: &'static str,
    /// The packages that its types and errors say that they are from.
    packages: &'static [&'static str],

    // Its tensors, as they come in.
    /// Whose exchange table its tensors have, where that takes more than calling it.
    vendor: Option<&'static TableVendor>,
    /// Whether the buffers of its tensors share their memory.
    pub(super) shares_buffers: bool,
    /// Refuses tensors that are not to be asked for a capsule.
    pub(super) guard_capsule: Option<fn(Borrowed<'_, '_, PyAny>) -> PyResult<()>>,
    /// Whether a copy that `__dlpack__(copy=True)` makes has the tensor's elements.
    pub(super) copies_right: bool,
    /// Whether a capsule keeps the memory, without the object that gave it.
    pub(super) capsule_keeps_memory: bool,
    /// In place of `__dlpack__`, methods that give capsules.
    pub(super) capsule_methods: Option<CapsuleMethods>,

    /// The GPU streams on which it works.
    pub(super) streams: Streams,

    // Tensors that are handed to it.
    pub(super) needs: Needs,
    /// Whether it copies all that it takes.
    pub(super) copies: bool,
    /// Whether it surely can have a tensor, which is asked first.
    pub(super) surely_has: fn(&Tensor) -> bool,
    /// Finds what takes Python code to find out.
    pub(super) more: Option<Ask>,
    /// How it takes a tensor that meets its constraints.
    pub(super) export: Export,
    /// Makes an exported object one of the same class as another object of the framework.
    pub(super) alike: Option<Alike>,
}

type Ask = fn(Python<'_>, &Tensor) -> PyResult<Option<Misfit>>;
type Alike = for<'py> fn(&Bound<'py, PyAny>, Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>;
type Import<T> = for<'py> fn(Python<'py>, Bound<'py, T>, DType) -> PyResult<Bound<'py, PyAny>>;

/// How a framework takes a tensor.
pub(super) enum Export {
    /// As an object of our own class, which is its own.
    OurClass,
    /// The tensor itself becomes an object.
    Tensor(for<'py> fn(Python<'py>, Tensor) -> PyResult<Bound<'py, PyAny>>),
    /// By the exchange table of its tensors, which the function finds.
    Table(fn(Python<'_>) -> PyResult<Table>, &'static TableVendor),
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
pub(super) struct CapsuleMethods {
    /// Whether an object of the framework has them.
    pub(super) is_tensor: fn(Borrowed<'_, '_, PyAny>) -> PyResult<bool>,
    pub(super) ask: AskCapsule,
    /// Corrects a descriptor of the framework's to what it means.
    pub(super) correct: fn(&DLTensor) -> DLTensor,
}

/// Asks an object for a capsule, to be written or only read; `None` where it isn't a tensor.
type AskCapsule =
    for<'py> fn(Borrowed<'_, 'py, PyAny>, bool) -> PyResult<Option<Bound<'py, PyCapsule>>>;

/// What is known of a framework's GPU streams.
#[cfg_attr(
    not(feature = "cuda"),
    expect(dead_code, reason = "there are no streams")
)]
pub(super) struct Streams {
    /// Returns the handle of its current stream on a GPU, and the object that keeps the stream, where its exchange
    /// table doesn't tell.
    pub(super) current: Option<CurrentStream>,
    /// Whether it asks for an order of work when it imports a tensor, or its exchange table tells its stream.
    pub(super) asks: bool,
    /// Where it takes -1, which asks for no order, for a stream: what can't be done while a graph is captured.
    pub(super) misreads_unordered: Option<&'static str>,
}

pub(super) type CurrentStream =
    for<'py> fn(Python<'py>, i32) -> PyResult<(usize, Bound<'py, PyAny>)>;

impl Streams {
    /// Those of a framework that says nothing of its streams.
    const UNKNOWN: Self = Self {
        current: None,
        asks: false,
        misreads_unordered: None,
    };
}

impl Framework {
    /// A framework of which nothing special is known.
    const fn new(
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
            vendor: None,
            shares_buffers: false,
            guard_capsule: None,
            copies_right: true,
            capsule_keeps_memory: true,
            capsule_methods: None,
            streams: Streams::UNKNOWN,
            needs,
            copies: false,
            surely_has: |_| false,
            more: None,
            export,
            alike: None,
        }
    }

    /// Returns the framework of this name.
    ///
    /// # Errors
    ///
    /// A `LookupError` for another name.
    pub(super) fn named(name: &str) -> PyResult<&'static Self> {
        let found = FRAMEWORKS.iter().find(|framework| framework.name == name);
        found.copied().ok_or_else(|| {
            let names: Vec<_> = FRAMEWORKS.iter().map(|framework| framework.name).collect();
            unknown_name(format!(
                "no framework is called {name:?}; there are {}",
                names.join(", ")
            ))
        })
    }

    /// Returns the framework that a package belongs to.
    #[cold]
    pub(super) fn of_package(package: &str) -> Option<&'static Self> {
        let has_it = |framework: &&&Self| framework.packages.contains(&package);
        FRAMEWORKS.iter().find(has_it).copied()
    }

    /// Returns the framework that a type says that it is from.
    #[cold]
    pub(super) fn of_type(kind: &Bound<'_, PyType>) -> Option<&'static Self> {
        Self::of_package(&root_module(kind))
    }
}

/// Returns what users call the framework that a type is from; for other types, their own name.
#[cold]
pub(super) fn title_of(kind: &Bound<'_, PyType>) -> PyResult<String> {
    Ok(match Framework::of_type(kind) {
        Some(framework) => framework.title.to_owned(),
        None => kind.fully_qualified_name()?.to_string(),
    })
}

/// Returns the first part of the name of the module that a type says it is from.
pub(super) fn root_module(kind: &Bound<'_, PyType>) -> String {
    let module = type_lookup::module_name(kind).unwrap_or_default();
    module.split('.').next().unwrap_or_default().to_owned()
}

fn vendors() -> impl Iterator<Item = &'static TableVendor> {
    FRAMEWORKS.iter().filter_map(|framework| framework.vendor)
}

/// Returns the vendor whose class is among the base classes of a type, and at which of them the vendor's own methods
/// begin. Python makes sure that an object of a class that is derived from a class made in C, or lists it in its order,
/// has its layout.
pub(super) fn vendor_of_bases<'py>(
    bases: impl Iterator<Item = Bound<'py, PyType>>,
) -> (&'static TableVendor, usize) {
    for (depth, base) in bases.enumerate() {
        for vendor in vendors() {
            if let Some(before) = (vendor.recognise)(&base) {
                return (vendor, depth.saturating_sub(before));
            }
        }
    }
    (&OTHER, 0)
}

/// Returns the vendor whose C struct the objects of a type have.
pub(super) fn vendor_of_layout(kind: *mut ffi::PyTypeObject) -> Option<&'static TableVendor> {
    vendors().find(|vendor| (vendor.has_layout)(kind))
}

/// Returns the vendor whose library has this file name.
pub(super) fn vendor_of_library(file: &str) -> &'static TableVendor {
    let name = file.strip_prefix("lib").unwrap_or(file);
    let found = vendors().find(|vendor| {
        vendor
            .library
            .is_some_and(|library| name.starts_with(library))
    });
    found.unwrap_or(&OTHER)
}

/// Returns the object of another library that keeps the stream of this handle, for an array that only says the handle.
#[cfg(feature = "cuda")]
pub(super) fn stream_object<'py>(
    array: Borrowed<'_, 'py, PyAny>,
    handle: usize,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    numba::stream_object(array, handle)
}

/// Returns the exchange table of a module's class `Tensor`, looked up once.
fn table_of_class(
    py: Python<'_>,
    known: &'static PyOnceLock<Table>,
    module: &str,
) -> PyResult<Table> {
    let find = || {
        let kind = py.import(module)?.getattr(intern!(py, "Tensor"))?;
        Table::of_type(kind.cast::<PyType>()?).ok_or_else(|| {
            not_exchangeable(format!("this version of {module} has no exchange table"))
        })
    };
    known.get_or_try_init(py, find).copied()
}

fn is_pinned_or_managed(device: Device) -> bool {
    use DeviceKind::{CudaHost, CudaManaged, RocmHost};
    matches!(device.kind(), CudaHost | CudaManaged | RocmHost)
}
