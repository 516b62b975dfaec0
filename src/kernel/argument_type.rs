//! [`Parameter`]: the types of a kernel's arguments, and the requirements of each.

mod untyped;

pub use untyped::{DeviceSource, DeviceTarget, Untyped, UntypedMut};

use super::in_place::{Source, Target};
use super::operand::Operand;
use crate::dtype::{DType, Element};
use crate::view::{View, ViewMut};
use std::ptr::NonNull;
use std::slice;

/// A type that an argument of a kernel can have.
///
/// | type | asks for |
/// |---|---|
/// | [`View<'_, T>`](View), [`ViewMut<'_, T>`](ViewMut) | elements `T` on the host, with any strides |
/// | `&[T]`, `&mut [T]` | the same, one after another |
/// | [`Source<'_, T>`](Source), [`Target<'_, T>`](Target) | elements `T` on the host, of which the two may be in the same place where the op allows it |
/// | `f32`, `i64`, ... | a tensor of rank 0 on the host, by value |
/// | [`Ranked<View<'_, T>, 2>`](Ranked) | one of these, of that rank |
/// | [`Untyped`], [`UntypedMut`] | any elements, anywhere |
/// | [`Option<View<'_, T>>`](Option) | one of these, or nothing, for an [optional input](crate::kernel::Op::optional_input) |
/// | [`Vec<View<'_, T>>`](Vec) | one or more of these, for a [variadic input](crate::kernel::Op::variadic_input) |
/// | [`DeviceSource`], [`DeviceTarget`] | the same, of which the two may be in the same place where the op allows it: their addresses are handed to a device |
///
/// Sealed: the call frame enforces what these ask for, and nothing else.
pub trait Parameter: sealed::Sealed {
    /// The type with the lifetime of a call.
    type Item<'a>;

    #[doc(hidden)]
    const WANTS: Wants;

    /// # Safety
    ///
    /// The operands are as [`WANTS`](Self::WANTS) says: they were checked, and their memory is used
    /// in this way alone for as long as `'a`. `more` are the other operands of a variadic
    /// parameter; others ignore them.
    #[doc(hidden)]
    unsafe fn take<'a>(operand: &'a Operand<'a>, more: &'a [Operand<'a>]) -> Self::Item<'a>;
}

/// Requirements of a parameter.
#[doc(hidden)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wants {
    /// The element type; `None` for any.
    pub(super) dtype: Option<DType>,
    /// `None` for any.
    pub(super) rank: Option<usize>,
    /// Whether elements must lie one after another.
    pub(super) row_major: bool,
    /// Whether it writes.
    pub(super) writes: bool,
    /// Whether another argument may be exactly in the same place.
    pub(super) may_coincide: bool,
    /// Whether the CPU accesses the elements.
    pub(super) on_host: bool,
    /// The required alignment of the address.
    pub(super) alignment: usize,
    /// Whether every bit pattern is a valid element.
    pub(super) any_bits: bool,
    /// Whether it may be absent.
    pub(super) is_optional: bool,
    /// Whether there may be several.
    pub(super) is_variadic: bool,
}

impl Wants {
    const fn elements<T: Element>() -> Self {
        Self {
            dtype: Some(T::DTYPE),
            rank: None,
            row_major: false,
            writes: false,
            may_coincide: false,
            on_host: true,
            alignment: align_of::<T>(),
            any_bits: T::ANY_BITS,
            is_optional: false,
            is_variadic: false,
        }
    }

    const fn row_major(self) -> Self {
        Self {
            row_major: true,
            ..self
        }
    }

    const fn written(self) -> Self {
        Self {
            writes: true,
            ..self
        }
    }

    /// Returns itself, for a parameter around it.
    const fn single(self) -> Self {
        assert!(
            !self.is_optional && !self.is_variadic,
            "an input is optional, or variadic, once"
        );
        self
    }

    const fn of_rank(self, rank: usize) -> Self {
        assert!(
            self.rank.is_none(),
            "it has a rank already: `Ranked` is for views, slices, and what is untyped"
        );
        Self {
            rank: Some(rank),
            ..self
        }
    }
}

/// Returns the address of the first element, as one of `T`.
#[inline]
fn first<T>(operand: &Operand<'_>) -> NonNull<T> {
    // Without elements the address may be anything.
    NonNull::new(operand.first.cast::<T>())
        .filter(|first| first.is_aligned())
        .unwrap_or(NonNull::dangling())
}

macro_rules! parameter {
    ({$($generics:tt)*} $Type:ty as $Item:ty, $wants:expr, |$operand:ident| $take:expr) => {
        impl<$($generics)*> sealed::Sealed for $Type {}
        impl<$($generics)*> Parameter for $Type {
            type Item<'a> = $Item;
            const WANTS: Wants = $wants;

            #[inline]
            unsafe fn take<'a>($operand: &'a Operand<'a>, _: &'a [Operand<'a>]) -> Self::Item<'a> {
                // SAFETY: the frame checked the operand for `WANTS`: element type, alignment,
                // layout, rank, and that what is written is used in no other way; it is taken once.
                unsafe { $take }
            }
        }
    };
}

parameter!({T: Element} View<'_, T> as View<'a, T>, Wants::elements::<T>(), |operand| {
    View::from_raw(first(operand), operand.layout)
});
parameter!({T: Element} ViewMut<'_, T> as ViewMut<'a, T>, Wants::elements::<T>().written(), |operand| {
    ViewMut::from_raw(first(operand), operand.layout)
});
parameter!({T: Element} &[T] as &'a [T], Wants::elements::<T>().row_major(), |operand| {
    slice::from_raw_parts(first(operand).as_ptr(), operand.layout.len())
});
parameter!({T: Element} &mut [T] as &'a mut [T], Wants::elements::<T>().row_major().written(), |operand| {
    slice::from_raw_parts_mut(first(operand).as_ptr(), operand.layout.len())
});
parameter!({T: Element} Source<'_, T> as Source<'a, T>,
    Wants { may_coincide: true, ..Wants::elements::<T>() },
    |operand| Source::new(first(operand), operand.layout)
);
parameter!({T: Element} Target<'_, T> as Target<'a, T>,
    Wants { may_coincide: true, ..Wants::elements::<T>().written() },
    |operand| Target::new(first(operand), operand.layout)
);

macro_rules! by_value {
    ($($ty:ty),*) => {$(
        parameter!({} $ty as $ty, Wants::elements::<$ty>().of_rank(0), |operand| {
            first::<$ty>(operand).read()
        });
    )*};
}

by_value!(
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
    half::f16,
    half::bf16,
    f32,
    f64,
    bool
);

/// An argument of exactly this rank.
#[derive(Debug, Clone, Copy)]
pub struct Ranked<P, const RANK: usize>(pub P);

impl<P: Parameter, const RANK: usize> sealed::Sealed for Ranked<P, RANK> {}
impl<P: Parameter, const RANK: usize> Parameter for Ranked<P, RANK> {
    type Item<'a> = Ranked<P::Item<'a>, RANK>;
    const WANTS: Wants = P::WANTS.of_rank(RANK);

    #[inline]
    unsafe fn take<'a>(operand: &'a Operand<'a>, more: &'a [Operand<'a>]) -> Self::Item<'a> {
        // SAFETY: the frame checked the operands for `WANTS`, which are those of `P` and a rank;
        // they are taken once.
        Ranked(unsafe { P::take(operand, more) })
    }
}

impl<P: Parameter> sealed::Sealed for Option<P> {}
impl<P: Parameter> Parameter for Option<P> {
    type Item<'a> = Option<P::Item<'a>>;
    const WANTS: Wants = Wants {
        is_optional: true,
        ..P::WANTS.single()
    };

    #[inline]
    unsafe fn take<'a>(operand: &'a Operand<'a>, _: &'a [Operand<'a>]) -> Self::Item<'a> {
        // SAFETY: the frame checked the operand, which is present, for the wants of `P`; it is
        // taken once.
        (!operand.is_absent()).then(|| unsafe { P::take(operand, &[]) })
    }
}

impl<P: Parameter> sealed::Sealed for Vec<P> {}
impl<P: Parameter> Parameter for Vec<P> {
    type Item<'a> = Vec<P::Item<'a>>;
    const WANTS: Wants = Wants {
        is_variadic: true,
        ..P::WANTS.single()
    };

    unsafe fn take<'a>(operand: &'a Operand<'a>, more: &'a [Operand<'a>]) -> Self::Item<'a> {
        // SAFETY: the frame checked all of them for the wants of `P`; each is taken once.
        let take = |operand| unsafe { P::take(operand, &[]) };
        std::iter::once(operand).chain(more).map(take).collect()
    }
}

mod sealed {
    pub trait Sealed {}
}
