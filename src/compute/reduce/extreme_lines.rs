//! Searches for the largest or smallest elements among contiguous ones.

use super::accumulate::Positions;
use super::fold::Fold;
use super::fold_lines::fold_slice;
use crate::compute::select::Ranked;
use crate::compute::simd::{Routine, Simd};
use crate::dtype::{Element, TypeCode};
use std::marker::PhantomData;
use std::slice;

/// Elements whose largest key is found before it is searched for: they stay in the first-level
/// cache.
const BLOCK: usize = 4096;

/// Columns of which the best elements so far are kept in the first-level cache.
const COLUMNS: usize = 512;

/// A key of [`Ranked`], an unsigned integer.
pub(crate) trait Key: Copy + Ord + Into<u64> + Default + Send + Sync {
    /// How many numbers the type has.
    const NUMBERS: usize;
    const MAX: Self;

    fn from_index(index: usize) -> Self;
}

macro_rules! keys {
    ($($ty:ident),*) => {$(
        impl Key for $ty {
            const NUMBERS: usize = ($ty::MAX as usize).saturating_add(1);
            const MAX: Self = $ty::MAX;

            #[inline(always)]
            fn from_index(index: usize) -> Self {
                index as $ty
            }
        }
    )*};
}

keys!(u8, u16, u32, u64);

/// Returns a number that is the larger the earlier an element comes in the order, and the largest
/// number for NaN.
#[inline(always)]
fn rank<T: Element + Ranked<Key: Key>, const SMALLEST: bool>(x: T) -> T::Key {
    let key = x.key();
    if !SMALLEST {
        return key;
    }
    let is_float = matches!(T::DTYPE.code(), TypeCode::Float | TypeCode::BFloat);
    // The key of NaN, and of no other float.
    if is_float && key == T::Key::MAX {
        key
    } else {
        T::opposite(key)
    }
}

/// The largest rank.
#[derive(Clone, Copy)]
struct Best<const SMALLEST: bool>;

impl<T: Element + Ranked<Key: Key>, const SMALLEST: bool> Fold<T> for Best<SMALLEST> {
    type Lane = T::Key;
    type Total = T::Key;
    type Result = T::Key;

    #[inline(always)]
    fn empty_lane(self) -> T::Key {
        T::Key::default()
    }
    #[inline(always)]
    fn add(self, lane: T::Key, x: T) -> T::Key {
        lane.max(rank::<T, SMALLEST>(x))
    }
    #[inline(always)]
    fn join(self, a: T::Key, b: T::Key) -> T::Key {
        a.max(b)
    }
    #[inline(always)]
    fn empty(self) -> T::Key {
        T::Key::default()
    }
    #[inline(always)]
    fn add_lane(self, total: T::Key, lane: T::Key) -> T::Key {
        total.max(lane)
    }
    #[inline(always)]
    fn combine(self, total: T::Key, later: T::Key) -> T::Key {
        total.max(later)
    }
    #[inline(always)]
    fn finish(self, total: T::Key) -> T::Key {
        total
    }
}

/// The best element so far.
#[derive(Debug, Clone, Copy)]
pub(super) struct Found {
    pub(super) rank: u64,
    pub(super) position: usize,
}

impl Found {
    /// Every element is better, by its position if not by its rank.
    pub(super) const NOTHING: Self = Self {
        rank: 0,
        position: usize::MAX,
    };

    /// Returns the better one: of equal elements the one that comes first.
    #[inline(always)]
    pub(super) fn better(self, other: Self) -> Self {
        if other.beats(self) { other } else { self }
    }

    #[inline(always)]
    fn beats(self, other: Self) -> bool {
        self.rank > other.rank || self.rank == other.rank && self.position < other.position
    }
}

/// Contiguous elements of some results, each from its own address on.
pub(super) struct Along<'a, T, const SMALLEST: bool> {
    pub(super) found: &'a mut [Found],
    pub(super) x: *const u8,
    pub(super) lines: (usize, isize),
    pub(super) positions: Positions,
    pub(super) element: PhantomData<T>,
}

impl<T: Element + Ranked<Key: Key>, const SMALLEST: bool> Routine for Along<'_, T, SMALLEST> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Positions { first, step } = self.positions;
        let (len, distance) = self.lines;
        for (at, found) in self.found.iter_mut().enumerate() {
            // SAFETY: `Accumulate::along` requires as many elements for each accumulator.
            let x = unsafe {
                let x = self.x.wrapping_offset(at as isize * distance).cast::<T>();
                slice::from_raw_parts(x, len)
            };
            for (number, block) in x.chunks(BLOCK).enumerate() {
                let best = fold_slice(Best::<SMALLEST>, block, T::Key::default(), simd);
                let mut candidate = Found {
                    rank: best.into(),
                    position: first + number * BLOCK * step,
                };
                // Only where it is better at the block's first position can it be at another one.
                if candidate.beats(*found) {
                    candidate.position += place::<T, SMALLEST>(block, best) * step;
                    *found = found.better(candidate);
                }
            }
        }
    }
}

/// Returns the first place of a rank that is there.
#[inline(always)]
fn place<T: Element + Ranked<Key: Key>, const SMALLEST: bool>(block: &[T], best: T::Key) -> usize {
    const CHUNK: usize = 64;
    let is_best = |x: &T| rank::<T, SMALLEST>(*x) == best;
    let mut start = 0;
    for chunk in block.as_chunks::<CHUNK>().0 {
        // Without a branch, so that it is vectorised.
        let mut is_any = false;
        for x in chunk {
            is_any |= is_best(x);
        }
        if is_any {
            break;
        }
        start += CHUNK;
    }
    start + block[start..].iter().position(is_best).unwrap_or(0)
}

/// Rows of contiguous elements, one for each result.
pub(super) struct Across<'a, T, const SMALLEST: bool> {
    pub(super) found: &'a mut [Found],
    pub(super) x: *const u8,
    pub(super) rows: (usize, isize),
    pub(super) positions: Positions,
    pub(super) element: PhantomData<T>,
}

impl<T: Element + Ranked<Key: Key>, const SMALLEST: bool> Routine for Across<'_, T, SMALLEST> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let (rows, step) = self.rows;
        let mut x = self.x.cast::<T>();
        for found in self.found.chunks_mut(COLUMNS) {
            let count = found.len();
            let mut start = 0;
            while start < rows {
                // As many as can be counted in a type as wide as the ranks.
                let some = (rows - start).min(T::Key::NUMBERS);
                let (mut ranks, mut places) =
                    ([T::Key::default(); COLUMNS], [T::Key::default(); COLUMNS]);
                for at in 0..some {
                    // SAFETY: `Accumulate::across` requires `rows` rows of as many elements as
                    // there are accumulators.
                    let row = unsafe {
                        let x = x.wrapping_byte_offset((start + at) as isize * step);
                        slice::from_raw_parts(x, count)
                    };
                    let at = T::Key::from_index(at);
                    better_of_row::<T, SMALLEST>(
                        &mut ranks[..count],
                        &mut places[..count],
                        row,
                        at,
                    );
                }
                for ((found, rank), place) in found.iter_mut().zip(ranks).zip(places) {
                    let place: u64 = place.into();
                    *found = found.better(Found {
                        rank: rank.into(),
                        position: self.positions.first
                            + (start + place as usize) * self.positions.step,
                    });
                }
                start += some;
            }
            x = x.wrapping_add(count);
        }
    }
}

/// Keeps the better elements, and the rows in which they are. As arguments of a function the slices
/// are known not to overlap.
#[inline(always)]
fn better_of_row<T: Element + Ranked<Key: Key>, const SMALLEST: bool>(
    ranks: &mut [T::Key],
    places: &mut [T::Key],
    row: &[T],
    at: T::Key,
) {
    let places = &mut places[..ranks.len()];
    let row = &row[..ranks.len()];
    for column in 0..ranks.len() {
        let rank = rank::<T, SMALLEST>(row[column]);
        let is_better = rank > ranks[column];
        ranks[column] = if is_better { rank } else { ranks[column] };
        places[column] = if is_better { at } else { places[column] };
    }
}
