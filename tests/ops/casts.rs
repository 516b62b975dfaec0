//! Casts between any two types, of numbers at which they differ most, compared with exact
//! arithmetic.

use crate::cases::cases;
use crate::exact::Number;
use crate::given::{lie, list, shape};
use dlbridge::kernel::{Reason, Registry};
use dlbridge::{DType, Storage, Tensor, ops};
use half::{bf16, f16};
use num_complex::Complex;
use proptest::prelude::*;

/// Numbers about which types disagree: beside the ends of integers, beside the middles between
/// floats of fewer digits, and NaN.
fn number() -> impl Strategy<Value = f64> {
    let exponent = prop_oneof![-30..20_i64, 20..66_i64, -160..135_i64];
    let middle = (
        any::<u64>(),
        prop::sample::select(vec![7, 10, 23, 51]),
        exponent,
        -1..=1_i64,
    )
        .prop_map(|(bits, digits, exponent, more)| {
            let gap = 52 - digits;
            let mantissa = bits >> 12 >> gap << gap | 1 << (gap - 1);
            let float = ((exponent + 1023) as u64) << 52 | mantissa;
            f64::from_bits(float.wrapping_add_signed(more))
        });
    let end = (0..66_i32, -2..=2_i32)
        .prop_map(|(power, more)| (2.0_f64).powi(power) + f64::from(more) / 2.0);
    let special = [
        0.0,
        0.5,
        f64::MAX,
        f64::MIN_POSITIVE,
        f64::INFINITY,
        f64::NAN,
    ];
    let size = prop_oneof![3 => middle, 2 => end, 1 => prop::sample::select(special.to_vec())];
    (size, any::<bool>()).prop_map(|(size, negative)| if negative { -size } else { size })
}

fn check<S: Number, D: Number>(numbers: &[S]) {
    let x = Tensor::from_slice(numbers, &[numbers.len()]).unwrap();
    let cast = ops::cast(&x, D::DTYPE).unwrap();
    assert_eq!((cast.dtype(), cast.shape()), (D::DTYPE, x.shape()));
    for (number, found) in numbers.iter().zip(cast.to_vec::<D>().unwrap()) {
        let expected = D::cast_from(number.exact());
        assert!(
            found.is_same(expected),
            "{number:?} became {found:?} instead of {expected:?}"
        );
    }
}

macro_rules! between_all {
    ($($name:ident: $ty:ty;)*) => {
        between_all!(@from_each to [$($ty),*]; $($name: $ty;)*);
    };
    (@from_each to $all:tt; $($name:ident: $ty:ty;)*) => {
        $(between_all!(@from $name: $ty; to $all);)*
    };
    (@from $name:ident: $ty:ty; to [$($to:ty),*]) => {
        proptest! {
            #![proptest_config(cases(100))]

            #[test]
            fn $name(numbers in prop::collection::vec((number(), any::<u64>()), 1..50)) {
                let near = |(number, bits): (f64, u64)| <$ty>::near(number, bits);
                let numbers: Vec<$ty> = numbers.into_iter().map(near).collect();
                $(check::<$ty, $to>(&numbers);)*
            }
        }
    };
}

between_all! {
    of_bool: bool;
    of_i8: i8;
    of_i16: i16;
    of_i32: i32;
    of_i64: i64;
    of_u8: u8;
    of_u16: u16;
    of_u32: u32;
    of_u64: u64;
    of_f16: f16;
    of_bf16: bf16;
    of_f32: f32;
    of_f64: f64;
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn cast_of_every_layout_equals_the_oracle(x in shape().prop_flat_map(list::<f32>), lies in [lie(), lie()]) {
        let tensor = lies[0].tensor(&x);
        let expected: Vec<_> = x.elements.iter().map(|x| *x as i16).collect();
        let made = ops::cast(&tensor, DType::I16).unwrap();
        prop_assert!(made.layout().is_contiguous());
        prop_assert_eq!(made.to_vec::<i16>().unwrap(), &expected[..]);
        let mut out = lies[1].empty::<i16>(&x.shape);
        let cast = Registry::global().op("cast").unwrap();
        let call = cast.call().input(&tensor).attribute("dtype", "int16");
        call.output(&mut out).run().unwrap();
        prop_assert_eq!(out.to_vec::<i16>().unwrap(), expected);
    }
}

#[test]
fn rounding_happens_once() {
    // In the middle between 1 and the next number of 8 digits, and a little more than a float has.
    let more = 1.0 + (0.5_f64).powi(8);
    let of_f64 = ops::cast(&Tensor::from([more, more.next_up()]), DType::BF16).unwrap();
    let one = bf16::ONE;
    let next = bf16::from_bits(one.to_bits() + 1);
    assert_eq!(of_f64.to_vec::<bf16>().unwrap(), [one, next]);
    let more = (1_i64 << 62) + (1 << 54);
    let of_i64 = ops::cast(&Tensor::from([more, more + 1, -more - 1]), DType::BF16).unwrap();
    let [one, next] = [one, next].map(|number| f64::from(number) * (2.0_f64).powi(62));
    let expected = [one, next, -next].map(bf16::from_f64);
    assert_eq!(of_i64.to_vec::<bf16>().unwrap(), expected);
}

#[test]
fn cast_refuses_non_numbers() {
    let x = Tensor::from([1.0_f32]);
    let error = ops::cast(&x, DType::HANDLE64).unwrap_err();
    assert!(matches!(*error.reason, Reason::NoKernel { .. }));
    let text = error.to_string();
    assert!(
        text.contains("cast: no kernel for (x: float32 of rank 1 on cpu; out: handle of rank 1")
            && text.contains(r#""dtype" is "handle""#),
        "{text}"
    );
    let handles = Tensor::zeros(&[2], DType::HANDLE64).unwrap();
    let error = ops::cast(&handles, DType::I8).unwrap_err().to_string();
    assert!(error.contains(r#""x" is of handle"#), "{error}");
    let op = Registry::global().op("cast").unwrap();
    let error = op.call().input(&x).make().unwrap_err().to_string();
    assert_eq!(error, r#"cast: argument "dtype" is missing"#);
    let storage = Storage::from_vec(vec![1_u8, 2]);
    let no_flags = Tensor::from_storage(storage, &[2], DType::BOOL).unwrap();
    let error = ops::cast(&no_flags, DType::I8).unwrap_err().to_string();
    assert_eq!(
        error,
        r#"cast: argument "x" has a byte 0x02, which is not a valid bool"#
    );
    let complex = Tensor::from([Complex::new(1.0_f32, 0.0)]);
    let error = ops::cast(&complex, DType::F64).unwrap_err().to_string();
    assert_eq!(
        error,
        "cast: can't cast complex64 to float64, as the imaginary part would be lost; cast the real \
         part"
    );
}

#[test]
fn cast_reads_and_writes_unaligned_elements() {
    let bytes = Storage::from_vec(vec![0x11_u8; 12]);
    let bytes = Tensor::from_storage(bytes, &[12], DType::U8).unwrap();
    let mut out = bytes.slice(0, 1..9).unwrap().bit_cast(DType::F32).unwrap();
    drop(bytes);
    let x = Tensor::from([1.5_f64, -2.0]);
    let op = Registry::global().op("cast").unwrap();
    let call = op.call().input(&x).attribute("dtype", DType::F32);
    call.output(&mut out).run().unwrap();
    assert!(!out.data_ptr().addr().is_multiple_of(4));
    let back = ops::cast(&out, DType::I8).unwrap();
    assert_eq!(back.to_vec::<i8>().unwrap(), [1, -2]);
}
