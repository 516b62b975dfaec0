//! Numbers as words, all equally wide.

use crate::dtype::{DType, Scalar, TypeCode};

/// Default number of fractional digits.
const PRECISION: usize = 4;

/// The numbers that are printed without an exponent.
const PLAIN: std::ops::Range<f64> = 1e-4..1e8;

/// How all floating-point numbers of a tensor are printed.
#[derive(Clone, Copy)]
enum Format {
    /// As many digits as tell the number from others of its type.
    Shortest {
        is_double: bool,
    },
    Fixed {
        digits: usize,
    },
    Exponent {
        digits: usize,
    },
}

/// Returns a word for each number of a tensor. A lone number isn't rounded, unless a precision is
/// given.
pub(super) fn words(
    numbers: &[Scalar],
    dtype: DType,
    precision: Option<usize>,
    is_lone: bool,
) -> Vec<String> {
    let is_double = match dtype.code() {
        TypeCode::Complex => dtype.bits() > 64,
        _ => dtype.bits() > 32,
    };
    let format = match precision {
        None if is_lone => Format::Shortest { is_double },
        _ => Format::choose(numbers, precision.unwrap_or(PRECISION)),
    };
    let words: Vec<String> = numbers.iter().map(|number| format.word(*number)).collect();
    let width = words.iter().map(String::len).max().unwrap_or(0);
    let padded = words.iter().map(|word| format!("{word:>width$}"));
    padded.collect()
}

impl Format {
    /// Chooses the least number of digits, up to `precision`, that rounds none of the numbers more
    /// than `precision` does.
    fn choose(numbers: &[Scalar], precision: usize) -> Self {
        let parts = numbers.iter().flat_map(|number| match *number {
            Scalar::Float(number) => [number, 0.0],
            Scalar::Complex(re, im) => [re, im],
            _ => [0.0; 2],
        });
        let parts = parts.filter(|part| part.is_finite() && *part != 0.0);
        let has_exponents = parts.clone().any(|part| !PLAIN.contains(&part.abs()));
        let digits = parts.map(|part| match has_exponents {
            true => fraction(&format!("{part:.precision$e}")),
            false => fraction(&format!("{part:.precision$}")),
        });
        let digits = digits.max().unwrap_or(0);
        match has_exponents {
            true => Self::Exponent { digits },
            false => Self::Fixed { digits },
        }
    }

    fn word(self, number: Scalar) -> String {
        match number {
            Scalar::Int(number) => number.to_string(),
            Scalar::Bool(true) => "True".into(),
            Scalar::Bool(false) => "False".into(),
            Scalar::Handle(number) => format!("{number:#x}"),
            Scalar::Float(number) => self.float(number),
            Scalar::Complex(re, im) => {
                let im = self.float(im);
                let plus = if im.starts_with('-') { "" } else { "+" };
                format!("{}{plus}{im}j", self.float(re))
            }
        }
    }

    fn float(self, number: f64) -> String {
        match self {
            _ if number.is_nan() => "nan".into(),
            Self::Shortest { is_double: true } => format!("{number:?}"),
            Self::Shortest { is_double: false } => format!("{:?}", number as f32),
            // The point tells it from an integer.
            Self::Fixed { digits: 0 } if number.is_finite() => format!("{number:.0}."),
            Self::Fixed { digits } => format!("{number:.digits$}"),
            Self::Exponent { digits } => format!("{number:.digits$e}"),
        }
    }
}

/// Returns how many fractional digits there are before trailing zeros.
fn fraction(number: &str) -> usize {
    let mantissa = number.split('e').next().unwrap_or_default();
    let fraction = mantissa.split('.').nth(1).unwrap_or_default();
    fraction.trim_end_matches('0').len()
}
