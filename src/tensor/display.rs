//! How tensors are printed: as NumPy 2.5 prints arrays.
//!
//! `Display` is NumPy's `str`, `Debug` its `repr`, with NumPy's default options: floating-point
//! numbers of at most 8 fractional digits, lines of at most 75 characters, and of more than 1000
//! numbers only the first and the last 3 along each dimension. Only what is printed is looked at.
//!
//! ```
//! use dlbridge::Tensor;
//!
//! let tensor = Tensor::from([[1.0_f32, 2.5], [-3.0, 0.1]]);
//! assert_eq!(tensor.to_string(), "[[ 1.   2.5]\n [-3.   0.1]]");
//! assert_eq!(
//!     format!("{tensor:?}"),
//!     "Tensor([[ 1. ,  2.5],\n        [-3. ,  0.1]], dtype=float32)",
//! );
//! ```
//!
//! # What differs from NumPy
//!
//! - `Debug` always names the element type, and without quotes; then the device, where it is not
//!   `cpu`, and `read-only`, where that is so.
//! - Of a tensor that the host can't reach both print shape, type and device instead of elements.
//! - A precision that is asked for, as in `{:.3}`, takes the place of the 8 digits. So it is with
//!   NumPy's `precision`, except that `{:.3}` also applies to tensors of rank 0.
//! - Elements of several lanes are printed each as a list, as if the lanes were one more dimension.
//!   NumPy has no such types; its subarray types print like this.
//! - Floating-point types that NumPy doesn't have (it leaves them to `ml_dtypes`, which prints 6
//!   digits, unaligned) are printed like those it has. Each number gets the shortest decimal that
//!   its own type reads back as the same number; but integers without an exponent have all their
//!   digits: 448, not 450. Scales (`float8_e8m0fnu`) and types of fewer than 8 bits get the digits
//!   of a `float32` instead: so few values are so far apart that the shortest decimal would hardly
//!   resemble them. Exponents are used from 10⁶ on, as for `float32`.
//! - Handles are hexadecimal.
//! - Where the edges of all dimensions would still be more than 10,000 numbers, which takes 6
//!   dimensions or more, of the outermost ones only the first element is printed.

mod digits;
mod elements;
mod floats;
mod nest;

use super::Tensor;
use elements::Elements;
use nest::{Style, nested};
use std::fmt::{self, Write};

/// The longest line.
const LINE_WIDTH: usize = 75;

/// How many fractional digits a number has at most.
const PRECISION: usize = 8;

const PREFIX: &str = "Tensor(";

/// As NumPy's `str` of an array: at most 8 fractional digits, or as many as `{:.3}` asks for; of
/// more than 1000 numbers the first and the last along each dimension. Of a tensor that the host
/// can't look at, shape, element type and device.
impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.storage().settle().is_err() {
            return self.fmt_metadata(f);
        }
        if self.is_empty() {
            return f.write_str("[]");
        }
        let elements = Elements::new(self);
        if let (Some(word), None) = (elements.lone_word(), f.precision()) {
            return f.write_str(&word);
        }
        let words = elements.words(f.precision().unwrap_or(PRECISION));
        let style = Style {
            separator: " ",
            indent: 0,
            width: LINE_WIDTH,
        };
        f.write_str(&nested(&elements.axes, &words, style))
    }
}

/// As NumPy's `repr` of an array; with the element type, the device where it is not the CPU,
/// and whether the elements are read-only.
impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.storage().settle().is_err() {
            return self.fmt_metadata(f);
        }
        let mut text = PREFIX.to_owned();
        let shape_is_visible;
        if self.is_empty() {
            text.push_str("[]");
            shape_is_visible = self.shape() == [0];
        } else {
            let elements = Elements::new(self);
            let words = elements.words(f.precision().unwrap_or(PRECISION));
            shape_is_visible = !elements.summarised;
            let style = Style {
                separator: ", ",
                indent: PREFIX.len(),
                width: LINE_WIDTH - 1, // The last line ends in a parenthesis.
            };
            text.push_str(&nested(&elements.axes, &words, style));
        }
        text.push(',');

        let mut rest = String::new();
        if !shape_is_visible {
            write!(rest, "shape={}, ", Tuple(self.shape()))?;
        }
        write!(rest, "dtype={}", self.dtype())?;
        if self.device() != crate::device::Device::CPU {
            write!(rest, ", device={}", self.device())?;
        }
        self.write_access(&mut rest)?;
        rest.push(')');

        let line = text.len() - text.rfind('\n').map_or(0, |end| end + 1);
        if line + 1 + rest.len() > LINE_WIDTH {
            write!(f, "{text}\n{:indent$}{rest}", "", indent = PREFIX.len())
        } else {
            write!(f, "{text} {rest}")
        }
    }
}

impl Tensor {
    /// What can be said of a tensor whose elements can't be reached.
    fn fmt_metadata(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shape, dtype, device) = (self.shape(), self.dtype(), self.device());
        write!(f, "{PREFIX}shape={shape:?}, dtype={dtype}, device={device}")?;
        self.write_access(f)?;
        f.write_char(')')
    }

    fn write_access(&self, to: &mut impl Write) -> fmt::Result {
        if self.is_read_only() {
            to.write_str(", read-only")?;
        }
        Ok(())
    }
}

/// A shape as Python writes it.
struct Tuple<'a>(&'a [usize]);

impl fmt::Display for Tuple<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            [size] => write!(f, "({size},)"),
            shape => {
                let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
                write!(f, "({})", sizes.join(", "))
            }
        }
    }
}
