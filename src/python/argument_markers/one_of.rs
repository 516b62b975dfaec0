//! [`OneOf`]: the marker of an argument that takes several element types.

use super::{Host, Kind, sealed};
use crate::dtype::{DType, Element};
use std::marker::PhantomData;

/// Each element type of a tuple, for an argument that takes several: `OneOf<(f32, bf16)>`.
///
/// A tensor of any other dtype is refused with one `TypeError` that lists them.
/// [`dispatch!`](crate::dispatch) calls a generic function with the argument as one of the type
/// that it has. Lists have up to 12 types.
///
/// ```no_run
/// use dlbridge::python::{In, Like, OneOf};
/// use dlbridge::{Float, dispatch, half::bf16};
/// use pyo3::prelude::*;
///
/// #[pyfunction]
/// fn relu<'py>(x: In<'py, OneOf<(f32, bf16)>>) -> PyResult<Like<'py>> {
///     dispatch!(x => relu_of(x))
/// }
///
/// fn relu_of<'py, T: Float>(x: In<'py, T>) -> PyResult<Like<'py>> {
///     x.map_like(|x| x.max(T::ZERO))
/// }
/// ```
///
/// A list of something else than element types doesn't compile:
///
/// ```compile_fail,E0277
/// use dlbridge::python::{In, OneOf};
/// fn f(x: In<'_, OneOf<(f32, String)>>) -> usize {
///     x.len()
/// }
/// ```
#[derive(Debug, Clone, Copy)]
pub struct OneOf<L>(Never, PhantomData<L>);

#[derive(Debug, Clone, Copy)]
enum Never {}

/// A tuple of element types.
pub trait ElementList: list::Sealed + Send + Sync + 'static {
    #[doc(hidden)]
    const DTYPES: &'static [DType];
    #[doc(hidden)]
    const ALIGNMENTS: &'static [usize];
    #[doc(hidden)]
    const ANY_BITS: bool;
}

/// The element type of an index; the first one where there are fewer.
#[doc(hidden)]
pub trait Nth<const INDEX: usize>: ElementList {
    type Element: Element;
}

impl<L: ElementList> sealed::Sealed for OneOf<L> {}

impl<L: ElementList> Kind for OneOf<L> {
    const WANTED: &'static [DType] = L::DTYPES;
    const MOST_ALIGNED: usize = {
        let (mut most, mut at) = (1, 0);
        while at < L::ALIGNMENTS.len() {
            if L::ALIGNMENTS[at] > most {
                most = L::ALIGNMENTS[at];
            }
            at += 1;
        }
        most
    };
    const ANY_BITS: bool = L::ANY_BITS;
    type Home = Host;

    #[inline]
    fn alignment_of(dtype: DType) -> Option<usize> {
        let index = L::DTYPES.iter().position(|wanted| *wanted == dtype)?;
        Some(L::ALIGNMENTS[index])
    }
}

macro_rules! lists {
    ($([$($T:ident)+] [$($index:literal $Nth:ident)+];)+) => {$(
        impl<$($T: Element),+> list::Sealed for ($($T,)+) {}

        impl<$($T: Element),+> ElementList for ($($T,)+) {
            const DTYPES: &'static [DType] = &[$($T::DTYPE),+];
            const ALIGNMENTS: &'static [usize] = &[$(align_of::<$T>()),+];
            const ANY_BITS: bool = $($T::ANY_BITS)&&+;
        }

        lists!(@nth ($($T)+) $($index $Nth)+);
    )+};
    (@nth $all:tt $($index:literal $Nth:ident)+) => {
        $(lists!(@one $all $index $Nth);)+
    };
    (@one ($($T:ident)+) $index:literal $Nth:ident) => {
        impl<$($T: Element),+> Nth<$index> for ($($T,)+) {
            type Element = $Nth;
        }
    };
}

lists! {
    [A] [0 A 1 A 2 A 3 A 4 A 5 A 6 A 7 A 8 A 9 A 10 A 11 A];
    [A B] [0 A 1 B 2 A 3 A 4 A 5 A 6 A 7 A 8 A 9 A 10 A 11 A];
    [A B C] [0 A 1 B 2 C 3 A 4 A 5 A 6 A 7 A 8 A 9 A 10 A 11 A];
    [A B C D] [0 A 1 B 2 C 3 D 4 A 5 A 6 A 7 A 8 A 9 A 10 A 11 A];
    [A B C D E] [0 A 1 B 2 C 3 D 4 E 5 A 6 A 7 A 8 A 9 A 10 A 11 A];
    [A B C D E F] [0 A 1 B 2 C 3 D 4 E 5 F 6 A 7 A 8 A 9 A 10 A 11 A];
    [A B C D E F G] [0 A 1 B 2 C 3 D 4 E 5 F 6 G 7 A 8 A 9 A 10 A 11 A];
    [A B C D E F G H] [0 A 1 B 2 C 3 D 4 E 5 F 6 G 7 H 8 A 9 A 10 A 11 A];
    [A B C D E F G H I] [0 A 1 B 2 C 3 D 4 E 5 F 6 G 7 H 8 I 9 A 10 A 11 A];
    [A B C D E F G H I J] [0 A 1 B 2 C 3 D 4 E 5 F 6 G 7 H 8 I 9 J 10 A 11 A];
    [A B C D E F G H I J K] [0 A 1 B 2 C 3 D 4 E 5 F 6 G 7 H 8 I 9 J 10 K 11 A];
    [A B C D E F G H I J K L] [0 A 1 B 2 C 3 D 4 E 5 F 6 G 7 H 8 I 9 J 10 K 11 L];
}

mod list {
    pub trait Sealed {}
}
