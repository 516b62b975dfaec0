//! Orders of numbers in which NaN comes last.

use super::number::Number;
use half::{bf16, f16};

/// A number of which the largest and the smallest one of many can be found. 16-bit floats are
/// compared as integers, for which CPUs have vector instructions.
pub(super) trait Ordered: Number {
    /// What is compared.
    type Key: Copy;

    /// The key that is larger than no other one, and the one that is smaller than no other one.
    const ENDS: [Self::Key; 2];

    /// Returns a key that is larger the larger the number is, and largest for NaN.
    fn key_for_max(self) -> Self::Key;
    /// Returns a key that is smaller the smaller the number is, and smallest for NaN.
    fn key_for_min(self) -> Self::Key;
    fn larger(a: Self::Key, b: Self::Key) -> Self::Key;
    fn smaller(a: Self::Key, b: Self::Key) -> Self::Key;
    fn from_key_for_max(key: Self::Key) -> Self;
    fn from_key_for_min(key: Self::Key) -> Self;
}

macro_rules! themselves {
    ($($ty:ident),*) => {$(
        impl Ordered for $ty {
            type Key = Self;
            const ENDS: [Self; 2] = [Self::LOWEST, Self::HIGHEST];

            #[inline(always)]
            fn key_for_max(self) -> Self {
                self
            }
            #[inline(always)]
            fn key_for_min(self) -> Self {
                self
            }
            #[inline(always)]
            fn larger(a: Self, b: Self) -> Self {
                a.max_or_nan(b)
            }
            #[inline(always)]
            fn smaller(a: Self, b: Self) -> Self {
                a.min_or_nan(b)
            }
            #[inline(always)]
            fn from_key_for_max(key: Self) -> Self {
                key
            }
            #[inline(always)]
            fn from_key_for_min(key: Self) -> Self {
                key
            }
        }
    )*};
}

themselves!(f32, f64, i8, i16, i32, i64, u8, u16, u32, u64);

macro_rules! short_floats {
    ($($ty:ident),*) => {$(
        impl Ordered for $ty {
            type Key = u16;
            const ENDS: [u16; 2] = [0, u16::MAX];

            #[inline(always)]
            fn key_for_max(self) -> u16 {
                let bits = self.to_bits();
                let is_nan = bits & !SIGN > $ty::INFINITY.to_bits();
                let key = if bits & SIGN == 0 { bits | SIGN } else { !bits };
                if is_nan { u16::MAX } else { key }
            }
            #[inline(always)]
            fn key_for_min(self) -> u16 {
                // Of NaN it is 0 then.
                self.key_for_max().wrapping_add(1)
            }
            #[inline(always)]
            fn larger(a: u16, b: u16) -> u16 {
                a.max(b)
            }
            #[inline(always)]
            fn smaller(a: u16, b: u16) -> u16 {
                a.min(b)
            }
            #[inline(always)]
            fn from_key_for_max(key: u16) -> Self {
                Self::from_bits(if key & SIGN == 0 { !key } else { key & !SIGN })
            }
            #[inline(always)]
            fn from_key_for_min(key: u16) -> Self {
                Self::from_key_for_max(key.wrapping_sub(1))
            }
        }
    )*};
}

const SIGN: u16 = 1 << 15;

short_floats!(f16, bf16);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_all_16_bit_floats() {
        fn check<T: Ordered<Key = u16> + Into<f64>>(from_bits: fn(u16) -> T) {
            for bits in 0..=u16::MAX {
                let x = from_bits(bits);
                let number: f64 = x.into();
                for key in [x.key_for_max(), x.key_for_min()] {
                    assert_eq!(key == x.key_for_max(), key != x.key_for_min(), "{bits:x}");
                }
                let back: [f64; 2] = [
                    T::from_key_for_max(x.key_for_max()).into(),
                    T::from_key_for_min(x.key_for_min()).into(),
                ];
                if number.is_nan() {
                    assert!(back.iter().all(|back| back.is_nan()));
                    assert_eq!((x.key_for_max(), x.key_for_min()), (u16::MAX, 0));
                    continue;
                }
                assert_eq!(back.map(f64::to_bits), [number.to_bits(); 2], "{bits:x}");
                let next = T::from_key_for_max(x.key_for_max().wrapping_add(1));
                let next: f64 = next.into();
                assert!(next >= number || next.is_nan(), "{number} before {next}");
            }
        }
        check(f16::from_bits);
        check(bf16::from_bits);
    }
}
