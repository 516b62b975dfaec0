//! Products of each type, level and number of threads, compared with a naive oracle.

mod memory;

use super::*;
use crate::compute::{Level, threads, with_level};
use memory::{Guarded, Place};
use proptest::prelude::*;
use std::fmt::Debug;

/// A number that small integers can be, and sums of their products.
trait Number: Copy + PartialEq + Debug + Default {
    fn of(integer: i64) -> Self;
}

macro_rules! numbers {
    ($($ty:ty: $of:expr;)*) => {$(
        impl Number for $ty {
            fn of(integer: i64) -> Self {
                let of: fn(i64) -> $ty = $of;
                of(integer)
            }
        }
    )*};
}

numbers! {
    f32: |x| x as f32;
    f64: |x| x as f64;
    f16: |x| f16::from_f64(x as f64);
    bf16: |x| bf16::from_f64(x as f64);
    i8: |x| x as i8;
    i16: |x| x as i16;
    i32: |x| x as i32;
    i64: |x| x;
    u8: |x| x as u8;
    u16: |x| x as u16;
    u32: |x| x as u32;
    u64: |x| x as u64;
}

/// A product: extents, places of the operands in memory, and what chooses numbers.
#[derive(Debug, Clone)]
struct Case {
    batch: usize,
    sizes: [usize; 3],
    places: [Place; 3],
    /// Whether all of the batch have the same factor.
    same: [bool; 2],
    seed: i64,
}

impl Case {
    /// Numbers that are the same in each dtype, unless `low` is below what it holds.
    fn number(&self, operand: i64, index: [usize; 3], low: i64) -> i64 {
        let index = index.map(|index| index as i64);
        let mixed = index[0] * 31 + index[1] * 17 + index[2] * 7 + operand * 5 + self.seed;
        (mixed * mixed).rem_euclid(13) + low
    }

    /// Multiplies, and compares each element of the result with the oracle's.
    fn check<T: Factor<O> + Number, O: Number + Send>(&self, low: i64) {
        let [rows, depth, columns] = self.sizes;
        let factor_batch = |at: usize| if self.same[at] { 1 } else { self.batch };
        let a = Guarded::<T>::new(self.places[0], [factor_batch(0), rows, depth]);
        let b = Guarded::<T>::new(self.places[1], [factor_batch(1), depth, columns]);
        let out = Guarded::<O>::new(self.places[2], [self.batch, rows, columns]);
        a.fill(|index| T::of(self.number(0, index, low)));
        b.fill(|index| T::of(self.number(1, index, low)));
        out.fill(|_| O::of(77));
        let sizes = Sizes {
            batch: &[self.batch],
            rows,
            depth,
            columns,
        };
        let strides = [a.strides[0], b.strides[0]];
        let batch = [0, 1].map(|at| [if self.same[at] { 0 } else { strides[at] }]);
        // SAFETY: the memory holds these elements at these strides, and nothing else uses it.
        unsafe {
            multiply::<T, O>(
                sizes,
                a.matrices(&batch[0]),
                b.matrices(&batch[1]),
                out.matrices_mut(),
            );
        }
        for item in 0..self.batch {
            for row in 0..rows {
                for column in 0..columns {
                    let at = |same: bool| if same { 0 } else { item };
                    let product = |k: usize| {
                        let a = self.number(0, [at(self.same[0]), row, k], low);
                        a.wrapping_mul(self.number(1, [at(self.same[1]), k, column], low))
                    };
                    let expected = O::of((0..depth).map(product).fold(0, i64::wrapping_add));
                    let found = out.get([item, row, column]);
                    assert_eq!(found, expected, "[{item}, {row}, {column}] of {self:?}");
                }
            }
        }
    }

    /// Checks the case for all types, on the current level.
    fn check_all(&self) {
        self.check::<f32, f32>(-6);
        self.check::<f64, f64>(-6);
        self.check::<f16, f16>(-6);
        self.check::<f16, f32>(-6);
        self.check::<bf16, bf16>(-6);
        self.check::<bf16, f32>(-6);
        self.check::<i8, i8>(-128);
        self.check::<i8, i32>(-128);
        self.check::<i8, i32>(115);
        self.check::<u8, u8>(243);
        self.check::<u8, i32>(243);
        self.check::<i16, i16>(-32768);
        self.check::<u16, u16>(65523);
        self.check::<i32, i32>(-(1 << 31));
        self.check::<u32, u32>((1 << 32) - 13);
        self.check::<i64, i64>(-(1 << 20));
        self.check::<u64, u64>(1 << 20);
    }
}

fn levels() -> impl Iterator<Item = Level> {
    Level::ALL.into_iter().filter(|level| level.is_available())
}

/// Calls a function on each level, with several numbers of threads.
fn everywhere(function: impl Fn()) {
    for level in levels() {
        for number in [1, 2, 5] {
            with_level(level, || threads::with_num_threads(number, &function));
        }
    }
}

fn case() -> impl Strategy<Value = Case> {
    let size = || prop_oneof![1 => Just(0), 6 => Just(1), 6 => 2..40_usize, 2 => 40..90_usize];
    let sizes = [size(), size(), size()];
    let places = || [Place::any(), Place::any(), Place::any()];
    let batch = prop_oneof![4 => Just(1), 1 => 0..5_usize];
    (batch, sizes, places(), any::<[bool; 2]>(), 0..13_i64).prop_map(
        |(batch, sizes, places, same, seed)| Case {
            batch,
            sizes,
            places,
            same,
            seed,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if cfg!(miri) { 3 } else { 24 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn multiply_equals_the_oracle(case in case(), number in prop::sample::select(vec![1, 2, 5])) {
        for level in levels() {
            with_level(level, || threads::with_num_threads(number, || case.check_all()));
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn multiply_of_several_blocks_equals_the_oracle() {
    for (sizes, by_columns) in [
        ([390, 260, 3], false),
        ([3, 10, 1040], false),
        ([3, 1100, 20], true),
        ([1, 300, 1030], false),
        ([1030, 300, 1], true),
        ([5, 1100, 1], false),
    ] {
        let place = Place {
            by_columns,
            ..Place::DENSE
        };
        let places = [place, place, Place::DENSE];
        let case = Case {
            batch: 1,
            sizes,
            places,
            same: [false; 2],
            seed: 3,
        };
        for level in levels() {
            with_level(level, || {
                threads::with_num_threads(5, || {
                    case.check::<f32, f32>(-6);
                    case.check::<bf16, bf16>(-6);
                    case.check::<i8, i32>(-128);
                    case.check::<i64, i64>(-6);
                });
            });
        }
    }
}

/// Multiplies dense matrices.
fn product<T: Factor<O>, O: Number>(sizes: [usize; 3], a: &[T], b: &[T]) -> Vec<O> {
    let [rows, depth, columns] = sizes;
    assert_eq!((a.len(), b.len()), (rows * depth, depth * columns));
    let mut out = vec![O::default(); rows * columns];
    let dense = |columns: usize| (&[][..], columns as isize, 1);
    let (batch, row, column) = dense(depth);
    let a = Matrices {
        first: a.as_ptr(),
        batch,
        row,
        column,
    };
    let (batch, row, column) = dense(columns);
    let b = Matrices {
        first: b.as_ptr(),
        batch,
        row,
        column,
    };
    let to = Matrices {
        first: out.as_mut_ptr(),
        batch,
        row,
        column,
    };
    let sizes = Sizes {
        batch: &[],
        rows,
        depth,
        columns,
    };
    // SAFETY: the lists have the elements of these sizes.
    unsafe { multiply(sizes, a, b, to) };
    out
}

fn fractions(count: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    let mut next = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// Checks that errors are below those of a sum of rounded products, for any order of summation:
/// with `u` half of the distance between 1 and the next number, `depth * u` times the sum of the
/// products' sizes, and one rounding to the type of the result.
fn check_bound<T: Factor<O>, O: Number>(
    from: fn(f64) -> T,
    widen: fn(T) -> f64,
    exact: fn(O) -> f64,
    (unit, rounding): (f64, f64),
) {
    for sizes in [[33, 700, 40], [1, 3000, 70], [70, 3000, 1], [5, 5, 5]] {
        let [rows, depth, columns] = sizes;
        let a: Vec<T> = fractions(rows * depth, 1).into_iter().map(from).collect();
        let b: Vec<T> = fractions(depth * columns, 2)
            .into_iter()
            .map(from)
            .collect();
        everywhere(|| {
            let found = product::<T, O>(sizes, &a, &b);
            for (at, found) in found.into_iter().enumerate() {
                let (row, column) = (at / columns, at % columns);
                let products =
                    (0..depth).map(|k| widen(a[row * depth + k]) * widen(b[k * columns + column]));
                let (sum, size) = products.fold((0.0, 0.0), |(sum, size), product| {
                    (sum + product, size + product.abs())
                });
                let allowed = (depth + 1) as f64 * unit * size + rounding * sum.abs();
                assert!(
                    (exact(found) - sum).abs() <= allowed,
                    "{sizes:?}, {at}: {} for {sum}",
                    exact(found)
                );
            }
        });
    }
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn errors_of_floats_are_within_the_bound() {
    let single = 0.5_f64.powi(24);
    check_bound::<f32, f32>(|x| x as f32, f64::from, f64::from, (single, 0.0));
    // Twice, as the oracle rounds, too.
    check_bound::<f64, f64>(|x| x, |x| x, |x| x, (2.0 * 0.5_f64.powi(53), 0.0));
    check_bound::<f16, f16>(
        f16::from_f64,
        f64::from,
        f64::from,
        (single, 1.1 * 0.5_f64.powi(11)),
    );
    check_bound::<bf16, bf16>(
        bf16::from_f64,
        f64::from,
        f64::from,
        (2.0 * single, 1.1 * 0.5_f64.powi(8)),
    );
    check_bound::<bf16, f32>(bf16::from_f64, f64::from, f64::from, (2.0 * single, 0.0));
}

#[test]
#[cfg_attr(miri, ignore = "takes too long")]
fn results_are_equal_for_any_number_of_threads() {
    for sizes in [
        [300, 600, 200],
        [1, 900, 1500],
        [1500, 900, 1],
        [64, 2000, 64],
    ] {
        let [rows, depth, columns] = sizes;
        let a: Vec<_> = fractions(rows * depth, 3)
            .into_iter()
            .map(|x| x as f32)
            .collect();
        let b: Vec<_> = fractions(depth * columns, 4)
            .into_iter()
            .map(|x| x as f32)
            .collect();
        for level in levels() {
            let with = |number| {
                let multiply = || product::<f32, f32>(sizes, &a, &b);
                with_level(level, || threads::with_num_threads(number, multiply))
            };
            let one: Vec<_> = with(1).into_iter().map(f32::to_bits).collect();
            for number in [2, 3, 7] {
                let several: Vec<_> = with(number).into_iter().map(f32::to_bits).collect();
                assert!(one == several, "{sizes:?} on {level}, {number} threads");
            }
        }
    }
}

#[test]
fn nan_and_infinity_reach_their_rows_and_columns_alone() {
    fn check<T: Factor<T> + Number>(is: fn(T) -> (bool, bool), nan: T, infinity: T) {
        for sizes in [[20, 40, 50], [1, 40, 50], [20, 40, 1], [3, 3, 3]] {
            let [rows, depth, columns] = sizes;
            let mut a = vec![T::of(1); rows * depth];
            let mut b = vec![T::of(2); depth * columns];
            (a[0], b[columns - 1]) = (nan, infinity);
            everywhere(|| {
                for (at, x) in product::<T, T>(sizes, &a, &b).into_iter().enumerate() {
                    let (row, column) = (at / columns, at % columns);
                    let expected = (row == 0, row != 0 && column == columns - 1);
                    assert_eq!(is(x), expected, "{sizes:?}, [{row}, {column}]");
                }
            });
        }
    }
    check(
        |x: f32| (x.is_nan(), x.is_infinite()),
        f32::NAN,
        f32::INFINITY,
    );
    check(
        |x: f64| (x.is_nan(), x.is_infinite()),
        f64::NAN,
        f64::INFINITY,
    );
    check(
        |x: f16| (x.is_nan(), x.is_infinite()),
        f16::NAN,
        f16::INFINITY,
    );
    check(
        |x: bf16| (x.is_nan(), x.is_infinite()),
        bf16::NAN,
        bf16::INFINITY,
    );
}

#[test]
fn bf16_sums_are_rounded_once() {
    // 256 + 1 + 1: each sum with 1 is halfway to 258, and would be rounded to 256.
    let a = [256.0, 1.0, 1.0].map(bf16::from_f32);
    let b = [bf16::ONE; 3];
    everywhere(|| {
        let sum = product::<bf16, bf16>([1, 3, 1], &a, &b);
        assert_eq!(sum[0].to_f32(), 258.0);
    });
}

#[test]
fn products_without_terms_are_zeros() {
    everywhere(|| {
        assert_eq!(product::<f32, f32>([2, 0, 3], &[], &[]), [0.0; 6]);
        assert_eq!(product::<bf16, bf16>([1, 0, 3], &[], &[]), [bf16::ZERO; 3]);
        assert_eq!(product::<i8, i32>([3, 0, 1], &[], &[]), [0; 3]);
    });
}

#[test]
fn multiply_of_no_depth_writes_zeros_whatever_the_strides() {
    for level in levels() {
        with_level(level, || {
            let mut out = [7_i16; 40 * 3];
            let sizes = Sizes {
                batch: &[],
                rows: 40,
                depth: 0,
                columns: 3,
            };
            let factor = || Matrices {
                first: std::ptr::dangling::<i16>(),
                batch: &[],
                row: isize::MAX / 2,
                column: isize::MIN / 2,
            };
            let result = Matrices {
                first: out.as_mut_ptr(),
                batch: &[],
                row: 3,
                column: 1,
            };
            // SAFETY: the factors have no elements, and the result has room for its own.
            unsafe { multiply::<i16, i16>(sizes, factor(), factor(), result) };
            assert_eq!(out, [0; 40 * 3]);
        });
    }
}
