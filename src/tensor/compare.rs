//! Comparisons: equal, and nearly equal.

use super::Tensor;
use crate::dtype::Scalar;
use crate::error::Error;

impl Tensor {
    /// Returns whether both have the same shape and element type, and each two elements are equal.
    /// As in calculations, no NaN is equal to anything.
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
        self.equals_while(other, || Ok(()))
    }

    /// Compares like [`equals`](Self::equals), and asks from time to time whether to go on.
    pub(crate) fn equals_while<E: From<Error>>(
        &self,
        other: &Self,
        go_on: impl FnMut() -> Result<(), E>,
    ) -> Result<bool, E> {
        if self.shape() != other.shape() || self.dtype() != other.dtype() {
            return Ok(false);
        }
        all_while(
            self.scalars()?.zip(other.scalars()?),
            |(a, b)| a == b,
            go_on,
        )
    }

    /// Returns whether each two elements differ by at most `atol + rtol * |theirs|`, whatever the
    /// element types. Infinities are close to themselves alone, NaNs to nothing.
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
        self.all_close_while(other, rtol, atol, || Ok(()))
    }

    /// Compares like [`all_close`](Self::all_close), and asks from time to time whether to go on.
    pub(crate) fn all_close_while<E: From<Error>>(
        &self,
        other: &Self,
        rtol: f64,
        atol: f64,
        go_on: impl FnMut() -> Result<(), E>,
    ) -> Result<bool, E> {
        if self.shape() != other.shape() {
            return Err(Error::ShapeMismatch {
                left: self.shape().to_vec(),
                right: other.shape().to_vec(),
            }
            .into());
        }
        if self.dtype().lanes() != other.dtype().lanes() {
            return Err(Error::DTypeMismatch {
                found: other.dtype(),
                wanted: self.dtype(),
            }
            .into());
        }
        let pairs = self.scalars()?.zip(other.scalars()?);
        let is_close = |(ours, theirs): (Scalar, Scalar)| {
            let magnitude = theirs.magnitude();
            // Infinities have no distance, and no tolerance in proportion.
            ours == theirs
                || magnitude.is_finite() && ours.distance(theirs) <= atol + rtol * magnitude
        };
        all_while(pairs, is_close, go_on)
    }
}

/// How many elements are compared between two questions whether to go on: some milliseconds.
const AT_ONCE: usize = 1 << 16;

/// Checks whether all items satisfy a condition.
fn all_while<T, E>(
    mut items: impl Iterator<Item = T>,
    is_met: impl Fn(T) -> bool,
    mut go_on: impl FnMut() -> Result<(), E>,
) -> Result<bool, E> {
    loop {
        for _ in 0..AT_ONCE {
            match items.next() {
                None => return Ok(true),
                Some(item) => {
                    if !is_met(item) {
                        return Ok(false);
                    }
                }
            }
        }
        go_on()?;
    }
}
