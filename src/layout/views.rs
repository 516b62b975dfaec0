//! Other layouts over the same memory: slices, orders of dimensions, shapes, element types.
//!
//! None of these copies. Those that move the first element return by how much, in elements.

use super::error::LayoutError;
use super::{Layout, LayoutRef};
use crate::dtype::DType;
use std::ops::{Bound, Range, RangeBounds};

/// Returns the indices that a range stands for along a dimension of `size`; they may be out of
/// bounds.
#[inline]
pub(crate) fn resolve_range(range: impl RangeBounds<usize>, size: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&start) => start.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let stop = match range.end_bound() {
        Bound::Included(&stop) => stop.saturating_add(1),
        Bound::Excluded(&stop) => stop,
        Bound::Unbounded => size,
    };
    start..stop
}

impl Layout {
    /// Creates a layout of these sizes and strides.
    fn collect(
        rank: usize,
        mut dims: impl DoubleEndedIterator<Item = (usize, isize)>,
    ) -> Result<Self, LayoutError> {
        Self::build(rank, |_| {
            let (size, stride) = dims.next_back().expect("as many dimensions as the rank");
            Ok((size, Some(stride)))
        })
    }

    fn check_axis(&self, axis: usize) -> Result<(usize, isize), LayoutError> {
        match (self.shape().get(axis), self.strides().get(axis)) {
            (Some(&size), Some(&stride)) => Ok((size, stride)),
            _ => Err(LayoutError::NoSuchAxis {
                axis,
                rank: self.rank(),
            }),
        }
    }

    /// Returns the same layout with one dimension changed.
    fn with_dim(&self, axis: usize, dim: (usize, isize)) -> Result<Self, LayoutError> {
        let dims = self.as_ref().dims().enumerate();
        Self::collect(
            self.rank(),
            dims.map(|(at, old)| if at == axis { dim } else { old }),
        )
    }

    /// Returns the elements whose index along `axis` is in `range`.
    ///
    /// # Errors
    ///
    /// When there is no such dimension, or the range leaves it.
    pub fn slice(&self, axis: usize, range: Range<usize>) -> Result<(Self, isize), LayoutError> {
        let (size, stride) = self.check_axis(axis)?;
        if range.start > range.end || range.end > size {
            return Err(LayoutError::OutOfRange {
                axis,
                start: range.start,
                stop: range.end,
                size,
            });
        }
        let layout = self.with_dim(axis, (range.len(), stride))?;
        let offset = layout.offset_of(range.start, stride);
        Ok((layout, offset))
    }

    /// Returns every `step`-th element along `axis`; backwards from the last one if `step` is
    /// negative.
    ///
    /// # Errors
    ///
    /// When there is no such dimension, or `step` is 0.
    pub fn step_by(&self, axis: usize, step: isize) -> Result<(Self, isize), LayoutError> {
        let (size, stride) = self.check_axis(axis)?;
        if step == 0 {
            return Err(LayoutError::ZeroStep);
        }
        let count = size.div_ceil(step.unsigned_abs());
        // A stride that overflows belongs to a dimension with fewer than 2 elements: no matter.
        let layout = self.with_dim(axis, (count, stride.saturating_mul(step)))?;
        let first = if step < 0 { size.saturating_sub(1) } else { 0 };
        let offset = layout.offset_of(first, stride);
        Ok((layout, offset))
    }

    /// Returns the elements whose index along `axis` is `index`, without that dimension.
    ///
    /// # Errors
    ///
    /// When there is no such dimension or no such index.
    pub fn select(&self, axis: usize, index: usize) -> Result<(Self, isize), LayoutError> {
        let (size, stride) = self.check_axis(axis)?;
        if index >= size {
            return Err(LayoutError::OutOfRange {
                axis,
                start: index,
                stop: index.saturating_add(1),
                size,
            });
        }
        let layout = self.without(axis)?;
        let offset = layout.offset_of(index, stride);
        Ok((layout, offset))
    }

    /// Returns the offset of `index` steps, in elements; 0 for an empty view.
    fn offset_of(&self, index: usize, stride: isize) -> isize {
        if self.is_empty() || index == 0 {
            0
        } else {
            // Part of the old layout's extent, which is a number by invariant 6.
            index as isize * stride
        }
    }

    pub(super) fn without(&self, axis: usize) -> Result<Self, LayoutError> {
        let dims = self.as_ref().dims().enumerate();
        let kept = dims.filter(|(at, _)| *at != axis).map(|(_, dim)| dim);
        Self::collect(self.rank() - 1, kept)
    }

    /// Splits the layout along `axis` into parts of the sizes given.
    ///
    /// # Errors
    ///
    /// When there is no such dimension, or the parts don't add up to it.
    pub fn split(&self, axis: usize, parts: &[usize]) -> Result<Vec<(Self, isize)>, LayoutError> {
        let (size, _) = self.check_axis(axis)?;
        let total = parts
            .iter()
            .try_fold(0_usize, |sum, part| sum.checked_add(*part));
        if total != Some(size) {
            return Err(LayoutError::UnevenSplit {
                axis,
                parts: parts.to_vec(),
                size,
            });
        }
        let mut start = 0;
        let mut part = |length| {
            let range = start..start + length;
            start = range.end;
            self.slice(axis, range)
        };
        parts.iter().map(|length| part(*length)).collect()
    }

    /// Permutes the dimensions: the new one at `i` is the old one at `axes[i]`.
    ///
    /// # Errors
    ///
    /// When `axes` doesn't name each dimension once.
    pub fn permute(&self, axes: &[usize]) -> Result<Self, LayoutError> {
        let rank = self.rank();
        let mut seen = [false; super::MAX_RANK];
        let valid = axes.len() == rank
            && axes
                .iter()
                .all(|axis| *axis < rank && !std::mem::replace(&mut seen[*axis], true));
        if !valid {
            return Err(LayoutError::NotAPermutation {
                axes: axes.to_vec(),
                rank,
            });
        }
        let dims = axes
            .iter()
            .map(|axis| (self.shape()[*axis], self.strides()[*axis]));
        Self::collect(rank, dims)
    }

    /// Reverses the dimensions.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self::collect(self.rank(), self.as_ref().dims().rev())
            .expect("the same dimensions satisfy the same invariants")
    }

    /// Removes the dimension `axis`, whose size is 1.
    ///
    /// # Errors
    ///
    /// When there is no such dimension, or its size is another.
    pub fn squeeze(&self, axis: usize) -> Result<Self, LayoutError> {
        let (size, _) = self.check_axis(axis)?;
        if size != 1 {
            return Err(LayoutError::NotSqueezable { axis, size });
        }
        self.without(axis)
    }

    /// Inserts a dimension of size 1 at `axis`.
    ///
    /// # Errors
    ///
    /// When `axis` is larger than the rank, or the new rank would be too large.
    pub fn unsqueeze(&self, axis: usize) -> Result<Self, LayoutError> {
        let rank = self.rank();
        if axis > rank {
            return Err(LayoutError::NoSuchAxis {
                axis,
                rank: rank + 1,
            });
        }
        // The stride that a contiguous layout has there, so that consumers which compare all
        // strides still see a contiguous layout.
        let stride = match self.as_ref().dims().nth(axis) {
            Some((size, stride)) => stride.saturating_mul(size.max(1) as isize),
            None => 1,
        };
        let dims = || self.as_ref().dims();
        let new = std::iter::once((1, stride));
        Self::collect(
            rank + 1,
            dims().take(axis).chain(new).chain(dims().skip(axis)),
        )
    }

    /// Returns the elements repeated, by stride 0, so that the shape becomes `shape`: new
    /// dimensions come first, and size 1 becomes any size.
    ///
    /// # Errors
    ///
    /// When the shapes don't fit each other.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self, LayoutError> {
        let mismatch = || LayoutError::NotBroadcastable {
            from: self.shape().to_vec(),
            to: shape.to_vec(),
        };
        let new = shape.len().checked_sub(self.rank()).ok_or_else(mismatch)?;
        let dims = self.as_ref();
        Self::build(shape.len(), |axis| {
            let to = shape[axis];
            let stride = match axis.checked_sub(new) {
                None => 0,
                Some(axis) => match (dims.shape()[axis], dims.strides()[axis]) {
                    (1, stride) if to == 1 => stride,
                    (1, _) => 0,
                    (size, stride) if size == to => stride,
                    _ => return Err(mismatch()),
                },
            };
            Ok((to, Some(stride)))
        })
    }

    /// Returns the same elements in the same order with another shape.
    ///
    /// # Errors
    ///
    /// When the shape has another number of elements, or only a copy could have it.
    pub fn reshape(&self, shape: &[usize]) -> Result<Self, LayoutError> {
        let target = Self::contiguous(shape)?;
        if target.len() != self.len() {
            return Err(LayoutError::ElementCount {
                shape: shape.to_vec(),
                expected: target.len(),
                found: self.len(),
            });
        }
        if self.is_empty() || self.as_ref().is_contiguous() {
            return Ok(target);
        }
        let mut runs = self.as_ref().merged();
        let mut run = runs.pop();
        // From the innermost dimension outwards, each new one takes its part of a run of elements
        // that are equally far apart; none may need parts of two.
        let mut dims = vec![(1, 1); shape.len()];
        for (dim, &size) in dims.iter_mut().zip(shape).rev() {
            *dim = match &mut run {
                _ if size == 1 => (1, 1),
                Some((left, stride)) if *left % size == 0 => {
                    let dim = (size, *stride);
                    *left /= size;
                    // A stride that overflows is behind the last element: never used.
                    *stride = stride.saturating_mul(size as isize);
                    if *left == 1 {
                        run = runs.pop();
                    }
                    dim
                }
                _ => {
                    return Err(LayoutError::ReshapeNeedsCopy {
                        from: self.shape().to_vec(),
                        strides: self.strides().to_vec(),
                        to: shape.to_vec(),
                    });
                }
            };
        }
        Self::collect(shape.len(), dims.into_iter())
    }

    /// Returns the same memory read as elements of another type, of which there may be more or
    /// fewer along the last dimension.
    ///
    /// Padded elements are whole bytes here: cast them to a type of 8 bits to see them.
    ///
    /// # Errors
    ///
    /// When the last dimension's elements don't lie one after another, or what they or the other
    /// dimensions' strides add up to isn't a whole number of the new elements.
    pub fn bit_cast(&self, from: DType, padded: bool, to: DType) -> Result<Self, LayoutError> {
        let (old, new) = (from.step_bits(padded), to.item_bits());
        if old == new {
            return Ok(self.clone());
        }
        let refuse = |reason| LayoutError::NotCastable {
            from,
            to,
            shape: self.shape().to_vec(),
            strides: self.strides().to_vec(),
            reason,
        };
        let Some((size, stride)) = self.as_ref().dims().next_back() else {
            return Err(refuse("a single element keeps its width"));
        };
        if size > 1 && stride != 1 && !self.is_empty() {
            return Err(refuse("the last dimension's elements are apart"));
        }
        let convert = |count: usize| {
            let bits = count as u128 * old as u128;
            let is_whole = bits.is_multiple_of(new as u128);
            // What fits no more becomes what `build` refuses.
            is_whole.then(|| usize::try_from(bits / new as u128).unwrap_or(usize::MAX))
        };
        let last = convert(size).ok_or_else(|| {
            refuse("the last dimension doesn't hold a whole number of the new elements")
        })?;
        let dims = self.as_ref();
        Self::build(self.rank(), |axis| {
            if axis + 1 == dims.rank() {
                return Ok((last, Some(1)));
            }
            let (size, stride) = (dims.shape()[axis], dims.strides()[axis]);
            match convert(stride.unsigned_abs()).map(isize::try_from) {
                Some(Ok(step)) => Ok((size, Some(step * stride.signum()))),
                Some(Err(_)) => Ok((size, Some(isize::MIN))),
                None if size <= 1 || self.is_empty() => Ok((size, Some(0))),
                None => Err(refuse("a stride isn't a multiple of the new elements")),
            }
        })
    }
}

impl<'a> LayoutRef<'a> {
    /// Returns the same layout, owned.
    pub fn to_owned(self) -> Layout {
        Layout::collect(self.rank(), self.dims()).expect("the invariants hold already")
    }
}
