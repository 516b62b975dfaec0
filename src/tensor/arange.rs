//! [`Tensor::arange`]: numbers in equal steps.

use super::Tensor;
use crate::dtype::Element;
use crate::error::Error;

impl Tensor {
    /// `start`, `start + step`, ... as long as it is before `stop`.
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
        let numbers = T::range(start, stop, step);
        let shape = [numbers.len()];
        Self::from_vec(numbers, &shape)
    }
}

/// Numbers that [`Tensor::arange`] counts in.
pub trait Countable: Element {
    /// `start`, `start + step`, ... as long as it is before `stop`.
    #[doc(hidden)]
    fn range(start: Self, stop: Self, step: Self) -> Vec<Self>;
}

macro_rules! countable_integers {
    ($($ty:ty),*) => {$(
        impl Countable for $ty {
            fn range(start: Self, stop: Self, step: Self) -> Vec<Self> {
                assert!(step != 0, "arange can't count in steps of 0");
                let mut next = Some(start);
                std::iter::from_fn(|| {
                    #[allow(unused_comparisons, reason = "of unsigned numbers")]
                    let current = next.filter(|at| if step < 0 { *at > stop } else { *at < stop })?;
                    next = current.checked_add(step);
                    Some(current)
                })
                .collect()
            }
        }
    )*};
}

macro_rules! countable_floats {
    ($($ty:ty),*) => {$(
        impl Countable for $ty {
            fn range(start: Self, stop: Self, step: Self) -> Vec<Self> {
                assert!(step != 0.0, "arange can't count in steps of 0");
                // Each is calculated afresh, so that errors don't add up.
                let count = ((stop - start) / step).ceil().max(0.0) as usize;
                (0..count).map(|i| start + i as $ty * step).collect()
            }
        }
    )*};
}

countable_integers!(i8, i16, i32, i64, u8, u16, u32, u64);
countable_floats!(f32, f64);
