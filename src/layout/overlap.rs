//! Overlap in memory: of elements of one layout, or of two.
//!
//! Elements are at the sums of index times stride, so two of them meet exactly when an equation
//! in bounded integers has a solution. Most layouts are decided by comparing ranges, or by strides
//! that are each longer than all shorter ones together. The rest is searched: exactly, and up to a
//! limit, past which the answer is [`Overlap::Unknown`], to be treated as a yes.
//!
//! The limit is out of reach for a layout of up to 256 elements, and for two regions whose numbers
//! of elements multiply to up to 4096. Views of one tensor, such as its even and its odd columns,
//! mostly have strides in common, and then few steps decide at any size.

mod decide;
mod search;

use super::LayoutRef;
use crate::dtype::DType;

/// Whether elements share memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// No two elements do.
    No,
    /// Some do.
    Yes,
    /// Finding out would take too long.
    Unknown,
}

impl Overlap {
    /// Returns whether an overlap is impossible: the precondition of a write.
    pub const fn is_excluded(self) -> bool {
        matches!(self, Self::No)
    }
}

/// Memory region of a tensor's elements.
#[derive(Debug, Clone, Copy)]
pub struct Region<'a> {
    /// The address of the element of index 0.
    pub address: usize,
    /// The sizes and strides.
    pub layout: LayoutRef<'a>,
    /// The element type.
    pub dtype: DType,
    /// Whether sub-byte elements are each padded to whole bytes.
    pub padded: bool,
}
