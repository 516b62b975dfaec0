//! Products of matrices, on raw pointers and strides.
//!
//! Both factors are packed: copied, a block at a time, into the order in which a *micro-kernel*
//! reads them, and into the type that it multiplies, so that strides and dtypes matter to the
//! packing alone. The micro-kernel keeps a tile of the result in registers.
//!
//! | elements | multiplied as | summed in |
//! |---|---|---|
//! | f32, f64 | themselves | themselves |
//! | f16 | f32 | f32 |
//! | bf16 | tiles with AMX, pairs with AVX-512 BF16, otherwise f32 | f32 |
//! | i8 | tiles with AMX, fours with AVX-512 VNNI, otherwise pairs of 16 bits | 32 bits, wrapping |
//! | u8, i16, u16 | pairs of 16 bits | 32 bits, wrapping |
//! | other integers | themselves | themselves, wrapping |
//!
//! The order in which products are added up depends on the sizes, the layouts and the SIMD level
//! alone, so that results are equal for any number of threads. The instructions for pairs and tiles
//! of bf16 (`vdpbf16ps`, `tdpbf16ps`) take numbers below the normal ones for zeros, in factors and
//! in sums.

mod batch;
mod blocks;
mod buffer;
#[allow(clippy::needless_range_loop, reason = "indices are those of registers")]
mod dots;
mod element;
mod grid;
mod kernels;
#[allow(clippy::needless_range_loop, reason = "indices are those of registers")]
mod lanes;
mod operands;
mod pack;
mod small;
mod squares;
#[allow(clippy::needless_range_loop, reason = "indices are those of registers")]
mod tile;
mod vector;

#[cfg(test)]
mod tests;

pub use operands::{Matrices, Sizes};

#[cfg(all(target_arch = "x86_64", not(miri)))]
use crate::compute::Level;
use half::{bf16, f16};

/// An element type of factors of a product whose elements are `O`.
///
/// Each number has products of its own type, which wrap around if it is an integer. Also f16 and
/// bf16 have those of f32; i8 and u8 those of i32.
pub trait Factor<O>: Copy + Send + Sync + sealed::Sealed<O> {}

/// Calculates the product of matrices, on several threads if it is large.
///
/// # Safety
///
/// All elements of the factors can be read for the time of the call, with the alignment of their
/// types. Those of the result can be written, have values, are each in a place of its own, and no
/// other code uses them meanwhile. Addresses of elements don't overflow, and the numbers of
/// elements of each operand fit `isize`.
pub unsafe fn multiply<T: Factor<O>, O>(
    sizes: Sizes<'_>,
    a: Matrices<'_, *const T>,
    b: Matrices<'_, *const T>,
    out: Matrices<'_, *mut O>,
) {
    // SAFETY: the same contract.
    unsafe { T::multiply(sizes, a, b, out) }
}

mod sealed {
    use super::{Matrices, Sizes};

    pub trait Sealed<O> {
        /// # Safety
        ///
        /// As for [`multiply`](super::multiply).
        unsafe fn multiply(
            sizes: Sizes<'_>,
            a: Matrices<'_, *const Self>,
            b: Matrices<'_, *const Self>,
            out: Matrices<'_, *mut O>,
        );
    }
}

macro_rules! factors {
    ($($T:ty => $O:ty, $Unit:ty $(, $level:ident $Vectors:ty, $Amx:ident from $least:expr)?;)*) => {$(
        impl Factor<$O> for $T {}
        impl sealed::Sealed<$O> for $T {
            unsafe fn multiply(
                sizes: Sizes<'_>,
                a: Matrices<'_, *const $T>,
                b: Matrices<'_, *const $T>,
                out: Matrices<'_, *mut $O>,
            ) {
                // SAFETY: the same contract.
                unsafe {
                    $(
                        #[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
                        if Level::current() >= Level::Amx && is_for_tiles(&sizes, $least) {
                            return batch::multiply::<lanes::amx::$Amx, $T, $O>(sizes, a, b, out);
                        }
                        #[cfg(all(target_arch = "x86_64", not(miri)))]
                        if Level::current() >= Level::$level {
                            return batch::multiply::<$Vectors, $T, $O>(sizes, a, b, out);
                        }
                    )?
                    batch::multiply::<$Unit, $T, $O>(sizes, a, b, out);
                }
            }
        }
    )*};
}

/// Returns whether products of these sizes are worth tiles of AMX, which the process may use. A
/// thread prepares for these, so small products take less time without.
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
fn is_for_tiles(sizes: &Sizes<'_>, least: usize) -> bool {
    const FEWEST: [usize; 3] = if cfg!(test) { [2, 2, 3] } else { [8, 16, 32] };
    let least = if cfg!(test) { 12 } else { least };
    let all = [sizes.rows, sizes.columns, sizes.depth];
    let work = all.into_iter().try_fold(1, usize::checked_mul);
    work.is_none_or(|work| work >= least)
        && all.iter().zip(FEWEST).all(|(size, fewest)| *size >= fewest)
        && lanes::amx::is_permitted()
}

factors! {
    f32 => f32, f32;
    f64 => f64, f64;
    f16 => f16, f32;
    f16 => f32, f32;
    bf16 => bf16, f32, Avx512Bf16 lanes::avx512::BfPair, BfRow from 1 << 17;
    bf16 => f32, f32, Avx512Bf16 lanes::avx512::BfPair, BfRow from 1 << 17;
    i8 => i8, lanes::portable::Pair, Avx512 lanes::avx512::Quad, ByteRow from 1 << 22;
    i8 => i32, lanes::portable::Pair, Avx512 lanes::avx512::Quad, ByteRow from 1 << 22;
    u8 => i32, lanes::portable::Pair;
    i16 => i16, lanes::portable::Pair;
    i32 => i32, i32;
    i64 => i64, i64;
}

/// Unsigned numbers, whose products wrap around to the same bits as those of signed ones.
macro_rules! unsigned {
    ($($T:ty as $Signed:ty),*) => {$(
        impl Factor<$T> for $T {}
        impl sealed::Sealed<$T> for $T {
            unsafe fn multiply(
                sizes: Sizes<'_>,
                a: Matrices<'_, *const $T>,
                b: Matrices<'_, *const $T>,
                out: Matrices<'_, *mut $T>,
            ) {
                let [a, b] = [a, b].map(|factor| Matrices {
                    first: factor.first.cast::<$Signed>(),
                    batch: factor.batch,
                    row: factor.row,
                    column: factor.column,
                });
                let out = Matrices {
                    first: out.first.cast::<$Signed>(),
                    batch: out.batch,
                    row: out.row,
                    column: out.column,
                };
                // SAFETY: the same contract; both types have the same size, and any bits.
                unsafe { <$Signed as sealed::Sealed<$Signed>>::multiply(sizes, a, b, out) }
            }
        }
    )*};
}

unsigned!(u8 as i8, u16 as i16, u32 as i32, u64 as i64);
