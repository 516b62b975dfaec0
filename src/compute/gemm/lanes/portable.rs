//! Lanes as arrays, which the compiler turns into the registers of any architecture.

use super::Lanes;
use std::marker::PhantomData;

/// A unit that lanes of [`Portable`] multiply.
pub(in crate::compute::gemm) trait Multiply: Copy {
    type Sum: Copy + Default;

    fn add_product(sum: Self::Sum, a: Self, b: Self) -> Self::Sum;
    fn add(sum: Self::Sum, other: Self::Sum) -> Self::Sum;

    /// Adds a product without rounding it, for levels with an instruction for that.
    #[inline(always)]
    fn fused_add_product(sum: Self::Sum, a: Self, b: Self) -> Self::Sum {
        Self::add_product(sum, a, b)
    }
}

macro_rules! floats {
    ($($ty:ty),*) => {$(
        impl Multiply for $ty {
            type Sum = $ty;

            #[inline(always)]
            fn add_product(sum: $ty, a: $ty, b: $ty) -> $ty {
                // Not fused: without an instruction for it that is a slow call.
                sum + a * b
            }
            #[inline(always)]
            fn add(sum: $ty, other: $ty) -> $ty {
                sum + other
            }
            #[inline(always)]
            fn fused_add_product(sum: $ty, a: $ty, b: $ty) -> $ty {
                a.mul_add(b, sum)
            }
        }
    )*};
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Multiply for $ty {
            type Sum = $ty;

            #[inline(always)]
            fn add_product(sum: $ty, a: $ty, b: $ty) -> $ty {
                sum.wrapping_add(a.wrapping_mul(b))
            }
            #[inline(always)]
            fn add(sum: $ty, other: $ty) -> $ty {
                sum.wrapping_add(other)
            }
        }
    )*};
}

floats!(f32, f64);
integers!(i32, i64);

/// Two whole numbers of 16 bits, whose products are added up in 32 bits.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(4))]
pub(in crate::compute::gemm) struct Pair(pub(in crate::compute::gemm) [i16; 2]);

impl Multiply for Pair {
    type Sum = i32;

    #[inline(always)]
    fn add_product(sum: i32, Pair(a): Self, Pair(b): Self) -> i32 {
        let product = |at: usize| i32::from(a[at]) * i32::from(b[at]);
        sum.wrapping_add(product(0).wrapping_add(product(1)))
    }
    #[inline(always)]
    fn add(sum: i32, other: i32) -> i32 {
        sum.wrapping_add(other)
    }
}

/// Lanes as an array.
pub(in crate::compute::gemm) struct Portable<U, const LANES: usize>(PhantomData<U>);

impl<U: Multiply, const LANES: usize> Lanes for Portable<U, LANES> {
    type Unit = U;
    type Sum = U::Sum;
    type Units = [U; LANES];
    type Sums = [U::Sum; LANES];
    const LANES: usize = LANES;

    #[inline(always)]
    unsafe fn zero() -> Self::Sums {
        [U::Sum::default(); LANES]
    }
    #[inline(always)]
    unsafe fn load(from: *const U) -> Self::Units {
        // SAFETY: there are as many units as lanes, by the function's contract.
        unsafe { from.cast::<[U; LANES]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn splat(from: *const U) -> Self::Units {
        // SAFETY: there is a unit, by the function's contract.
        [unsafe { from.read() }; LANES]
    }
    #[inline(always)]
    unsafe fn add_products(mut sums: Self::Sums, a: Self::Units, b: Self::Units) -> Self::Sums {
        for lane in 0..LANES {
            sums[lane] = U::add_product(sums[lane], a[lane], b[lane]);
        }
        sums
    }
    #[inline(always)]
    unsafe fn sub(sums: Self::Sums, _: Self::Sums) -> Self::Sums {
        sums // without an offset
    }
    #[inline(always)]
    unsafe fn store(sums: Self::Sums, to: *mut U::Sum, adds: bool) {
        // SAFETY: there is room for all lanes, by the function's contract.
        unsafe { Self::store_first(sums, LANES, to, adds) }
    }
    #[inline(always)]
    unsafe fn store_first(sums: Self::Sums, lanes: usize, to: *mut U::Sum, adds: bool) {
        for (lane, sum) in sums.iter().enumerate().take(lanes) {
            // SAFETY: there is room for this many lanes, by the function's contract.
            unsafe {
                let to = to.add(lane);
                to.write(if adds { U::add(to.read(), *sum) } else { *sum });
            }
        }
    }
    #[inline(always)]
    unsafe fn prefetch(_: *const U::Sum) {}
}
