//! Registers of 64 bytes.

use super::Lanes;
use super::portable::Pair;
use std::arch::x86_64::*;

/// Two bfloat16 numbers, whose products are added up in f32.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(4))]
pub(in crate::compute::gemm) struct BfPair(pub(in crate::compute::gemm) [u16; 2]);

/// Four whole numbers of 8 bits, whose products are added up in 32 bits: those of rows are
/// unsigned, as the CPU's instruction wants them.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C, align(4))]
pub(in crate::compute::gemm) struct Quad(pub(in crate::compute::gemm) [i8; 4]);

macro_rules! lanes {
    ($($Name:ident, $doc:literal: $Unit:ty => $Sum:ty, $lanes:literal, $Mask:ty, $Units:ty, $Sums:ty,
        $zero:expr, |$from:ident| $load:expr, |$one:ident| $splat:expr,
        |$sums:ident, $a:ident, $b:ident| $add_products:expr, $add:expr, $sub:expr,
        $masked_load:ident, $masked_store:ident, $Of:ty, $load_sums:ident, $store_sums:ident $(, offset $offset:expr)?;)*) => {$(
        #[doc = $doc]
        pub(in crate::compute::gemm) struct $Name;

        impl Lanes for $Name {
            type Unit = $Unit;
            type Sum = $Sum;
            type Units = $Units;
            type Sums = $Sums;
            const LANES: usize = $lanes;
            $(const OFFSET: Option<$Unit> = Some($offset);)?

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
            unsafe fn sub(sums: $Sums, others: $Sums) -> $Sums {
                // SAFETY: the contract of `Lanes`: the CPU has the level.
                unsafe { $sub(sums, others) }
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
                let mask = if lanes >= $lanes { <$Mask>::MAX } else { (1 << lanes) - 1 };
                let to = to.cast::<$Of>();
                // SAFETY: the contract of `Lanes`: there is room for this many lanes, and the mask
                // leaves out the others.
                unsafe {
                    let sums = if adds { $add($masked_load(mask, to), sums) } else { sums };
                    $masked_store(to, mask, sums);
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
    F32, "Numbers of type f32.": f32 => f32, 16, u16, __m512, __m512,
        _mm512_setzero_ps, |from| _mm512_loadu_ps(from), |from| _mm512_set1_ps(*from),
        |sums, a, b| _mm512_fmadd_ps(a, b, sums), _mm512_add_ps, _mm512_sub_ps,
        _mm512_maskz_loadu_ps, _mm512_mask_storeu_ps, f32, _mm512_loadu_ps, _mm512_storeu_ps;
    F64, "Numbers of type f64.": f64 => f64, 8, u8, __m512d, __m512d,
        _mm512_setzero_pd, |from| _mm512_loadu_pd(from), |from| _mm512_set1_pd(*from),
        |sums, a, b| _mm512_fmadd_pd(a, b, sums), _mm512_add_pd, _mm512_sub_pd,
        _mm512_maskz_loadu_pd, _mm512_mask_storeu_pd, f64, _mm512_loadu_pd, _mm512_storeu_pd;
    BfPairs, "Pairs of bfloat16 numbers.": BfPair => f32, 16, u16, __m512i, __m512,
        _mm512_setzero_ps, |from| _mm512_loadu_si512(from.cast()),
        |from| _mm512_set1_epi32(from.cast::<i32>().read()),
        |sums, a, b| {
            _mm512_dpbf16_ps(sums, std::mem::transmute::<__m512i, __m512bh>(a), std::mem::transmute::<__m512i, __m512bh>(b))
        },
        _mm512_add_ps, _mm512_sub_ps,
        _mm512_maskz_loadu_ps, _mm512_mask_storeu_ps, f32, _mm512_loadu_ps, _mm512_storeu_ps;
    Pairs, "Pairs of whole numbers of 16 bits.": Pair => i32, 16, u16, __m512i, __m512i,
        _mm512_setzero_si512, |from| _mm512_loadu_si512(from.cast()),
        |from| _mm512_set1_epi32(from.cast::<i32>().read()),
        |sums, a, b| _mm512_dpwssd_epi32(sums, a, b), _mm512_add_epi32, _mm512_sub_epi32,
        _mm512_maskz_loadu_epi32, _mm512_mask_storeu_epi32, i32, _mm512_loadu_epi32, _mm512_storeu_epi32;
    Quads, "Groups of four whole numbers of 8 bits.": Quad => i32, 16, u16, __m512i, __m512i,
        _mm512_setzero_si512, |from| _mm512_loadu_si512(from.cast()),
        |from| _mm512_set1_epi32(from.cast::<i32>().read()),
        |sums, a, b| _mm512_dpbusd_epi32(sums, a, b), _mm512_add_epi32, _mm512_sub_epi32,
        _mm512_maskz_loadu_epi32, _mm512_mask_storeu_epi32, i32, _mm512_loadu_epi32, _mm512_storeu_epi32,
        offset Quad([i8::MIN; 4]);
    I32, "Numbers of type i32.": i32 => i32, 16, u16, __m512i, __m512i,
        _mm512_setzero_si512, |from| _mm512_loadu_epi32(from), |from| _mm512_set1_epi32(*from),
        |sums, a, b| _mm512_add_epi32(sums, _mm512_mullo_epi32(a, b)), _mm512_add_epi32, _mm512_sub_epi32,
        _mm512_maskz_loadu_epi32, _mm512_mask_storeu_epi32, i32, _mm512_loadu_epi32, _mm512_storeu_epi32;
    I64, "Numbers of type i64.": i64 => i64, 8, u8, __m512i, __m512i,
        _mm512_setzero_si512, |from| _mm512_loadu_epi64(from), |from| _mm512_set1_epi64(*from),
        |sums, a, b| _mm512_add_epi64(sums, _mm512_mullo_epi64(a, b)), _mm512_add_epi64, _mm512_sub_epi64,
        _mm512_maskz_loadu_epi64, _mm512_mask_storeu_epi64, i64, _mm512_loadu_epi64, _mm512_storeu_epi64;
}
