//! Other views of the same memory. None of these copies.

use super::Tensor;
use crate::dtype::DType;
use crate::error::{Error, LayoutError};
use crate::layout::{Layout, Shaped, resolve_range};
use std::ops::RangeBounds;

impl Shaped for Tensor {
    fn sizes_of_dimensions(&self) -> &[usize] {
        self.shape()
    }
}

impl Tensor {
    /// Returns a view with another layout, whose first element is `elements` further.
    fn moved(&self, layout: Layout, elements: isize) -> Result<Self, LayoutError> {
        let dtype = self.dtype();
        // No overflow: the bits to every element are a number, by invariant 7.
        let bits = elements * dtype.step_bits(self.is_padded()) as isize;
        if bits % 8 != 0 {
            return Err(LayoutError::InsideByte {
                dtype,
                bits: bits.rem_euclid(8) as usize,
            });
        }
        // SAFETY: the elements are some of those that were there.
        Ok(unsafe {
            self.with_layout(layout, |parts| {
                parts.offset = parts.offset.wrapping_add_signed(bits / 8);
            })
        })
    }

    /// Returns the same elements in another arrangement.
    fn rearranged(&self, layout: Layout) -> Self {
        // SAFETY: the elements are some of those that were there.
        unsafe { self.with_layout(layout, |_| ()) }
    }

    /// Returns the same bytes as elements of another type.
    fn reinterpreted(&self, layout: Layout, dtype: DType) -> Self {
        // SAFETY: the elements are made of bytes of those that were there.
        unsafe {
            self.with_layout(layout, |parts| {
                parts.dtype = dtype;
                parts.padded = false;
            })
        }
    }

    /// Returns the elements whose index along `axis` is in `range`.
    ///
    /// # Errors
    ///
    /// When there is no such dimension, the range leaves it, or packed elements would begin
    /// inside a byte.
    ///
    /// ```
    /// use dlbridge::Tensor;
    ///
    /// let tensor = Tensor::arange(0_u8, 10, 1)?;
    /// assert_eq!(tensor.slice(0, 7..)?.to_vec::<u8>()?, [7, 8, 9]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn slice(&self, axis: usize, range: impl RangeBounds<usize>) -> Result<Self, Error> {
        let size = self.shape().get(axis).copied().unwrap_or(0);
        let range = resolve_range(range, size);
        let (layout, offset) = self.0.layout.slice(axis, range)?;
        Ok(self.moved(layout, offset)?)
    }

    /// Returns every `step`-th element along `axis`; backwards from the last one if `step` is
    /// negative.
    ///
    /// # Errors
    ///
    /// When there is no such dimension, `step` is 0, or packed elements would begin inside a byte.
    ///
    /// ```
    /// use dlbridge::Tensor;
    ///
    /// let tensor = Tensor::arange(0_u8, 6, 1)?;
    /// assert_eq!(tensor.step_by(0, -2)?.to_vec::<u8>()?, [5, 3, 1]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn step_by(&self, axis: usize, step: isize) -> Result<Self, Error> {
        let (layout, offset) = self.0.layout.step_by(axis, step)?;
        Ok(self.moved(layout, offset)?)
    }

    /// Returns the elements whose index along `axis` is `index`, without that dimension.
    ///
    /// # Errors
    ///
    /// When there is no such dimension or index, or packed elements would begin inside a byte.
    pub fn select(&self, axis: usize, index: usize) -> Result<Self, Error> {
        let (layout, offset) = self.0.layout.select(axis, index)?;
        Ok(self.moved(layout, offset)?)
    }

    /// Splits the tensor along `axis` into parts of the sizes given.
    ///
    /// # Errors
    ///
    /// When there is no such dimension, the parts don't add up to it, or packed elements would
    /// begin inside a byte.
    pub fn split(&self, axis: usize, parts: &[usize]) -> Result<Vec<Self>, Error> {
        let parts = self.0.layout.split(axis, parts)?;
        let tensors = parts
            .into_iter()
            .map(|(layout, offset)| self.moved(layout, offset));
        Ok(tensors.collect::<Result<_, _>>()?)
    }

    /// Permutes the dimensions: the new one at `i` is the old one at `axes[i]`.
    ///
    /// # Errors
    ///
    /// When `axes` doesn't name each dimension once.
    pub fn permute(&self, axes: &[usize]) -> Result<Self, Error> {
        Ok(self.rearranged(self.0.layout.permute(axes)?))
    }

    /// Reverses the dimensions: of a matrix, returns its transpose.
    #[must_use]
    pub fn transpose(&self) -> Self {
        self.rearranged(self.0.layout.reversed())
    }

    /// Returns the same elements in the same order with another shape.
    ///
    /// # Errors
    ///
    /// When the shape has another number of elements, or only a copy could have it.
    pub fn reshape(&self, shape: &[usize]) -> Result<Self, Error> {
        Ok(self.rearranged(self.0.layout.reshape(shape)?))
    }

    /// Removes the dimension `axis`, whose size is 1.
    ///
    /// # Errors
    ///
    /// When there is no such dimension, or its size is another.
    pub fn squeeze(&self, axis: usize) -> Result<Self, Error> {
        Ok(self.rearranged(self.0.layout.squeeze(axis)?))
    }

    /// Inserts a dimension of size 1 at `axis`.
    ///
    /// # Errors
    ///
    /// When `axis` is larger than the rank, or the new rank would be too large.
    pub fn unsqueeze(&self, axis: usize) -> Result<Self, Error> {
        Ok(self.rearranged(self.0.layout.unsqueeze(axis)?))
    }

    /// Returns the elements repeated, by stride 0, so that the shape becomes `shape`: new
    /// dimensions come first, and size 1 becomes any size.
    ///
    /// # Errors
    ///
    /// When the shapes don't fit each other.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self, Error> {
        Ok(self.rearranged(self.0.layout.broadcast_to(shape)?))
    }

    /// Returns the same memory read as elements of another type, of which there may be more or
    /// fewer along the last dimension. Padded elements are whole bytes here.
    ///
    /// # Errors
    ///
    /// When the last dimension's elements don't lie one after another, or what they or the other
    /// dimensions' strides add up to isn't a whole number of the new elements.
    ///
    /// ```
    /// use dlbridge::{DType, Tensor};
    ///
    /// let floats = Tensor::from([1.0_f32, -2.0]);
    /// let bits = floats.bit_cast(DType::U32)?;
    /// assert_eq!(bits.to_vec::<u32>()?, [0x3f80_0000, 0xc000_0000]);
    /// assert_eq!(floats.bit_cast(DType::U8)?.shape(), [8]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn bit_cast(&self, dtype: DType) -> Result<Self, Error> {
        let layout = self
            .0
            .layout
            .bit_cast(self.dtype(), self.is_padded(), dtype)?;
        Ok(self.reinterpreted(layout, dtype))
    }

    /// Returns all bytes of the elements, in order, as a tensor of rank 1; packed elements may fill
    /// the last one in part.
    ///
    /// # Errors
    ///
    /// When the elements don't lie one after another in row-major order.
    pub fn as_bytes(&self) -> Result<Self, Error> {
        if !self.layout().is_contiguous() {
            return Err(Error::NotContiguous {
                shape: self.shape().to_vec(),
                strides: self.strides().to_vec(),
            });
        }
        let layout = Layout::contiguous(&[self.nbytes()])?;
        Ok(self.reinterpreted(layout, DType::U8))
    }
}
