//! Indexing: `tensor[0, 1:, ..., None]`.

use crate::dlpack::python::intern;
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use crate::python::error::{digits, raise, wrong_index};
use crate::tensor::Tensor;
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyEllipsis, PyInt, PySlice, PyTuple};

enum Item<'py> {
    /// One of a dimension.
    At(isize),
    /// Some of a dimension.
    Some(Bound<'py, PySlice>),
    /// All dimensions that aren't spoken of.
    Rest,
    /// A dimension more.
    New,
}

impl<'py> Item<'py> {
    fn of(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        if let Ok(slice) = object.cast::<PySlice>() {
            return Ok(Self::Some(slice.clone()));
        }
        if object.is_none() {
            return Ok(Self::New);
        }
        if object.is_instance_of::<PyEllipsis>() {
            return Ok(Self::Rest);
        }
        let no_index = || -> PyResult<Self> {
            let what = object.get_type().fully_qualified_name()?;
            let wanted = "integers, slices, ... or None";
            let reason = format!(
                "a tensor is indexed by {wanted}, got {}",
                what.to_string_lossy()
            );
            let error = Incompatibility::new(Kind::Argument, what.to_string(), wanted);
            let remedy = "convert it to a framework, without a copy, to gather elements";
            Err(raise::<PyTypeError>(
                error.with_reason(reason).with_remedy(remedy),
            ))
        };
        let py = object.py();
        if !object.is_exact_instance_of::<PyInt>() && !is_one_integer(object)? {
            return no_index();
        }
        match object.extract::<isize>() {
            Ok(index) => Ok(Self::At(index)),
            Err(error) if error.is_instance_of::<PyTypeError>(py) => no_index(),
            Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
                let text = digits(object);
                let reason = format!("index {text} is out of bounds for every tensor");
                Err(wrong_index(text, "an index of 64 bits", reason))
            }
            Err(error) => Err(error),
        }
    }

    /// Returns whether it consumes a dimension.
    fn is_of_dimension(&self) -> bool {
        matches!(self, Self::At(_) | Self::Some(_))
    }
}

/// Returns whether an object with `__index__` is meant as an integer: bools, and tensors with
/// dimensions, aren't.
fn is_one_integer(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    if object.is_instance_of::<PyBool>() {
        return Ok(false);
    }
    let py = object.py();
    let Some(rank) = object.getattr_opt(intern!(py, "ndim"))? else {
        return Ok(true);
    };
    let dtype = object.getattr_opt(intern!(py, "dtype"))?;
    let is_bool = match dtype {
        Some(dtype) => dtype.str()?.to_string_lossy().contains("bool"),
        None => false,
    };
    Ok(rank.eq(0)? && !is_bool)
}

/// Returns a part of a tensor, which shares its memory.
pub(super) fn index(tensor: &Tensor, key: &Bound<'_, PyAny>) -> PyResult<Tensor> {
    let items = match key.cast::<PyTuple>() {
        Ok(keys) => keys.iter().map(|key| Item::of(&key)).collect(),
        Err(_) => Item::of(key).map(|item| vec![item]),
    }?;
    let rank = tensor.rank();
    let given = items.iter().filter(|item| item.is_of_dimension()).count();
    if given > rank {
        return Err(wrong_index(
            format!("{given} indices"),
            format!("at most {rank}"),
            format!(
                "too many indices: the tensor has rank {rank}, but {given} {} given",
                if given == 1 { "was" } else { "were" }
            ),
        ));
    }
    let rests = items.iter().filter(|item| matches!(item, Item::Rest));
    if rests.count() > 1 {
        return Err(wrong_index(
            "several ...",
            "one ...",
            "an index has at most one ...",
        ));
    }
    let mut part = tensor.clone();
    let mut axis = 0;
    for item in &items {
        match item {
            Item::At(index) => part = part.select(axis, position(&part, axis, *index)?)?,
            Item::Some(slice) => {
                part = some(&part, axis, slice)?;
                axis += 1;
            }
            Item::Rest => axis += rank - given,
            Item::New => {
                part = part.unsqueeze(axis)?;
                axis += 1;
            }
        }
    }
    Ok(part)
}

/// Returns a position; a negative index counts from the end.
pub(super) fn position(tensor: &Tensor, axis: usize, index: isize) -> PyResult<usize> {
    let size = tensor.shape()[axis];
    let position = if index < 0 {
        index.checked_add_unsigned(size)
    } else {
        Some(index)
    };
    let position = position.and_then(|position| usize::try_from(position).ok());
    match position {
        Some(position) if position < size => Ok(position),
        _ => Err(wrong_index(
            index.to_string(),
            format!("{} to {}", -(size as isize), size as isize - 1),
            format!("index {index} is out of bounds for axis {axis} with size {size}"),
        )),
    }
}

/// Returns an axis; a negative one counts from the end.
pub(super) fn axis(axis: isize, rank: usize) -> PyResult<usize> {
    let found = if axis < 0 {
        axis.checked_add_unsigned(rank)
    } else {
        Some(axis)
    };
    let found = found.and_then(|found| usize::try_from(found).ok());
    match found {
        Some(found) if found < rank => Ok(found),
        _ => Err(wrong_index(
            axis.to_string(),
            format!("{} to {}", -(rank as isize), rank as isize - 1),
            format!("axis {axis} is out of bounds for a tensor of rank {rank}"),
        )),
    }
}

fn some(tensor: &Tensor, axis: usize, slice: &Bound<'_, PySlice>) -> PyResult<Tensor> {
    let indices = slice.indices(tensor.shape()[axis] as isize)?;
    let count = indices.slicelength as isize;
    if count == 0 {
        return Ok(tensor.slice(axis, 0..0)?);
    }
    let last = indices.start + (count - 1) * indices.step;
    let (first, last) = (indices.start.min(last), indices.start.max(last));
    let part = tensor.slice(axis, first as usize..last as usize + 1)?;
    // Backwards it begins at the last one.
    Ok(match indices.step {
        1 => part,
        _ if count == 1 => part,
        step => part.step_by(axis, step)?,
    })
}
