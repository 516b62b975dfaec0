//! Layouts of rank 2, as crates for matrices take them.

use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::layout::LayoutRef;

/// Returns the sizes and the strides of a matrix.
pub(super) fn matrix(layout: LayoutRef<'_>) -> Result<([usize; 2], [isize; 2]), Error> {
    match (layout.shape(), layout.strides()) {
        (&[rows, columns], &[down, right]) => Ok(([rows, columns], [down, right])),
        _ => Err(wrong_rank(2, layout.rank())),
    }
}

#[cold]
pub(super) fn wrong_rank(wanted: usize, found: usize) -> Error {
    let (found, wanted) = (format!("rank {found}"), format!("rank {wanted}"));
    Incompatibility::new(IncompatibilityKind::Rank, found, wanted).into()
}
