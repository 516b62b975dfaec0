//! Shapes that are expected of several tensors: patterns of names and sizes, and [`Sizes`], the
//! sizes that the names have.

use super::{Layout, LayoutError, LayoutRef};
use std::fmt::{self, Write};
use std::ops::Index;

/// What is expected of a dimension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Axis {
    /// Any size.
    Any,
    /// This size.
    Size(usize),
    /// The same size wherever the name is.
    Name(&'static str),
}

impl From<usize> for Axis {
    fn from(size: usize) -> Self {
        Self::Size(size)
    }
}

impl From<Option<usize>> for Axis {
    fn from(size: Option<usize>) -> Self {
        size.map_or(Self::Any, Self::Size)
    }
}

impl From<&'static str> for Axis {
    fn from(name: &'static str) -> Self {
        Self::Name(name)
    }
}

/// What has a shape.
pub trait Shaped {
    /// Returns the sizes of the dimensions.
    fn sizes_of_dimensions(&self) -> &[usize];
}

impl Shaped for [usize] {
    fn sizes_of_dimensions(&self) -> &[usize] {
        self
    }
}

impl<const N: usize> Shaped for [usize; N] {
    fn sizes_of_dimensions(&self) -> &[usize] {
        self
    }
}

impl Shaped for Layout {
    fn sizes_of_dimensions(&self) -> &[usize] {
        self.shape()
    }
}

impl Shaped for LayoutRef<'_> {
    fn sizes_of_dimensions(&self) -> &[usize] {
        self.shape()
    }
}

/// The sizes that the names of dimensions have, in the shapes of several tensors.
///
/// A name has the same size in all of them. Patterns are arrays of names, of sizes, of
/// `Option`s of sizes, where `None` is any size, or of [`Axis`].
///
/// ```
/// use dlbridge::Tensor;
/// use dlbridge::layout::Sizes;
///
/// let x = Tensor::from([[1.0_f32, 2.0, 3.0], [4.0, 5.0, 6.0]]);
/// let weight = Tensor::from([1.0_f32, 2.0]);
///
/// let mut sizes = Sizes::new();
/// let [rows, features] = sizes.expect("x", &x, ["n", "d"])?;
/// assert_eq!((rows, features, sizes["d"]), (2, 3, 3));
///
/// let error = sizes.expect("weight", &weight, ["d"]).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "expected \"weight\" of shape [d], got [2]: dimension 0 is 2, and \"d\" is 3 in \"x\""
/// );
/// let [n] = sizes.expect("weight", &weight, [None])?;
/// assert_eq!(n, 2);
/// # Ok::<(), dlbridge::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Sizes(Vec<Bound>);

/// A name, its size, and the tensor that it was found in.
#[derive(Debug, Clone)]
struct Bound {
    name: &'static str,
    size: usize,
    tensor: String,
}

impl Sizes {
    /// Creates one without names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Checks that a tensor has the shape of a pattern, where names that were seen before have the
    /// sizes that they had, and returns its sizes. `tensor`: its name, for errors.
    ///
    /// # Errors
    ///
    /// When the tensor has another rank, or a dimension another size: the message names the tensor,
    /// the dimension and both sizes. No name has got a size then.
    pub fn expect<const N: usize>(
        &mut self,
        tensor: &str,
        shape: &(impl Shaped + ?Sized),
        pattern: [impl Into<Axis>; N],
    ) -> Result<[usize; N], LayoutError> {
        let quoted = format!("\"{tensor}\"");
        self.check(
            &quoted,
            shape.sizes_of_dimensions(),
            pattern.map(Into::into),
        )
    }

    /// Returns the size that a name has.
    pub fn get(&self, name: &str) -> Option<usize> {
        Some(self.find(name)?.size)
    }

    fn find(&self, name: &str) -> Option<&Bound> {
        self.0.iter().find(|bound| bound.name == name)
    }

    /// Checks a shape. `tensor`: how an error calls it.
    pub(crate) fn check<const N: usize>(
        &mut self,
        tensor: &str,
        shape: &[usize],
        pattern: [Axis; N],
    ) -> Result<[usize; N], LayoutError> {
        let Ok(sizes) = <[usize; N]>::try_from(shape) else {
            return Err(self.mismatch(tensor, shape, &pattern, String::new(), true));
        };
        let before = self.0.len();
        for (dimension, (&axis, size)) in pattern.iter().zip(sizes).enumerate() {
            let why = match axis {
                Axis::Any => continue,
                Axis::Size(wanted) if wanted == size => continue,
                Axis::Size(wanted) => format!(": dimension {dimension} is {size}, not {wanted}"),
                Axis::Name(name) => match self.find(name) {
                    None => {
                        let tensor = tensor.to_owned();
                        self.0.push(Bound { name, size, tensor });
                        continue;
                    }
                    Some(bound) if bound.size == size => continue,
                    Some(Bound {
                        size: wanted,
                        tensor,
                        ..
                    }) => format!(
                        ": dimension {dimension} is {size}, and \"{name}\" is {wanted} in {tensor}"
                    ),
                },
            };
            self.0.truncate(before);
            return Err(self.mismatch(tensor, shape, &pattern, why, false));
        }
        Ok(sizes)
    }

    #[cold]
    fn mismatch(
        &self,
        tensor: &str,
        shape: &[usize],
        pattern: &[Axis],
        why: String,
        is_rank: bool,
    ) -> LayoutError {
        let known = |axis: &Axis| match axis {
            Axis::Name(name) => self.get(name).map_or(*axis, Axis::Size),
            _ => *axis,
        };
        let wanted: Vec<_> = pattern.iter().map(known).collect();
        let expected = Pattern(pattern);
        LayoutError::Pattern {
            message: format!("expected {tensor} of shape {expected}, got {shape:?}{why}"),
            found: shape.to_vec(),
            wanted: Pattern(&wanted).to_string(),
            is_rank,
        }
    }
}

impl Index<&str> for Sizes {
    type Output = usize;

    /// Returns the size that a name has.
    ///
    /// # Panics
    ///
    /// When no pattern had the name.
    fn index(&self, name: &str) -> &usize {
        match self.find(name) {
            Some(bound) => &bound.size,
            None => panic!("no pattern had the name {name:?}"),
        }
    }
}

/// A pattern as in an error: `[b, 3, *]`.
struct Pattern<'a>(&'a [Axis]);

impl fmt::Display for Pattern<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('[')?;
        for (dimension, axis) in self.0.iter().enumerate() {
            if dimension > 0 {
                f.write_str(", ")?;
            }
            match axis {
                Axis::Any => f.write_char('*'),
                Axis::Size(size) => write!(f, "{size}"),
                Axis::Name(name) => f.write_str(name),
            }?;
        }
        f.write_char(']')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message<const N: usize>(
        sizes: &mut Sizes,
        shape: &[usize],
        pattern: [impl Into<Axis>; N],
    ) -> String {
        sizes.expect("x", shape, pattern).unwrap_err().to_string()
    }

    #[test]
    fn expect_returns_sizes_and_binds_names() {
        let mut sizes = Sizes::new();
        assert_eq!(
            sizes.expect("q", &[2, 5, 4], ["b", "t", "d"]),
            Ok([2, 5, 4])
        );
        assert_eq!(
            sizes.expect("k", &[2, 7, 4], ["b", "s", "d"]),
            Ok([2, 7, 4])
        );
        assert_eq!(sizes.expect("m", &[5, 7], [None, Some(7)]), Ok([5, 7]));
        assert_eq!(sizes.expect("n", &[5], [sizes["t"]]), Ok([5]));
        assert_eq!(sizes.expect("s", &[], [Axis::Any; 0]), Ok([]));
        assert_eq!((sizes.get("s"), sizes.get("x")), (Some(7), None));
    }

    #[test]
    fn expect_names_tensor_dimension_and_both_sizes() {
        let mut sizes = Sizes::new();
        sizes.expect("q", &[2, 5], ["b", "t"]).unwrap();
        assert_eq!(
            message(&mut sizes, &[2, 6], ["b", "t"]),
            "expected \"x\" of shape [b, t], got [2, 6]: dimension 1 is 6, and \"t\" is 5 in \"q\""
        );
        assert_eq!(
            message(&mut sizes, &[3, 4], [None, Some(3)]),
            "expected \"x\" of shape [*, 3], got [3, 4]: dimension 1 is 4, not 3"
        );
        assert_eq!(
            message(&mut sizes, &[3], ["b", "t"]),
            "expected \"x\" of shape [b, t], got [3]"
        );
    }

    #[test]
    fn same_name_twice_in_one_pattern_is_a_square() {
        let mut sizes = Sizes::new();
        assert_eq!(
            message(&mut sizes, &[3, 4], ["n", "n"]),
            "expected \"x\" of shape [n, n], got [3, 4]: dimension 1 is 4, and \"n\" is 3 in \"x\""
        );
        // What failed has left no name.
        assert_eq!(sizes.expect("x", &[4, 4], ["n", "n"]), Ok([4, 4]));
    }

    #[test]
    fn fields_have_sizes_of_known_names() {
        let mut sizes = Sizes::new();
        sizes.expect("q", &[2], ["b"]).unwrap();
        let Err(LayoutError::Pattern {
            found,
            wanted,
            is_rank,
            ..
        }) = sizes.expect("x", &[3, 1], [Axis::Name("b"), Axis::Any])
        else {
            panic!("sizes differ");
        };
        assert_eq!(
            (found, wanted.as_str(), is_rank),
            (vec![3, 1], "[2, *]", false)
        );
    }
}
