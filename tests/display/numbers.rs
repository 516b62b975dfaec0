//! Numbers of each type, alone and beside each other.

use crate::{check, packed};
use dlbridge::dtype::{
    F8E3M4, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0Fnu,
};
use dlbridge::{DType, Element, Tensor};
use half::{bf16, f16};
use num_complex::Complex;

#[track_caller]
fn check_row<T: Element, const N: usize>(row: [T; N], display: &str) {
    assert_eq!(Tensor::from(row).to_string(), display);
}

#[test]
fn floats_have_at_most_4_fractional_digits() {
    check_row([0.1_f32, 100.0, -0.0], "[  0.1 100.0  -0.0]");
    check_row([0.1, 1.0 / 3.0, 2.5], "[0.1000 0.3333 2.5000]");
    check_row([1.0 / 3.0, 0.1].map(f16::from_f64), "[0.3333 0.1000]");
    check_row([1.0 / 3.0, 0.1].map(bf16::from_f64), "[0.3340 0.1001]");
    check_row([1e-9 + 1.0], "[1.]");
    check_row([1.0_f32, -20.0], "[  1. -20.]");
}

#[test]
fn exponents_come_with_large_and_small_numbers() {
    check_row([1.0_f32, 1001.5], "[   1.0 1001.5]");
    check_row([99999999.0, 1e6], "[99999999.  1000000.]");
    check_row([1e8, 1e6], "[1e8 1e6]");
    check_row([1e-4, 0.01], "[0.0001 0.0100]");
    check_row([9e-5_f32, 0.01], "[9e-5 1e-2]");
    check_row(
        [0.1_f32, 1.0 / 3.0, 1e-5],
        "[1.0000e-1 3.3333e-1 1.0000e-5]",
    );
    check_row([1e-100, 1.0], "[1e-100    1e0]");
    check_row([0.0, -1e20], "[  0e0 -1e20]");
}

#[test]
fn non_finite_numbers_are_aligned() {
    const NAN: f32 = f32::NAN;
    const INFINITY: f32 = f32::INFINITY;
    check_row([0.0, NAN, -INFINITY], "[  0.  nan -inf]");
    check_row([NAN, -NAN], "[nan nan]");
    check_row([NAN, 1e20, -1e-20], "[   nan   1e20 -1e-20]");
    let complex = [Complex::new(NAN, INFINITY), Complex::new(0.0, -INFINITY)];
    check_row(complex, "[nan+infj  0.-infj]");
}

#[test]
fn integers_bools_complex_and_handles_print() {
    check_row([1_i16, -20, 300], "[  1 -20 300]");
    check_row([u64::MAX, 0], "[18446744073709551615                    0]");
    check_row([true, false], "[ True False]");
    check_row([true, true], "[True True]");
    let complex = [Complex::new(1.0_f32, 2.0), Complex::new(-0.5, -1.0)];
    check(
        &Tensor::from(complex),
        "[ 1.0+2.0j -0.5-1.0j]",
        "[ 1.0+2.0j, -0.5-1.0j], dtype=complex64",
    );
    let handles = Tensor::from([255_u16, 1]).bit_cast(DType::HANDLE16);
    check(
        &handles.unwrap(),
        "[0xff  0x1]",
        "[0xff,  0x1], dtype=handle16",
    );
    check(
        &packed([0x1f, 0x72], &[4], DType::I4),
        "[-1  1  2  7]",
        "[-1,  1,  2,  7], dtype=int4",
    );
}

#[test]
fn rank_0_prints_all_digits() {
    macro_rules! scalars {
        ($($value:expr => $text:literal, $dtype:literal;)*) => {$(
            let debug = concat!($text, ", dtype=", $dtype);
            check(&Tensor::scalar($value), $text, debug);
        )*};
    }
    scalars! {
        3.5_f32 => "3.5", "float32";
        1.0_f32 => "1.0", "float32";
        1e6_f32 => "1000000.0", "float32";
        0.1_f32 => "0.1", "float32";
        f32::NAN => "nan", "float32";
        f32::NEG_INFINITY => "-inf", "float32";
        std::f64::consts::PI => "3.141592653589793", "float64";
        1e15 => "1000000000000000.0", "float64";
        1e16 => "1e16", "float64";
        1.5e300 => "1.5e300", "float64";
        -0.0 => "-0.0", "float64";
        f16::from_f64(0.5) => "0.5", "float16";
        Complex::new(1.0_f32, 2.0) => "1.0+2.0j", "complex64";
        Complex::new(0.0_f32, 0.1) => "0.0+0.1j", "complex64";
        Complex::new(-0.0, -1.5) => "-0.0-1.5j", "complex128";
        true => "True", "bool";
        -3_i8 => "-3", "int8";
    }
}

#[test]
fn small_floats() {
    check_row(
        [0.1015625, 1.0, 30.0, 14.0].map(e4m3),
        "[ 0.1016  1.0000 30.0000 14.0000]",
    );
    check_row([448.0, 1.0].map(e4m3), "[448.   1.]");
    let e2m3 = packed([0x49, 0x20], &[2], DType::F6_E2M3FN);
    check(
        &e2m3,
        "[1.125 0.125]",
        "[1.125, 0.125], dtype=float6_e2m3fn",
    );
    let e2m1 = packed([0x91, 0x7f], &[4], DType::F4_E2M1FN);
    assert_eq!(e2m1.to_string(), "[ 0.5 -0.5 -6.0  6.0]");
    let scales = [125, 127, 130, 255].map(F8E8M0Fnu::from_bits);
    check_row(scales, "[0.25 1.00 8.00  nan]");
}

/// The number of that type, which must have it.
fn e4m3(number: f32) -> F8E4M3Fn {
    let mut all = (0..=255).map(F8E4M3Fn::from_bits);
    all.find(|candidate| candidate.to_f32() == number).unwrap()
}

#[test]
fn every_small_float_parses_back() {
    let step = if cfg!(miri) { 31 } else { 1 };
    macro_rules! read_back {
        ($($ty:ident)*) => {$(
            let finite: Vec<(u8, f64)> = (0..=255)
                .map(|bits| (bits, $ty::from_bits(bits).to_f32().into()))
                .filter(|(_, value): &(u8, f64)| value.is_finite())
                .collect();
            for (bits, value) in finite.iter().step_by(step) {
                let text = Tensor::scalar($ty::from_bits(*bits)).to_string();
                let number: f64 = text.parse().unwrap();
                assert_eq!(number.is_sign_negative(), value.is_sign_negative());
                // In the middle of two, the one with the even pattern is meant.
                let nearest = finite
                    .iter()
                    .filter(|(_, other)| other.is_sign_negative() == value.is_sign_negative())
                    .min_by(|a, b| {
                        let distance = |value: f64| (value - number).abs();
                        distance(a.1).total_cmp(&distance(b.1)).then((a.0 % 2).cmp(&(b.0 % 2)))
                    });
                assert_eq!(nearest, Some(&(*bits, *value)), "{text} as {}", $ty::DTYPE);
            }
        )*};
    }
    read_back!(F8E3M4 F8E4M3 F8E4M3B11Fnuz F8E4M3Fn F8E4M3Fnuz F8E5M2 F8E5M2Fnuz F8E8M0Fnu);
}

#[test]
fn precision_sets_fractional_digits() {
    let tensor = Tensor::from([1.0 / 3.0, 2.0]);
    assert_eq!(format!("{tensor:.3}"), "[0.333 2.000]");
    let debug = "Tensor([0.3, 2.0], dtype=float64)";
    assert_eq!(format!("{tensor:.1?}"), debug);
    assert_eq!(format!("{:.2}", Tensor::scalar(1.0 / 3.0)), "0.33");
}
