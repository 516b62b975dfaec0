//! The parts of elementary functions in which their polynomials are: for `f32`.

/// Below it the exponential is 0.
pub(super) const EXP_LOWEST: f32 = -104.0;
/// From it on the exponential is a normal number.
pub(super) const EXP_LOWEST_NORMAL: f32 = -87.0;
/// Above it the exponential is infinite.
pub(super) const EXP_HIGHEST: f32 = 89.0;
/// Below it the product of the exponential and the number itself is 0.
pub(super) const GATE_LOWEST: f32 = -110.0;
/// From its half on the hyperbolic tangent is 1.
pub(super) const TANH_HIGHEST: f32 = 40.0;
/// Beyond it the tail of the normal distribution is 0, times the number itself, too.
pub(super) const TAIL_HIGHEST: f32 = 15.0;
/// The number for which the polynomial of [`tail`] is at 0.
pub(super) const TAIL_CENTER: f32 = 3.0;

/// ln 2 in two parts, the first one short enough that its products with exponents are exact.
pub(super) const LN_2_HIGH: f32 = 355.0 / 512.0;
pub(super) const LN_2_LOW: f32 = -2.121_944_4e-4;

/// Returns the nearest multiple of ln 2, as a number and as an integer.
#[inline(always)]
pub(super) fn nearest(x: f32) -> (f32, i32) {
    /// Adding it leaves the nearest integer in the lowest bits.
    const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23
    let rounded = x * std::f32::consts::LOG2_E + ROUND;
    let exponent = (rounded.to_bits() as i32).wrapping_sub(ROUND.to_bits() as i32);
    (rounded - ROUND, exponent)
}

/// Returns e to the power of `r`, less 1, for `r` in [-ln 2 / 2, ln 2 / 2].
#[inline(always)]
pub(super) fn expm1(r: f32) -> f32 {
    // (exp(r) - 1 - r) / r^2, interpolated at the Chebyshev nodes, with an error below 2^-26 of the
    // exponential.
    let p = 1.392_618_4e-3_f32;
    let p = p * r + 8.363_179e-3;
    let p = p * r + 4.166_655_6e-2;
    let p = p * r + 1.666_657_6e-1;
    let p = p * r + 0.5;
    p * (r * r) + r
}

/// Returns a power of two.
#[inline(always)]
pub(super) fn scale(exponent: i32) -> f32 {
    f32::from_bits((exponent.wrapping_add(127) as u32) << 23)
}

/// Returns `k` and `f` of a positive number, x = 2^k * (1 + f), where 1 + f is in
/// [sqrt(1/2), sqrt(2)].
#[inline(always)]
pub(super) fn split(x: f32) -> (f32, f32) {
    /// 2^23: the lowest bits of what is above it are an integer.
    const WHOLE: f32 = 8_388_608.0;
    const MANTISSA: u32 = (1 << 23) - 1;
    const LEAST: u32 = std::f32::consts::FRAC_1_SQRT_2.to_bits();
    let is_subnormal = x < f32::MIN_POSITIVE;
    let scaled = if is_subnormal { x * WHOLE } else { x };
    // The biased exponent of `x`, if it is in the order of powers of 2 times sqrt(1/2).
    let bits = scaled.to_bits().wrapping_sub(LEAST);
    let biased = bits.wrapping_add(127 << 23) >> 23;
    let bias = if is_subnormal { 127.0 + 23.0 } else { 127.0 };
    let k = f32::from_bits(WHOLE.to_bits() | biased) - WHOLE - bias;
    let significand = f32::from_bits((bits & MANTISSA) + LEAST);
    (k, significand - 1.0)
}

/// Returns 2 (atanh(s) - s) / s for s^2 below 0.03, of the square: a Taylor polynomial, of which
/// the rest is below 2^-28.
#[inline(always)]
pub(super) fn atanh(square: f32) -> f32 {
    let mut p = 2.0 / 9.0;
    for odd in [7.0, 5.0, 3.0] {
        p = p * square + 2.0 / odd;
    }
    p * square
}

/// Returns a number with half of the bits, whose square is exact.
#[inline(always)]
pub(super) fn high(x: f32) -> f32 {
    f32::from_bits(x.to_bits() & 0xffff_f000)
}

/// Returns (a + c) P(X < -a) / exp(-a^2 / 2), for a normally distributed `X` and
/// a = c (1 + t) / (1 - t) from 0 to [`TAIL_HIGHEST`], where `c` is [`TAIL_CENTER`]. The
/// polynomial interpolates it at the
/// Chebyshev nodes, with a relative error below 2^-29.
#[inline(always)]
pub(super) fn tail(t: f32) -> f32 {
    let p = 5.549_187_3e-5;
    let p = p * t + 0.000_133_323_95;
    let p = p * t - 0.000_244_709_3;
    let p = p * t - 0.001_034_476_6;
    let p = p * t + 0.001_024_157_3;
    let p = p * t + 0.006_969_920_4;
    let p = p * t - 0.010_462_289;
    let p = p * t - 0.047_262_76;
    let p = p * t + 0.230_017_68;
    let p = p * t - 0.509_332;

    p * t + 0.729_083_7
}

super::parts!(f32);
