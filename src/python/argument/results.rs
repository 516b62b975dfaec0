//! Results that are filled by a function, in memory of an argument's framework.

use super::{In, Out};
use crate::dtype::Element;
use crate::error::{Error, LayoutError};
use crate::python::argument_markers::{Arrangement, Host, Kind, Place};
use crate::python::export::{Like, written};
use crate::tensor::Indices;
use pyo3::prelude::*;

macro_rules! common {
    ($Name:ident) => {
        impl<'py, T: Kind, const RANK: usize, L: Arrangement, D: Place> $Name<'py, T, RANK, L, D> {
            /// Creates a result of this argument's framework, of elements that a function returns
            /// for their indices. The memory comes from the framework's allocator, as with
            /// [`zeros_like`](Self::zeros_like), and is written once.
            ///
            /// ```no_run
            /// use dlbridge::python::{In, Like};
            /// use pyo3::prelude::*;
            ///
            /// #[pyfunction]
            /// fn outer<'py>(x: In<'py, f32, 1>, y: In<'py, f32, 1>) -> PyResult<Like<'py>> {
            ///     let (a, b) = (x.view(), y.view());
            ///     x.like_from_fn([a.len(), b.len()], |[i, j]| a[[i]] * b[[j]])
            /// }
            /// ```
            ///
            /// # Errors
            ///
            /// When the shape is invalid, or there is not enough memory.
            pub fn like_from_fn<U: Element, const N: usize>(
                &self,
                shape: [usize; N],
                mut element: impl FnMut([usize; N]) -> U,
            ) -> PyResult<Like<'py>> {
                let mut indices = Indices::new(shape);
                self.written(&shape, || Some(element(indices.next())))
            }

            /// Creates a result of this argument's framework, of the elements of an iterator, the
            /// last index changing fastest. That all of its memory is written is checked.
            ///
            /// # Errors
            ///
            /// When the iterator has fewer or more elements than the shape, the shape is invalid,
            /// or there is not enough memory.
            pub fn like_from_iter<U: Element>(
                &self,
                shape: &[usize],
                elements: impl IntoIterator<Item = U>,
            ) -> PyResult<Like<'py>> {
                let mut elements = elements.into_iter();
                let made = self.written(shape, || elements.next())?;
                if elements.next().is_some() {
                    let expected = made.len();
                    let error = LayoutError::ElementCount {
                        shape: shape.to_vec(),
                        expected,
                        found: expected + 1,
                    };
                    return Err(Error::from(error).into());
                }
                Ok(made)
            }

            fn written<U: Element>(
                &self,
                shape: &[usize],
                next: impl FnMut() -> Option<U>,
            ) -> PyResult<Like<'py>> {
                // SAFETY: an argument is only there while its thread is attached.
                let py = unsafe { Python::assume_attached() };
                let tensor = written(self.object(py).as_ref(), shape, next)?;
                Ok(self.like(tensor))
            }
        }

        impl<'py, T: Element, const RANK: usize, L: Arrangement> $Name<'py, T, RANK, L, Host> {
            /// Creates a result of this argument's framework and shape, of what a function returns
            /// for each element.
            ///
            /// ```no_run
            /// use dlbridge::python::{In, Like};
            /// use pyo3::prelude::*;
            ///
            /// #[pyfunction]
            /// fn relu<'py>(x: In<'py, f32>) -> PyResult<Like<'py>> {
            ///     x.map_like(|x| x.max(0.0))
            /// }
            /// ```
            ///
            /// # Errors
            ///
            /// When there is not enough memory.
            pub fn map_like<U: Element>(
                &self,
                mut function: impl FnMut(T) -> U,
            ) -> PyResult<Like<'py>> {
                let view = self.view();
                let mut elements = view.iter();
                self.written(self.shape(), || elements.next().map(|x| function(*x)))
            }
        }
    };
}

common!(In);
common!(Out);
