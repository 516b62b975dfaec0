//! Floating-point types of 8 bits and fewer: how to read them, and Rust types for those of 8.

use super::TypeCode;
use std::fmt;

/// How the bits of a small floating-point type are read.
#[derive(Clone, Copy)]
pub(super) struct Format {
    mantissa_bits: u32,
    exponent_bits: u32,
    bias: i32,
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
        let magnitude_bits = self.exponent_bits + self.mantissa_bits;
        let negative = bits >> magnitude_bits & 1 == 1;
        let magnitude = u32::from(bits) & ((1 << magnitude_bits) - 1);
        let mantissa = magnitude & ((1 << self.mantissa_bits) - 1);
        let exponent = magnitude >> self.mantissa_bits;
        let largest_exponent = (1 << self.exponent_bits) - 1;

        let is_nan = match self.specials {
            Specials::Ieee => exponent == largest_exponent && mantissa != 0,
            Specials::AllOnesIsNan => magnitude == (1 << magnitude_bits) - 1,
            Specials::NegativeZeroIsNan => negative && magnitude == 0,
            Specials::None => false,
        };
        let value = if is_nan {
            f32::NAN
        } else if self.specials == Specials::Ieee && exponent == largest_exponent {
            f32::INFINITY
        } else {
            // Without its leading one, a number of exponent 0 counts as one of exponent 1.
            let leading = u32::from(exponent != 0) << self.mantissa_bits;
            let scale = exponent.max(1) as i32 - self.bias - self.mantissa_bits as i32;
            (leading | mantissa) as f32 * power_of_two(scale)
        };
        if negative { -value } else { value }
    }
}

impl Format {
    /// Returns the bits of the number nearest to `value`, of two that are as near the one with an
    /// even last bit. `None` where it is further out than any number, and there is no infinity, or
    /// is a NaN, and there is none.
    pub(super) fn encode(self, value: f64) -> Option<u8> {
        let sign_bit = 1 << (self.exponent_bits + self.mantissa_bits);
        let patterns = || 0..sign_bit;
        if value.is_nan() {
            return (0..=sign_bit | (sign_bit - 1)).find(|bits| self.decode(*bits).is_nan());
        }
        let magnitude = value.abs();
        let finite = |bits: &u8| self.decode(*bits).is_finite();
        let largest = patterns().filter(finite).max()?;
        let infinity = patterns().find(|bits| self.decode(*bits).is_infinite());
        let distance = |bits: &u8| (f64::from(self.decode(*bits)) - magnitude).abs();
        // Half a step beyond the largest number is where infinity would begin.
        let step = f64::from(self.decode(largest)) - f64::from(self.decode(largest - 1));
        let end = f64::from(self.decode(largest)) + step / 2.0;
        let is_beyond = magnitude > end || magnitude == end && largest % 2 == 1;
        let bits = if is_beyond {
            infinity?
        } else {
            let by_distance = |a: &u8, b: &u8| {
                let parity = (a % 2).cmp(&(b % 2));
                distance(a).total_cmp(&distance(b)).then(parity)
            };
            patterns().filter(finite).min_by(by_distance)?
        };
        let is_negative = value.is_sign_negative();
        // Where the pattern of negative zero is a NaN, there is one zero.
        let has_sign = bits != 0 || self.specials != Specials::NegativeZeroIsNan;
        Some(if is_negative && has_sign {
            bits | sign_bit
        } else {
            bits
        })
    }
}

/// Returns the nearest power of two as an 8-bit scale: of numbers that are not positive there is
/// none.
pub(super) fn encode_e8m0(value: f64) -> Option<u8> {
    if value.is_nan() {
        return Some(255);
    }
    let distance = |bits: &u8| (f64::from(decode_e8m0(*bits)) - value).abs();
    let is_in_range = value > 0.0 && value < 2_f64.powi(127) * 1.5;
    is_in_range.then(|| (0..255).min_by(|a, b| distance(a).total_cmp(&distance(b))))?
}

/// Returns the number that an 8-bit power-of-two scale stands for.
pub(super) fn decode_e8m0(bits: u8) -> f32 {
    match bits {
        255 => f32::NAN,
        exponent => power_of_two(i32::from(exponent) - 127),
    }
}

/// Returns 2 to a power within the range of `f32`, exactly: `exp2` needn't be exact.
fn power_of_two(exponent: i32) -> f32 {
    f32::from_bits(match exponent {
        -126.. => ((exponent + 127) as u32) << 23,
        _ => 1 << (exponent + 149),
    })
}

macro_rules! float8 {
    ($($(#[$doc:meta])* $name:ident, $decode:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// It is for storage: convert it to `f32` to calculate.
        #[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
        #[repr(transparent)]
        pub struct $name(u8);

        impl $name {
            /// Creates the number from its bit pattern.
            pub const fn from_bits(bits: u8) -> Self {
                Self(bits)
            }

            /// Returns the bit pattern.
            pub const fn to_bits(self) -> u8 {
                self.0
            }

            /// Converts the number to `f32`, exactly.
            pub fn to_f32(self) -> f32 {
                ($decode)(self.0)
            }
        }

        impl From<$name> for f32 {
            fn from(number: $name) -> f32 {
                number.to_f32()
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.to_f32(), f)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.to_f32(), f)
            }
        }
    )*};
}

fn decode(code: TypeCode, bits: u8) -> f32 {
    Format::from_code(code)
        .expect("a small format")
        .decode(bits)
}

float8! {
    /// 8 bits: 3 of exponent, 4 of mantissa, with infinities.
    F8E3M4, |bits| decode(TypeCode::Float8E3M4, bits);
    /// 8 bits: 4 of exponent, 3 of mantissa, with infinities.
    F8E4M3, |bits| decode(TypeCode::Float8E4M3, bits);
    /// 8 bits: 4 of exponent, biased by 11, 3 of mantissa; no infinities, no negative zero.
    F8E4M3B11Fnuz, |bits| decode(TypeCode::Float8E4M3B11Fnuz, bits);
    /// 8 bits: 4 of exponent, 3 of mantissa; no infinities.
    F8E4M3Fn, |bits| decode(TypeCode::Float8E4M3Fn, bits);
    /// 8 bits: 4 of exponent, 3 of mantissa; no infinities, no negative zero.
    F8E4M3Fnuz, |bits| decode(TypeCode::Float8E4M3Fnuz, bits);
    /// 8 bits: 5 of exponent, 2 of mantissa, with infinities.
    F8E5M2, |bits| decode(TypeCode::Float8E5M2, bits);
    /// 8 bits: 5 of exponent, 2 of mantissa; no infinities, no negative zero.
    F8E5M2Fnuz, |bits| decode(TypeCode::Float8E5M2Fnuz, bits);
    /// 8 bits of exponent: a power of two, or NaN.
    F8E8M0Fnu, decode_e8m0;
}

#[cfg(test)]
mod tests {
    use super::*;

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
