//! The largest or smallest elements of a line, and where they are.

use super::simd::{Routine, Simd, dispatch};
use half::{bf16, f16};

/// How many elements are compared at once with the least one that is kept.
const BLOCK: usize = 64;

/// The least number of candidates that are held before some are dropped.
const ROOM: usize = 256;

/// An element that can be ranked.
pub(crate) trait Ranked: Copy {
    /// An unsigned integer that has the order of the elements: of floats -0 equals 0, and NaN is
    /// the largest.
    type Key: Copy + Ord;
    /// A key and a position.
    type Candidate: Copy + Ord;

    fn key(self) -> Self::Key;
    /// Returns the key of the opposite order.
    fn opposite(key: Self::Key) -> Self::Key;
    /// Returns a candidate that is larger than those of lesser keys, and of the same key later on.
    fn candidate(key: Self::Key, at: usize) -> Self::Candidate;
    fn key_of(candidate: Self::Candidate) -> Self::Key;
    fn place_of(candidate: Self::Candidate) -> usize;
}

macro_rules! ranked {
    ($($ty:ty, $Key:ty, $Candidate:ty, |$x:ident| $key:expr;)*) => {$(
        impl Ranked for $ty {
            type Key = $Key;
            type Candidate = $Candidate;

            #[inline(always)]
            fn key(self) -> $Key {
                let $x = self;
                $key
            }
            #[inline(always)]
            fn opposite(key: $Key) -> $Key {
                !key
            }
            #[inline(always)]
            fn candidate(key: $Key, at: usize) -> $Candidate {
                <$Candidate>::from(key) << 64 | <$Candidate>::from(!(at as u64))
            }
            #[inline(always)]
            fn key_of(candidate: $Candidate) -> $Key {
                (candidate >> 64) as $Key
            }
            #[inline(always)]
            fn place_of(candidate: $Candidate) -> usize {
                !(candidate as u64) as usize
            }
        }
    )*};
}

/// Returns the key of a float from its bits: sign, exponent and mantissa.
macro_rules! float_key {
    ($bits:expr, $Bits:ident, $infinity:expr) => {{
        const SIGN: $Bits = 1 << ($Bits::BITS - 1);
        let (bits, infinity): ($Bits, $Bits) = ($bits, $infinity);
        let magnitude = bits & !SIGN;
        let key = if bits & SIGN == 0 {
            SIGN + magnitude
        } else {
            SIGN - magnitude
        };
        if magnitude > infinity {
            $Bits::MAX
        } else {
            key
        }
    }};
}

ranked! {
    f32, u32, u128, |x| float_key!(x.to_bits(), u32, f32::INFINITY.to_bits());
    f64, u64, u128, |x| float_key!(x.to_bits(), u64, f64::INFINITY.to_bits());
    f16, u16, u128, |x| float_key!(x.to_bits(), u16, f16::INFINITY.to_bits());
    bf16, u16, u128, |x| float_key!(x.to_bits(), u16, bf16::INFINITY.to_bits());
    i8, u8, u128, |x| (x ^ i8::MIN) as u8;
    i16, u16, u128, |x| (x ^ i16::MIN) as u16;
    i32, u32, u128, |x| (x ^ i32::MIN) as u32;
    i64, u64, u128, |x| (x ^ i64::MIN) as u64;
    u8, u8, u128, |x| x;
    u16, u16, u128, |x| x;
    u32, u32, u128, |x| x;
    u64, u64, u128, |x| x;
}

/// What is selected of a line.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Selection {
    /// How many elements; at most as many as there are.
    pub(crate) count: usize,
    /// Whether the largest ones, or the smallest.
    pub(crate) largest: bool,
    /// Whether the best ones come first.
    pub(crate) sorted: bool,
}

/// Leaves the selected elements of a line among the candidates. Of equal elements the first ones
/// come first.
///
/// It drops candidates by [selection](https://en.wikipedia.org/wiki/Quickselect), whenever there
/// are twice as many as will be selected: in time linear in the length, whatever the order.
pub(crate) fn select<T: Ranked>(line: &[T], of: Selection, kept: &mut Vec<T::Candidate>) {
    if of.largest {
        dispatch(Select::<T, false>(line, of, kept));
    } else {
        dispatch(Select::<T, true>(line, of, kept));
    }
}

struct Select<'a, T: Ranked, const SMALLEST: bool>(&'a [T], Selection, &'a mut Vec<T::Candidate>);

impl<T: Ranked, const SMALLEST: bool> Routine for Select<'_, T, SMALLEST> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self(line, of, kept) = self;
        let key = |x: &T| {
            if SMALLEST {
                T::opposite(x.key())
            } else {
                x.key()
            }
        };
        kept.clear();
        if of.count == 0 {
            return;
        }
        let room = (2 * of.count).max(ROOM);
        // All further elements have larger keys than this one.
        let mut least = None;
        for (block, elements) in line.chunks(BLOCK).enumerate() {
            if let Some(least) = least {
                // Without a branch, so that it is vectorised.
                let is_better = |any, x| any | (key(x) > least);
                if !elements.iter().fold(false, is_better) {
                    continue;
                }
            }
            for (at, x) in elements.iter().enumerate() {
                let key = key(x);
                if least.is_none_or(|least| key > least) {
                    kept.push(T::candidate(key, block * BLOCK + at));
                }
            }
            if kept.len() >= room {
                keep(of.count, kept);
                least = Some(T::key_of(kept[of.count - 1]));
            }
        }
        if kept.len() > of.count {
            keep(of.count, kept);
        }
        if of.sorted {
            sort_down(kept);
        }
    }
}

/// Sorts candidates, the largest first. A function of its own, as sorting is much code, which would
/// be compiled for each type of elements and each level.
fn sort_down<C: Ord>(kept: &mut [C]) {
    kept.sort_unstable_by(|a, b| b.cmp(a));
}

/// Drops all but the largest candidates, of which the last one becomes the least.
fn keep<C: Ord>(count: usize, kept: &mut Vec<C>) {
    kept.select_nth_unstable_by(count - 1, |a, b| b.cmp(a));
    kept.truncate(count);
}
