//! Words for floating-point numbers that are printed together.

use super::digits::{Decimal, FloatType, positional};

/// The smallest number that is printed without an exponent.
const SMALLEST: f64 = 1e-4;

/// How far numbers may be apart without exponents.
const LARGEST_RATIO: f64 = 1000.0;

/// What numbers look like that are printed together: points below each other, and all with an
/// exponent or none.
pub(super) struct FloatFormat {
    of: FloatType,
    notation: Notation,
    /// Whether numbers that aren't negative have a sign too.
    plus: bool,
    /// How many characters are before the point, and how many behind it.
    left: usize,
    right: usize,
}

#[derive(Clone, Copy)]
enum Notation {
    /// How many digits are behind the point at most.
    Positional { most: usize },
    /// How many digits are behind the point, and how many the exponent has.
    Scientific { fraction: usize, exponent: usize },
}

impl FloatFormat {
    /// What `numbers` look like, with at most `precision` digits behind the point.
    pub(super) fn new(numbers: &[f64], of: FloatType, precision: usize, plus: bool) -> Self {
        let mut format = Self {
            of,
            notation: Notation::Positional { most: precision },
            plus,
            left: 0,
            right: 0,
        };
        let finite = || numbers.iter().copied().filter(|number| number.is_finite());
        let signs = finite().map(|number| format.sign(number).len()).max();
        if needs_exponents(finite(), of) {
            let decimals = || finite().map(|x| Decimal::scientific(x.abs(), of, precision));
            let fraction = decimals().map(|decimal| decimal.fraction().len());
            let fraction = fraction.max().unwrap_or(0);
            let exponent = decimals().map(|decimal| exponent_text(decimal.exponent, 2).len() - 1);
            let exponent = exponent.max().unwrap_or(2);
            format.notation = Notation::Scientific { fraction, exponent };
            format.left = signs.unwrap_or(0) + 1;
            format.right = fraction + 2 + exponent;
        } else {
            for number in finite() {
                let (whole, fraction) = positional(number.abs(), of, precision);
                format.left = format.left.max(format.sign(number).len() + whole.len());
                format.right = format.right.max(fraction.len());
            }
        }
        if let Some(longest) = numbers
            .iter()
            .filter(|number| !number.is_finite())
            .map(|number| format.not_finite(*number).len())
            .max()
        {
            format.left = format.left.max(longest.saturating_sub(format.right + 1));
        }
        format
    }

    /// What one of the numbers looks like.
    pub(super) fn word(&self, number: f64) -> String {
        let Self { left, right, .. } = *self;
        if !number.is_finite() {
            let width = left + 1 + right;
            return format!("{:>width$}", self.not_finite(number));
        }
        let sign = self.sign(number);
        match self.notation {
            Notation::Positional { most } => {
                let (whole, fraction) = positional(number.abs(), self.of, most);
                format!("{:>left$}.{fraction:<right$}", format!("{sign}{whole}"))
            }
            Notation::Scientific { fraction, exponent } => {
                let decimal = Decimal::scientific_exact(number.abs(), self.of, fraction);
                let whole = format!("{sign}{}", decimal.whole());
                let exponent = exponent_text(decimal.exponent, exponent);
                format!("{whole:>left$}.{}e{exponent}", decimal.fraction())
            }
        }
    }

    fn not_finite(&self, number: f64) -> String {
        format!("{}{}", self.sign(number), number.abs()).to_lowercase()
    }

    /// What stands before the digits; NaNs have no sign of their own.
    fn sign(&self, number: f64) -> &'static str {
        match () {
            () if number.is_sign_negative() && !number.is_nan() => "-",
            () if self.plus => "+",
            () => "",
        }
    }
}

/// Whether without exponents digits would be missing, or be too many.
fn needs_exponents(finite: impl Iterator<Item = f64>, of: FloatType) -> bool {
    let (mut smallest, mut largest) = (f64::INFINITY, 0.0_f64);
    for number in finite.map(f64::abs).filter(|number| *number != 0.0) {
        smallest = smallest.min(number);
        largest = largest.max(number);
    }
    // NumPy calculates in the numbers' own type.
    largest > 0.0
        && (largest >= of.limit()
            || smallest < of.round(SMALLEST)
            || of.round(largest / smallest) > LARGEST_RATIO)
}

/// An exponent with its sign and at least so many digits.
fn exponent_text(exponent: i32, digits: usize) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{sign}{:0>digits$}", exponent.unsigned_abs())
}

/// What a number looks like that is printed alone, with all the digits that it needs; `point`
/// where also an integer has one.
pub(super) fn lone(number: f64, of: FloatType, point: bool) -> String {
    let limit = match of {
        FloatType::Double => 1e16,
        other => other.limit(),
    };
    let magnitude = number.abs();
    let sign = if number.is_sign_negative() { "-" } else { "" };
    if number.is_nan() {
        "nan".into()
    } else if number.is_infinite() {
        format!("{sign}inf")
    } else if magnitude == 0.0 || (SMALLEST..limit).contains(&magnitude) {
        match positional(magnitude, of, usize::MAX) {
            (whole, fraction) if !fraction.is_empty() => format!("{sign}{whole}.{fraction}"),
            (whole, _) if point => format!("{sign}{whole}.0"),
            (whole, _) => format!("{sign}{whole}"),
        }
    } else {
        let decimal = Decimal::scientific(magnitude, of, usize::MAX);
        let exponent = exponent_text(decimal.exponent, 2);
        match (decimal.whole(), decimal.fraction()) {
            (whole, "") => format!("{sign}{whole}e{exponent}"),
            (whole, fraction) => format!("{sign}{whole}.{fraction}e{exponent}"),
        }
    }
}
