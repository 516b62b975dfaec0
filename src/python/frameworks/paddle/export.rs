//! Paddle, which can't be given the same memory twice.
//!
//! Paddle (up to 3.3 at least) keeps the deleters of what it imported in a table by address, so
//! that a second import of an address takes the place of the first one's deleter, which is never
//! called then. And it calls a deleter while it holds that table's lock: one that releases another
//! import of Paddle's waits for itself.
//!
//! So an address that Paddle has from here is given as an array of NumPy's, which Paddle keeps by a
//! reference. And what is released inside of its lock is memory of ours alone: other memory is
//! released soon after, by another thread.

use crate::device::Device;
use crate::dlpack::python::foreign;
use crate::dlpack::python::intern;
use crate::dtype::DType;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::python::attach::deferring_releases;
use crate::python::error::{caused, not_exchangeable};
use crate::python::frameworks::entrance::Entrance;
use crate::python::frameworks::numpy;
use crate::python::releaser;
use crate::tensor::Tensor;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};
use std::collections::BTreeSet;
use std::iter::zip;
use std::mem::ManuallyDrop;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The addresses that Paddle has from here.
static GIVEN: Mutex<BTreeSet<usize>> = Mutex::new(BTreeSet::new());

/// Marks an address as Paddle's while it exists, and then releases the tensor.
struct Given {
    tensor: ManuallyDrop<Tensor>,
    address: usize,
}

impl Given {
    /// `None` where Paddle has the address already.
    fn new(tensor: &Tensor) -> Option<Self> {
        let address = tensor.data_ptr().addr();
        let is_new = given().insert(address);
        is_new.then(|| Self {
            tensor: ManuallyDrop::new(tensor.clone()),
            address,
        })
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        given().remove(&self.address);
        // SAFETY: it isn't used again.
        let tensor = unsafe { ManuallyDrop::take(&mut self.tensor) };
        deferring_releases(|| drop(tensor));
    }
}

/// Why Paddle can't have memory that it has from here already: of these element types it takes no
/// arrays of NumPy's.
pub(super) fn has_already(_: Python<'_>, tensor: &Tensor) -> PyResult<Option<Incompatibility>> {
    let dtype = tensor.dtype();
    let is_given = || given().contains(&tensor.data_ptr().addr());
    let is_host = tensor.device() == Device::CPU;
    if !is_host || !matches!(dtype, DType::U32 | DType::U64) || tensor.is_empty() || !is_given() {
        return Ok(None);
    }
    let reason = format!("Paddle has this memory of {dtype} already, and can't have it twice");
    let misfit = Incompatibility::new(
        IncompatibilityKind::Alias,
        "memory of Paddle's",
        "other memory",
    );
    Ok(Some(
        misfit.with_reason(reason).with_copy_to(tensor.device()),
    ))
}

fn given() -> MutexGuard<'static, BTreeSet<usize>> {
    GIVEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a tensor as one of Paddle's.
pub(super) fn make<'py>(
    py: Python<'py>,
    entrance: Entrance,
    tensor: Tensor,
) -> PyResult<Bound<'py, PyAny>> {
    releaser::drain(py);
    let tensor = match tensor.is_empty() && tensor.device() == Device::CPU {
        true => at_its_own_address(&tensor)?,
        false => tensor,
    };
    match Given::new(&tensor) {
        Some(given) => {
            // SAFETY: what was given has a handle to the tensor, whose memory so stays for as long
            // as the export.
            unsafe { entrance.make_object_kept_by(py, tensor, given) }
        }
        // NumPy has arrays of the host's memory only. Of an address on a GPU, Paddle loses the
        // first deleter.
        None if tensor.device() != Device::CPU => entrance.make_object(py, tensor),
        None => again(py, &tensor).map_err(|error| {
            let message = "Paddle has this memory already, and can't have it twice";
            let misfit = Incompatibility::from_reason(IncompatibilityKind::Alias, message);
            caused(
                py,
                not_exchangeable(misfit.with_remedy("copy it first")),
                error,
            )
        }),
    }
}

/// An empty tensor like another one: many of those have one address.
#[cold]
fn at_its_own_address(empty: &Tensor) -> Result<Tensor, Error> {
    let one = Tensor::zeros(&[1], empty.dtype())?;
    one.slice(0, 0..0)?.reshape(empty.shape())
}

/// As an array that Paddle keeps.
#[cold]
fn again<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let method = |object: &Bound<'py, PyAny>, name, arguments: Bound<'py, PyTuple>| {
        foreign::call_method(object, &PyString::new(py, name), arguments, None)
    };
    // Paddle takes NumPy's 16-bit integers for bfloat16, and has 8-bit floats that NumPy hasn't.
    let like = match tensor.dtype() {
        DType::BF16 => DType::U16,
        DType::F8_E4M3FN | DType::F8_E5M2 => DType::U8,
        dtype => dtype,
    };
    let mut array = numpy::make(py, tensor.bit_cast(like)?)?;
    let is_flat = !tensor.layout().is_contiguous();
    if is_flat {
        let steps = zip(tensor.shape(), tensor.strides());
        let last: usize = steps
            .map(|(size, stride)| (size - 1) * stride.unsigned_abs())
            .sum();
        let item = tensor.dtype().bits() / 8;
        let tricks = py.import(intern!(py, "numpy.lib.stride_tricks"))?;
        let span = (array, (last + 1,), (item,)).into_pyobject(py)?;
        array = method(&tricks, "as_strided", span)?;
    }
    let paddle = py.import(intern!(py, "paddle"))?;
    let keywords = PyDict::new(py);
    keywords.set_item("value", array)?;
    keywords.set_item("place", paddle.getattr("CPUPlace")?.call0()?)?;
    keywords.set_item("persistable", false)?;
    keywords.set_item("zero_copy", true)?;
    keywords.set_item("name", "")?;
    keywords.set_item("stop_gradient", true)?;
    let class = py
        .import("paddle.base.core")?
        .getattr("eager")?
        .getattr("Tensor")?;
    let mut made = foreign::call(&class, &PyTuple::empty(py), Some(&keywords))?;
    if like == DType::U8 && tensor.dtype() != like {
        let dtype = tensor.dtype().to_string();
        made = method(&made, "view", (dtype,).into_pyobject(py)?)?;
    }
    if is_flat {
        let (shape, strides) = (tensor.shape().to_vec(), tensor.strides().to_vec());
        made = method(
            &paddle,
            "as_strided",
            (made, shape, strides).into_pyobject(py)?,
        )?;
    }
    let address: usize = method(&made, "data_ptr", PyTuple::empty(py))?.extract()?;
    if address != tensor.data_ptr().addr() {
        return Err(not_exchangeable("Paddle copied it"));
    }
    Ok(made)
}
