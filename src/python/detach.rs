//! [`detach`]: a function's body without the GIL.

mod one_of;
mod shapes;

pub use one_of::{OneOfView, OneOfViewMut};
pub use shapes::Detachable;

#[cfg(doc)]
use super::argument::{Dict, In, List, OrNumber, Out};
#[cfg(doc)]
use super::argument_markers::OneOf;
#[cfg(doc)]
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
/// Arguments of any shape can be used so; the views are nested as the arguments are:
///
/// ```no_run
/// use dlbridge::python::{In, List, OneOf, Out, detach};
/// use dlbridge::{Number, View, ViewMut, dispatch};
/// use pyo3::prelude::*;
///
/// #[pyfunction]
/// fn weighted_sum(
///     py: Python<'_>,
///     mut tensors: List<In<'_, f32, 1>>,
///     mut weights: Option<In<'_, f32, 1>>,
///     mut out: Out<'_, f32, 1>,
/// ) -> PyResult<()> {
///     let arguments = (&mut tensors, &mut weights, &mut out);
///     detach(py, arguments, |(tensors, weights, mut out)| {
///         for (at, x) in tensors.iter().enumerate() {
///             let weight = weights.map_or(1.0, |weights| weights[[at]]);
///             out.iter_mut().zip(x).for_each(|(out, x)| *out += weight * x);
///         }
///     })
/// }
///
/// #[pyfunction]
/// fn total(py: Python<'_>, mut x: In<'_, OneOf<(f32, i64)>>) -> PyResult<f64> {
///     detach(py, &mut x, |x| dispatch!(x => total_of(x)))
/// }
///
/// fn total_of<T: Number>(x: View<'_, T>) -> f64 {
///     x.iter().map(|x| x.to_f64()).sum()
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

/// Arguments that can be used while Python runs: one by `&mut`, or a tuple of such, nested as they
/// are passed. One is a tensor ([`In`], [`Out`], of [`OneOf`] several element types too), an
/// [`OrNumber`], or an `Option`, `Vec`, array, `HashMap`, [`List`], [`Dict`] or tuple of such.
pub trait Detach {
    /// What the body gets for them: a [`View`] for an [`In`], a [`ViewMut`] for an [`Out`], a
    /// [`OneOfView`] or [`OneOfViewMut`] for one of several element types, and an `Option`, a `Vec`
    /// and so on of such for these.
    type Views: Send;

    #[doc(hidden)]
    fn own(&mut self) -> PyResult<()>;

    #[doc(hidden)]
    fn into_views(self) -> Self::Views;
}

impl<'a, A: Detachable> Detach for &'a mut A {
    type Views = A::Views<'a>;

    fn own(&mut self) -> PyResult<()> {
        Detachable::own(&**self)
    }

    fn into_views(self) -> A::Views<'a> {
        self.views()
    }
}

macro_rules! tuples {
    ($($($Name:ident $index:tt)+;)+) => {$(
        impl<$($Name: Detachable),+> Detachable for ($($Name,)+) {
            type Views<'a> = ($($Name::Views<'a>,)+) where $($Name: 'a),+;

            fn own(&self) -> PyResult<()> {
                $(self.$index.own()?;)+
                Ok(())
            }

            fn views(&mut self) -> Self::Views<'_> {
                ($(self.$index.views(),)+)
            }
        }

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
