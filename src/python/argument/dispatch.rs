//! [`dispatch!`](crate::dispatch): generic functions of arguments that take several element types.

mod collections;

use super::arg_spec::Found;
use super::{In, Out, Owned};
use crate::dtype::{DType, Element};
use crate::error::{Incompatibility, IncompatibilityKind};
use crate::python::argument_markers::{Arrangement, ElementList, Nth, OneOf, Place};
use crate::python::error::unsuitable;
use pyo3::prelude::*;
use std::fmt::Display;

/// An argument of which the element type is one of a list, as [`dispatch!`](crate::dispatch) takes
/// it: an [`In`], [`Out`] or [`Owned`] of [`OneOf`], and an `Option`, `Vec`, array, `HashMap`,
/// [`List`](super::List) or [`Dict`](super::Dict) of such.
pub trait Dispatch: Dtypes + Sized {
    /// The element types that it may have.
    type List: ElementList;
    /// The argument with one of them.
    type Typed<E: Element>;

    /// Returns the argument with the element type that it has.
    ///
    /// # Panics
    ///
    /// When it has another one.
    #[doc(hidden)]
    fn typed<E: Element>(self) -> Self::Typed<E>;
}

/// The dtypes of an argument's tensors.
pub trait Dtypes {
    /// Calls a function for each tensor: with its index in the argument, as in `[2]`, its dtype and
    /// its description.
    #[doc(hidden)]
    fn for_each_dtype(&self, see: &mut dyn FnMut(&dyn Display, DType, &dyn Display));
}

macro_rules! one_tensor {
    ($([$($generics:tt)*] $Name:ident<$($lifetime:lifetime,)?>;)+) => {$(
        impl<$($lifetime,)? $($generics)*> Dtypes for $Name<$($lifetime,)? OneOf<T>, RANK, L, D> {
            fn for_each_dtype(&self, see: &mut dyn FnMut(&dyn Display, DType, &dyn Display)) {
                see(&"", self.dtype(), &self.found());
            }
        }

        impl<$($lifetime,)? $($generics)*> Dispatch for $Name<$($lifetime,)? OneOf<T>, RANK, L, D> {
            type List = T;
            type Typed<E: Element> = $Name<$($lifetime,)? E, RANK, L, D>;

            fn typed<E: Element>(self) -> Self::Typed<E> {
                assert_eq!(self.dtype(), E::DTYPE);
                $Name(self.0, std::marker::PhantomData)
            }
        }
    )+};
}

one_tensor! {
    [T: ElementList, const RANK: usize, L: Arrangement, D: Place] In<'py,>;
    [T: ElementList, const RANK: usize, L: Arrangement, D: Place] Out<'py,>;
    [T: ElementList, const RANK: usize, L: Arrangement, D: Place] Owned<>;
}

impl<'py, T: ElementList, const RANK: usize, L: Arrangement, D: Place>
    In<'py, OneOf<T>, RANK, L, D>
{
    fn found(&self) -> Found<'_> {
        Found(self.0.get())
    }
}

impl<'py, T: ElementList, const RANK: usize, L: Arrangement, D: Place>
    Out<'py, OneOf<T>, RANK, L, D>
{
    fn found(&self) -> Found<'_> {
        Found(self.0.get())
    }
}

impl<T: ElementList, const RANK: usize, L: Arrangement, D: Place> Owned<OneOf<T>, RANK, L, D> {
    fn found(&self) -> String {
        format!("a tensor of {}, shape {:?}", self.dtype(), self.shape())
    }
}

/// An argument that is one tensor.
#[doc(hidden)]
pub trait OneTensor: Dispatch {}

impl<T: ElementList, const RANK: usize, L: Arrangement, D: Place> OneTensor
    for In<'_, OneOf<T>, RANK, L, D>
{
}
impl<T: ElementList, const RANK: usize, L: Arrangement, D: Place> OneTensor
    for Out<'_, OneOf<T>, RANK, L, D>
{
}
impl<T: ElementList, const RANK: usize, L: Arrangement, D: Place> OneTensor
    for Owned<OneOf<T>, RANK, L, D>
{
}

/// Functions that [`dispatch!`](crate::dispatch) calls.
#[doc(hidden)]
#[derive(Debug)]
pub enum Dispatching {}

impl Dispatching {
    /// Returns an argument's dtype.
    pub fn dtype_of<X: OneTensor>(x: &X) -> DType {
        let mut found = None;
        x.for_each_dtype(&mut |_, dtype, _| found = Some(dtype));
        found.expect("an argument that is one tensor has a dtype")
    }

    /// Returns the dtype that all tensors of several arguments have; that of the list's first type
    /// where there are no tensors.
    ///
    /// # Errors
    ///
    /// A `TypeError` that names two arguments whose dtypes differ.
    pub fn common_dtype<X: Dispatch>(_: &X, arguments: &[(&str, &dyn Dtypes)]) -> PyResult<DType> {
        let mut first: Option<(String, DType)> = None;
        let mut differs = None;
        for (name, argument) in arguments {
            argument.for_each_dtype(&mut |index, dtype, found| match &first {
                None => first = Some((format!("{name}{index}"), dtype)),
                Some((other, wanted)) if *wanted != dtype && differs.is_none() => {
                    let reason = format!(
                        "expected \"{name}{index}\" of the same dtype as \"{other}\", {wanted}; \
                         got {found}"
                    );
                    let error = Incompatibility::new(
                        IncompatibilityKind::DType,
                        dtype.to_string(),
                        wanted.to_string(),
                    );
                    differs = Some(error.with_reason(reason).with_remedy("cast one of them"));
                }
                Some(_) => {}
            });
        }
        match (differs, first) {
            (Some(error), _) => Err(unsuitable(error)),
            (None, Some((_, dtype))) => Ok(dtype),
            (None, None) => Ok(X::List::DTYPES[0]),
        }
    }

    /// Returns the index of a dtype in an argument's list.
    pub fn index_of<X: Dispatch>(_: &X, dtype: DType) -> usize {
        let index = X::List::DTYPES.iter().position(|other| *other == dtype);
        index.expect("an argument's dtype was checked when it was made")
    }

    /// Returns an argument with the element type of an index.
    pub fn nth<const INDEX: usize, X>(x: X) -> X::Typed<<X::List as Nth<INDEX>>::Element>
    where
        X: Dispatch<List: Nth<INDEX>>,
    {
        x.typed()
    }

    /// Checks at compile time that two arguments have the same list.
    pub fn have_same_list<X: Dispatch, Y: Dispatch<List = X::List>>(_: &X, _: &Y) {}

    /// Checks at compile time that a list is an argument's.
    pub fn has_list<L, X: Dispatch<List = L>>(_: &X) {}
}

/// Evaluates an expression with arguments that take [`OneOf`](crate::python::OneOf) several element
/// types, as arguments of the type that their tensors have.
///
/// - `dispatch!(x => f(x))`: in the expression, `x` is an [`In<T>`](crate::python::In) in place of
///   an `In<OneOf<(T, U)>>`, for the `T` that its tensor has.
/// - `dispatch!((x, mut out) => f(x, out))`: several arguments with the same list, whose tensors
///   must have the same dtype. Each may be an `Option` of a tensor, or a collection. Where dtypes
///   differ, the macro returns a `TypeError` from the function, as `?` does.
/// - `dispatch!(x, T in (f32, bf16) => f::<T>(x))`: the same with a name for the type. The list is
///   repeated, as a macro doesn't see types; another list than the argument's doesn't compile.
///
/// The expression is compiled for each type, so a call of a generic function is best.
///
/// ```no_run
/// use dlbridge::python::{In, OneOf, Out};
/// use dlbridge::{Float, dispatch, half::bf16};
/// use pyo3::prelude::*;
///
/// #[pyfunction]
/// fn scale(
///     x: In<'_, OneOf<(f32, bf16)>>,
///     out: Out<'_, OneOf<(f32, bf16)>>,
///     factor: f32,
/// ) -> PyResult<()> {
///     dispatch!((x, mut out), T in (f32, bf16) => scaled::<T>(&x, &mut out, factor))
/// }
///
/// fn scaled<T: Float>(x: &In<'_, T>, out: &mut Out<'_, T>, factor: f32) -> PyResult<()> {
///     out.check_shape(x.shape())?;
///     for (out, x) in out.view_mut().iter_mut().zip(x.view()) {
///         *out = T::from_f32(x.to_f32() * factor);
///     }
///     Ok(())
/// }
/// ```
///
/// ```compile_fail,E0271
/// use dlbridge::dispatch;
/// use dlbridge::python::{In, OneOf};
///
/// fn nbytes(x: In<'_, OneOf<(f32, f64)>>) -> usize {
///     dispatch!(x, T in (f32, i64) => size_of::<T>() * x.len())
/// }
/// ```
#[macro_export]
macro_rules! dispatch {
    ($x:ident => $body:expr) => {
        $crate::dispatch!(@one [] $x => $body)
    };
    (mut $x:ident => $body:expr) => {
        $crate::dispatch!(@one [mut] $x => $body)
    };
    ($x:ident, $T:ident in ($($E:ty),+ $(,)?) => $body:expr) => {
        $crate::dispatch!(@one [] $x, $T [$($E),+] => $body)
    };
    (mut $x:ident, $T:ident in ($($E:ty),+ $(,)?) => $body:expr) => {
        $crate::dispatch!(@one [mut] $x, $T [$($E),+] => $body)
    };
    (($($arguments:tt)+) => $body:expr) => {
        $crate::dispatch!(@parse [] [$($arguments)+] => $body)
    };
    (($($arguments:tt)+), $T:ident in ($($E:ty),+ $(,)?) => $body:expr) => {
        $crate::dispatch!(@parse [] [$($arguments)+], $T [$($E),+] => $body)
    };

    (@one [$($m:tt)?] $x:ident $($rest:tt)+) => {{
        let dtype = $crate::python::Dispatching::dtype_of(&$x);
        $crate::dispatch!(@typed dtype $x [{[$($m)?] $x}] $($rest)+)
    }};

    (@parse [$($done:tt)*] [mut $x:ident, $($more:tt)+] $($rest:tt)+) => {
        $crate::dispatch!(@parse [$($done)* {[mut] $x}] [$($more)+] $($rest)+)
    };
    (@parse [$($done:tt)*] [mut $x:ident $(,)?] $($rest:tt)+) => {
        $crate::dispatch!(@parse [$($done)* {[mut] $x}] [] $($rest)+)
    };
    (@parse [$($done:tt)*] [$x:ident, $($more:tt)+] $($rest:tt)+) => {
        $crate::dispatch!(@parse [$($done)* {[] $x}] [$($more)+] $($rest)+)
    };
    (@parse [$($done:tt)*] [$x:ident $(,)?] $($rest:tt)+) => {
        $crate::dispatch!(@parse [$($done)* {[] $x}] [] $($rest)+)
    };
    (@parse [{$m:tt $x:ident} $({$n:tt $y:ident})*] [] $($rest:tt)+) => {{
        let dtype = $crate::python::Dispatching::common_dtype(
            &$x,
            &[(stringify!($x), &$x as &dyn $crate::python::Dtypes)
                $(, (stringify!($y), &$y))*],
        )?;
        $($crate::python::Dispatching::have_same_list(&$x, &$y);)*
        $crate::dispatch!(@typed dtype $x [{$m $x} $({$n $y})*] $($rest)+)
    }};

    (@typed $dtype:ident $x:ident $all:tt => $body:expr) => {
        match $crate::python::Dispatching::index_of(&$x, $dtype) {
            0 => $crate::dispatch!(@nth 0 $all $body),
            1 => $crate::dispatch!(@nth 1 $all $body),
            2 => $crate::dispatch!(@nth 2 $all $body),
            3 => $crate::dispatch!(@nth 3 $all $body),
            4 => $crate::dispatch!(@nth 4 $all $body),
            5 => $crate::dispatch!(@nth 5 $all $body),
            6 => $crate::dispatch!(@nth 6 $all $body),
            7 => $crate::dispatch!(@nth 7 $all $body),
            8 => $crate::dispatch!(@nth 8 $all $body),
            9 => $crate::dispatch!(@nth 9 $all $body),
            10 => $crate::dispatch!(@nth 10 $all $body),
            _ => $crate::dispatch!(@nth 11 $all $body),
        }
    };
    (@typed $dtype:ident $x:ident $all:tt, $T:ident [$($E:ty),+] => $body:expr) => {{
        $crate::python::Dispatching::has_list::<($($E,)+), _>(&$x);
        $crate::dispatch!(@if $dtype $all $T [$($E),+] $body)
    }};

    (@nth $index:literal [$({[$($m:tt)?] $x:ident})+] $body:expr) => {{
        $(let $($m)? $x = $crate::python::Dispatching::nth::<$index, _>($x);)+
        $body
    }};

    (@if $dtype:ident [$({[$($m:tt)?] $x:ident})+] $T:ident [$E:ty] $body:expr) => {{
        #[allow(dead_code, reason = "the body need not name it")]
        type $T = $E;
        $(let $($m)? $x = $crate::python::Dispatch::typed::<$E>($x);)+
        $body
    }};
    (@if $dtype:ident [$({$m:tt $x:ident})+] $T:ident [$E:ty $(, $More:ty)+] $body:expr) => {
        if $dtype == <$E as $crate::dtype::Element>::DTYPE {
            $crate::dispatch!(@if $dtype [$({$m $x})+] $T [$E] $body)
        } else {
            $crate::dispatch!(@if $dtype [$({$m $x})+] $T [$($More),+] $body)
        }
    };
}
