//! `Display` and `Debug` of tensors: nested brackets, aligned columns, `...` for what is left out.
//!
//! ```
//! use dlbridge::Tensor;
//!
//! let tensor = Tensor::from([[1.0_f32, 2.5], [-3.0, 0.125]]);
//! assert_eq!(tensor.to_string(), "[[ 1.000  2.500]\n [-3.000  0.125]]");
//! assert_eq!(format!("{tensor:.1}"), "[[ 1.0  2.5]\n [-3.0  0.1]]");
//! assert_eq!(
//!     format!("{:?}", Tensor::from([1.5_f32, 2.0])),
//!     "Tensor([1.5, 2.0], dtype=float32)",
//! );
//! ```
//!
//! # Format
//!
//! - Floating-point elements have one number of fractional digits in common: as many as are needed,
//!   at most 4, or as many as `{:.2}` asks for. All have an exponent where one is 10⁸ or more, or
//!   below 10⁻⁴.
//! - A tensor of rank 0 is its number, in as many digits as tell it from others of its type.
//! - Of more than 1000 elements, the first and the last 3 along each dimension are printed. Only
//!   these are read. Where they would still be more than 10,000 (6 dimensions or more), outer
//!   dimensions show their first element.
//! - The lanes of an element are printed as one more dimension.
//! - `Debug` adds the dtype; the shape where the elements don't show it; the device unless it is
//!   the CPU; and `read-only`. A tensor that the CPU can't access prints these instead of its
//!   elements.

mod number;

use super::Tensor;
use crate::device::Device;
use crate::dtype::Scalar;
use number::words;
use std::fmt::{self, Write};
use std::iter::{once, repeat_n};

/// The longest line.
const LINE_WIDTH: usize = 75;

/// The largest number of elements that are all printed.
const THRESHOLD: usize = 1000;

/// How many are printed at each end of a dimension above that.
const EDGE: usize = 3;

/// The largest number of elements that are printed of a tensor with more.
const MOST: usize = 10_000;

const PREFIX: &str = "Tensor(";

impl fmt::Display for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.storage().settle().is_err() {
            return self.fmt_metadata(f);
        }
        let mut text = String::new();
        self.write_elements(&mut text, " ", f.precision());
        f.write_str(&text)
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.storage().settle().is_err() {
            return self.fmt_metadata(f);
        }
        let mut text = PREFIX.to_owned();
        let is_cut = self.write_elements(&mut text, ", ", f.precision());
        text.push(',');

        let mut rest = String::new();
        if is_cut || self.is_empty() && self.rank() > 1 {
            write!(rest, "shape={:?}, ", self.shape())?;
        }
        write!(rest, "dtype={}", self.dtype())?;
        if self.device() != Device::CPU {
            write!(rest, ", device={}", self.device())?;
        }
        self.write_access(&mut rest)?;
        rest.push(')');

        let fits = column(&text) + 1 + rest.len() <= LINE_WIDTH;
        push_break(&mut text, usize::from(!fits), PREFIX.len());
        f.write_str(&text)?;
        f.write_str(&rest)
    }
}

impl Tensor {
    /// Writes dtype, shape and device, without access to the elements.
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

    /// Appends the elements, and returns whether some are left out.
    fn write_elements(&self, text: &mut String, separator: &str, precision: Option<usize>) -> bool {
        if self.is_empty() {
            text.push_str("[]");
            return false;
        }
        let mut sizes = self.shape().to_vec();
        if self.dtype().lanes() > 1 {
            sizes.push(self.dtype().lanes().into());
        }
        let axes = choose(&sizes);
        let words = words(&self.shown(&axes), self.dtype(), precision, axes.is_empty());
        Nest {
            indent: text.len(),
            text,
            words: words.iter(),
            separator,
            depth: axes.len(),
        }
        .write(&axes);
        axes.iter().any(|axis| axis.has_gap())
    }

    /// Returns the elements that are printed, in order.
    fn shown(&self, axes: &[Axis]) -> Vec<Scalar> {
        let mut offsets = vec![0];
        for (axis, &stride) in axes.iter().zip(self.strides()) {
            let inner = |offset| axis.indices().map(move |i| offset + i as isize * stride);
            offsets = offsets.into_iter().flat_map(inner).collect();
        }
        let lanes: Vec<usize> = match axes.get(self.rank()) {
            Some(axis) => axis.indices().collect(),
            None => vec![0],
        };
        let numbers = |offset| lanes.iter().map(move |&lane| self.lane(offset, lane));
        offsets.into_iter().flat_map(numbers).collect()
    }
}

/// Printed entries along a dimension: the first elements, a gap if there are others, the last ones.
#[derive(Clone, Copy)]
struct Axis {
    size: usize,
    first: usize,
    last: usize,
}

/// Chooses what is printed of a tensor of these sizes, none of which is 0.
fn choose(sizes: &[usize]) -> Vec<Axis> {
    let total = sizes
        .iter()
        .fold(1, |n: usize, &size| n.saturating_mul(size));
    let is_large = total > THRESHOLD;
    let mut shown = 1;
    // The innermost dimensions first: where not all fit, whole rows say most.
    let choose = |&size: &usize| {
        let (mut first, mut last) = (size, 0);
        if is_large && size > 2 * EDGE {
            (first, last) = (EDGE, EDGE);
        }
        if is_large && shown * (first + last) > MOST {
            (first, last) = (1, 0);
        }
        shown *= first + last;
        Axis { size, first, last }
    };
    let mut axes: Vec<_> = sizes.iter().rev().map(choose).collect();
    axes.reverse();
    axes
}

impl Axis {
    fn has_gap(self) -> bool {
        self.first + self.last < self.size
    }

    fn indices(self) -> impl Iterator<Item = usize> + Clone {
        (0..self.first).chain(self.size - self.last..self.size)
    }

    /// Returns what is printed in order: `true` for an element, `false` for the gap.
    fn items(self) -> impl Iterator<Item = bool> {
        let gap = once(false).filter(move |_| self.has_gap());
        repeat_n(true, self.first)
            .chain(gap)
            .chain(repeat_n(true, self.last))
    }
}

/// Writes words into the brackets of dimensions.
struct Nest<'a> {
    text: &'a mut String,
    words: std::slice::Iter<'a, String>,
    separator: &'a str,
    /// The column of the outermost bracket.
    indent: usize,
    /// How many dimensions there are in all.
    depth: usize,
}

impl Nest<'_> {
    fn write(&mut self, axes: &[Axis]) {
        let Some((axis, inner)) = axes.split_first() else {
            return self.text.extend(self.words.next().map(String::as_str));
        };
        let indent = self.indent + self.depth - inner.len();
        self.text.push('[');
        for (i, is_element) in axis.items().enumerate() {
            let next = match (is_element, self.words.as_slice().first()) {
                (true, Some(word)) => word.len(),
                _ => GAP.len(),
            };
            // With the closing brackets, and what follows them.
            let end = column(self.text) + self.separator.len() + next + self.depth + 1;
            let breaks = match inner.len() {
                0 => usize::from(end > LINE_WIDTH),
                between_blocks => between_blocks,
            };
            if i > 0 {
                self.text.push_str(self.separator.trim_end());
                push_break(self.text, breaks, indent);
            }
            match is_element {
                true => self.write(inner),
                false => self.text.push_str(GAP),
            }
        }
        self.text.push(']');
    }
}

/// Returns the length of the last line.
fn column(text: &str) -> usize {
    text.len() - text.rfind('\n').map_or(0, |end| end + 1)
}

/// Appends line breaks and an indent, or a space where there are no line breaks.
fn push_break(text: &mut String, breaks: usize, indent: usize) {
    text.extend(repeat_n('\n', breaks));
    text.extend(repeat_n(' ', if breaks > 0 { indent } else { 1 }));
}

const GAP: &str = "...";
