//! [`Tensor::arange`]: numbers in equal steps.

use super::Tensor;
use crate::dtype::Element;
use crate::error::Error;

impl Tensor {
    /// Creates a tensor of `start`, `start + step`, ... up to, but without, `stop`.
    ///
    /// # Errors
    ///
    /// When there is not enough memory.
    ///
    /// # Panics
    ///
    /// When `step` is 0.
    ///
    /// ```
    /// use dlbridge::Tensor;
    ///
    /// assert_eq!(Tensor::arange(0_i32, 10, 3)?.to_vec::<i32>()?, [0, 3, 6, 9]);
    /// assert_eq!(Tensor::arange(1.0_f64, 0.0, -0.25)?.len(), 4);
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    pub fn arange<T: Countable>(start: T, stop: T, step: T) -> Result<Self, Error> {
        let count = T::count(start, stop, step);
        let too_many = Error::OutOfMemory {
            bytes: count.saturating_mul(size_of::<T>()),
        };
        let mut numbers = Vec::new();
        numbers.try_reserve_exact(count).map_err(|_| too_many)?;
        numbers.extend((0..count).map(|i| T::nth(start, step, i)));
        Ok(Self::from(numbers))
    }
}

/// Numbers that [`Tensor::arange`] counts in.
pub trait Countable: Element {
    /// Returns how many numbers there are from `start` on that are before `stop`.
    #[doc(hidden)]
    fn count(start: Self, stop: Self, step: Self) -> usize;

    /// Returns the number after `i` steps.
    #[doc(hidden)]
    fn nth(start: Self, step: Self, i: usize) -> Self;
}

macro_rules! countable_integers {
    ($($ty:ty),*) => {$(
        impl Countable for $ty {
            fn count(start: Self, stop: Self, step: Self) -> usize {
                assert!(step != 0, "arange can't count in steps of 0");
                let (distance, step) = (stop as i128 - start as i128, step as i128);
                // Of numbers of the same sign, rounded up; of others, none.
                let count = distance / step + i128::from(distance % step != 0);
                if (distance < 0) == (step < 0) { count as usize } else { 0 }
            }

            fn nth(start: Self, step: Self, i: usize) -> Self {
                // Between start and stop, so it fits.
                (start as i128 + step as i128 * i as i128) as Self
            }
        }
    )*};
}

macro_rules! countable_floats {
    ($($ty:ty),*) => {$(
        impl Countable for $ty {
            fn count(start: Self, stop: Self, step: Self) -> usize {
                assert!(step != 0.0, "arange can't count in steps of 0");
                let is_before = |x: Self| if step < 0.0 { x > stop } else { x < stop };
                let (from, to, by) = (f64::from(start), f64::from(stop), f64::from(step));
                let distance = to - from;
                let steps = if by.is_infinite() {
                    1.0
                } else if distance.is_finite() {
                    distance / by
                } else {
                    to / by - from / by
                };
                // One more than by a quotient, which is rounded. Numbers are, too, so that some of
                // the last ones may be the end.
                let most = (steps.ceil().max(0.0) as usize).saturating_add(1);
                let (mut known, mut end) = (0, if steps.is_nan() { 0 } else { most });
                while known < end {
                    let middle = known + (end - known) / 2;
                    match is_before(Self::nth(start, step, middle)) {
                        true => known = middle + 1,
                        false => end = middle,
                    }
                }
                known
            }

            fn nth(start: Self, step: Self, i: usize) -> Self {
                // Each is calculated afresh, so that errors don't add up. Steps may be infinite.
                let sum = || (f64::from(start) + i as f64 * f64::from(step)) as Self;
                if i == 0 { start } else { sum() }
            }
        }
    )*};
}

countable_integers!(i8, i16, i32, i64, u8, u16, u32, u64);
countable_floats!(f32, f64);
