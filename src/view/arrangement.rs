//! Type parameters of views and arguments: how elements must lie in memory, and what follows for
//! the parts of such a view.

pub use super::dims::Strided;

use super::dims::Rank;
use super::line::LineItem;
use super::{View, ViewMut};
use crate::dtype::Element;
use crate::layout::LayoutRef;

/// Required layout.
pub trait Arrangement: sealed::Sealed + Copy + 'static {
    /// The requirement in words; empty if there is none.
    const WANTED: &'static str;
    /// Whether every row-major contiguous layout meets it.
    const TAKES_USUAL: bool;
    /// A row: a slice if this arrangement makes each contiguous.
    type Row<'a, T: Element>: LineItem<Element = T>;
    /// A row to be written.
    type RowMut<'a, T: Element>: LineItem<Element = T>;
    /// What remains of it in a part of a view.
    type Sliced: Arrangement;
    /// What becomes of it when the axes are reversed.
    type Transposed: Arrangement;
    /// Returns whether a layout meets the requirement.
    fn accepts(layout: LayoutRef<'_>) -> bool;
}

/// C-contiguous: row-major, without gaps.
#[derive(Debug, Clone, Copy)]
pub enum RowMajor {}

/// F-contiguous: column-major, without gaps.
#[derive(Debug, Clone, Copy)]
pub enum ColumnMajor {}

/// Without gaps, in any order of the dimensions.
#[derive(Debug, Clone, Copy)]
pub enum Dense {}

/// Each row without gaps, and rows any distance apart: the last axis has stride 1.
#[derive(Debug, Clone, Copy)]
pub enum ContiguousRows {}

macro_rules! arrangements {
    ($(
        $Name:ident = $wanted:literal, $usual:literal, $accepts:expr,
        [$Row:ty, $RowMut:ty], $Sliced:ident, $Transposed:ident;
    )*) => {$(
        impl sealed::Sealed for $Name {}

        impl Arrangement for $Name {
            const WANTED: &'static str = $wanted;
            const TAKES_USUAL: bool = $usual;
            type Row<'a, T: Element> = $Row;
            type RowMut<'a, T: Element> = $RowMut;
            type Sliced = $Sliced;
            type Transposed = $Transposed;

            #[inline]
            fn accepts(layout: LayoutRef<'_>) -> bool {
                let accepts: fn(LayoutRef<'_>) -> bool = $accepts;
                accepts(layout)
            }
        }
    )*};
}

arrangements! {
    Strided = "", true, |_| true,
        [View<'a, T, Rank<1>>, ViewMut<'a, T, Rank<1>>], Strided, Strided;
    RowMajor = "row-major without gaps", true, |layout| layout.is_contiguous(),
        [&'a [T], &'a mut [T]], ContiguousRows, ColumnMajor;
    ColumnMajor = "column-major without gaps", false, |layout| layout.is_f_contiguous(),
        [View<'a, T, Rank<1>>, ViewMut<'a, T, Rank<1>>], Strided, RowMajor;
    Dense = "without gaps", true, |layout| layout.is_dense(),
        [View<'a, T, Rank<1>>, ViewMut<'a, T, Rank<1>>], Strided, Dense;
    ContiguousRows = "with contiguous rows", true, |layout| layout.has_contiguous_rows(),
        [&'a [T], &'a mut [T]], ContiguousRows, Strided;
}

mod sealed {
    pub trait Sealed {}
}
