//! [`Scalar`]: one number of any element type, for what must handle them all.

use super::small_float::{Format, e8m0_to_f32, encode_e8m0};
use super::{DType, TypeCode};
use half::{bf16, f16};
use std::fmt;

/// One number, read from memory of any element type.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Scalar {
    /// A signed or unsigned integer.
    Int(i128),
    /// A floating-point number that an `f64` holds exactly, with the precision it came with.
    Float(f64),
    /// Real and imaginary part.
    Complex(f64, f64),
    /// A truth value; every byte but 0 is true.
    Bool(bool),
    /// A handle, as a number.
    Handle(u64),
}

impl Scalar {
    /// Reads the number that begins at bit `at` of `bytes`, one lane of `dtype`.
    ///
    /// # Panics
    ///
    /// When `bytes` ends before the number does.
    pub(crate) fn read(dtype: DType, bytes: &[u8], at: usize) -> Self {
        let bits = usize::from(dtype.bits());
        let raw = read_bits(bytes, at, bits);
        match dtype.code() {
            TypeCode::Int => {
                let unused = 128 - bits as u32;
                Self::Int((raw << unused) as i128 >> unused)
            }
            TypeCode::UInt => Self::Int(raw as i128),
            TypeCode::Bool => Self::Bool(raw != 0),
            TypeCode::Handle => Self::Handle(raw as u64),
            TypeCode::Complex => {
                let half = bits / 2;
                let mask = (1 << half) - 1;
                Self::Complex(float(raw & mask, half), float(raw >> half, half))
            }
            TypeCode::Float => Self::Float(float(raw, bits)),
            TypeCode::BFloat => Self::Float(bf16::from_bits(raw as u16).to_f64()),
            TypeCode::Float8E8M0Fnu => Self::Float(e8m0_to_f32(raw as u8).into()),
            code => {
                let format = Format::from_code(code).expect("every other code is a small float");
                Self::Float(format.decode(raw as u8).into())
            }
        }
    }

    /// Returns the bits that stand for the number in one lane of `dtype`, the nearest ones where it
    /// lies between two; `None` where there are none: a fraction as an integer, a number out of
    /// range.
    pub(crate) fn to_bits(self, dtype: DType) -> Option<u128> {
        let bits = usize::from(dtype.bits());
        Some(match dtype.code() {
            TypeCode::Int => {
                let value = self.to_integer()?;
                let limit = 1_i128 << (bits - 1);
                let mask = u128::MAX >> (128 - bits);
                (-limit..limit)
                    .contains(&value)
                    .then_some(value as u128 & mask)?
            }
            TypeCode::UInt => {
                let value = u128::try_from(self.to_integer()?).ok()?;
                (value >> bits == 0).then_some(value)?
            }
            TypeCode::Handle => match self {
                Self::Handle(value) if bits >= 64 || value >> bits == 0 => value.into(),
                _ => return None,
            },
            TypeCode::Bool => (self.to_complex() != (0.0, 0.0)).into(),
            TypeCode::Complex => {
                let (re, im) = self.to_complex();
                float_bits(re, bits / 2) | float_bits(im, bits / 2) << (bits / 2)
            }
            TypeCode::Float => float_bits(self.to_real()?, bits),
            TypeCode::BFloat => bf16::from_f64(self.to_real()?).to_bits().into(),
            TypeCode::Float8E8M0Fnu => encode_e8m0(self.to_real()?)?.into(),
            code => {
                let format = Format::from_code(code).expect("every other code is a small float");
                format.encode(self.to_real()?)?.into()
            }
        })
    }

    fn to_integer(self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(value),
            Self::Bool(value) => Some(value.into()),
            Self::Handle(value) => Some(value.into()),
            Self::Float(value) => {
                let is_whole = value.fract() == 0.0 && value.abs() < 2_f64.powi(120);
                is_whole.then_some(value as i128)
            }
            Self::Complex(..) => None,
        }
    }

    fn to_real(self) -> Option<f64> {
        match self {
            Self::Complex(..) => None,
            _ => Some(self.to_complex().0),
        }
    }

    /// Returns how far two numbers are apart.
    pub(crate) fn distance(self, other: Self) -> f64 {
        match (self, other) {
            // Not every integer is an f64; the distance of two that aren't may well be one.
            (Self::Int(a), Self::Int(b)) => a.abs_diff(b) as f64,
            _ => {
                let ((re, im), (other_re, other_im)) = (self.to_complex(), other.to_complex());
                absolute(re - other_re, im - other_im)
            }
        }
    }

    /// Returns how far the number is from 0.
    pub(crate) fn magnitude(self) -> f64 {
        let (re, im) = self.to_complex();
        absolute(re, im)
    }

    /// Returns the number as real and imaginary part.
    pub(crate) fn to_complex(self) -> (f64, f64) {
        match self {
            Self::Int(value) => (value as f64, 0.0),
            Self::Float(value) => (value, 0.0),
            Self::Complex(re, im) => (re, im),
            Self::Bool(value) => (value.into(), 0.0),
            Self::Handle(value) => (value as f64, 0.0),
        }
    }
}

/// Returns the absolute value, of real numbers exactly.
fn absolute(re: f64, im: f64) -> f64 {
    if im == 0.0 { re.abs() } else { re.hypot(im) }
}

fn float(raw: u128, bits: usize) -> f64 {
    match bits {
        16 => f16::from_bits(raw as u16).to_f64(),
        32 => f32::from_bits(raw as u32).into(),
        _ => f64::from_bits(raw as u64),
    }
}

fn float_bits(value: f64, bits: usize) -> u128 {
    match bits {
        16 => f16::from_f64(value).to_bits().into(),
        32 => (value as f32).to_bits().into(),
        _ => value.to_bits().into(),
    }
}

/// The number as people write it.
impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value}"),
            Self::Complex(re, im) => write!(f, "{re}{im:+}j"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Handle(value) => write!(f, "{value:#x}"),
        }
    }
}

/// Writes a number of `count` bits from bit `at` on; one of whole bytes begins at one.
pub(crate) fn write_bits(bytes: &mut [u8], at: usize, count: usize, value: u128) {
    if count < 8 {
        return write_small_bits(bytes, at, count, value as u8);
    }
    let (first, size) = (at / 8, count / 8);
    let place = &mut bytes[first..first + size];
    place.copy_from_slice(&value.to_le_bytes()[..size]);
    if cfg!(target_endian = "big") {
        place.reverse();
    }
}

/// Returns the `count` bits from bit `at` on, the first one lowest, as DLPack packs them.
fn read_bits(bytes: &[u8], at: usize, count: usize) -> u128 {
    let (first, shift) = (at / 8, at % 8);
    let mut word = [0; 16];
    let taken = (shift + count).div_ceil(8);
    // 16-byte numbers begin at byte boundaries, so that what is shifted always fits.
    word[..taken].copy_from_slice(&bytes[first..first + taken]);
    if cfg!(target_endian = "big") && count > 8 {
        word[..taken].reverse();
    }
    let value = u128::from_le_bytes(word) >> shift;
    match count {
        128 => value,
        _ => value & ((1 << count) - 1),
    }
}

/// Writes the lowest `count` bits of `value` from bit `at` on; the counterpart of [`read_bits`]
/// for up to a byte.
pub(crate) fn write_small_bits(bytes: &mut [u8], at: usize, count: usize, value: u8) {
    debug_assert!(count <= 8);
    let mask = ((1_u16 << count) - 1) << (at % 8);
    let value = (u16::from(value) << (at % 8)) & mask;
    let first = at / 8;
    bytes[first] = bytes[first] & !(mask as u8) | value as u8;
    if mask > 0xff {
        let second = &mut bytes[first + 1];
        *second = *second & !((mask >> 8) as u8) | (value >> 8) as u8;
    }
}

/// Reads up to 8 bits from bit `at` on.
pub(crate) fn read_small_bits(bytes: &[u8], at: usize, count: usize) -> u8 {
    debug_assert!(count <= 8);
    read_bits(bytes, at, count) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_interprets_bytes_by_dtype() {
        let read = |dtype, bytes: &[u8]| Scalar::read(dtype, bytes, 0);
        assert_eq!(read(DType::I16, &(-2_i16).to_ne_bytes()), Scalar::Int(-2));
        assert_eq!(
            read(DType::U64, &u64::MAX.to_ne_bytes()),
            Scalar::Int(u64::MAX.into())
        );
        assert_eq!(read(DType::F64, &0.1_f64.to_ne_bytes()), Scalar::Float(0.1));
        assert_eq!(
            read(DType::F16, &f16::from_f32(1.5).to_ne_bytes()),
            Scalar::Float(1.5)
        );
        assert_eq!(
            read(DType::BF16, &bf16::from_f32(-3.0).to_ne_bytes()),
            Scalar::Float(-3.0)
        );
        let parts: Vec<u8> = [1.5_f64, -2.0]
            .iter()
            .flat_map(|x| x.to_ne_bytes())
            .collect();
        assert_eq!(read(DType::C128, &parts), Scalar::Complex(1.5, -2.0));
        assert_eq!(read(DType::BOOL, &[2]), Scalar::Bool(true));
        assert_eq!(read(DType::F8_E8M0FNU, &[128]), Scalar::Float(2.0));
        assert_eq!(read(DType::F8_E4M3FN, &[0x7e]), Scalar::Float(448.0));
    }

    #[test]
    fn read_after_write_returns_the_number() {
        // Each pattern of every type of up to 16 bits, but those of NaN, of which there are many.
        for dtype in DType::ALL {
            let bits = u32::from(dtype.bits());
            if bits > 16 || *dtype == DType::C32 || dtype.code() == TypeCode::Bool {
                continue;
            }
            for pattern in 0..1_u128 << bits {
                let mut bytes = [0; 2];
                bytes.copy_from_slice(&pattern.to_le_bytes()[..2]);
                if cfg!(target_endian = "big") && bits > 8 {
                    bytes.reverse();
                }
                let number = Scalar::read(*dtype, &bytes, 0);
                if number != number {
                    assert!(Scalar::read_back(number, *dtype).is_nan());
                    continue;
                }
                assert_eq!(number.to_bits(*dtype), Some(pattern), "{dtype} {number}");
            }
        }
    }

    impl Scalar {
        fn read_back(self, dtype: DType) -> f64 {
            let bits = self.to_bits(dtype).expect("NaN can be stored");
            let mut bytes = [0; 16];
            write_bits(&mut bytes, 0, dtype.bits().into(), bits);
            Self::read(dtype, &bytes, 0).to_complex().0
        }
    }

    #[test]
    fn write_rounds_to_nearest_even() {
        let store = |number, dtype| Scalar::Float(number).read_back(dtype);
        assert_eq!(store(0.1, DType::F32), f64::from(0.1_f32));
        assert_eq!(store(1.0 + 1.0 / 16.0, DType::F8_E4M3FN), 1.0);
        assert_eq!(store(1.0 + 3.0 / 16.0, DType::F8_E4M3FN), 1.25);
        assert_eq!(store(1.07, DType::F8_E4M3FN), 1.125);
        assert_eq!(store(-5.1, DType::F4_E2M1FN), -6.0);
        assert_eq!(store(1e9, DType::F8_E5M2), f64::INFINITY);
        assert_eq!(store(3.1, DType::F8_E8M0FNU), 4.0);
        assert_eq!(Scalar::Int(7).read_back(DType::BF16), 7.0);
    }

    #[test]
    fn write_refuses_numbers_out_of_range() {
        for (number, dtype) in [
            (Scalar::Int(128), DType::I8),
            (Scalar::Int(-1), DType::U64),
            (Scalar::Int(2), DType::U1),
            (Scalar::Float(0.5), DType::I32),
            (Scalar::Float(f64::NAN), DType::I64),
            (Scalar::Float(f64::INFINITY), DType::U8),
            (Scalar::Complex(1.0, 1.0), DType::F64),
            (Scalar::Float(1000.0), DType::F8_E4M3FN),
            (Scalar::Float(f64::NAN), DType::F4_E2M1FN),
            (Scalar::Float(-1.0), DType::F8_E8M0FNU),
            (Scalar::Float(0.0), DType::F8_E8M0FNU),
        ] {
            assert_eq!(number.to_bits(dtype), None, "{number} as {dtype}");
        }
    }

    #[test]
    fn packed_numbers_across_bytes_round_trip() {
        // Four numbers of six bits in three bytes, the first one lowest.
        let numbers = [1_u8, 42, 63, 17];
        let mut bytes = [0xff; 3];
        for (i, number) in numbers.into_iter().enumerate() {
            write_small_bits(&mut bytes, 6 * i, 6, number);
        }
        for (i, number) in numbers.into_iter().enumerate() {
            assert_eq!(read_small_bits(&bytes, 6 * i, 6), number);
        }
        let nibbles = [0x2f, 0x81];
        let read = |i: usize| Scalar::read(DType::I4, &nibbles, 4 * i);
        assert_eq!(
            [read(0), read(1), read(2), read(3)],
            [-1, 2, 1, -8].map(Scalar::Int)
        );
    }
}
