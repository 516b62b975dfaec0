//! Accumulators of sums of floats, in `f64`.

/// The accumulator of a sum of floats.
pub(in crate::ops) trait Total: Copy {
    const ZERO: Self;
    fn add(self, x: f64) -> Self;
    fn combine(self, later: Self) -> Self;
    fn sum(self) -> f64;
}

impl Total for f64 {
    const ZERO: Self = 0.0;

    #[inline(always)]
    fn add(self, x: f64) -> Self {
        self + x
    }
    #[inline(always)]
    fn combine(self, later: Self) -> Self {
        self + later
    }
    fn sum(self) -> f64 {
        self
    }
}

/// A sum and what was lost of it by rounding, after [Neumaier](
/// https://en.wikipedia.org/wiki/Kahan_summation_algorithm#Further_enhancements).
#[derive(Debug, Clone, Copy)]
pub(in crate::ops) struct Compensated {
    sum: f64,
    lost: f64,
}

impl Total for Compensated {
    const ZERO: Self = Self {
        sum: 0.0,
        lost: 0.0,
    };

    #[inline(always)]
    fn add(self, x: f64) -> Self {
        let sum = self.sum + x;
        let is_larger = self.sum.abs() >= x.abs();
        let (large, small) = if is_larger {
            (self.sum, x)
        } else {
            (x, self.sum)
        };
        let lost = self.lost + ((large - sum) + small);
        Self { sum, lost }
    }
    #[inline(always)]
    fn combine(self, later: Self) -> Self {
        let both = self.add(later.sum);
        Self {
            lost: both.lost + later.lost,
            ..both
        }
    }
    fn sum(self) -> f64 {
        // What is lost of infinities is NaN.
        if self.sum.is_finite() {
            self.sum + self.lost
        } else {
            self.sum
        }
    }
}
