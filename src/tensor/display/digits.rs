//! The decimal digits of a floating-point number: as few as its own type needs to read it back.

use crate::dtype::{DType, TypeCode};

/// Which numbers a floating-point type has: that decides how many digits tell one from the others.
#[derive(Clone, Copy)]
pub(super) enum FloatType {
    Double,
    Single,
    Half,
    /// Another one, narrower than a single.
    Narrow(Binary),
}

/// The numbers of so many bits of mantissa, the leading one not counted.
#[derive(Clone, Copy)]
pub(super) struct Binary {
    mantissa_bits: i32,
    /// The exponent of the smallest number with a leading one.
    min_exponent: i32,
}

const HALF: Binary = Binary {
    mantissa_bits: 10,
    min_exponent: -14,
};

impl FloatType {
    /// The type of the numbers, or of the parts of complex ones.
    pub(super) fn from_dtype(dtype: DType) -> Self {
        let narrow = |mantissa_bits, min_exponent| {
            Self::Narrow(Binary {
                mantissa_bits,
                min_exponent,
            })
        };
        match (dtype.code(), dtype.bits()) {
            (TypeCode::Float, 16) | (TypeCode::Complex, 32) => Self::Half,
            (TypeCode::Float, 64) | (TypeCode::Complex, 128) => Self::Double,
            (TypeCode::BFloat, _) => narrow(7, -126),
            (TypeCode::Float8E3M4, _) => narrow(4, -2),
            (TypeCode::Float8E4M3 | TypeCode::Float8E4M3Fn, _) => narrow(3, -6),
            (TypeCode::Float8E4M3Fnuz, _) => narrow(3, -7),
            (TypeCode::Float8E4M3B11Fnuz, _) => narrow(3, -10),
            (TypeCode::Float8E5M2, _) => narrow(2, -14),
            (TypeCode::Float8E5M2Fnuz, _) => narrow(2, -15),
            // Also those whose numbers are too few for digits of their own.
            _ => Self::Single,
        }
    }

    /// From which number on exponents are used.
    pub(super) fn limit(self) -> f64 {
        match self {
            Self::Double => 1e8,
            Self::Single | Self::Narrow(_) => 1e6,
            Self::Half => 1e3,
        }
    }

    /// The number of NumPy's types that is nearest, as its calculations have it.
    pub(super) fn round(self, number: f64) -> f64 {
        match self {
            Self::Double | Self::Narrow(_) => number,
            Self::Single => (number as f32).into(),
            Self::Half => half::f16::from_f64(number).to_f64(),
        }
    }

    /// The shortest decimal that this type reads back as `number`, and of those the nearest.
    fn shortest(self, number: f64) -> Decimal {
        let (shortest, is_read_back): (_, fn(&Decimal, f64) -> bool) = match self {
            Self::Double => (format!("{number:e}"), |decimal, number| {
                decimal.text().parse() == Ok(number)
            }),
            Self::Single => (format!("{:e}", number as f32), |decimal, number| {
                decimal.text().parse() == Ok(number as f32)
            }),
            Self::Half => return HALF.shortest(number),
            Self::Narrow(binary) => return binary.shortest(number),
        };
        let shortest = Decimal::parse(&shortest);
        // Where two are equally near, this is the even one, as NumPy has it, and Rust doesn't.
        let nearest = Decimal::with_fraction(number, shortest.fraction().len());
        if is_read_back(&nearest, number) {
            nearest
        } else {
            shortest
        }
    }
}

impl Binary {
    fn shortest(self, number: f64) -> Decimal {
        if number == 0.0 {
            return Decimal::parse("0e0");
        }
        // Whatever is nearer to the number than to its neighbours is read back as it, and what is
        // in the middle where its mantissa is even.
        let exponent = exponent_of(number);
        let step = power_of_two(exponent.max(self.min_exponent) - self.mantissa_bits);
        let is_lowest = number == power_of_two(exponent) && exponent > self.min_exponent;
        let below = if is_lowest { step / 4.0 } else { step / 2.0 };
        let (low, high) = (number - below, number + step / 2.0);
        let is_even = (number / step) % 2.0 == 0.0;
        let is_read_back = |decimal: &Decimal| {
            let value = decimal.value();
            low < value && value < high || is_even && (value == low || value == high)
        };
        let exact = Decimal::parse(&format!("{number:e}"));
        (0..exact.fraction().len())
            .flat_map(|fraction| {
                // Above a power of two there is more room than below: where the nearest decimal
                // is too far below, the next one above may do.
                let nearest = Decimal::with_fraction(number, fraction);
                let above = nearest.next();
                [nearest, above]
            })
            .find(is_read_back)
            .unwrap_or(exact)
    }
}

/// The exponent of a number that a narrow type has, so that it has a leading one as an `f64`.
fn exponent_of(number: f64) -> i32 {
    (number.to_bits() >> 52 & 0x7ff) as i32 - 1023
}

/// 2 to the power of `exponent`, exactly, in the range of narrow types.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// A decimal number: its digits, with a point behind the first one, times a power of ten.
#[derive(Clone)]
pub(super) struct Decimal {
    digits: String,
    pub(super) exponent: i32,
}

impl Decimal {
    /// `number`, not negative, with as few digits as `of` needs, but `most` behind the first.
    pub(super) fn scientific(number: f64, of: FloatType, most: usize) -> Self {
        let mut decimal = of.shortest(number);
        if decimal.fraction().len() > most {
            decimal = Self::with_fraction(number, most);
            let trimmed = decimal.fraction().trim_end_matches('0').len();
            decimal.digits.truncate(1 + trimmed);
        }
        decimal
    }

    /// `number`, not negative, with as many digits behind the first as asked for.
    pub(super) fn scientific_exact(number: f64, of: FloatType, fraction: usize) -> Self {
        let shortest = of.shortest(number);
        if shortest.fraction().len() == fraction {
            return shortest;
        }
        Self::with_fraction(number, fraction)
    }

    fn with_fraction(number: f64, fraction: usize) -> Self {
        Self::parse(&format!("{number:.fraction$e}"))
    }

    /// Reads what Rust writes.
    fn parse(text: &str) -> Self {
        let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
        Self {
            digits: digits.chars().filter(char::is_ascii_digit).collect(),
            exponent: exponent.parse().unwrap_or(0),
        }
    }

    /// The digit before the point.
    pub(super) fn whole(&self) -> &str {
        &self.digits[..1]
    }

    /// The digits behind the point.
    pub(super) fn fraction(&self) -> &str {
        &self.digits[1..]
    }

    fn text(&self) -> String {
        format!("{}.{}e{}", self.whole(), self.fraction(), self.exponent)
    }

    /// The `f64` that is nearest.
    fn value(&self) -> f64 {
        self.text().parse().unwrap_or(f64::NAN)
    }

    /// One more in the last digit.
    fn next(&self) -> Self {
        let mut digits = self.digits.clone().into_bytes();
        let mut exponent = self.exponent;
        let nines = digits.iter().rev().take_while(|digit| **digit == b'9');
        let kept = digits.len() - nines.count();
        digits[kept..].fill(b'0');
        match kept.checked_sub(1) {
            Some(last) => digits[last] += 1,
            None => {
                // 99 becomes 1.0 times a higher power.
                digits[0] = b'1';
                exponent += 1;
            }
        }
        let digits = digits.into_iter().map(char::from).collect();
        Self { digits, exponent }
    }
}

/// `number`, not negative, as the digits before and behind the point: of those behind as few as
/// `of` needs, and `most` at most.
pub(super) fn positional(number: f64, of: FloatType, most: usize) -> (String, String) {
    let Decimal { digits, exponent } = of.shortest(number);
    let needed = digits.len() as i32 - 1 - exponent;
    if needed <= 0 {
        // An integer, of which the shortest decimal may not have the last digits.
        return (format!("{number:.0}"), String::new());
    }
    if needed as usize > most {
        let rounded = format!("{number:.most$}");
        let (whole, fraction) = rounded.split_once('.').unwrap_or((&rounded, ""));
        return (whole.into(), fraction.trim_end_matches('0').into());
    }
    match usize::try_from(exponent) {
        Ok(exponent) => {
            let (whole, fraction) = digits.split_at(exponent + 1);
            (whole.into(), fraction.into())
        }
        Err(_) => {
            let zeros = "0".repeat(needed as usize - digits.len());
            ("0".into(), zeros + &digits)
        }
    }
}
