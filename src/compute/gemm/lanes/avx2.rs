//! Registers of 32 bytes.

use super::Lanes;
use super::portable::Pair;
use std::arch::x86_64::*;

macro_rules! lanes {
    ($($Name:ident, $doc:literal: $Unit:ty => $Sum:ty, $lanes:literal, $Units:ty, $Sums:ty,
        $zero:expr, |$from:ident| $load:expr, |$one:ident| $splat:expr,
        |$sums:ident, $a:ident, $b:ident| $add_products:expr, $add:expr,
        $Of:ty, $load_sums:ident, $store_sums:ident;)*) => {$(
        #[doc = $doc]
        pub(in crate::compute::gemm) struct $Name;

        impl Lanes for $Name {
            type Unit = $Unit;
            type Sum = $Sum;
            type Units = $Units;
            type Sums = $Sums;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn zero() -> $Sums {
                // SAFETY: the contract of `Lanes`: the CPU has the level.
                unsafe { $zero() }
            }
            #[inline(always)]
            unsafe fn load($from: *const $Unit) -> $Units {
                // SAFETY: the contract of `Lanes`: a unit for each lane is there.
                unsafe { $load }
            }
            #[inline(always)]
            unsafe fn splat($one: *const $Unit) -> $Units {
                // SAFETY: the contract of `Lanes`: a unit is there.
                unsafe { $splat }
            }
            #[inline(always)]
            unsafe fn add_products($sums: $Sums, $a: $Units, $b: $Units) -> $Sums {
                // SAFETY: the contract of `Lanes`: the CPU has the level.
                unsafe { $add_products }
            }
            #[inline(always)]
            unsafe fn sub(sums: $Sums, _: $Sums) -> $Sums {
                sums // without an offset
            }
            #[inline(always)]
            unsafe fn store(sums: $Sums, to: *mut $Sum, adds: bool) {
                let to = to.cast::<$Of>();
                // SAFETY: the contract of `Lanes`: there is room for all lanes.
                unsafe {
                    let sums = if adds { $add($load_sums(to), sums) } else { sums };
                    $store_sums(to, sums);
                }
            }
            #[inline(always)]
            unsafe fn store_first(sums: $Sums, lanes: usize, to: *mut $Sum, adds: bool) {
                let mut room = [<$Sum>::default(); $lanes];
                // SAFETY: the contract of `Lanes`: there is room for this many lanes, which are
                // `$lanes` at most.
                unsafe {
                    let lanes = lanes.min($lanes);
                    if adds {
                        to.copy_to_nonoverlapping(room.as_mut_ptr(), lanes);
                    }
                    Self::store(sums, room.as_mut_ptr(), adds);
                    to.copy_from_nonoverlapping(room.as_ptr(), lanes);
                }
            }
            #[inline(always)]
            unsafe fn prefetch(to: *const $Sum) {
                // SAFETY: a prefetch may be of any address.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(to.cast()) }
            }
        }
    )*};
}

lanes! {
    F32, "Numbers of type f32.": f32 => f32, 8, __m256, __m256,
        _mm256_setzero_ps, |from| _mm256_loadu_ps(from), |from| _mm256_set1_ps(*from),
        |sums, a, b| _mm256_fmadd_ps(a, b, sums), _mm256_add_ps,
        f32, _mm256_loadu_ps, _mm256_storeu_ps;
    F64, "Numbers of type f64.": f64 => f64, 4, __m256d, __m256d,
        _mm256_setzero_pd, |from| _mm256_loadu_pd(from), |from| _mm256_set1_pd(*from),
        |sums, a, b| _mm256_fmadd_pd(a, b, sums), _mm256_add_pd,
        f64, _mm256_loadu_pd, _mm256_storeu_pd;
    Pairs, "Pairs of whole numbers of 16 bits.": Pair => i32, 8, __m256i, __m256i,
        _mm256_setzero_si256, |from| _mm256_loadu_si256(from.cast()),
        |from| _mm256_set1_epi32(from.cast::<i32>().read()),
        |sums, a, b| _mm256_add_epi32(sums, _mm256_madd_epi16(a, b)), _mm256_add_epi32,
        __m256i, _mm256_loadu_si256, _mm256_storeu_si256;
    I32, "Numbers of type i32.": i32 => i32, 8, __m256i, __m256i,
        _mm256_setzero_si256, |from| _mm256_loadu_si256(from.cast()),
        |from| _mm256_set1_epi32(*from),
        |sums, a, b| _mm256_add_epi32(sums, _mm256_mullo_epi32(a, b)), _mm256_add_epi32,
        __m256i, _mm256_loadu_si256, _mm256_storeu_si256;
}
