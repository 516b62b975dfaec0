//! The validator: the code that makes a [`Layout`] of numbers from outside, and checks invariants 1
//! to 6. Numbers of the usual case have a shorter way: `fast_row_major.rs`.

use super::byte_range::extent;
use super::error::LayoutError;
use super::{Dims, INLINE_RANK, Layout, MAX_RANK};
use std::mem::MaybeUninit;
use std::slice;

impl Layout {
    /// Creates a C-contiguous (row-major) layout.
    ///
    /// # Errors
    ///
    /// When an invariant of [this module](super) doesn't hold.
    #[inline]
    pub fn contiguous(shape: &[usize]) -> Result<Self, LayoutError> {
        let mut layout = Self::SCALAR;
        layout.become_contiguous(shape)?;
        Ok(layout)
    }

    /// Rebuilds the layout like [`contiguous`](Self::contiguous), in place.
    #[inline]
    pub(crate) fn become_contiguous(&mut self, shape: &[usize]) -> Result<(), LayoutError> {
        self.rebuild(shape.len(), |axis| Ok((shape[axis], None)))
    }

    /// Creates a layout with the given strides, counted in elements.
    ///
    /// # Errors
    ///
    /// When an invariant of [this module](super) doesn't hold.
    pub fn strided(shape: &[usize], strides: &[isize]) -> Result<Self, LayoutError> {
        if shape.len() != strides.len() {
            return Err(LayoutError::StrideCount {
                sizes: shape.len(),
                strides: strides.len(),
            });
        }
        let mut layout = Self::SCALAR;
        layout.become_strided(shape, |axis| strides[axis])?;
        Ok(layout)
    }

    /// Rebuilds the layout like [`strided`](Self::strided), in place.
    #[inline]
    pub(crate) fn become_strided(
        &mut self,
        shape: &[usize],
        stride: impl Fn(usize) -> isize,
    ) -> Result<(), LayoutError> {
        self.rebuild(shape.len(), |axis| Ok((shape[axis], Some(stride(axis)))))
    }

    /// Creates a layout from the fields of a C descriptor.
    ///
    /// # Errors
    ///
    /// When an invariant of [this module](super) doesn't hold. Whatever the numbers are, nothing
    /// but the numbers of an allowed rank is read.
    ///
    /// # Safety
    ///
    /// `shape` and `strides` are each NULL or point to `ndim` numbers, for an `ndim` from 0 to
    /// [`MAX_RANK`].
    pub unsafe fn from_c(
        ndim: i32,
        shape: *const i64,
        strides: *const i64,
    ) -> Result<Self, LayoutError> {
        let mut layout = Self::SCALAR;
        // SAFETY: `shape` and `strides` are each NULL or point to `ndim` numbers.
        unsafe { layout.become_c(ndim, shape, strides) }?;
        Ok(layout)
    }

    /// Rebuilds the layout like [`from_c`](Self::from_c), in place.
    ///
    /// # Safety
    ///
    /// The same as for [`from_c`](Self::from_c).
    #[inline]
    pub(crate) unsafe fn become_c(
        &mut self,
        ndim: i32,
        shape: *const i64,
        strides: *const i64,
    ) -> Result<(), LayoutError> {
        let rank = usize::try_from(ndim).map_err(|_| LayoutError::NegativeRank { rank: ndim })?;
        if rank > 0 && shape.is_null() {
            return Err(LayoutError::NullShape { rank });
        }
        self.rebuild(rank, |axis| {
            // SAFETY: the shape isn't NULL where there is an axis, and as long as the rank.
            let size = unsafe { shape.add(axis).read() };
            let size = usize::try_from(size).map_err(|_| no_size(axis, size))?;
            if strides.is_null() {
                return Ok((size, None));
            }
            // SAFETY: the strides aren't NULL, and as long as the rank.
            let stride = unsafe { strides.add(axis).read() };
            // What doesn't fit on a 32-bit machine may be a stride that isn't looked at. Where one
            // is, this value is refused.
            Ok((size, Some(isize::try_from(stride).unwrap_or(isize::MIN))))
        })
    }

    /// Creates a layout of `rank` dimensions, of which `dim` tells the size and the stride; without
    /// a stride, it is the row-major one. What `dim` tells is checked.
    #[inline]
    pub(super) fn build(
        rank: usize,
        dim: impl FnMut(usize) -> Result<Dim, LayoutError>,
    ) -> Result<Self, LayoutError> {
        let mut layout = Self::SCALAR;
        layout.rebuild(rank, dim)?;
        Ok(layout)
    }

    /// [Builds](Self::build) the layout in place, as moving it would cost more than writing it.
    /// `self` must be a scalar's layout, and stays one on an error.
    #[inline]
    pub(crate) fn rebuild(
        &mut self,
        rank: usize,
        dim: impl FnMut(usize) -> Result<Dim, LayoutError>,
    ) -> Result<(), LayoutError> {
        if rank > INLINE_RANK {
            return self.rebuild_on_heap(rank, dim);
        }
        let Dims::Inline {
            rank: old_rank,
            contiguous,
            shape,
            strides,
        } = &mut self.dims
        else {
            unreachable!("a scalar's dimensions are inline")
        };
        let facts = check(&mut shape[..rank], &mut strides[..rank], dim)?;
        *old_rank = rank as u32;
        *contiguous = facts.contiguous;
        self.len = facts.len;
        Ok(())
    }

    #[cold]
    fn rebuild_on_heap(
        &mut self,
        rank: usize,
        dim: impl FnMut(usize) -> Result<Dim, LayoutError>,
    ) -> Result<(), LayoutError> {
        if rank > MAX_RANK {
            return Err(LayoutError::RankTooLarge { rank });
        }
        let mut shape = Box::new_uninit_slice(rank);
        let mut strides = Box::new_uninit_slice(rank);
        let facts = check(&mut shape, &mut strides, dim)?;
        // SAFETY: the check above wrote both.
        let (shape, strides) = unsafe { (shape.assume_init(), strides.assume_init()) };
        *self = Self {
            len: facts.len,
            dims: Dims::Heap {
                contiguous: facts.contiguous,
                shape,
                strides,
            },
        };
        Ok(())
    }
}

/// A size, and a stride unless it is the row-major one.
pub(crate) type Dim = (usize, Option<isize>);

/// Result of validation.
struct Facts {
    len: usize,
    contiguous: bool,
}

/// Writes all sizes and strides, and checks invariants 5 and 6.
#[inline]
fn check(
    shape: &mut [MaybeUninit<usize>],
    strides: &mut [MaybeUninit<isize>],
    mut dim: impl FnMut(usize) -> Result<Dim, LayoutError>,
) -> Result<Facts, LayoutError> {
    let mut product = 1_usize;
    let (mut empty, mut contiguous) = (false, true);
    for (axis, to) in shape.iter_mut().zip(&mut *strides).enumerate().rev() {
        let (size, stride) = dim(axis)?;
        let row_major = product as isize;
        let stride = stride.unwrap_or(row_major);
        to.0.write(size);
        to.1.write(stride);
        contiguous &= size == 1 || stride == row_major;
        empty |= size == 0;
        match product.checked_mul(size.max(1)) {
            Some(larger) if larger <= isize::MAX as usize => product = larger,
            _ => return Err(too_many_elements()),
        }
    }
    if empty {
        return Ok(Facts {
            len: 0,
            contiguous: true,
        });
    }
    if !contiguous {
        // SAFETY: both were written above, up to their lengths.
        let (shape, strides) = unsafe {
            (
                slice::from_raw_parts(shape.as_ptr().cast::<usize>(), shape.len()),
                slice::from_raw_parts(strides.as_ptr().cast::<isize>(), strides.len()),
            )
        };
        // Of elements one after another, invariant 6 follows from invariant 5.
        if extent(shape, strides).is_none() {
            return Err(LayoutError::TooFar);
        }
    }
    Ok(Facts {
        len: product,
        contiguous,
    })
}

#[cold]
fn no_size(axis: usize, size: i64) -> LayoutError {
    if size < 0 {
        LayoutError::NegativeSize { axis, size }
    } else {
        LayoutError::TooManyElements
    }
}

#[cold]
fn too_many_elements() -> LayoutError {
    LayoutError::TooManyElements
}
