//! [`Scalar`]: one number of any element type, for what must handle them all.

use super::minifloat::{Format, decode_e8m0};
use super::{DType, TypeCode};
use half::{bf16, f16};

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
            TypeCode::Float8E8M0Fnu => Self::Float(decode_e8m0(raw as u8).into()),
            code => {
                let format = Format::of(code).expect("every other code is a small float");
                Self::Float(format.decode(raw as u8).into())
            }
        }
    }

    /// How far two numbers are apart.
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

    /// How far the number is from 0.
    pub(crate) fn magnitude(self) -> f64 {
        let (re, im) = self.to_complex();
        absolute(re, im)
    }

    /// The number as real and imaginary part.
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

/// The absolute value, of real numbers exactly.
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

/// The `count` bits from bit `at` on, the first one lowest, as DLPack packs them.
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
    fn numbers_are_read_as_their_type_says() {
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
    fn packed_numbers_are_found_across_bytes() {
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
