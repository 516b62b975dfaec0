//! Conversion between dtypes, at each SIMD level: all patterns of up to 16 bits, and of larger
//! types those beside the numbers and the middles of the smaller ones, compared with a naive
//! oracle.
#![cfg(feature = "kernels")]

#[path = "convert/oracle.rs"]
mod oracle;

use dlbridge::DType;
use dlbridge::compute::{Converter, Level, with_level};
use dlbridge::dtype::TypeCode;
use oracle::{Oracle, Value};

/// All dtypes of real numbers.
fn reals() -> impl Iterator<Item = DType> {
    let is_real = |dtype: &DType| !matches!(dtype.code(), TypeCode::Handle | TypeCode::Complex);
    DType::ALL.iter().copied().filter(is_real)
}

fn levels() -> impl Iterator<Item = Level> {
    Level::loops()
}

/// Returns how many bytes an element takes that isn't packed.
fn size_of(dtype: DType) -> usize {
    dtype.item_bits().div_ceil(8)
}

fn bytes_of(dtype: DType, patterns: &[u64]) -> Vec<u8> {
    let bytes = |pattern: &u64| pattern.to_le_bytes()[..size_of(dtype)].to_vec();
    patterns.iter().flat_map(bytes).collect()
}

fn patterns_of(dtype: DType, bytes: &[u8]) -> Vec<u64> {
    let pattern = |chunk: &[u8]| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    };
    bytes.chunks(size_of(dtype)).map(pattern).collect()
}

fn convert(from: DType, to: DType, saturates: bool, source: &[u8]) -> Vec<u8> {
    let converter = Converter::new(from, to, saturates).unwrap();
    assert_eq!(converter.nbytes(), [from, to].map(size_of));
    let count = source.len() / size_of(from);
    // A byte more on both sides, which must stay.
    let mut target = vec![0x5a; count * size_of(to) + 2];
    // SAFETY: both have that many elements.
    unsafe { converter.run(source.as_ptr(), target[1..].as_mut_ptr(), count) };
    assert_eq!((target[0], target.pop()), (0x5a, Some(0x5a)));
    target.remove(0);
    target
}

/// Compares the conversion of these patterns to all types with the oracle, at all levels.
fn check(from: DType, patterns: &[u64]) {
    let source = bytes_of(from, patterns);
    let values: Vec<Value> = {
        let oracle = Oracle::new(from);
        patterns.iter().map(|bits| oracle.decode(*bits)).collect()
    };
    for to in reals() {
        let oracle = Oracle::new(to);
        for saturates in [false, true] {
            if saturates && !oracle.has_overflow() {
                continue;
            }
            let mut first = None;
            for level in levels() {
                let found = with_level(level, || convert(from, to, saturates, &source));
                let first = first.get_or_insert_with(|| found.clone());
                assert!(found == *first, "{from} to {to}: {level} differs");
            }
            let found = patterns_of(to, &first.unwrap());
            for ((bits, value), found) in patterns.iter().zip(&values).zip(found) {
                if from == to && !from.is_sub_byte() {
                    assert_eq!(found, *bits);
                    continue;
                }
                let expected = oracle.encode(*value, saturates);
                assert!(
                    oracle.is_same(found, expected),
                    "{from} {bits:#x} ({value:?}) to {to}: {found:#x} instead of {expected:#x}"
                );
            }
        }
    }
}

/// Returns the numbers at which roundings to smaller types differ: their numbers, the middles
/// between two, and the ends of integers.
fn edges() -> Vec<f64> {
    let mut edges = vec![
        0.0,
        0.5,
        1.5,
        2.5,
        f64::MAX,
        f64::MIN_POSITIVE,
        1e-310,
        f64::INFINITY,
    ];
    edges.push(f64::NAN);
    for power in 0..66 {
        let power = 2.0_f64.powi(power);
        edges.extend([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0].map(|more| power + more));
    }
    for dtype in reals() {
        let oracle = Oracle::new(dtype);
        let Some(numbers) = oracle.numbers() else {
            continue;
        };
        let some = if numbers.len() > 1000 { 97 } else { 1 };
        for pair in numbers.windows(2).step_by(some) {
            edges.extend([pair[0], (pair[0] + pair[1]) / 2.0]);
        }
        let [.., last_but_one, last] = numbers[..] else {
            unreachable!("a type with numbers")
        };
        edges.extend([
            last,
            last + (last - last_but_one) / 2.0,
            2.0 * last - last_but_one,
        ]);
    }
    edges
}

/// Returns numbers without a pattern.
fn random() -> impl Iterator<Item = u64> {
    std::iter::successors(Some(0x9e37_79b9_7f4a_7c15_u64), |state| {
        let mut state = *state;
        state ^= state << 13;
        state ^= state >> 7;
        Some(state ^ state << 17)
    })
}

/// Tests all patterns of a type of up to 16 bits.
macro_rules! exhaustive {
    ($($name:ident: $($dtype:ident),*;)*) => {$(
        #[test]
        fn $name() {
            for dtype in [$(DType::$dtype),*] {
                let patterns: Vec<u64> = match dtype {
                    DType::BOOL => vec![0, 1],
                    // Bits above the element are ignored.
                    _ if dtype.bits() < 16 => (0..256).collect(),
                    _ => (0..65536).step_by(if cfg!(miri) { 997 } else { 1 }).collect(),
                };
                check(dtype, &patterns);
            }
        }
    )*};
}

exhaustive! {
    short_integers_equal_the_oracle: BOOL, I1, I2, I4, I8, U1, U2, U4, U8;
    small_floats_equal_the_oracle: F4_E2M1FN, F6_E2M3FN, F6_E3M2FN, F8_E3M4, F8_E4M3,
        F8_E4M3B11FNUZ, F8_E4M3FN, F8_E4M3FNUZ, F8_E5M2, F8_E5M2FNUZ, F8_E8M0FNU;
    int16_equals_the_oracle: I16;
    uint16_equals_the_oracle: U16;
    float16_equals_the_oracle: F16;
    bfloat16_equals_the_oracle: BF16;
}

/// Tests patterns of a larger type that are near the edges, and others.
macro_rules! near_edges {
    ($($name:ident: $dtype:ident, |$number:ident| $patterns:expr;)*) => {$(
        #[test]
        fn $name() {
            let near = edges().into_iter().flat_map(|$number: f64| $patterns);
            let some = if cfg!(miri) { 997 } else { 1 };
            let mut patterns: Vec<u64> = near.step_by(some).collect();
            let mask = u64::MAX >> (64 - DType::$dtype.item_bits());
            patterns.extend(random().take(if cfg!(miri) { 9 } else { 9999 }).map(|bits| bits & mask));
            check(DType::$dtype, &patterns);
        }
    )*};
}

near_edges! {
    float32_equals_the_oracle: F32, |number| {
        let number = number as f32;
        let near = [number, number.next_up(), number.next_down()];
        near.into_iter().flat_map(|x| [x, -x]).map(|x| u64::from(x.to_bits()))
    };
    float64_equals_the_oracle: F64, |number| {
        let near = [number, number.next_up(), number.next_down()];
        near.into_iter().flat_map(|x| [x, -x]).map(f64::to_bits)
    };
    int32_equals_the_oracle: I32, |number| {
        let near = (number as i32).saturating_sub(1);
        (0..3).flat_map(move |more| [near.wrapping_add(more), near.wrapping_add(more).wrapping_neg()])
            .map(|x| x as u32 as u64)
    };
    uint32_equals_the_oracle: U32, |number| {
        let near = (number as u32).saturating_sub(1);
        (0..3).map(move |more| near.wrapping_add(more).into())
    };
    int64_equals_the_oracle: I64, |number| {
        let near = (number as i64).saturating_sub(1);
        (0..3).flat_map(move |more| [near.wrapping_add(more), near.wrapping_add(more).wrapping_neg()])
            .map(|x| x as u64)
    };
    uint64_equals_the_oracle: U64, |number| {
        let near = (number as u64).saturating_sub(1);
        (0..3).map(move |more| near.wrapping_add(more))
    };
}

#[test]
fn every_length_and_alignment_is_converted_alike() {
    let counts = [
        0, 1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 65, 511, 512, 513, 1025,
    ];
    let pairs = [
        (DType::F32, DType::BF16),
        (DType::F32, DType::F16),
        (DType::F16, DType::F32),
        (DType::F8_E4M3FN, DType::F16),
        (DType::I64, DType::F8_E5M2),
        (DType::F64, DType::I8),
        (DType::U8, DType::U8),
        (DType::BF16, DType::F4_E2M1FN),
    ];
    for (from, to) in pairs {
        let bytes: Vec<u8> = random()
            .flat_map(u64::to_le_bytes)
            .take(8 * 1025 + 1)
            .collect();
        for level in levels() {
            with_level(level, || {
                let whole = convert(from, to, false, &bytes[..1025 * size_of(from)]);
                for count in counts {
                    let found = convert(from, to, false, &bytes[..count * size_of(from)]);
                    assert_eq!(
                        found,
                        whole[..count * size_of(to)],
                        "{from} to {to}, {count}"
                    );
                    // The source at an odd address, if it wasn't yet.
                    let shifted: Vec<u8> = [&[0], &bytes[..count * size_of(from)]].concat();
                    let found = convert(from, to, false, &shifted[1..]);
                    assert_eq!(
                        found,
                        whole[..count * size_of(to)],
                        "{from} to {to}, {count}"
                    );
                }
            });
        }
    }
}

#[test]
fn complex_numbers_are_converted_by_their_parts() {
    let complex = [
        (DType::C32, DType::F16),
        (DType::C64, DType::F32),
        (DType::C128, DType::F64),
    ];
    let bytes: Vec<u8> = random()
        .flat_map(u64::to_le_bytes)
        .take(8 * 2 * 700)
        .collect();
    for (from, from_part) in complex {
        let source = &bytes[..700 * size_of(from)];
        for (to, to_part) in complex {
            let found = convert(from, to, false, source);
            assert_eq!(
                found,
                convert(from_part, to_part, false, source),
                "{from} to {to}"
            );
        }
        // Real numbers get an imaginary part of 0.
        for real in reals() {
            let source: Vec<u8> = match real {
                DType::BOOL => bytes[..300].iter().map(|byte| byte & 1).collect(),
                _ => bytes[..300 * size_of(real)].to_vec(),
            };
            let part = size_of(from_part);
            let parts = convert(real, from_part, false, &source);
            let expected: Vec<u8> = parts
                .chunks(part)
                .flat_map(|real| [real, &vec![0; part]].concat())
                .collect();
            assert_eq!(
                convert(real, from, false, &source),
                expected,
                "{real} to {from}"
            );
            let back = Converter::new(from, real, false);
            assert_eq!(back.is_some(), real == DType::BOOL, "{from} to {real}");
        }
        let one = |value: f64| convert(DType::F64, from_part, false, &value.to_le_bytes());
        for (re, im, expected) in [
            (0.0, -0.0, 0),
            (0.0, 2.0, 1),
            (f64::NAN, 0.0, 1),
            (1.0, 1.0, 1),
        ] {
            let number = [one(re), one(im)].concat();
            assert_eq!(
                convert(from, DType::BOOL, false, &number),
                [expected],
                "{re} {im}"
            );
        }
    }
}

#[test]
fn handles_and_vectors_have_no_conversion() {
    let vector = DType::F32.with_lanes(2).unwrap();
    for (from, to) in [
        (DType::HANDLE64, DType::I64),
        (DType::I64, DType::HANDLE64),
        (DType::HANDLE64, DType::HANDLE64),
        (vector, DType::F32),
        (DType::F32, vector),
        (vector, vector),
        (DType::C64, DType::F32),
        (DType::C64, vector),
    ] {
        assert!(Converter::new(from, to, false).is_none(), "{from} to {to}");
    }
}
