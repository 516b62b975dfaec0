//! [`detach`]: a function's body without the GIL.

use super::argument::{In, Out};
use super::argument_markers::{Arrangement, Host};
use crate::dtype::Element;
use crate::view::{View, ViewMut};
use pyo3::prelude::*;

/// Runs `body` while other threads may run Python. Releasing and taking the GIL costs some 40 ns;
/// it pays for work of microseconds.
///
/// The arguments' memory is owned before: a framework's tensor that is borrowed, which is valid
/// only while the framework can't run, is requested again by the owned call of the exchange table.
///
/// ```no_run
/// use dlbridge::python::{In, Out, detach};
/// use pyo3::prelude::*;
///
/// #[pyfunction]
/// fn double(py: Python<'_>, mut x: In<'_, f32>, mut out: Out<'_, f32>) -> PyResult<()> {
///     out.check_shape(x.shape())?;
///     detach(py, (&mut x, &mut out), |(x, mut out)| {
///         out.iter_mut().zip(&x).for_each(|(out, x)| *out = 2.0 * x);
///     })
/// }
/// ```
///
/// This is the one way to use arguments while other threads run Python. PyO3's own `Python::detach`
/// doesn't take arguments:
///
/// ```compile_fail,E0277
/// use dlbridge::python::In;
/// use pyo3::prelude::*;
///
/// #[pyfunction]
/// fn count(py: Python<'_>, x: In<'_, f32>) -> usize {
///     py.detach(|| x.view().len())
/// }
/// ```
///
/// But it takes **views** that were made before, as these are `Send`. Don't: what they show was
/// borrowed for the time that no Python code runs, and isn't kept in there.
///
/// # Errors
///
/// When a framework can't lend its tensor in the way that lasts, or has changed it since it was
/// borrowed.
pub fn detach<A: Detach, R: Send>(
    py: Python<'_>,
    mut arguments: A,
    body: impl FnOnce(A::Views) -> R + Send,
) -> PyResult<R> {
    arguments.own()?;
    let views = arguments.into_views();
    Ok(py.detach(move || body(views)))
}

/// Arguments that can be used while Python runs: an [`In`] or an [`Out`] by `&mut`, or a tuple of
/// such.
pub trait Detach {
    /// What the body gets for them.
    type Views: Send;

    #[doc(hidden)]
    fn own(&mut self) -> PyResult<()>;

    #[doc(hidden)]
    fn into_views(self) -> Self::Views;
}

impl<'a, 'py, T: Element, const RANK: usize, L: Arrangement> Detach
    for &'a mut In<'py, T, RANK, L, Host>
{
    type Views = View<'a, T>;

    fn own(&mut self) -> PyResult<()> {
        In::own(self)
    }

    fn into_views(self) -> View<'a, T> {
        self.view()
    }
}

impl<'a, 'py, T: Element, const RANK: usize, L: Arrangement> Detach
    for &'a mut Out<'py, T, RANK, L, Host>
{
    type Views = ViewMut<'a, T>;

    fn own(&mut self) -> PyResult<()> {
        Out::own(self)
    }

    fn into_views(self) -> ViewMut<'a, T> {
        self.view_mut()
    }
}

macro_rules! tuples {
    ($($($Name:ident $index:tt)+;)+) => {$(
        impl<$($Name: Detach),+> Detach for ($($Name,)+) {
            type Views = ($($Name::Views,)+);

            fn own(&mut self) -> PyResult<()> {
                $(self.$index.own()?;)+
                Ok(())
            }

            fn into_views(self) -> Self::Views {
                ($(self.$index.into_views(),)+)
            }
        }
    )+};
}

tuples! {
    A 0;
    A 0 B 1;
    A 0 B 1 C 2;
    A 0 B 1 C 2 D 3;
    A 0 B 1 C 2 D 3 E 4;
    A 0 B 1 C 2 D 3 E 4 F 5;
    A 0 B 1 C 2 D 3 E 4 F 5 G 6;
    A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7;
}
