//! Elements of any type, one by one.

use super::Tensor;
use crate::dtype::{DType, Scalar, TypeCode, write_bits};
use crate::error::{Error, LayoutError};
use std::slice;

impl Tensor {
    /// Returns the elements as numbers, of any dtype, in row-major order; the lanes of an element
    /// one after another.
    ///
    /// This is the slow way, for tools that handle every type; [`view`](Self::view) is the fast
    /// one.
    ///
    /// # Errors
    ///
    /// When the elements can't be reached from the host.
    ///
    /// ```
    /// use dlbridge::dtype::Scalar;
    /// use dlbridge::Tensor;
    ///
    /// let tensor = Tensor::from([true, false]);
    /// let scalars: Vec<Scalar> = tensor.scalars()?.collect();
    /// assert_eq!(scalars, [Scalar::Bool(true), Scalar::Bool(false)]);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn scalars(&self) -> Result<impl Iterator<Item = Scalar> + '_, Error> {
        self.storage().settle()?;
        let offsets = self
            .layout()
            .runs()
            .flat_map(|run| (0..run.len as isize).map(move |i| run.offset + i * run.step));
        Ok(offsets.flat_map(move |offset| {
            (0..usize::from(self.dtype().lanes())).map(move |lane| self.lane(offset, lane))
        }))
    }

    /// Creates a tensor of numbers that are given one by one, each stored as the nearest one that
    /// the element type has; of elements of several lanes, those of one element after another.
    ///
    /// Like [`scalars`](Self::scalars), the slow way for tools.
    ///
    /// # Errors
    ///
    /// When there are more or fewer numbers than the shape has room for, the element type can't
    /// store one of them, there is not enough memory, or the shape can't be a tensor's.
    ///
    /// ```
    /// use dlbridge::dtype::{DType, Scalar};
    /// use dlbridge::Tensor;
    ///
    /// let numbers = [0.5, -6.0].map(Scalar::Float);
    /// let tensor = Tensor::from_scalars(&[2], DType::F4_E2M1FN, numbers)?;
    /// assert_eq!(tensor.nbytes(), 1);
    /// assert_eq!(tensor.scalars()?.collect::<Vec<_>>(), numbers);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn from_scalars(
        shape: &[usize],
        dtype: DType,
        scalars: impl IntoIterator<Item = Scalar>,
    ) -> Result<Self, Error> {
        let tensor = Self::zeroed(shape, dtype)?;
        let expected = tensor.len() * usize::from(dtype.lanes());
        let mut found = 0;
        // One more than there is room for tells as much as all.
        for scalar in scalars.into_iter().take(expected.saturating_add(1)) {
            if found < expected {
                tensor.write_lane(found, dtype.pattern_of(scalar)?);
            }
            found += 1;
        }
        if found != expected {
            let shape = shape.to_vec();
            return Err(LayoutError::ElementCount {
                shape,
                expected,
                found,
            }
            .into());
        }
        Ok(tensor)
    }

    /// Creates a tensor filled with one number, in any dtype.
    ///
    /// # Errors
    ///
    /// When the element type can't store the number, there is not enough memory, or the shape can't
    /// be a tensor's.
    pub fn full_of(shape: &[usize], dtype: DType, value: Scalar) -> Result<Self, Error> {
        let pattern = dtype.pattern_of(value)?;
        let tensor = Self::zeroed(shape, dtype)?;
        let count = tensor.len() * usize::from(dtype.lanes());
        (0..count).for_each(|lane| tensor.write_lane(lane, pattern));
        Ok(tensor)
    }

    /// Writes a number to a lane of a new tensor without other users.
    pub(super) fn write_lane(&self, lane: usize, pattern: u128) {
        let dtype = self.dtype();
        let bits = usize::from(dtype.bits());
        // SAFETY: new memory, zeroed, which no other code has.
        let bytes = unsafe { slice::from_raw_parts_mut(self.data_mut(), self.nbytes()) };
        if dtype.code() == TypeCode::Complex && cfg!(target_endian = "big") {
            // The real part comes first, whatever the order of bytes.
            let half = bits / 2;
            write_bits(bytes, lane * bits, half, pattern);
            write_bits(bytes, lane * bits + half, half, pattern >> half);
        } else {
            write_bits(bytes, lane * bits, bits, pattern);
        }
    }

    /// Returns one lane of the element at `offset`, counted in elements from the one of index 0.
    pub(super) fn lane(&self, offset: isize, lane: usize) -> Scalar {
        let bits = usize::from(self.dtype().bits());
        let at =
            offset * self.dtype().step_bits(self.is_padded()) as isize + (lane * bits) as isize;
        let shift = at.rem_euclid(8) as usize;
        let touched = (shift + bits).div_ceil(8);
        let first = self.data_ptr().wrapping_offset(at.div_euclid(8));
        // SAFETY: the bytes that an element of the layout touches: on the host, as was checked,
        // and kept alive by the storage; no code writes them, as in `view`.
        let bytes = unsafe { slice::from_raw_parts(first, touched) };
        Scalar::read(self.dtype(), bytes, shift)
    }
}
