//! Conversions of numbers between types, by exact arithmetic.

use dlbridge::Element;
use half::{bf16, f16};
use std::cmp::Ordering;
use std::fmt::Debug;

/// A number of any of the types.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Exact {
    Int(i128),
    Float(f64),
}

pub(crate) trait Number: Element + Debug {
    fn exact(self) -> Exact;
    /// The number of this type that another one becomes.
    fn cast_from(number: Exact) -> Self;
    /// One of the numbers of this type that are near this one, or have these bits.
    fn near(number: f64, bits: u64) -> Self;
    fn is_same(self, other: Self) -> bool;
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            fn exact(self) -> Exact {
                Exact::Int(self.into())
            }
            fn cast_from(number: Exact) -> Self {
                let (least, most) = (i128::from(Self::MIN), i128::from(Self::MAX));
                let number = match number {
                    Exact::Int(number) => (number - least).rem_euclid(most - least + 1) + least,
                    Exact::Float(number) if number.is_nan() => 0,
                    Exact::Float(number) if number <= least as f64 => least,
                    Exact::Float(number) if number >= most as f64 => most,
                    Exact::Float(number) => format!("{:.0}", number.trunc()).parse().unwrap(),
                };
                number.try_into().unwrap()
            }
            fn near(number: f64, bits: u64) -> Self {
                // Also such as floats don't have.
                (number as Self).wrapping_add((bits % 3) as Self).wrapping_sub(1)
            }
            fn is_same(self, other: Self) -> bool {
                self == other
            }
        }
    )*};
}

macro_rules! long_floats {
    ($($ty:ty, $Bits:ty;)*) => {$(
        impl Number for $ty {
            fn exact(self) -> Exact {
                Exact::Float(self.into())
            }
            fn cast_from(number: Exact) -> Self {
                // All digits there are, as which a number is rounded correctly.
                match number {
                    Exact::Int(number) => number.to_string().parse().unwrap(),
                    Exact::Float(number) => format!("{number:.1100}").parse().unwrap(),
                }
            }
            fn near(number: f64, bits: u64) -> Self {
                match bits % 4 {
                    0 => Self::from_bits((bits >> 2) as $Bits),
                    1 => (number as Self).next_up(),
                    2 => (number as Self).next_down(),
                    _ => number as Self,
                }
            }
            fn is_same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits() || self.is_nan() && other.is_nan()
            }
        }
    )*};
}

macro_rules! short_floats {
    ($($ty:ty),*) => {$(
        impl Number for $ty {
            fn exact(self) -> Exact {
                Exact::Float(self.into())
            }
            fn cast_from(number: Exact) -> Self {
                let (is_negative, bits) = nearest_bits(number, Self::INFINITY.to_bits(), |bits| {
                    f64::from(Self::from_bits(bits))
                });
                Self::from_bits(bits | u16::from(is_negative) << 15)
            }
            fn near(number: f64, bits: u64) -> Self {
                match bits % 2 {
                    0 => Self::from_bits((bits >> 1) as u16),
                    _ => Self::from_f64(number),
                }
            }
            fn is_same(self, other: Self) -> bool {
                self.to_bits() == other.to_bits() || self.is_nan() && other.is_nan()
            }
        }
    )*};
}

integers!(i8, i16, i32, i64, u8, u16, u32, u64);
long_floats! { f32, u32; f64, u64; }
short_floats!(f16, bf16);

impl Number for bool {
    fn exact(self) -> Exact {
        Exact::Int(self.into())
    }
    fn cast_from(number: Exact) -> Self {
        number != Exact::Int(0) && number != Exact::Float(0.0)
    }
    fn near(_: f64, bits: u64) -> Self {
        bits % 2 == 1
    }
    fn is_same(self, other: Self) -> bool {
        self == other
    }
}

/// The sign and the remaining bits of the float of 16 bits that is nearest, the even one of two:
/// found by comparing with the middle between two neighbours. Behind the largest comes infinity,
/// which is as far from it as a number would be.
fn nearest_bits(number: Exact, infinity: u16, value: impl Fn(u16) -> f64) -> (bool, u16) {
    let (is_negative, size) = match number {
        Exact::Int(number) => (number < 0, Exact::Int(number.abs())),
        Exact::Float(number) => (number.is_sign_negative(), Exact::Float(number.abs())),
    };
    if let Exact::Float(size) = size
        && !size.is_finite()
    {
        return (is_negative, infinity + u16::from(size.is_nan()));
    }
    let largest = infinity - 1;
    let value = |bits: u16| match bits > largest {
        true => 2.0 * value(largest) - value(largest - 1),
        false => value(bits),
    };
    // The middles above this many numbers are less.
    let (mut low, mut high) = (0, infinity);
    while low < high {
        let at = (low + high) / 2;
        let middle = (value(at) + value(at + 1)) / 2.0;
        match compare(size, middle) {
            Ordering::Less => high = at,
            Ordering::Greater => low = at + 1,
            Ordering::Equal => return (is_negative, at + at % 2),
        }
    }
    (is_negative, low)
}

/// Compares exactly with a float above 0.
fn compare(number: Exact, float: f64) -> Ordering {
    match number {
        Exact::Float(number) => number.partial_cmp(&float).unwrap(),
        Exact::Int(number) if float >= 1e30 => number.cmp(&i128::MAX),
        Exact::Int(number) => {
            let whole = number.cmp(&(float.floor() as i128));
            whole.then(0.0.partial_cmp(&float.fract()).unwrap())
        }
    }
}
