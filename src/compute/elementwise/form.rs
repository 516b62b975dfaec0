//! Element types, and those that are calculated with instead: `f32` for 16-bit floats.

use crate::compute::convert::{bf16_to_f32, f16_to_f32};
use crate::compute::convert::{bf16s_from_f32, bf16s_to_f32, f16s_from_f32, f16s_to_f32};
use crate::compute::simd::Simd;
use crate::dtype::{self, Element};
use half::{bf16, f16};
use std::marker::PhantomData;

/// How many elements are converted at once where the CPU converts several: so few that they stay in
/// registers.
pub(super) const CHUNK: usize = 32;

/// An element type, and the one that is calculated with instead: `f32` for 16-bit floats, and the
/// type itself for others.
pub trait Widen: Element + sealed::Sealed {
    /// The type that is calculated with.
    type Wide: Element;

    /// Whether that is another type.
    const CONVERTS: bool;

    /// Whether the CPU may have instructions that convert several elements at once, which compilers
    /// don't make of a loop.
    #[doc(hidden)]
    const BY_CHUNKS: bool;

    /// Returns the same number.
    fn widen(self) -> Self::Wide;

    /// Returns the nearest number, of two that are as near the even one.
    fn narrow(wide: Self::Wide) -> Self;

    /// Returns elements that are calculated with as they are.
    #[doc(hidden)]
    fn as_wide_mut(elements: &mut [Self]) -> Option<&mut [Self::Wide]>;

    /// Converts `len` elements.
    ///
    /// # Safety
    ///
    /// `from` is valid for reads of as many elements, and `to` for writes of as many; they don't
    /// overlap.
    unsafe fn widen_all(from: *const Self, to: *mut Self::Wide, len: usize);

    /// Converts elements, compiled for the level of the function that calls it.
    #[doc(hidden)]
    fn widen_chunk<S: Simd, const N: usize>(from: &[Self; N]) -> [Self::Wide; N];

    /// Converts elements back, compiled for the level of the function that calls it.
    #[doc(hidden)]
    fn narrow_chunk<S: Simd, const N: usize>(from: &[Self::Wide; N]) -> [Self; N];
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! same {
    ($($ty:ty),*) => {$(
        impl sealed::Sealed for $ty {}
        impl Widen for $ty {
            type Wide = Self;
            const CONVERTS: bool = false;
            const BY_CHUNKS: bool = false;

            #[inline(always)]
            fn widen(self) -> Self {
                self
            }
            #[inline(always)]
            fn narrow(wide: Self) -> Self {
                wide
            }
            #[inline(always)]
            fn as_wide_mut(elements: &mut [Self]) -> Option<&mut [Self]> {
                Some(elements)
            }
            unsafe fn widen_all(from: *const Self, to: *mut Self, len: usize) {
                // SAFETY: the caller promises what it requires.
                unsafe { to.copy_from_nonoverlapping(from, len) };
            }
            #[inline(always)]
            fn widen_chunk<S: Simd, const N: usize>(from: &[Self; N]) -> [Self; N] {
                *from
            }
            #[inline(always)]
            fn narrow_chunk<S: Simd, const N: usize>(from: &[Self; N]) -> [Self; N] {
                *from
            }
        }
    )*};
}

same!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

macro_rules! short_floats {
    ($(
        $ty:ty, $widen:ident $narrow:ident, $by_chunks:literal $widens:ident $narrows:ident;
    )*) => {$(
        impl sealed::Sealed for $ty {}
        impl Widen for $ty {
            type Wide = f32;
            const CONVERTS: bool = true;
            const BY_CHUNKS: bool = $by_chunks;

            #[inline(always)]
            fn widen(self) -> f32 {
                dtype::$widen(self.to_bits())
            }
            #[inline(always)]
            fn narrow(wide: f32) -> Self {
                Self::from_bits(dtype::$narrow(wide))
            }
            #[inline(always)]
            fn as_wide_mut(_: &mut [Self]) -> Option<&mut [f32]> {
                None
            }
            unsafe fn widen_all(from: *const Self, to: *mut f32, len: usize) {
                // SAFETY: the caller promises what it requires, of the float's bits.
                unsafe { $widen(from.cast(), to, len) };
            }
            #[inline(always)]
            fn widen_chunk<S: Simd, const N: usize>(from: &[Self; N]) -> [f32; N] {
                $widens::<S, N>(from)
            }
            #[inline(always)]
            fn narrow_chunk<S: Simd, const N: usize>(from: &[f32; N]) -> [Self; N] {
                $narrows::<S, N>(from)
            }
        }
    )*};
}

short_floats! {
    f16, f16_to_f32 f32_to_f16, true f16s_to_f32 f16s_from_f32;
    bf16, bf16_to_f32 f32_to_bf16, false bf16s_to_f32 bf16s_from_f32;
}

/// How elements are in memory, and as what they are calculated with.
pub(super) trait Form {
    type Stored: Element;
    type Used: Element;

    /// Whether elements are best converted several at once.
    const BY_CHUNKS: bool;

    fn load_one(stored: Self::Stored) -> Self::Used;
    fn store_one(used: Self::Used) -> Self::Stored;

    fn load_chunk<S: Simd>(stored: &[Self::Stored; CHUNK]) -> [Self::Used; CHUNK];
    fn store_chunk<S: Simd>(used: &[Self::Used; CHUNK]) -> [Self::Stored; CHUNK];
}

/// Elements that are calculated with as they are.
pub(super) struct Same<T>(PhantomData<T>);

/// Elements that are calculated with as [`Widen`] says.
pub(super) struct Widened<T>(PhantomData<T>);

impl<T: Element> Form for Same<T> {
    type Stored = T;
    type Used = T;
    const BY_CHUNKS: bool = false;

    #[inline(always)]
    fn load_one(stored: T) -> T {
        stored
    }
    #[inline(always)]
    fn store_one(used: T) -> T {
        used
    }
    #[inline(always)]
    fn load_chunk<S: Simd>(stored: &[T; CHUNK]) -> [T; CHUNK] {
        *stored
    }
    #[inline(always)]
    fn store_chunk<S: Simd>(used: &[T; CHUNK]) -> [T; CHUNK] {
        *used
    }
}

impl<T: Widen> Form for Widened<T> {
    type Stored = T;
    type Used = T::Wide;
    const BY_CHUNKS: bool = T::BY_CHUNKS;

    #[inline(always)]
    fn load_one(stored: T) -> T::Wide {
        stored.widen()
    }
    #[inline(always)]
    fn store_one(used: T::Wide) -> T {
        T::narrow(used)
    }
    #[inline(always)]
    fn load_chunk<S: Simd>(stored: &[T; CHUNK]) -> [T::Wide; CHUNK] {
        T::widen_chunk::<S, CHUNK>(stored)
    }
    #[inline(always)]
    fn store_chunk<S: Simd>(used: &[T::Wide; CHUNK]) -> [T; CHUNK] {
        T::narrow_chunk::<S, CHUNK>(used)
    }
}

/// Returns a chunk that begins with some elements, at least one, and has the first one of them in
/// its other places.
#[inline(always)]
pub(super) fn filled<T: Copy>(elements: &[T]) -> [T; CHUNK] {
    let mut chunk = [elements[0]; CHUNK];
    chunk[..elements.len()].copy_from_slice(elements);
    chunk
}
