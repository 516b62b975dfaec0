//! Are two tensors equal, or nearly?

use super::Tensor;
use crate::error::{AccessError, Error};

impl Tensor {
    /// Whether both have the same shape and element type, and each two elements are equal. As in
    /// calculations, no NaN is equal to anything.
    ///
    /// # Errors
    ///
    /// When elements can't be reached from the host.
    ///
    /// ```
    /// use dlbridge::Tensor;
    ///
    /// let matrix = Tensor::from([[1, 2], [3, 4]]);
    /// assert!(matrix.equals(&matrix.copy()?)?);
    /// assert!(!matrix.equals(&matrix.transpose())?);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn equals(&self, other: &Self) -> Result<bool, Error> {
        let (ours, theirs) = (self.scalars()?, other.scalars()?);
        Ok(self.shape() == other.shape() && self.dtype() == other.dtype() && ours.eq(theirs))
    }

    /// Whether each two elements differ by at most `atol + rtol * |theirs|`, whatever the element
    /// types. Infinities are close to themselves alone, NaNs to nothing.
    ///
    /// # Errors
    ///
    /// When the shapes or the numbers of lanes differ, or elements can't be reached from the host.
    ///
    /// ```
    /// use dlbridge::Tensor;
    ///
    /// let (a, b) = (Tensor::from([1.0_f32, 2.0]), Tensor::from([1.0_f64, 2.001]));
    /// assert!(a.all_close(&b, 1e-2, 0.0)? && !a.all_close(&b, 1e-4, 0.0)?);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn all_close(&self, other: &Self, rtol: f64, atol: f64) -> Result<bool, Error> {
        if self.shape() != other.shape() {
            return Err(AccessError::ShapeMismatch {
                left: self.shape().to_vec(),
                right: other.shape().to_vec(),
            }
            .into());
        }
        if self.dtype().lanes() != other.dtype().lanes() {
            return Err(AccessError::DType {
                found: other.dtype(),
                wanted: self.dtype(),
            }
            .into());
        }
        let pairs = self.scalars()?.zip(other.scalars()?);
        Ok(pairs
            .map(|(ours, theirs)| (ours == theirs, ours.distance(theirs), theirs.magnitude()))
            .all(|(equal, distance, magnitude)| {
                // Infinities have no distance, and no tolerance in proportion.
                equal || magnitude.is_finite() && distance <= atol + rtol * magnitude
            }))
    }
}
