//! Casts from and to elements of less than a byte, packed and padded, and of complex numbers.

use dlbridge::dtype::Scalar;
use dlbridge::kernel::Registry;
use dlbridge::{DType, Storage, Tensor, ops};

const SMALL: [DType; 9] = [
    DType::I1,
    DType::I2,
    DType::I4,
    DType::U1,
    DType::U2,
    DType::U4,
    DType::F4_E2M1FN,
    DType::F6_E2M3FN,
    DType::F6_E3M2FN,
];

/// Returns a tensor over bytes without a pattern.
fn noise(shape: &[usize], dtype: DType) -> Tensor {
    let nbytes = dtype.packed_bytes(shape.iter().product()).unwrap();
    let bytes = (0..nbytes)
        .map(|at| (at * 0x9d + at / 5 + 0x35) as u8)
        .collect();
    Tensor::from_storage(Storage::from_vec(bytes), shape, dtype).unwrap()
}

/// Returns the numbers as `f64`, which all of these types fit.
fn numbers(tensor: &Tensor) -> Vec<f64> {
    let number = |scalar| match scalar {
        Scalar::Int(number) => number as f64,
        Scalar::Float(number) => number,
        other => panic!("{other:?}"),
    };
    tensor.scalars().unwrap().map(number).collect()
}

fn cast_to(out: &mut Tensor, x: &Tensor) {
    let op = Registry::global().op("cast").unwrap();
    let call = op.call().input(x).attribute("dtype", out.dtype());
    call.output(out).run().unwrap();
}

#[test]
fn cast_of_packed_elements_equals_their_scalars() {
    for dtype in SMALL {
        for count in [0, 1, 2, 3, 7, 8, 9, 513, 1030, 40001] {
            let x = noise(&[count], dtype);
            let floats = ops::cast(&x, DType::F64).unwrap();
            assert_eq!(
                floats.to_vec::<f64>().unwrap(),
                numbers(&x),
                "{dtype} {count}"
            );
            let back = ops::cast(&floats, dtype).unwrap();
            assert_eq!(back.nbytes(), dtype.packed_bytes(count).unwrap());
            assert_eq!(numbers(&back), numbers(&x), "{dtype} {count}");
            // The sign of a zero.
            assert_eq!(
                format!("{:?}", numbers(&back)),
                format!("{:?}", numbers(&x))
            );
        }
    }
}

#[test]
fn cast_of_strided_packed_elements_equals_their_scalars() {
    for dtype in SMALL {
        let x = noise(&[24, 40], dtype);
        let bits = dtype.item_bits();
        let views = [
            x.transpose(),
            x.slice(1, 8..27).unwrap(),
            x.slice(0, 4..9).unwrap().step_by(1, 3).unwrap(),
            x.slice(1, 0..40 - 8 / bits).unwrap(),
            x.reshape(&[960]).unwrap().slice(0, 8..8).unwrap(),
        ];
        for view in views {
            let floats = ops::cast(&view, DType::F32).unwrap();
            let floats = ops::cast(&floats, DType::F64).unwrap();
            assert_eq!(floats.to_vec::<f64>().unwrap(), numbers(&view), "{dtype}");
        }
    }
}

#[test]
fn cast_to_part_of_packed_elements_leaves_the_others() {
    for dtype in SMALL {
        // Columns whose ends are inside bytes, and every third row.
        let whole = noise(&[9, 24], dtype);
        let before = numbers(&whole);
        let values = noise(&[3, 11], dtype);
        let mut part = whole.step_by(0, 3).unwrap().slice(1, 8..19).unwrap();
        let expected = numbers(&values);
        let floats = ops::cast(&values, DType::F16).unwrap();
        // Two handles share the memory; only the one that is written may be left.
        let address = whole.data_ptr();
        drop(whole);
        cast_to(&mut part, &floats);
        assert_eq!(numbers(&part), expected, "{dtype}");
        // SAFETY: `part` keeps the memory of the whole tensor.
        let bytes = unsafe {
            std::slice::from_raw_parts(address, dtype.packed_bytes(9 * 24).unwrap()).to_vec()
        };
        let all = Tensor::from_storage(Storage::from_vec(bytes), &[9, 24], dtype).unwrap();
        for (at, (found, before)) in numbers(&all).into_iter().zip(before).enumerate() {
            let (row, column) = (at / 24, at % 24);
            let expected = match row % 3 == 0 && (8..19).contains(&column) {
                true => expected[row / 3 * 11 + column - 8],
                false => before,
            };
            assert_eq!(
                found.to_bits(),
                expected.to_bits(),
                "{dtype} at {row}, {column}"
            );
        }
    }
}

#[test]
fn cast_saturates_on_request() {
    let x = Tensor::from([1e9_f32, -1e9, f32::INFINITY, f32::NAN, 0.0, 464.0, 465.0]);
    let op = Registry::global().op("cast").unwrap();
    let cast = |dtype: DType, saturate: bool| {
        let call = op.call().input(&x).attribute("dtype", dtype);
        let made = call.attribute("saturate", saturate).make().unwrap();
        made.bit_cast(DType::U8).unwrap().to_vec::<u8>().unwrap()
    };
    let fn_types = [0x7e, 0xfe, 0x7e, 0x7f, 0, 0x7e, 0x7e];
    assert_eq!(cast(DType::F8_E4M3FN, true), fn_types);
    let fn_types = [0x7f, 0xff, 0x7f, 0x7f, 0, 0x7e, 0x7f];
    assert_eq!(cast(DType::F8_E4M3FN, false), fn_types);
    assert_eq!(cast(DType::F8_E5M2, true)[..3], [0x7b, 0xfb, 0x7b]);
    assert_eq!(cast(DType::F8_E5M2, false)[..3], [0x7c, 0xfc, 0x7c]);
    assert_eq!(cast(DType::F8_E8M0FNU, true)[1..5], [0xff, 0xfe, 0xff, 0]);
    assert_eq!(cast(DType::F8_E8M0FNU, false)[1..5], [0xff; 4]);
}

#[test]
fn cast_of_complex_layouts_equals_the_parts() {
    let reals: Vec<f32> = (0..24).map(|x| x as f32 / 3.0).collect();
    let x = Tensor::from_slice(&reals, &[4, 6]).unwrap().transpose();
    let complex = ops::cast(&x, DType::C64).unwrap();
    let view = complex.step_by(0, -2).unwrap();
    let wide = ops::cast(&view, DType::C128).unwrap();
    let parts = wide.bit_cast(DType::F64).unwrap();
    let expected: Vec<f64> = (0..12)
        .flat_map(|at| [f64::from(reals[(5 - at / 4 * 2) + at % 4 * 6]), 0.0])
        .collect();
    assert_eq!(parts.to_vec::<f64>().unwrap(), expected);
    let flags = ops::cast(&view, DType::BOOL).unwrap();
    assert_eq!(
        flags.to_vec::<bool>().unwrap(),
        expected.chunks(2).map(|x| x[0] != 0.0).collect::<Vec<_>>()
    );
}
