//! Sizes and strides of a view: borrowed, of any rank, or kept in the view, of a rank that its type
//! names.

use crate::layout::{LayoutError, LayoutRef};
use std::fmt;
use std::marker::PhantomData;

/// Sizes and strides of a view: a [`LayoutRef`], or a [`Rank`].
pub trait Dims: sealed::Sealed + Copy + Send + Sync {
    /// Borrows the sizes and strides as a layout.
    fn as_layout(&self) -> LayoutRef<'_>;
}

impl Dims for LayoutRef<'_> {
    #[inline]
    fn as_layout(&self) -> LayoutRef<'_> {
        *self
    }
}

/// Any strides.
#[derive(Debug, Clone, Copy)]
pub enum Strided {}

/// Sizes and strides of `N` dimensions, kept in the view. `L` is what is known of the strides: an
/// [`Arrangement`](super::Arrangement).
pub struct Rank<const N: usize, L = Strided> {
    pub(super) sizes: [usize; N],
    pub(super) strides: [isize; N],
    known: PhantomData<fn() -> L>,
}

impl<const N: usize, L> Clone for Rank<N, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<const N: usize, L> Copy for Rank<N, L> {}

impl<const N: usize, L> Dims for Rank<N, L> {
    #[inline]
    fn as_layout(&self) -> LayoutRef<'_> {
        LayoutRef::of_part(&self.sizes, &self.strides)
    }
}

impl<const N: usize, L> Rank<N, L> {
    #[inline]
    pub(super) fn new(sizes: [usize; N], strides: [isize; N]) -> Self {
        Self {
            sizes,
            strides,
            known: PhantomData,
        }
    }

    /// Returns the same with something else known of the strides.
    #[inline]
    pub(super) fn known_as<M>(self) -> Rank<N, M> {
        Rank::new(self.sizes, self.strides)
    }

    /// Copies sizes and strides, if there are `N`.
    #[inline]
    pub(super) fn from_layout(layout: LayoutRef<'_>) -> Result<Self, LayoutError> {
        match (layout.shape().try_into(), layout.strides().try_into()) {
            (Ok(sizes), Ok(strides)) => Ok(Self::new(sizes, strides)),
            _ => Err(LayoutError::RankMismatch {
                expected: N,
                shape: layout.shape().to_vec(),
            }),
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.sizes.contains(&0)
    }

    #[inline]
    pub(super) fn check_axis(&self, axis: usize) -> Result<(usize, isize), LayoutError> {
        match (self.sizes.get(axis), self.strides.get(axis)) {
            (Some(&size), Some(&stride)) => Ok((size, stride)),
            _ => Err(LayoutError::NoSuchAxis { axis, rank: N }),
        }
    }

    /// Returns the offset of `index` steps to this part of a view; 0 if it is empty, as there is
    /// no element to lead to.
    #[inline]
    pub(super) fn offset_of(&self, index: usize, stride: isize) -> isize {
        match self.is_empty() {
            true => 0,
            // Part of the whole view's extent, which is a number by invariant 6.
            false => index as isize * stride,
        }
    }
}

impl<const N: usize, L> fmt::Debug for Rank<N, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rank")
            .field("sizes", &self.sizes)
            .field("strides", &self.strides)
            .finish()
    }
}

/// Dimensions of which one can be removed: those of rank 1 to 8.
pub trait RemoveAxis: Dims {
    /// One dimension fewer, with any strides.
    type Smaller: Dims;

    /// Returns the part of index `index` along `axis`, without that axis, and its offset.
    #[doc(hidden)]
    fn select(self, axis: usize, index: usize) -> Result<(Self::Smaller, isize), LayoutError>;
}

/// Index of a row in a view of `N` dimensions: one number for each dimension but the last. For a
/// matrix that can be a plain `usize`.
pub trait RowIndex<const N: usize>: sealed::Sealed {
    #[doc(hidden)]
    fn parts(&self) -> &[usize];
}

impl RowIndex<2> for usize {
    fn parts(&self) -> &[usize] {
        std::slice::from_ref(self)
    }
}

macro_rules! ranks {
    ($($rank:literal)*) => {$(
        impl<L> RemoveAxis for Rank<$rank, L> {
            type Smaller = Rank<{ $rank - 1 }>;

            #[inline]
            fn select(self, axis: usize, index: usize)
                -> Result<(Self::Smaller, isize), LayoutError>
            {
                let (size, stride) = self.check_axis(axis)?;
                if index >= size {
                    return Err(LayoutError::IndexOutOfBounds { axis, index, size });
                }
                let others = |at: usize| at + usize::from(at >= axis);
                let part = Rank::new(
                    std::array::from_fn(|at| self.sizes[others(at)]),
                    std::array::from_fn(|at| self.strides[others(at)]),
                );
                let offset = part.offset_of(index, stride);
                Ok((part, offset))
            }
        }

        impl RowIndex<$rank> for [usize; $rank - 1] {
            #[inline]
            fn parts(&self) -> &[usize] {
                self
            }
        }
    )*};
}

ranks!(1 2 3 4 5 6 7 8);

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::layout::LayoutRef<'_> {}
    impl<const N: usize, L> Sealed for super::Rank<N, L> {}
    impl Sealed for usize {}
    impl<const N: usize> Sealed for [usize; N] {}
}
