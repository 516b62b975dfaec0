//! Axes, resolved to dimensions.

use crate::kernel::{ArgumentError, Failure};
use smallvec::SmallVec;

/// A truth value for each dimension.
pub(crate) type Dimensions = SmallVec<[bool; 8]>;

/// Returns the dimension that an axis stands for: counted from the last one where it is negative.
pub(crate) fn dimension(rank: usize, axis: i64) -> Result<usize, Failure> {
    let from_start = if axis < 0 { axis + rank as i64 } else { axis };
    let dimension = usize::try_from(from_start).ok();
    dimension
        .filter(|dimension| *dimension < rank)
        .ok_or_else(|| ArgumentError::axis(axis, rank).into())
}

/// Returns for each dimension whether it is one of the axes; `None` stands for all of them.
pub(crate) fn dimensions(rank: usize, axes: Option<&[i64]>) -> Result<Dimensions, Failure> {
    let Some(axes) = axes else {
        return Ok(SmallVec::from_elem(true, rank));
    };
    let mut chosen = SmallVec::from_elem(false, rank);
    for axis in axes {
        let is_chosen = &mut chosen[dimension(rank, *axis)?];
        if std::mem::replace(is_chosen, true) {
            let error = ArgumentError::value("axis", axis.to_string(), "axes that differ");
            return Err(error
                .with_reason(format!("axis {axis} is given twice"))
                .into());
        }
    }
    Ok(chosen)
}
