//! NumPy's element types that aren't its own: those of `ml_dtypes`, and those registered for
//! DLPack.
//!
//! Python code can make an element type with a scalar class of any name. What is believed of others
//! than NumPy's own is a number that only C code can register, and a size that agrees.

use super::array::Array;
use super::element_type::ElementType;
use super::interface::empty_array;
use crate::dlpack::python::intern;
use crate::dlpack::python::{Offer, Wish, ask, type_lookup};
use crate::dlpack::{Abi, DLDataType, Legacy, Versioned};
use crate::dtype::DType;
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use crate::python::error::{Refused, not_exchangeable};
use crate::python::frameworks::constraints::lacks_dtype;
use crate::tensor::Tensor;
use pyo3::Borrowed;
use pyo3::prelude::*;
use pyo3::types::PyType;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

/// `NPY_USERDEF`: the first number of element types that C code registers.
const FIRST_REGISTERED: usize = 256;

/// What element types of `ml_dtypes` were found to be, by their numbers from [`FIRST_REGISTERED`]
/// on: [`DType::number`], or 0.
static FOUND: [AtomicU32; 64] = [const { AtomicU32::new(0) }; 64];

impl ElementType {
    /// The element type, and whether its elements are padded to whole bytes.
    #[inline]
    pub(super) fn dtype(&self, py: Python<'_>) -> Result<(DType, bool), Refused> {
        match self.usual() {
            Some(dtype) => Ok((dtype, false)),
            None => Ok(self.extension(py)?),
        }
    }

    /// An element type that isn't NumPy's own.
    #[cold]
    fn extension(&self, py: Python<'_>) -> PyResult<(DType, bool)> {
        let place = usize::try_from(self.number).unwrap_or(0);
        let place = place.checked_sub(FIRST_REGISTERED);
        let found = place.and_then(|place| FOUND.get(place));
        if self.is_foreign() {
            return Err(self.unknown(py, Some("pass x.astype(x.dtype.newbyteorder(\"=\"))")));
        }
        if let Some(number) = found.map(|found| found.load(Ordering::Relaxed))
            && number != 0
        {
            let dtype = DType::from_number(number);
            return Ok((dtype, dtype.is_sub_byte()));
        }
        if place.is_some()
            && let Some(dtype) = self.of_ml_dtypes(py)?
        {
            if let Some(found) = found {
                found.store(dtype.number(), Ordering::Relaxed);
            }
            return Ok((dtype, dtype.is_sub_byte()));
        }
        match self.of_registry(py)? {
            Some(dtype) => Ok((dtype, false)),
            None => Err(self.unknown(py, None)),
        }
    }

    /// One of the types that the package `ml_dtypes` adds, each of whole bytes.
    fn of_ml_dtypes(&self, py: Python<'_>) -> PyResult<Option<DType>> {
        // SAFETY: an element type has a type of scalars.
        let scalar = unsafe { Borrowed::from_ptr(py, self.scalar_type.cast()) };
        let scalar = scalar.cast::<PyType>()?;
        if type_lookup::module_name(&scalar).as_deref() != Some("ml_dtypes") {
            return Ok(None);
        }
        let name = type_lookup::type_name(&scalar).unwrap_or_default();
        let Ok(dtype) = name.parse::<DType>() else {
            return Ok(None);
        };
        let is_as_large = dtype.item_bits().div_ceil(8) == self.item_size(py)?;
        Ok((dtype.lanes() == 1 && is_as_large).then_some(dtype))
    }

    /// What NumPy itself exports, for element types that were registered for DLPack
    /// (`numpy.dtypes.register_dlpack_dtype`). An array without elements is exported to find out.
    fn of_registry(&self, py: Python<'_>) -> PyResult<Option<DType>> {
        let this = self.object(py);
        // Numbers written in place of references to objects would crash the process.
        if this.getattr(intern!(py, "hasobject"))?.is_truthy()? {
            return Ok(None);
        }
        let array = empty_array(py, &this)?;
        // One that isn't registered is refused.
        let Ok(capsule) = ask(&array, &Wish::default()) else {
            return Ok(None);
        };
        let raw: DLDataType = match Offer::from_capsule(capsule.as_any().as_borrowed())? {
            // SAFETY: the version was checked, and the capsule keeps what it has.
            Offer::Versioned(capsule) => unsafe {
                Offer::look::<Versioned>(capsule)?
                    .as_ref()
                    .descriptor()
                    .dtype
            },
            // SAFETY: the capsule keeps what it has.
            Offer::Legacy(capsule) => unsafe {
                Offer::look::<Legacy>(capsule)?.as_ref().descriptor().dtype
            },
        };
        let is_as_large = |dtype: &DType| dtype.item_bytes() == self.item_size(py).ok();
        Ok(DType::try_from(raw).ok().filter(is_as_large))
    }

    fn object<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        let pointer = ptr::from_ref(self).cast_mut().cast();
        // SAFETY: an element type is an object, which is there for as long as it is borrowed; its
        // count is in a cell.
        unsafe { Borrowed::from_ptr(py, pointer) }.to_owned()
    }

    /// How many bytes an element takes. Where the struct has that differs between NumPy 1 and 2.
    fn item_size(&self, py: Python<'_>) -> PyResult<usize> {
        self.object(py).getattr(intern!(py, "itemsize"))?.extract()
    }

    #[cold]
    fn unknown(&self, py: Python<'_>, remedy: Option<&'static str>) -> PyErr {
        let name = match self.object(py).repr() {
            Ok(name) => name.to_string_lossy().into_owned(),
            Err(_) => "dtype".to_owned(),
        };
        let reason = format!("NumPy's {name} has no DLPack equivalent");
        let error =
            Incompatibility::new(Kind::DType, name, "a dtype of DLPack").with_reason(reason);
        not_exchangeable(match remedy {
            Some(remedy) => error.with_remedy(remedy),
            None => error,
        })
    }
}

impl Array {
    /// The element type, and whether its elements are padded.
    #[inline]
    pub(in crate::python) fn dtype(&self, py: Python<'_>) -> Result<(DType, bool), Refused> {
        // SAFETY: an array has an element type.
        unsafe { &*self.element_type }.dtype(py)
    }
}

/// NumPy's element type for a tensor's, where it isn't one of NumPy's own: from the package
/// `ml_dtypes`, or as registered.
#[cold]
pub(super) fn extension<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let wanted = (tensor.dtype(), tensor.is_padded());
    // NumPy reads as many bytes as the element type says.
    let fits = |found: &Bound<'py, PyAny>| {
        ElementType::of(found)
            .is_some_and(|found| found.dtype(py).is_ok_and(|dtype| dtype == wanted))
    };
    let refusal = match of_module(py, tensor) {
        Ok(found) if fits(&found) => return Ok(found),
        Ok(found) => lacking(
            wanted.0,
            format!(
                "NumPy has no {}: ml_dtypes has {found} in its place",
                wanted.0
            ),
        ),
        Err(refusal) => refusal,
    };
    match as_registered(py, tensor) {
        Ok(found) if fits(&found) => Ok(found),
        _ => Err(refusal),
    }
}

#[cold]
fn lacking(dtype: DType, reason: String) -> PyErr {
    not_exchangeable(lacks_dtype(dtype.to_string(), reason))
}

fn of_module<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let dtype = tensor.dtype();
    let no = || lacking(dtype, format!("NumPy has no {dtype}"));
    // Its sub-byte elements are padded.
    if dtype.lanes() != 1 || dtype.is_sub_byte() != tensor.is_padded() {
        return Err(no());
    }
    let Ok(module) = py.import(intern!(py, "ml_dtypes")) else {
        return Err(lacking(
            dtype,
            format!("NumPy has no {dtype} without the package ml_dtypes"),
        ));
    };
    let Ok(scalar) = module.getattr(dtype.to_string().as_str()) else {
        return Err(no());
    };
    let make = py
        .import(intern!(py, "numpy"))?
        .getattr(intern!(py, "dtype"))?;
    make.call1((scalar,)).map_err(|error| {
        let refusal = no();
        refusal.set_cause(py, Some(error));
        refusal
    })
}

/// What NumPy itself imports a tensor of these elements as, of which there are none.
fn as_registered<'py>(py: Python<'py>, tensor: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let empty = Tensor::zeroed(&[0], tensor.dtype())?;
    py.import(intern!(py, "numpy"))?
        .getattr(intern!(py, "from_dlpack"))?
        .call1((empty,))?
        .getattr(intern!(py, "dtype"))
}
