//! Element types, and those that are calculated with instead: `f32` for 16-bit floats.

use crate::compute::convert::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16};
use crate::dtype::{self, Element};
use half::{bf16, f16};
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// How many elements are converted at once, so that they stay in the first-level cache.
pub(super) const BLOCK: usize = 1024;

/// Room for as many elements.
pub(super) type Block<T> = MaybeUninit<[T; BLOCK]>;

/// An element type, and the one that is calculated with instead: `f32` for 16-bit floats, and the
/// type itself for others.
pub trait Widen: Element + sealed::Sealed {
    /// The type that is calculated with.
    type Wide: Element;

    /// Whether that is another type.
    const CONVERTS: bool;

    /// Returns the same number.
    fn widen(self) -> Self::Wide;

    /// Returns the nearest number, of two that are as near the even one.
    fn narrow(wide: Self::Wide) -> Self;

    /// Converts `len` elements.
    ///
    /// # Safety
    ///
    /// `from` is valid for reads of as many elements, and `to` for writes of as many; they don't
    /// overlap.
    unsafe fn widen_all(from: *const Self, to: *mut Self::Wide, len: usize);

    /// Converts `len` elements back.
    ///
    /// # Safety
    ///
    /// `from` is valid for reads of as many elements, and `to` for writes of as many; they don't
    /// overlap.
    unsafe fn narrow_all(from: *const Self::Wide, to: *mut Self, len: usize);
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

            #[inline(always)]
            fn widen(self) -> Self {
                self
            }
            #[inline(always)]
            fn narrow(wide: Self) -> Self {
                wide
            }
            unsafe fn widen_all(from: *const Self, to: *mut Self, len: usize) {
                // SAFETY: the caller promises what it requires.
                unsafe { to.copy_from_nonoverlapping(from, len) };
            }
            unsafe fn narrow_all(from: *const Self, to: *mut Self, len: usize) {
                // SAFETY: the caller promises what it requires.
                unsafe { to.copy_from_nonoverlapping(from, len) };
            }
        }
    )*};
}

same!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

macro_rules! short_floats {
    ($($ty:ty, $widen:ident, $narrow:ident;)*) => {$(
        impl sealed::Sealed for $ty {}
        impl Widen for $ty {
            type Wide = f32;
            const CONVERTS: bool = true;

            #[inline(always)]
            fn widen(self) -> f32 {
                dtype::$widen(self.to_bits())
            }
            #[inline(always)]
            fn narrow(wide: f32) -> Self {
                Self::from_bits(dtype::$narrow(wide))
            }
            unsafe fn widen_all(from: *const Self, to: *mut f32, len: usize) {
                // SAFETY: the caller promises what it requires, of the float's bits.
                unsafe { $widen(from.cast(), to, len) };
            }
            unsafe fn narrow_all(from: *const f32, to: *mut Self, len: usize) {
                // SAFETY: the caller promises what it requires, of the float's bits.
                unsafe { $narrow(from, to.cast(), len) };
            }
        }
    )*};
}

short_floats! {
    f16, f16_to_f32, f32_to_f16;
    bf16, bf16_to_f32, f32_to_bf16;
}

/// How elements are in memory, and as what they are calculated with.
pub(super) trait Form {
    type Stored: Element;
    type Used: Element;
    const CONVERTS: bool;

    fn load_one(stored: Self::Stored) -> Self::Used;
    fn store_one(used: Self::Used) -> Self::Stored;

    /// # Safety
    ///
    /// As for [`Widen::widen_all`].
    unsafe fn load(from: *const Self::Stored, to: *mut Self::Used, len: usize);

    /// # Safety
    ///
    /// As for [`Widen::narrow_all`].
    unsafe fn store(from: *const Self::Used, to: *mut Self::Stored, len: usize);
}

/// Elements that are calculated with as they are.
pub(super) struct Same<T>(PhantomData<T>);

/// Elements that are calculated with as [`Widen`] says.
pub(super) struct Widened<T>(PhantomData<T>);

impl<T: Element> Form for Same<T> {
    type Stored = T;
    type Used = T;
    const CONVERTS: bool = false;

    #[inline(always)]
    fn load_one(stored: T) -> T {
        stored
    }
    #[inline(always)]
    fn store_one(used: T) -> T {
        used
    }
    unsafe fn load(from: *const T, to: *mut T, len: usize) {
        // SAFETY: the caller promises what it requires.
        unsafe { to.copy_from_nonoverlapping(from, len) };
    }
    unsafe fn store(from: *const T, to: *mut T, len: usize) {
        // SAFETY: the caller promises what it requires.
        unsafe { to.copy_from_nonoverlapping(from, len) };
    }
}

impl<T: Widen> Form for Widened<T> {
    type Stored = T;
    type Used = T::Wide;
    const CONVERTS: bool = T::CONVERTS;

    #[inline(always)]
    fn load_one(stored: T) -> T::Wide {
        stored.widen()
    }
    #[inline(always)]
    fn store_one(used: T::Wide) -> T {
        T::narrow(used)
    }
    unsafe fn load(from: *const T, to: *mut T::Wide, len: usize) {
        // SAFETY: the caller promises what it requires.
        unsafe { T::widen_all(from, to, len) };
    }
    unsafe fn store(from: *const T::Wide, to: *mut T, len: usize) {
        // SAFETY: the caller promises what it requires.
        unsafe { T::narrow_all(from, to, len) };
    }
}

/// Returns `len` elements as they are calculated with: where they are, or converted into a block.
///
/// # Safety
///
/// There are as many elements, at most [`BLOCK`].
pub(super) unsafe fn load<A: Form>(
    from: *const A::Stored,
    block: &mut Block<A::Used>,
    len: usize,
) -> *const A::Used {
    if !A::CONVERTS {
        return from.cast();
    }
    let to = block.as_mut_ptr().cast();
    // SAFETY: the caller promises as many elements, and a block has room for them.
    unsafe { A::load(from, to, len) };
    to
}
