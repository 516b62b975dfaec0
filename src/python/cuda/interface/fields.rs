//! The fields of `__cuda_array_interface__`: their types, and the bytes that the elements take.

use crate::dtype::DType;
use crate::error::IncompatibilityKind as Kind;
use crate::python::error::{is_final, not_exchangeable};
use crate::python::items::Items;
use pyo3::conversion::FromPyObjectOwned;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::ops::Range;

/// More dimensions than any library has.
const MAX_RANK: usize = 64;

/// The dictionary.
pub(super) struct Fields<'a, 'py>(&'a Bound<'py, PyDict>);

impl<'a, 'py> Fields<'a, 'py> {
    pub(super) fn of(interface: &'a Bound<'py, PyAny>) -> PyResult<Self> {
        let found = || {
            not_exchangeable(format!(
                "__cuda_array_interface__ must be a dict, and is {}",
                type_name(interface)
            ))
        };
        Ok(Self(interface.cast::<PyDict>().map_err(|_| found())?))
    }

    /// Returns a field that must be there.
    pub(super) fn required<T: FromPyObjectOwned<'py>>(
        &self,
        key: &str,
        wanted: &str,
    ) -> PyResult<T> {
        let lacks = || not_exchangeable(format!("__cuda_array_interface__ lacks {key:?}"));
        let value = self.0.get_item(key)?.ok_or_else(lacks)?;
        read(key, &value, wanted)
    }

    /// Returns a field that may be left out, or be None.
    pub(super) fn given<T: FromPyObjectOwned<'py>>(
        &self,
        key: &str,
        wanted: &str,
    ) -> PyResult<Option<T>> {
        match self.0.get_item(key)?.filter(|value| !value.is_none()) {
            Some(value) => read(key, &value, wanted).map(Some),
            None => Ok(None),
        }
    }

    pub(super) fn check_mask(&self) -> PyResult<()> {
        match self.0.get_item("mask")?.is_none_or(|mask| mask.is_none()) {
            true => Ok(()),
            false => Err(not_exchangeable(
                "an array with a mask can't be exchanged; fill the masked elements and drop the mask first",
            )),
        }
    }

    /// Returns the element type, of which `descr` may say no more than `typestr` does.
    pub(super) fn dtype(&self) -> PyResult<DType> {
        let typestr: String = self.required("typestr", "a str")?;
        let dtype = dtype_of(&typestr).ok_or_else(|| {
            not_exchangeable((Kind::DType, format!("{typestr:?} has no DLPack equivalent")))
        })?;
        let Some(descr) = self.given::<Bound<'py, PyAny>>("descr", "a list")? else {
            return Ok(dtype);
        };
        let described = || -> Option<String> {
            let descr = descr.cast::<PyList>().ok()?;
            let field = descr.get_item(0).ok().filter(|_| descr.len() == 1)?;
            let (name, typestr): (String, String) = field.cast::<PyTuple>().ok()?.extract().ok()?;
            name.is_empty().then_some(typestr)
        };
        match described().and_then(|described| dtype_of(&described)) {
            Some(described) if described == dtype => Ok(dtype),
            _ => Err(not_exchangeable(format!(
                "__cuda_array_interface__[\"descr\"] describes other elements than typestr {typestr:?}; arrays of \
                structs can't be exchanged"
            ))),
        }
    }

    pub(super) fn shape(&self) -> PyResult<Vec<i64>> {
        let Items(shape): Items<i64> = self.required("shape", "a tuple of ints")?;
        if shape.len() > MAX_RANK {
            return Err(not_exchangeable(format!(
                "__cuda_array_interface__ has {} dimensions, and {MAX_RANK} is the most",
                shape.len()
            )));
        }
        match shape.iter().find(|size| **size < 0) {
            Some(size) => Err(not_exchangeable(format!(
                "__cuda_array_interface__ has a negative size: {size}"
            ))),
            None => Ok(shape),
        }
    }

    /// Returns the strides in bytes, of each dimension.
    pub(super) fn strides(&self, rank: usize, itemsize: usize) -> PyResult<Option<Vec<i64>>> {
        let strides = self.given("strides", "a tuple of ints, or None")?;
        let Some(Items::<i64>(strides)) = strides else {
            return Ok(None);
        };
        if strides.len() != rank {
            return Err(not_exchangeable(format!(
                "__cuda_array_interface__ has {} strides for {rank} dimensions",
                strides.len()
            )));
        }
        match strides.iter().find(|stride| *stride % itemsize as i64 != 0) {
            Some(stride) => Err(not_exchangeable(format!(
                "a stride of {stride} bytes isn't a multiple of the element's {itemsize}"
            ))),
            None => Ok(Some(strides)),
        }
    }
}

/// Returns a field's value in Rust.
fn read<'py, T: FromPyObjectOwned<'py>>(
    key: &str,
    value: &Bound<'py, PyAny>,
    wanted: &str,
) -> PyResult<T> {
    value.extract::<T>().map_err(|error| {
        let error: PyErr = error.into();
        let py = value.py();
        match is_final(py, &error) {
            true => error,
            false => not_exchangeable(format!(
                "__cuda_array_interface__[{key:?}] must be {wanted}, and is {}: {}",
                type_name(value),
                error.value(py)
            )),
        }
    })
}

fn type_name(object: &Bound<'_, PyAny>) -> String {
    let name = object.get_type().name();
    name.map_or_else(|_| "something else".to_owned(), |name| name.to_string())
}

/// Returns the addresses of an array's bytes, with strides in bytes; `None` where there are no
/// elements.
pub(super) fn extent(
    address: usize,
    shape: &[i64],
    strides: Option<&[i64]>,
    itemsize: usize,
) -> PyResult<Option<Range<usize>>> {
    if shape.contains(&0) {
        return Ok(None);
    }
    if !address.is_multiple_of(itemsize) {
        return Err(not_exchangeable(format!(
            "address {address:#x} isn't a multiple of the element's {itemsize} bytes, and GPUs read aligned elements alone"
        )));
    }
    let too_large = || {
        not_exchangeable(format!(
            "__cuda_array_interface__ has more elements than there are addresses from {address:#x} on: shape {shape:?}"
        ))
    };
    let reach = || -> Option<Range<usize>> {
        let (mut before, mut after) = (0_i128, itemsize as i128);
        // The last dimension's first, as a row-major array's strides are made.
        let mut dense = itemsize as i128;
        for (axis, size) in shape.iter().enumerate().rev() {
            let stride = strides.map_or(dense, |strides| i128::from(strides[axis]));
            dense = dense.checked_mul(i128::from(*size))?;
            let last = stride.checked_mul(i128::from(*size) - 1)?;
            before = before.checked_add(last.min(0))?;
            after = after.checked_add(last.max(0))?;
        }
        let place = address as i128;
        let start = usize::try_from(place.checked_add(before)?).ok()?;
        let end = usize::try_from(place.checked_add(after)?).ok()?;
        Some(start..end)
    };
    reach().map(Some).ok_or_else(too_large)
}

/// NumPy's names of element types, of which each has one.
const NAMES: [(&str, DType); 14] = [
    ("|b1", DType::BOOL),
    ("|i1", DType::I8),
    ("<i2", DType::I16),
    ("<i4", DType::I32),
    ("<i8", DType::I64),
    ("|u1", DType::U8),
    ("<u2", DType::U16),
    ("<u4", DType::U32),
    ("<u8", DType::U64),
    ("<f2", DType::F16),
    ("<f4", DType::F32),
    ("<f8", DType::F64),
    ("<c8", DType::C64),
    ("<c16", DType::C128),
];

pub(super) fn typestr_of(dtype: DType) -> Option<&'static str> {
    NAMES
        .iter()
        .find(|known| known.1 == dtype)
        .map(|known| known.0)
}

/// Returns the element type of NumPy's name. The byte order doesn't matter for single bytes, and is
/// left out by some.
fn dtype_of(typestr: &str) -> Option<DType> {
    let kind = typestr
        .strip_prefix(['|', '<', '=', '>'])
        .unwrap_or(typestr);
    let is_native = !typestr.starts_with('>') || kind.ends_with('1');
    let same = |known: &&(&str, DType)| is_native && known.0[1..] == *kind;
    NAMES.iter().find(same).map(|known| known.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn extent_is_exact_or_an_error() {
        let of = |shape: &[i64], strides: Option<&[i64]>| extent(64, shape, strides, 4);
        assert_eq!(of(&[], None).unwrap(), Some(64..68));
        assert_eq!(of(&[2, 3], None).unwrap(), Some(64..88));
        assert_eq!(of(&[2, 3], Some(&[-12, 8])).unwrap(), Some(52..84));
        assert_eq!(of(&[2, 3], Some(&[0, 0])).unwrap(), Some(64..68));
        assert_eq!(of(&[2, 0], Some(&[i64::MAX, 4])).unwrap(), None);
        assert_eq!(dtype_of("<<f4"), None);
        assert_eq!(dtype_of(">u1"), Some(DType::U8));
    }
}
