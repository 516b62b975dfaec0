//! Shapes of arguments: sizes in arrays, and patterns that they are expected to have.

use super::{In, OrNumber, Out, Owned};
use crate::dtype::Element;
use crate::error::Error;
use crate::layout::{Axis, Shaped, Sizes};
use crate::python::argument_markers::{Arrangement, Kind, Place};
use pyo3::prelude::*;

macro_rules! common {
    ($Name:ident) => {
        impl<T: Kind, const RANK: usize, L: Arrangement, D: Place> $Name<'_, T, RANK, L, D> {
            /// Returns the sizes of an argument whose rank is in its type.
            ///
            /// ```no_run
            /// use dlbridge::python::In;
            ///
            /// fn area(image: In<'_, u8, 3>) -> usize {
            ///     let [height, width, _channels] = image.sizes();
            ///     height * width
            /// }
            /// ```
            ///
            /// An argument of any rank has no such array; [`expect`](Self::expect) checks the rank.
            ///
            /// # Panics
            ///
            /// Doesn't compile where the rank isn't in the type.
            #[inline]
            pub fn sizes(&self) -> [usize; RANK] {
                let shape = self.shape();
                std::array::from_fn(|dimension| shape[dimension])
            }

            /// Checks that the shape matches a pattern, and returns its sizes. The pattern is an
            /// array of names, of sizes, of `Option`s of sizes, where `None` is any size, or of
            /// [`Axis`]. A name that is in it twice has one size; [`Sizes`] compares several
            /// arguments.
            ///
            /// ```no_run
            /// use dlbridge::layout::Sizes;
            /// use dlbridge::python::In;
            /// use pyo3::prelude::*;
            ///
            /// #[pyfunction]
            /// fn layer_norm(x: In<'_, f32>, weight: In<'_, f32>) -> PyResult<()> {
            ///     let [_batch, features] = x.expect(["b", "d"])?;
            ///     weight.expect([features])?;
            ///     Ok(())
            /// }
            ///
            /// #[pyfunction]
            /// fn rotary(x: In<'_, f32>, cos: In<'_, f32>) -> PyResult<()> {
            ///     let mut sizes = Sizes::new();
            ///     let [_b, t, _h, d] = sizes.expect("x", &x, ["b", "t", "h", "d"])?;
            ///     sizes.expect("cos", &cos, ["t", "d"])?; // the same as in x
            ///     # let _ = (t, d);
            ///     Ok(())
            /// }
            /// ```
            ///
            /// # Errors
            ///
            /// A `ValueError` that names the dimension and both sizes.
            pub fn expect<const N: usize>(
                &self,
                pattern: [impl Into<Axis>; N],
            ) -> PyResult<[usize; N]> {
                let pattern = pattern.map(Into::into);
                let checked = Sizes::new().check("a tensor", self.shape(), pattern);
                Ok(checked.map_err(Error::from)?)
            }
        }

        impl<T: Kind, const RANK: usize, L: Arrangement, D: Place> Shaped
            for $Name<'_, T, RANK, L, D>
        {
            fn sizes_of_dimensions(&self) -> &[usize] {
                self.shape()
            }
        }
    };
}

common!(In);
common!(Out);

impl<T: Element> Shaped for OrNumber<'_, T> {
    fn sizes_of_dimensions(&self) -> &[usize] {
        self.shape()
    }
}

impl<T: Kind, const RANK: usize, L: Arrangement, D: Place> Shaped for Owned<T, RANK, L, D> {
    fn sizes_of_dimensions(&self) -> &[usize] {
        self.shape()
    }
}
