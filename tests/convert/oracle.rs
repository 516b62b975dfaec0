//! Numbers as patterns of any dtype, found by comparing with all numbers that the dtype has.

use dlbridge::DType;
use dlbridge::dtype::TypeCode;
use std::cmp::Ordering;

/// A number of any of the types, exactly.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value {
    Int(i128),
    Float(f64),
}

/// What follows the finite numbers of a float.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Specials {
    /// Infinity and NaNs.
    Infinity,
    /// One NaN.
    Nan,
    /// Nothing; NaN is the pattern of negative zero.
    Unsigned,
    /// Nothing.
    Finite,
}

/// A float of 16 bits or fewer.
struct Small {
    bits: u32,
    /// Its finite numbers that aren't negative; each is at the index that is its pattern.
    numbers: Vec<f64>,
    specials: Specials,
    /// The pattern of the NaN that others become.
    nan: u64,
}

pub(crate) struct Oracle {
    dtype: DType,
    small: Option<Small>,
}

impl Oracle {
    pub(crate) fn new(dtype: DType) -> Self {
        use Specials::*;
        // Exponent bits, mantissa bits, bias, how many patterns without a sign aren't finite, NaN.
        let known = match dtype {
            DType::F16 => Some((5, 10, 15, 1024, 0x7e00, Infinity)),
            DType::BF16 => Some((8, 7, 127, 128, 0x7fc0, Infinity)),
            DType::F8_E3M4 => Some((3, 4, 3, 16, 0x78, Infinity)),
            DType::F8_E4M3 => Some((4, 3, 7, 8, 0x7c, Infinity)),
            DType::F8_E5M2 => Some((5, 2, 15, 4, 0x7e, Infinity)),
            DType::F8_E4M3FN => Some((4, 3, 7, 1, 0x7f, Nan)),
            DType::F8_E4M3B11FNUZ => Some((4, 3, 11, 0, 0x80, Unsigned)),
            DType::F8_E4M3FNUZ => Some((4, 3, 8, 0, 0x80, Unsigned)),
            DType::F8_E5M2FNUZ => Some((5, 2, 16, 0, 0x80, Unsigned)),
            DType::F6_E2M3FN => Some((2, 3, 1, 0, 0x20, Finite)),
            DType::F6_E3M2FN => Some((3, 2, 3, 0, 0x20, Finite)),
            DType::F4_E2M1FN => Some((2, 1, 1, 0, 0x08, Finite)),
            _ => None,
        };
        let small = known.map(|(exponent, mantissa, bias, others, nan, specials)| {
            let number = |pattern: i32| {
                let (power, digits) = (pattern >> mantissa, pattern % (1 << mantissa));
                let fraction = f64::from(digits) / f64::from(1 << mantissa);
                match power {
                    0 => fraction * 2_f64.powi(1 - bias),
                    _ => (1.0 + fraction) * 2_f64.powi(power - bias),
                }
            };
            Small {
                bits: exponent + mantissa as u32 + 1,
                numbers: (0..(1 << (exponent + mantissa as u32)) - others)
                    .map(number)
                    .collect(),
                specials,
                nan,
            }
        });
        Self { dtype, small }
    }

    /// Returns the finite numbers that aren't negative, of a small float.
    pub(crate) fn numbers(&self) -> Option<&[f64]> {
        Some(&self.small.as_ref()?.numbers)
    }

    /// Returns whether it makes a difference if numbers that are too large saturate.
    pub(crate) fn has_overflow(&self) -> bool {
        self.dtype == DType::F8_E8M0FNU || self.small.is_some() && self.dtype.bits() == 8
    }

    pub(crate) fn decode(&self, pattern: u64) -> Value {
        let bits = u32::from(self.dtype.bits());
        if let Some(small) = &self.small {
            let sign = if pattern >> (bits - 1) & 1 == 1 {
                -1.0
            } else {
                1.0
            };
            let magnitude = pattern & ((1 << (bits - 1)) - 1);
            let is_nan = small.specials == Specials::Unsigned && magnitude == 0 && sign < 0.0;
            let size = match small.numbers.get(magnitude as usize) {
                _ if is_nan => f64::NAN,
                Some(number) => *number,
                None if small.specials == Specials::Infinity
                    && magnitude as usize == small.numbers.len() =>
                {
                    f64::INFINITY
                }
                None => f64::NAN,
            };
            return Value::Float(size.copysign(sign));
        }
        match self.dtype.code() {
            TypeCode::Float if bits == 32 => Value::Float(f32::from_bits(pattern as u32).into()),
            TypeCode::Float => Value::Float(f64::from_bits(pattern)),
            TypeCode::Float8E8M0Fnu if pattern == 255 => Value::Float(f64::NAN),
            TypeCode::Float8E8M0Fnu => Value::Float(2_f64.powi(pattern as i32 - 127)),
            TypeCode::Int => {
                let modulus = 1_i128 << bits;
                let value = i128::from(pattern) % modulus;
                Value::Int(if value >= modulus / 2 {
                    value - modulus
                } else {
                    value
                })
            }
            _ => Value::Int(i128::from(pattern) % (1 << bits)),
        }
    }

    pub(crate) fn encode(&self, value: Value, saturates: bool) -> u64 {
        let bits = u32::from(self.dtype.bits());
        if let Some(small) = &self.small {
            return small.encode(value, saturates && bits == 8);
        }
        match (self.dtype.code(), value) {
            (TypeCode::Bool, Value::Int(value)) => (value != 0).into(),
            (TypeCode::Bool, Value::Float(value)) => (value != 0.0).into(),
            (TypeCode::Float, Value::Int(value)) if bits == 32 => (value as f32).to_bits().into(),
            (TypeCode::Float, Value::Float(value)) if bits == 32 => (value as f32).to_bits().into(),
            (TypeCode::Float, Value::Int(value)) => (value as f64).to_bits(),
            (TypeCode::Float, Value::Float(value)) => value.to_bits(),
            (TypeCode::Float8E8M0Fnu, value) => scale(value, saturates),
            (code, value) => {
                let (least, largest) = match code {
                    TypeCode::Int => (-1_i128 << (bits - 1), (1_i128 << (bits - 1)) - 1),
                    _ => (0, (1_i128 << bits) - 1),
                };
                let value = match value {
                    Value::Int(value) => value,
                    Value::Float(value) if value.is_nan() => 0,
                    Value::Float(value) if value <= least as f64 => least,
                    Value::Float(value) if value >= largest as f64 => largest,
                    Value::Float(value) => value.trunc() as i128,
                };
                value.rem_euclid(1 << bits) as u64
            }
        }
    }

    /// Returns whether two patterns are the same: of NaNs in large floats the payload isn't
    /// compared.
    pub(crate) fn is_same(&self, found: u64, expected: u64) -> bool {
        let is_nan = |sign: u32, infinity: u64| {
            let is_nan = |bits: u64| bits & ((1 << sign) - 1) > infinity;
            is_nan(found) && is_nan(expected) && found >> sign == expected >> sign
        };
        found == expected
            || match self.dtype {
                DType::F16 => is_nan(15, 0x7c00),
                DType::F32 => is_nan(31, 0x7f80_0000),
                DType::F64 => is_nan(63, 0x7ff0_0000_0000_0000),
                _ => false,
            }
    }
}

impl Small {
    fn encode(&self, value: Value, saturates: bool) -> u64 {
        let is_negative = match value {
            Value::Int(value) => value < 0,
            Value::Float(value) => value.is_sign_negative(),
        };
        let sign = u64::from(is_negative) << (self.bits - 1);
        if matches!(value, Value::Float(value) if value.is_nan()) {
            return match self.specials {
                Specials::Unsigned => self.nan,
                // As ml_dtypes has it: a zero of the other sign.
                Specials::Finite => self.nan ^ sign,
                _ => self.nan | sign,
            };
        }
        let count = self.numbers.len();
        let largest = self.numbers[count - 1];
        let step = largest - self.numbers[count - 2];
        // The middle above the number of this pattern; behind the last one comes what would be the
        // next.
        let middle = |pattern: usize| match self.numbers.get(pattern + 1) {
            Some(next) => (self.numbers[pattern] + next) / 2.0,
            None => largest + step / 2.0,
        };
        let (mut low, mut high) = (0, count);
        while low < high {
            let at = (low + high) / 2;
            match magnitude_against(value, middle(at)) {
                Ordering::Less => high = at,
                Ordering::Greater => low = at + 1,
                Ordering::Equal => {
                    low = at + at % 2;
                    break;
                }
            }
        }
        match self.specials {
            _ if low < count => match (low, self.specials) {
                (0, Specials::Unsigned) => 0,
                _ => low as u64 | sign,
            },
            Specials::Finite => (count - 1) as u64 | sign,
            _ if saturates => (count - 1) as u64 | sign,
            Specials::Unsigned => self.nan,
            Specials::Nan => self.nan | sign,
            // The pattern of infinity follows that of the largest number.
            Specials::Infinity => low as u64 | sign,
        }
    }
}

/// Returns the pattern of the nearest power of two, of two that are as near the larger one, and of
/// the two least ones always.
fn scale(value: Value, saturates: bool) -> u64 {
    let is_negative = match value {
        Value::Int(value) => value < 0,
        Value::Float(value) => value < 0.0 || value.is_nan(),
    };
    let is_zero = magnitude_against(value, 0.0) == Ordering::Equal;
    if is_negative || is_zero && !saturates {
        return 255;
    }
    let is_below = |pattern: &u64| {
        let middle = 1.5 * 2_f64.powi(*pattern as i32 - 127);
        match pattern {
            // As PyTorch and ml_dtypes have it.
            0 => magnitude_against(value, 2_f64.powi(-127)) != Ordering::Greater,
            _ => magnitude_against(value, middle) == Ordering::Less,
        }
    };
    let nearest = (0..255).find(is_below);
    nearest.unwrap_or(if saturates { 254 } else { 255 })
}

/// Compares a number without its sign with one that isn't negative.
fn magnitude_against(value: Value, other: f64) -> Ordering {
    match value {
        Value::Float(value) => value.abs().partial_cmp(&other).unwrap_or(Ordering::Greater),
        Value::Int(_) if other > 1e30 => Ordering::Less,
        Value::Int(value) => {
            let whole = value.abs().cmp(&(other.floor() as i128));
            whole.then(0.0.partial_cmp(&other.fract()).expect("numbers"))
        }
    }
}
