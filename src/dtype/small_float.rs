//! Floating-point types of 16 bits and fewer: their formats, and branch-free arithmetic that
//! converts them to and from `f32`, so that loops over it become vector instructions.

use super::TypeCode;

/// How the bits of a small floating-point type are read.
#[derive(Clone, Copy)]
pub(super) struct Format {
    mantissa_bits: u32,
    exponent_bits: u32,
    bias: u32,
    specials: Specials,
}

/// Bit patterns that aren't finite numbers.
#[derive(Clone, Copy, PartialEq)]
enum Specials {
    /// As IEEE 754 has it: the largest exponent is for infinities and NaNs.
    Ieee,
    /// No infinities; all bits but the sign set is NaN.
    AllOnesIsNan,
    /// No infinities and no negative zero: its pattern is the only NaN.
    NegativeZeroIsNan,
    /// All patterns are finite numbers.
    None,
}

impl Format {
    const F16: Self = Self {
        mantissa_bits: 10,
        exponent_bits: 5,
        bias: 15,
        specials: Specials::Ieee,
    };

    /// Returns the format of a code; `None` for others than the signed small floats.
    pub(super) const fn from_code(code: TypeCode) -> Option<Self> {
        use Specials::*;
        let (exponent_bits, mantissa_bits, bias, specials) = match code {
            TypeCode::Float8E3M4 => (3, 4, 3, Ieee),
            TypeCode::Float8E4M3 => (4, 3, 7, Ieee),
            TypeCode::Float8E4M3B11Fnuz => (4, 3, 11, NegativeZeroIsNan),
            TypeCode::Float8E4M3Fn => (4, 3, 7, AllOnesIsNan),
            TypeCode::Float8E4M3Fnuz => (4, 3, 8, NegativeZeroIsNan),
            TypeCode::Float8E5M2 => (5, 2, 15, Ieee),
            TypeCode::Float8E5M2Fnuz => (5, 2, 16, NegativeZeroIsNan),
            TypeCode::Float6E2M3Fn => (2, 3, 1, None),
            TypeCode::Float6E3M2Fn => (3, 2, 3, None),
            TypeCode::Float4E2M1Fn => (2, 1, 1, None),
            _ => return Option::None,
        };
        Some(Self {
            mantissa_bits,
            exponent_bits,
            bias,
            specials,
        })
    }

    /// Returns the number that the lowest bits of `bits` stand for; exact, as an `f32` holds them
    /// all.
    pub(super) fn decode(self, bits: u8) -> f32 {
        self.codec(false).decode(bits.into())
    }

    /// Returns the bits of the number nearest to `value`, of two that are as near the one with an
    /// even last bit. `None` where it is further out than any number, and there is no infinity, or
    /// is a NaN, and there is none.
    pub(super) fn encode(self, value: f64) -> Option<u8> {
        let codec = self.codec(false);
        let value = round_to_odd(value);
        let is_representable = match self.specials {
            Specials::Ieee => true,
            _ if value.is_nan() => self.specials != Specials::None,
            _ => codec.round(value.to_bits() & MAGNITUDE) <= codec.largest,
        };
        is_representable.then(|| codec.encode(value) as u8)
    }

    /// Returns the arithmetic of the format. Numbers beyond the largest one become it if
    /// `saturates`, and otherwise infinity, or NaN where there is none, or the largest number where
    /// there is neither.
    const fn codec(self, saturates: bool) -> Codec {
        let Self {
            mantissa_bits,
            exponent_bits,
            bias,
            specials,
        } = self;
        let sign_bit = 1 << (exponent_bits + mantissa_bits);
        let all_ones = sign_bit - 1;
        let infinity = all_ones & !((1 << mantissa_bits) - 1);
        let (largest, nan) = match specials {
            Specials::Ieee => (infinity - 1, infinity | 1 << (mantissa_bits - 1)),
            Specials::AllOnesIsNan => (all_ones - 1, all_ones),
            Specials::NegativeZeroIsNan => (all_ones, sign_bit),
            // ml_dtypes makes a zero of NaN, with the other sign.
            Specials::None => (all_ones, sign_bit),
        };
        let has_infinity = matches!(specials, Specials::Ieee);
        let beyond = match specials {
            _ if saturates => largest,
            Specials::Ieee => infinity,
            Specials::None => largest,
            _ => nan,
        };
        let unsigned_zero = matches!(specials, Specials::NegativeZeroIsNan);
        Codec {
            mantissa_bits,
            sign_shift: exponent_bits + mantissa_bits,
            rebias: (127 - bias) << mantissa_bits,
            least_normal: (128 - bias) << 23,
            rounder: (128 - bias + 23 - mantissa_bits) << 23,
            unit: f32::from_bits((128 - bias - mantissa_bits) << 23),
            largest,
            beyond,
            nan,
            unsigned_zero,
            largest_or_infinity: if has_infinity { infinity } else { largest },
            infinity: if has_infinity { infinity } else { u32::MAX },
            only_nan: if unsigned_zero { nan } else { u32::MAX },
        }
    }
}

/// The bits of an `f32` but for its sign.
const MAGNITUDE: u32 = 0x7fff_ffff;
/// The bits of infinity as an `f32`.
const INFINITY: u32 = 0x7f80_0000;
/// The bits of the NaN that NaNs of smaller types become.
const NAN: u32 = 0x7fc0_0000;

/// Constants of the arithmetic that converts between a small floating-point type and `f32`.
///
/// A pattern is in the lowest bits of a `u32`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Codec {
    mantissa_bits: u32,
    /// Position of the sign.
    sign_shift: u32,
    /// How much larger the exponent of an `f32` is, in steps of the last mantissa bit.
    rebias: u32,
    /// The bits of the least number as an `f32` that isn't subnormal.
    least_normal: u32,
    /// The bits of the `f32` whose last mantissa bit is worth as much as that of a subnormal
    /// number.
    rounder: u32,
    /// The least number above 0.
    unit: f32,
    /// The pattern of the largest number.
    largest: u32,
    /// The pattern of what is larger.
    beyond: u32,
    nan: u32,
    unsigned_zero: bool,
    /// Behind this pattern are NaNs, if there are patterns.
    largest_or_infinity: u32,
    /// The pattern of infinity; none where there is no infinity.
    infinity: u32,
    /// The pattern with a sign that is NaN; none for other types.
    only_nan: u32,
}

impl Codec {
    /// The arithmetic of `f16`, but for NaNs.
    const F16: Self = Format::F16.codec(false);

    /// Returns the arithmetic of a type; `None` for others than the signed small floats of up to 8
    /// bits.
    #[cfg(feature = "kernels")]
    pub(crate) const fn new(code: TypeCode, saturates: bool) -> Option<Self> {
        match Format::from_code(code) {
            Some(format) => Some(format.codec(saturates)),
            None => None,
        }
    }

    /// Returns the pattern of the nearest number, of two the even one, to one of which the bits as
    /// an `f32` are given, without a sign. It may be larger than any pattern.
    #[inline(always)]
    fn round(self, magnitude: u32) -> u32 {
        let shift = 23 - self.mantissa_bits;
        let half = (1 << (shift - 1)) - 1 + (magnitude >> shift & 1);
        let normal = ((magnitude + half) >> shift).wrapping_sub(self.rebias);
        // The sum has no room for digits below the last one, and is rounded to even.
        let sum = f32::from_bits(magnitude) + f32::from_bits(self.rounder);
        let subnormal = sum.to_bits().wrapping_sub(self.rounder);
        if magnitude < self.least_normal {
            subnormal
        } else {
            normal
        }
    }

    /// Returns the pattern of the nearest number, of two that are as near the even one.
    #[inline(always)]
    pub(crate) fn encode(self, value: f32) -> u32 {
        let magnitude = value.to_bits() & MAGNITUDE;
        let mut pattern = self.round(magnitude);
        if pattern > self.largest {
            pattern = self.beyond;
        }
        if magnitude > INFINITY {
            pattern = self.nan;
        }
        let mut sign = (value.to_bits() >> 31) << self.sign_shift;
        if self.unsigned_zero & (pattern & ((1 << self.sign_shift) - 1) == 0) {
            sign = 0;
        }
        pattern ^ sign
    }

    /// Returns the number of a pattern, above which other bits may be set.
    #[inline(always)]
    pub(crate) fn decode(self, bits: u32) -> f32 {
        let shift = 23 - self.mantissa_bits;
        let sign_bit = 1 << self.sign_shift;
        let magnitude = bits & (sign_bit - 1);
        let normal = (magnitude + self.rebias) << shift;
        let subnormal = (magnitude as i32 as f32 * self.unit).to_bits();
        let mut number = if magnitude >> self.mantissa_bits == 0 {
            subnormal
        } else {
            normal
        };
        if magnitude == self.infinity {
            number = INFINITY;
        }
        let pattern = bits & (sign_bit | (sign_bit - 1));
        if (magnitude > self.largest_or_infinity) | (pattern == self.only_nan) {
            number = NAN;
        }
        f32::from_bits(number | (bits & sign_bit) << (31 - self.sign_shift))
    }
}

/// Returns the bits of the nearest `f16`, of two that are as near the even one. A NaN keeps its
/// sign and the highest bits of its payload, and becomes a quiet one, as by the CPU's instruction.
#[inline(always)]
pub(crate) fn f32_to_f16(value: f32) -> u16 {
    let pattern = Codec::F16.encode(value);
    let magnitude = value.to_bits() & MAGNITUDE;
    let payload = magnitude >> 13 & 0x3ff;
    (if magnitude > INFINITY {
        pattern | payload
    } else {
        pattern
    }) as u16
}

/// Returns the number that the bits of an `f16` stand for, of NaNs quiet ones.
#[inline(always)]
pub(crate) fn f16_to_f32(bits: u16) -> f32 {
    let payload = u32::from(bits & 0x3ff) << 13;
    let number = Codec::F16.decode(bits.into()).to_bits();
    f32::from_bits(if number & MAGNITUDE > INFINITY {
        number | payload
    } else {
        number
    })
}

/// Returns the bits of the nearest `bf16`, of two that are as near the even one; of NaNs those of
/// the one without a payload.
#[inline(always)]
pub(crate) fn f32_to_bf16(value: f32) -> u16 {
    let bits = value.to_bits();
    let nearest = (bits.wrapping_add(0x7fff + (bits >> 16 & 1))) >> 16;
    (if bits & MAGNITUDE > INFINITY {
        bits >> 16 & 0x8000 | NAN >> 16
    } else {
        nearest
    }) as u16
}

/// Returns the number that the bits of a `bf16` stand for.
#[inline(always)]
pub(crate) fn bf16_to_f32(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// Returns the nearest power of two as an 8-bit scale, of two that are as near the larger one, and
/// between the two least ones always. NaN stands for numbers that are too large, and for those that
/// aren't positive. If it `saturates`, what is too large becomes the largest scale instead, and 0
/// the least.
#[inline(always)]
pub(crate) fn f32_to_e8m0(value: f32, saturates: bool) -> u8 {
    let bits = value.to_bits();
    let magnitude = bits & MAGNITUDE;
    // Below the least normal number all that is more than the least scale becomes the next one, as
    // in PyTorch and ml_dtypes.
    let half = 0x40_0000 - u32::from(magnitude < 0x80_0000);
    let mut scale = (magnitude + half) >> 23;
    scale = scale.min(255 - u32::from(saturates));
    let is_nan = magnitude > INFINITY;
    let is_zero = magnitude == 0;
    let is_negative = bits >> 31 == 1;
    if is_nan | is_zero & !saturates | is_negative & !is_zero {
        scale = 255;
    }
    scale as u8
}

/// Returns the number that an 8-bit power-of-two scale stands for.
#[inline(always)]
pub(crate) fn e8m0_to_f32(bits: u8) -> f32 {
    let scale = u32::from(bits);
    let number = if scale == 0 { 1 << 22 } else { scale << 23 };
    f32::from_bits(if scale == 255 { NAN } else { number })
}

/// Returns the nearest power of two as an 8-bit scale; `None` where there is none.
pub(super) fn encode_e8m0(value: f64) -> Option<u8> {
    let scale = f32_to_e8m0(round_to_odd(value), false);
    (scale < 255 || value.is_nan()).then_some(scale)
}

/// Returns a number as an `f32` that is rounded to odd: it lies on the same side of every shorter
/// float, and of the middle between two of them, so that rounding it gives what rounding the number
/// does. Where something is lost the last bit says so: no shorter float has it set, and no such
/// middle.
#[inline(always)]
pub(crate) fn round_to_odd(value: f64) -> f32 {
    let nearest = value as f32;
    let back = f64::from(nearest);
    // Both are false for NaN.
    let is_lost = (back < value) | (back > value);
    let is_too_large = back.abs() > value.abs();
    let towards_zero = nearest.to_bits().wrapping_sub(u32::from(is_too_large));
    f32::from_bits(towards_zero | u32::from(is_lost))
}

/// Returns an integer as an `f64` that is [rounded to odd](round_to_odd).
#[cfg(feature = "kernels")]
#[inline(always)]
pub(crate) fn integer_to_odd(magnitude: u64) -> f64 {
    const LOST: u64 = (1 << (u64::BITS - f64::MANTISSA_DIGITS)) - 1;
    let is_lost = magnitude & LOST != 0;
    let odd = magnitude & !LOST | u64::from(is_lost) << LOST.count_ones();
    (if magnitude >> f64::MANTISSA_DIGITS == 0 {
        magnitude
    } else {
        odd
    }) as f64
}

#[cfg(test)]
mod tests {
    use super::super::{F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E8M0Fnu};
    use super::*;

    fn decode(code: TypeCode, bits: u8) -> f32 {
        Format::from_code(code).unwrap().decode(bits)
    }

    #[test]
    fn largest_smallest_and_special_values() {
        for (code, bits, value) in [
            (TypeCode::Float8E3M4, 0x6f, 15.5),
            (TypeCode::Float8E3M4, 0x70, f32::INFINITY),
            (TypeCode::Float8E4M3, 0x77, 240.0),
            (TypeCode::Float8E4M3, 0xf8, f32::NEG_INFINITY),
            (TypeCode::Float8E4M3B11Fnuz, 0x7f, 30.0),
            (TypeCode::Float8E4M3Fn, 0x7e, 448.0),
            (TypeCode::Float8E4M3Fn, 0x01, 0.001953125),
            (TypeCode::Float8E4M3Fnuz, 0x7f, 240.0),
            (TypeCode::Float8E5M2, 0x7b, 57344.0),
            (TypeCode::Float8E5M2, 0x7c, f32::INFINITY),
            (TypeCode::Float8E5M2Fnuz, 0x7f, 57344.0),
            (TypeCode::Float6E2M3Fn, 0x1f, 7.5),
            (TypeCode::Float6E3M2Fn, 0x3f, -28.0),
            (TypeCode::Float4E2M1Fn, 0x7, 6.0),
            (TypeCode::Float4E2M1Fn, 0x9, -0.5),
        ] {
            assert_eq!(decode(code, bits), value, "{code:?} {bits:#x}");
        }
        assert!(F8E4M3Fn::from_bits(0x7f).to_f32().is_nan());
        assert!(F8E4M3Fnuz::from_bits(0x80).to_f32().is_nan());
        assert!(F8E5M2::from_bits(0x7d).to_f32().is_nan());
        assert_eq!(F8E8M0Fnu::from_bits(127).to_f32(), 1.0);
        assert_eq!(F8E8M0Fnu::from_bits(0).to_f32(), f32::MIN_POSITIVE / 2.0);
        assert!(F8E8M0Fnu::from_bits(255).to_f32().is_nan());
    }

    #[test]
    fn positive_bit_patterns_are_ordered_by_value() {
        for code in TypeCode::ALL {
            let Some(format) = Format::from_code(code) else {
                continue;
            };
            let patterns = 0..1 << (format.exponent_bits + format.mantissa_bits);
            let numbers: Vec<f32> = patterns
                .map(|bits| format.decode(bits as u8))
                .filter(|number| number.is_finite())
                .collect();
            assert!(numbers.is_sorted_by(|a, b| a < b), "{code:?}");
            assert_eq!(numbers[0], 0.0);
        }
    }
}
