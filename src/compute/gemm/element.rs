//! Conversions of elements to units that micro-kernels multiply, and of sums to elements.

use super::kernels::Kernels;
#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
use super::lanes::amx::{BfRow, ByteRow};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::lanes::avx512::{BfPair, Quad};
use super::lanes::portable::{Multiply, Pair};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};

/// A unit that is made of elements `T`.
pub(super) trait Unit<T>:
    Kernels<Sum: Multiply<Sum = Self::Sum> + Default> + Default
{
    /// What columns of the second factor are packed as: smaller units, as many bytes in all, or the
    /// same.
    type Column: Unit<T>;

    /// The number of elements that are one unit, one after another in the dimension that is summed
    /// over.
    const GROUP: usize = 1;
    /// Whether elements are units as they are.
    const IS_ELEMENT: bool = false;
    /// Whether a group of elements that lie one after another is a unit as it is, of columns.
    const IS_GROUP: bool = Self::IS_ELEMENT;

    /// Returns the unit of the elements that a function has for each number below `GROUP`.
    fn from_group(element: impl Fn(usize) -> T) -> Self;

    /// Returns the same for a row of the first factor, where the CPU multiplies numbers of two
    /// types.
    #[inline(always)]
    fn from_row_group(element: impl Fn(usize) -> T) -> Self {
        Self::from_group(element)
    }

    /// Returns an element as a number of the type of sums.
    fn widen(element: T) -> Self::Sum;
}

macro_rules! units {
    ($($T:ty => $Unit:ty, $convert:expr;)*) => {$(
        impl Unit<$T> for $Unit {
            type Column = Self;

            const IS_ELEMENT: bool = size_of::<$T>() == size_of::<$Unit>();

            #[inline(always)]
            fn from_group(element: impl Fn(usize) -> $T) -> Self {
                <Self as Unit<$T>>::widen(element(0))
            }
            #[inline(always)]
            fn widen(element: $T) -> $Unit {
                let convert: fn($T) -> $Unit = $convert;
                convert(element)
            }
        }
    )*};
}

units! {
    f32 => f32, |x| x;
    f64 => f64, |x| x;
    f16 => f32, widen_f16;
    bf16 => f32, widen_bf16;
    i32 => i32, |x| x;
    i64 => i64, |x| x;
}

macro_rules! pairs {
    ($($T:ty),*) => {$(
        impl Unit<$T> for Pair {
            type Column = Self;

            const GROUP: usize = 2;
            const IS_GROUP: bool = size_of::<$T>() == 2;

            #[inline(always)]
            fn from_group(element: impl Fn(usize) -> $T) -> Self {
                Self([element(0) as i16, element(1) as i16])
            }
            #[inline(always)]
            fn widen(element: $T) -> i32 {
                element.into()
            }
        }
    )*};
}

pairs!(i8, u8, i16);

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl Unit<bf16> for BfPair {
    type Column = Self;

    const GROUP: usize = 2;
    const IS_GROUP: bool = true;

    #[inline(always)]
    fn from_group(element: impl Fn(usize) -> bf16) -> Self {
        Self([element(0).to_bits(), element(1).to_bits()])
    }
    #[inline(always)]
    fn widen(element: bf16) -> f32 {
        widen_bf16(element)
    }
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
impl Unit<i8> for Quad {
    type Column = Self;

    const GROUP: usize = 4;
    const IS_GROUP: bool = true;

    #[inline(always)]
    fn from_group(element: impl Fn(usize) -> i8) -> Self {
        Self([element(0), element(1), element(2), element(3)])
    }
    #[inline(always)]
    fn from_row_group(element: impl Fn(usize) -> i8) -> Self {
        // As unsigned numbers, 128 more each.
        Self([element(0), element(1), element(2), element(3)].map(|element| element ^ i8::MIN))
    }
    #[inline(always)]
    fn widen(element: i8) -> i32 {
        element.into()
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
macro_rules! rows {
    ($($T:ty => $Row:ty, $Small:ty;)*) => {$(
        impl Unit<$T> for $Row {
            type Column = $Small;

            const GROUP: usize = 16 * <$Small as Unit<$T>>::GROUP;

            #[inline(always)]
            fn from_group(element: impl Fn(usize) -> $T) -> Self {
                let small = |at: usize| {
                    let first = at * <$Small as Unit<$T>>::GROUP;
                    <$Small>::from_group(|next| element(first + next))
                };
                Self(std::array::from_fn(small))
            }
            #[inline(always)]
            fn widen(element: $T) -> Self::Sum {
                <$Small>::widen(element)
            }
        }
    )*};
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", not(miri)))]
rows! {
    bf16 => BfRow, BfPair;
    i8 => ByteRow, Quad;
}

/// Converts without branches, so that loops are vectorized.
#[inline(always)]
pub(super) fn widen_bf16(x: bf16) -> f32 {
    f32::from_bits(u32::from(x.to_bits()) << 16)
}

/// Converts without branches, so that loops are vectorized.
#[inline(always)]
pub(super) fn widen_f16(x: f16) -> f32 {
    let bits = u32::from(x.to_bits());
    let sign = (bits & 0x8000) << 16;
    let rest = (bits & 0x7fff) << 13;
    // The exponent has another offset; numbers below the normal ones get theirs by this as well.
    let number = f32::from_bits(rest) * f32::from_bits((127 + 112) << 23);
    let special = f32::from_bits(rest | 0x7f80_0000);
    let size = if rest >= 0x7c00 << 13 {
        special
    } else {
        number
    };
    f32::from_bits(size.to_bits() | sign)
}

/// Rounds to the nearest number, the even one of two, without branches.
#[inline(always)]
fn round_to_bf16(x: f32) -> bf16 {
    let bits = x.to_bits();
    let rounded = bits.wrapping_add(0x7fff + ((bits >> 16) & 1)) >> 16;
    let nan = (bits >> 16) | 0x40;
    bf16::from_bits(if x.is_nan() { nan } else { rounded } as u16)
}

/// Returns the unit of a group of elements, of a row of the first factor or of a column.
#[inline(always)]
pub(super) fn unit<U: Unit<T>, T, const ROWS: bool>(element: impl Fn(usize) -> T) -> U {
    if ROWS {
        U::from_row_group(element)
    } else {
        U::from_group(element)
    }
}

/// An element of a result that sums `S` are turned into.
pub(super) trait FromSum<S>: Copy {
    /// Whether a sum is such an element as it is.
    const IS_SUM: bool = false;

    /// Converts sums to as many elements.
    fn from_sums(sums: &[S], elements: &mut [Self]);
}

macro_rules! is_sum {
    ($($T:ty),*) => {$(
        impl FromSum<$T> for $T {
            const IS_SUM: bool = true;

            #[inline(always)]
            fn from_sums(sums: &[$T], elements: &mut [Self]) {
                elements.copy_from_slice(sums);
            }
        }
    )*};
}

is_sum!(f32, f64, i32, i64);

impl FromSum<f32> for bf16 {
    #[inline(always)]
    fn from_sums(sums: &[f32], elements: &mut [Self]) {
        for (element, sum) in elements.iter_mut().zip(sums) {
            *element = round_to_bf16(*sum);
        }
    }
}

impl FromSum<f32> for f16 {
    #[inline(always)]
    fn from_sums(sums: &[f32], elements: &mut [Self]) {
        elements.convert_from_f32_slice(sums);
    }
}

macro_rules! truncated {
    ($($T:ty),*) => {$(
        impl FromSum<i32> for $T {
            #[inline(always)]
            fn from_sums(sums: &[i32], elements: &mut [Self]) {
                for (element, sum) in elements.iter_mut().zip(sums) {
                    *element = *sum as $T;
                }
            }
        }
    )*};
}

truncated!(i8, u8, i16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widen_f16_equals_the_conversion_of_every_number() {
        for bits in 0..=u16::MAX {
            let x = f16::from_bits(bits);
            let (found, expected) = (widen_f16(x), x.to_f32());
            let is_same = found.to_bits() == expected.to_bits();
            assert!(is_same || found.is_nan() && expected.is_nan(), "{bits:#x}");
            let x = bf16::from_bits(bits);
            let (found, expected) = (widen_bf16(x), x.to_f32());
            let is_same = found.to_bits() == expected.to_bits();
            assert!(is_same || found.is_nan() && expected.is_nan(), "{bits:#x}");
        }
    }

    #[test]
    fn round_to_bf16_equals_the_conversion() {
        let ends = [0, 1, 0x7fff, 0x8000, 0x8001, 0xffff];
        for high in 0..=u16::MAX {
            for low in ends {
                let x = f32::from_bits(u32::from(high) << 16 | low);
                let (found, expected) = (round_to_bf16(x), bf16::from_f32(x));
                let is_same = found.to_bits() == expected.to_bits();
                assert!(is_same || found.is_nan() && expected.is_nan(), "{x:e}");
            }
        }
    }
}
