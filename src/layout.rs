//! Shape and strides: the one validator, and the one place that answers questions about them.
//!
//! # What every layout satisfies
//!
//! 1. The rank is 0 to [`MAX_RANK`].
//! 2. Where there are dimensions, there are sizes: a NULL shape is refused.
//! 3. No size is negative.
//! 4. There are as many strides as sizes. In C, NULL strides stand for row-major ones.
//! 5. The sizes, those that are 0 left out, multiply to at most `isize::MAX`.
//! 6. The first and the last element in memory are at most `isize::MAX` elements away.
//!
//! With an element type and an address, [`LayoutRef::check_memory`] adds
//!
//! 7. the same in bits, so that no byte is further than an eighth of the address space;
//! 8. a tensor with elements has memory: NULL data is refused;
//! 9. data pointer, byte offset and every element lie in the address space, unless the data pointer
//!    is a handle: what lies around that, only its device knows.
//!
//! Strides of dimensions smaller than 2 say nothing, and all strides of an empty tensor: any
//! value is kept and none is looked at. Strides may be negative, or 0 (broadcasting). An address
//! may be of any alignment: only typed views ask for one.
//!
//! # Size
//!
//! Up to [`INLINE_RANK`] dimensions are kept inline, so that no tensor of a usual rank needs an
//! allocation for them: 8 sizes and 8 strides of 8 bytes, with a length and a tag, are 144 bytes.
//! Narrower numbers would save most of that; they would also cost a conversion at every hand-over,
//! whose format has 64 bits.

mod byte_range;
mod contiguity;
mod distinct_elements;
mod error;
#[cfg(feature = "python")]
mod fast_row_major;
mod overlap;
mod pattern;
mod runs;
#[cfg(any(feature = "python", feature = "kernels"))]
mod slice_eq;
mod validate;
mod views;
#[cfg(feature = "kernels")]
mod walk;

pub(crate) use distinct_elements::Places;
pub use error::LayoutError;
pub use overlap::{Overlap, Region};
pub use pattern::{Axis, Shaped, Sizes};
pub(crate) use runs::{Run, Runs};
#[cfg(any(feature = "python", feature = "kernels"))]
pub(crate) use slice_eq::slice_eq;
pub(crate) use views::resolve_range;
#[cfg(feature = "ops")]
pub(crate) use walk::in_step;

use std::fmt;
use std::mem::MaybeUninit;
use std::slice;

/// The most dimensions that a layout can have.
pub const MAX_RANK: usize = 255;

/// The most dimensions that are kept without an allocation.
pub const INLINE_RANK: usize = 8;

/// The shape and the strides of a tensor, owned. Strides count elements.
///
/// ```
/// use dlbridge::layout::Layout;
///
/// let layout = Layout::contiguous(&[2, 3])?;
/// assert_eq!(layout.strides(), [3, 1]);
/// let transposed = layout.permute(&[1, 0])?;
/// assert!(!transposed.as_ref().is_contiguous() && transposed.as_ref().is_dense());
/// # Ok::<(), dlbridge::Error>(())
/// ```
#[derive(Clone)]
pub struct Layout {
    len: usize,
    dims: Dims,
}

#[derive(Clone)]
enum Dims {
    Inline {
        /// As wide as it is so that it isn't written together with the byte beside it, which is
        /// read soon after: such a read waits.
        rank: u32,
        contiguous: bool,
        /// Written up to the rank.
        shape: [MaybeUninit<usize>; INLINE_RANK],
        /// Written up to the rank.
        strides: [MaybeUninit<isize>; INLINE_RANK],
    },
    Heap {
        contiguous: bool,
        shape: Box<[usize]>,
        strides: Box<[isize]>,
    },
}

/// Borrowed shape and strides of a tensor, with all queries.
///
/// Only layouts and views make one, so it satisfies the invariants of this module.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct LayoutRef<'a> {
    shape: &'a [usize],
    strides: &'a [isize],
    len: usize,
    contiguous: bool,
}

impl Layout {
    /// The layout of rank 0.
    pub(crate) const SCALAR: Self = Self::scalar();

    /// Returns the same, built in place: of a constant the room for other ranks would be
    /// copied, too.
    #[inline(always)]
    pub(crate) const fn scalar() -> Self {
        Self {
            len: 1,
            dims: Dims::Inline {
                rank: 0,
                contiguous: true,
                shape: [MaybeUninit::uninit(); INLINE_RANK],
                strides: [MaybeUninit::uninit(); INLINE_RANK],
            },
        }
    }

    /// Returns the shape.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.as_ref().shape
    }

    /// Returns the strides, counted in elements.
    #[inline]
    pub fn strides(&self) -> &[isize] {
        self.as_ref().strides
    }

    /// Returns the number of dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.shape().len()
    }

    /// Returns the number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Borrows the layout, to ask it things.
    #[allow(
        clippy::should_implement_trait,
        reason = "there is no `LayoutRef` to point to"
    )]
    #[inline]
    pub fn as_ref(&self) -> LayoutRef<'_> {
        let (shape, strides, contiguous) = match &self.dims {
            Dims::Inline {
                rank,
                contiguous,
                shape,
                strides,
            } => {
                let rank = *rank as usize;
                // SAFETY: the rank is at most INLINE_RANK, and both are written up to it.
                let (shape, strides) = unsafe {
                    (
                        slice::from_raw_parts(shape.as_ptr().cast::<usize>(), rank),
                        slice::from_raw_parts(strides.as_ptr().cast::<isize>(), rank),
                    )
                };
                (shape, strides, *contiguous)
            }
            Dims::Heap {
                contiguous,
                shape,
                strides,
            } => (&**shape, &**strides, *contiguous),
        };
        LayoutRef {
            shape,
            strides,
            len: self.len,
            contiguous,
        }
    }
}

impl<'a> LayoutRef<'a> {
    /// The layout of rank 0.
    #[cfg(feature = "kernels")]
    pub(crate) const SCALAR: LayoutRef<'static> = LayoutRef {
        shape: &[],
        strides: &[],
        len: 1,
        contiguous: true,
    };

    /// Returns the shape.
    pub const fn shape(self) -> &'a [usize] {
        self.shape
    }

    /// Returns the strides, counted in elements.
    pub const fn strides(self) -> &'a [isize] {
        self.strides
    }

    /// Returns the number of dimensions.
    pub const fn rank(self) -> usize {
        self.shape.len()
    }

    /// Returns the number of elements.
    pub const fn len(self) -> usize {
        self.len
    }

    /// Returns whether there are no elements.
    pub const fn is_empty(self) -> bool {
        self.len == 0
    }
}

impl PartialEq for Layout {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl Eq for Layout {}

impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.as_ref(), f)
    }
}

impl fmt::Debug for LayoutRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layout")
            .field("shape", &self.shape)
            .field("strides", &self.strides)
            .finish()
    }
}

const _: () = assert!(size_of::<Layout>() == 144 || size_of::<usize>() != 8);
