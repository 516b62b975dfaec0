//! The parts of elementary functions in which their polynomials are: for `f64`.

/// Below it the exponential is 0.
pub(super) const EXP_LOWEST: f64 = -746.0;
/// From it on the exponential is a normal number.
pub(super) const EXP_LOWEST_NORMAL: f64 = -708.0;
/// Above it the exponential is infinite.
pub(super) const EXP_HIGHEST: f64 = 710.0;
/// Below it the product of the exponential and the number itself is 0.
pub(super) const GATE_LOWEST: f64 = -760.0;
/// From its half on the hyperbolic tangent is 1.
pub(super) const TANH_HIGHEST: f64 = 40.0;
/// Beyond it the tail of the normal distribution is 0, times the number itself, too.
pub(super) const TAIL_HIGHEST: f64 = 40.0;
/// The number for which the polynomial of [`tail`] is at 0.
pub(super) const TAIL_CENTER: f64 = 5.0;

/// ln 2 in two parts, the first one short enough that its products with exponents are exact.
pub(super) const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
pub(super) const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Returns the nearest multiple of ln 2, as a number and as an integer.
#[inline(always)]
pub(super) fn nearest(x: f64) -> (f64, i64) {
    /// Adding it leaves the nearest integer in the lowest bits.
    const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
    let rounded = x * std::f64::consts::LOG2_E + ROUND;
    let exponent = (rounded.to_bits() as i64).wrapping_sub(ROUND.to_bits() as i64);
    (rounded - ROUND, exponent)
}

/// Returns e to the power of `r`, less 1, for `r` in [-ln 2 / 2, ln 2 / 2].
#[inline(always)]
pub(super) fn expm1(r: f64) -> f64 {
    // (exp(r) - 1 - r) / r^2, interpolated at the Chebyshev nodes, with an error below 2^-60 of the
    // exponential.
    let mut p = 2.091_468_696_808_687_6e-9;
    let coefficients = [
        2.510_521_700_472_074_8e-8,
        2.755_727_364_311_03e-7,
        2.755_725_540_020_642_2e-6,
        2.480_158_732_554_774_3e-5,
        1.984_126_987_482_062_7e-4,
        1.388_888_888_888_374_8e-3,
        8.333_333_333_326_136e-3,
        4.166_666_666_666_667e-2,
        1.666_666_666_666_666_7e-1,
        0.5,
    ];
    for coefficient in coefficients {
        p = p * r + coefficient;
    }
    p * (r * r) + r
}

/// Returns a power of two.
#[inline(always)]
pub(super) fn scale(exponent: i64) -> f64 {
    f64::from_bits((exponent.wrapping_add(1023) as u64) << 52)
}

/// Returns `k` and `f` of a positive number, x = 2^k * (1 + f), where 1 + f is in
/// [sqrt(1/2), sqrt(2)].
#[inline(always)]
pub(super) fn split(x: f64) -> (f64, f64) {
    /// 2^52: the lowest bits of what is above it are an integer.
    const WHOLE: f64 = 4_503_599_627_370_496.0;
    const MANTISSA: u64 = (1 << 52) - 1;
    const LEAST: u64 = std::f64::consts::FRAC_1_SQRT_2.to_bits();
    let is_subnormal = x < f64::MIN_POSITIVE;
    let scaled = if is_subnormal { x * WHOLE } else { x };
    // The biased exponent of `x`, if it is in the order of powers of 2 times sqrt(1/2).
    let bits = scaled.to_bits().wrapping_sub(LEAST);
    let biased = bits.wrapping_add(1023 << 52) >> 52;
    let bias = if is_subnormal { 1023.0 + 52.0 } else { 1023.0 };
    let k = f64::from_bits(WHOLE.to_bits() | biased) - WHOLE - bias;
    let significand = f64::from_bits((bits & MANTISSA) + LEAST);
    (k, significand - 1.0)
}

/// Returns 2 (atanh(s) - s) / s for s^2 below 0.03, of the square: a Taylor polynomial, of which
/// the rest is below 2^-60.
#[inline(always)]
pub(super) fn atanh(square: f64) -> f64 {
    let mut p = 2.0 / 21.0;
    for odd in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        p = p * square + 2.0 / odd;
    }
    p * square
}

/// Returns a number with half of the bits, whose square is exact.
#[inline(always)]
pub(super) fn high(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & !0x07ff_ffff)
}

/// Returns (a + c) P(X < -a) / exp(-a^2 / 2), for a normally distributed `X` and
/// a = c (1 + t) / (1 - t) from 0 to [`TAIL_HIGHEST`], where `c` is [`TAIL_CENTER`]. The
/// polynomial interpolates it at the
/// Chebyshev nodes, with a relative error below 2^-60.
#[inline(always)]
pub(super) fn tail(t: f64) -> f64 {
    let p = -3.811_591_216_859_991_4e-10;
    let p = p * t - 1.158_706_706_841_708e-9;
    let p = p * t + 2.223_155_023_258_024_7e-9;
    let p = p * t + 1.079_347_781_095_965_6e-8;
    let p = p * t - 8.564_120_082_409_74e-9;
    let p = p * t - 7.014_151_855_271_518e-8;
    let p = p * t + 4.018_850_235_148_256_5e-8;
    let p = p * t + 4.362_959_776_905_544_4e-7;
    let p = p * t - 3.345_807_048_082_705e-7;
    let p = p * t - 2.770_724_172_517_054e-6;
    let p = p * t + 3.979_807_458_462_373e-6;
    let p = p * t + 1.668_164_148_733_726e-5;
    let p = p * t - 4.976_245_671_937_835_6e-5;
    let p = p * t - 5.937_580_789_806_318e-5;
    let p = p * t + 0.000_544_898_992_820_733_7;
    let p = p * t - 0.000_797_869_389_206_023_1;
    let p = p * t - 0.002_993_376_761_871_154_6;
    let p = p * t + 0.020_795_066_799_251_923;
    let p = p * t - 0.069_118_638_706_878_27;
    let p = p * t + 0.165_020_366_170_407_55;
    let p = p * t - 0.313_533_156_671_287_45;
    let p = p * t + 0.495_305_615_969_976_1;
    let p = p * t - 0.665_382_502_890_056_8;

    p * t + 0.769_193_049_750_063
}

super::parts!(f64);
