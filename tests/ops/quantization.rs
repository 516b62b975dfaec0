//! `quantize` and `dequantize`, compared with their definition, number by number.

use crate::oracle::indices;
use dlbridge::compute::threads::with_num_threads;
use dlbridge::compute::{Level, with_level};
use dlbridge::dtype::Scalar;
use dlbridge::kernel::Registry;
use dlbridge::ops::{self, ScaleAxis};
use dlbridge::testing::OpTest;
use dlbridge::{DType, Tensor};
use half::{bf16, f16};

const DTYPES: [(DType, i64, i64); 4] = [
    (DType::I8, -128, 127),
    (DType::U8, 0, 255),
    (DType::I4, -8, 7),
    (DType::U4, 0, 15),
];

/// A tensor's shape, the shape of its scales, axis and group.
const SHAPES: [(&[usize], &[usize], i64, usize); 13] = [
    (&[3, 4, 5], &[], -1, 0),
    (&[70], &[], 5, 0),
    (&[], &[], -1, 0),
    (&[0, 4], &[], -1, 0),
    (&[3, 4, 5], &[3], 0, 0),
    (&[3, 4, 5], &[4], 1, 0),
    (&[3, 4, 5], &[5], -1, 0),
    (&[2, 3, 35], &[3], -2, 0),
    (&[3, 40], &[40], 1, 0),
    (&[3, 8], &[3, 2], 1, 4),
    (&[3, 96], &[3, 3], -1, 32),
    (&[6, 5], &[2, 5], 0, 3),
    (&[2, 4, 34], &[2, 2, 34], 1, 2),
];

/// Floats around the numbers of a dtype, halves among them, and special ones.
fn floats(count: usize) -> Vec<f32> {
    let special = [
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        -0.0,
        1e30,
        1e-40,
    ];
    let number = |at: usize| match at % 11 {
        10 => special[at / 11 % special.len()],
        _ => ((at * 37 % 211) as f32 - 105.0) * 0.25,
    };
    (0..count).map(number).collect()
}

fn scales(count: usize) -> Vec<f32> {
    (0..count).map(|at| [0.5, 0.1, 0.3, 2.0][at % 4]).collect()
}

fn zero_points(count: usize, least: i64, most: i64) -> Vec<i32> {
    let number = |at: usize| least + (at as i64 * 5 + (most - least) / 3) % (most - least + 1);
    (0..count).map(|at| number(at) as i32).collect()
}

/// The place of an element's scale, in row-major order.
fn place(index: &[usize], scale: &[usize], axis: i64, group: usize) -> usize {
    if scale.is_empty() {
        return 0;
    }
    let axis = if axis < 0 {
        axis + index.len() as i64
    } else {
        axis
    } as usize;
    if group == 0 {
        return index[axis];
    }
    let at = |(dim, at): (usize, &usize)| if dim == axis { at / group } else { *at };
    let index: Vec<usize> = index.iter().enumerate().map(at).collect();
    index
        .iter()
        .zip(scale)
        .fold(0, |place, (at, size)| place * size + at)
}

fn quantized(x: f32, scale: f32, zero_point: i32, least: i64, most: i64) -> i128 {
    let scaled = x * (1.0 / scale);
    if scaled.is_nan() {
        return zero_point.into();
    }
    let rounded = f64::from(scaled).round_ties_even() + f64::from(zero_point);
    rounded.clamp(least as f64, most as f64) as i128
}

fn integers(shape: &[usize], dtype: DType, numbers: impl Iterator<Item = i128>) -> Tensor {
    Tensor::from_scalars(shape, dtype, numbers.map(Scalar::Int)).unwrap()
}

fn rounded(shape: &[usize], dtype: DType, numbers: &[f32]) -> Tensor {
    let x = Tensor::from_slice(numbers, shape).unwrap();
    ops::cast(&x, dtype).unwrap()
}

fn values(tensor: &Tensor) -> Vec<f32> {
    ops::cast(tensor, DType::F32).unwrap().to_vec().unwrap()
}

/// Compares an op in every arrangement, or where elements are packed in some.
fn check(
    name: &str,
    [x, scale, zero_point]: [&Tensor; 3],
    (dtype, axis, group): (DType, i64, usize),
    expected: &Tensor,
) {
    if !x.dtype().is_sub_byte() && !expected.dtype().is_sub_byte() {
        return OpTest::new(name)
            .attribute("dtype", dtype)
            .attribute("axis", axis)
            .attribute("group", group as i64)
            .input(x)
            .input(scale)
            .input(zero_point)
            .expect(expected);
    }
    let op = Registry::global().op(name).unwrap();
    let numbers: Vec<Scalar> = expected.scalars().unwrap().collect();
    for level in Level::loops() {
        for threads in [1, 3] {
            for (at, seen) in arranged(x).into_iter().enumerate() {
                let call = op.call().input(&seen).input(scale).input(zero_point);
                let call = call.attribute("dtype", dtype).attribute("axis", axis);
                let call = call.attribute("group", group as i64);
                let mut out = arranged(expected).swap_remove(at);
                let run = || with_level(level, || call.output(&mut out).run().map(drop));
                with_num_threads(threads, run).unwrap();
                let found: Vec<Scalar> = out.scalars().unwrap().collect();
                assert_eq!(found, numbers, "{name}, {dtype}, {level}, arrangement {at}");
            }
        }
    }
}

/// The same numbers contiguous and, if they aren't many, transposed and with gaps.
fn arranged(tensor: &Tensor) -> Vec<Tensor> {
    let (shape, dtype) = (tensor.shape(), tensor.dtype());
    let numbers: Vec<Scalar> = tensor.scalars().unwrap().collect();
    let new = |shape: &[usize], numbers: Vec<Scalar>| {
        Tensor::from_scalars(shape, dtype, numbers).unwrap()
    };
    let mut all = vec![new(shape, numbers.clone())];
    if let Some(last) = shape
        .len()
        .checked_sub(1)
        .filter(|_| numbers.len() < 10_000)
    {
        let reversed: Vec<usize> = shape.iter().rev().copied().collect();
        let at = |index: &Vec<usize>| {
            let index = index.iter().rev().zip(shape);
            numbers[index.fold(0, |place, (at, size)| place * size + at)]
        };
        let transposed = indices(&reversed).iter().map(at).collect();
        all.push(new(&reversed, transposed).transpose());
        let mut wide = shape.to_vec();
        wide[last] *= 2;
        let twice = numbers.iter().flat_map(|number| [*number; 2]).collect();
        all.push(new(&wide, twice).step_by(last, 2).unwrap());
    }
    all
}

#[test]
fn quantize_equals_the_definition_in_every_arrangement() {
    for (shape, scale_shape, axis, group) in SHAPES {
        let count = scale_shape.iter().product();
        let scales = scales(count);
        let scale = Tensor::from_slice(&scales, scale_shape).unwrap();
        for (dtype, least, most) in DTYPES {
            let points = zero_points(count, least, most);
            let zero_point = Tensor::from_slice(&points, scale_shape).unwrap();
            for of_x in [DType::F32, DType::F16, DType::BF16] {
                let x = rounded(shape, of_x, &floats(shape.iter().product()));
                let numbers = values(&x)
                    .into_iter()
                    .zip(indices(shape))
                    .map(|(x, index)| {
                        let at = place(&index, scale_shape, axis, group);
                        quantized(x, scales[at], points[at], least, most)
                    });
                let expected = integers(shape, dtype, numbers);
                let attributes = (dtype, axis, group);
                check("quantize", [&x, &scale, &zero_point], attributes, &expected);
            }
        }
    }
}

#[test]
fn dequantize_equals_the_definition_in_every_arrangement() {
    for (shape, scale_shape, axis, group) in SHAPES {
        let count = scale_shape.iter().product();
        let scales = scales(count);
        let scale = Tensor::from_slice(&scales, scale_shape).unwrap();
        for (dtype, least, most) in DTYPES {
            let points = zero_points(count, least, most);
            let zero_point = Tensor::from_slice(&points, scale_shape).unwrap();
            let all: Vec<i64> = (0..shape.iter().product::<usize>() as i64)
                .map(|at| least + at * 7 % (most - least + 1))
                .collect();
            let q = integers(shape, dtype, all.iter().map(|q| i128::from(*q)));
            let floats = all.iter().zip(indices(shape)).map(|(q, index)| {
                let at = place(&index, scale_shape, axis, group);
                (*q as i32 - points[at]) as f32 * scales[at]
            });
            let floats: Vec<f32> = floats.collect();
            for of_out in [DType::F32, DType::F16, DType::BF16] {
                let (attributes, expected) =
                    ((of_out, axis, group), rounded(shape, of_out, &floats));
                check(
                    "dequantize",
                    [&q, &scale, &zero_point],
                    attributes,
                    &expected,
                );
            }
        }
    }
}

#[test]
fn large_tensors_equal_the_definition_on_several_threads() {
    let shape = [120, 704];
    let x: Vec<f32> = (0..120 * 704)
        .map(|at| (at * 37 % 2003) as f32 * 0.125 - 120.0)
        .collect();
    let tensor = Tensor::from_slice(&x, &shape).unwrap();
    for (scale_shape, group, (dtype, least, most)) in [
        (&[][..], 0, DTYPES[0]),
        (&[704], 0, DTYPES[1]),
        (&[120, 22], 32, DTYPES[2]),
        (&[120, 22], 32, DTYPES[0]),
        (&[120, 1], 704, DTYPES[3]),
    ] {
        let scales = scales(scale_shape.iter().product());
        let scale = Tensor::from_slice(&scales, scale_shape).unwrap();
        let zero_point = Tensor::scalar(3_i32);
        let of = |at: usize| scales[place(&[at / 704, at % 704], scale_shape, 1, group)];
        let numbers = || {
            let one = |(at, x): (usize, &f32)| quantized(*x, of(at), 3, least, most);
            x.iter().enumerate().map(one)
        };
        let q = integers(&shape, dtype, numbers());
        let inputs = [&tensor, &scale, &zero_point];
        check("quantize", inputs, (dtype, 1, group), &q);
        let back = numbers()
            .enumerate()
            .map(|(at, q)| (q as i32 - 3) as f32 * of(at));
        let back = Tensor::from_vec(back.collect(), &shape).unwrap();
        let inputs = [&q, &scale, &zero_point];
        check("dequantize", inputs, (DType::F32, 1, group), &back);
    }
}

#[test]
fn every_half_is_quantized_as_the_definition_says() {
    for dtype in [DType::F16, DType::BF16] {
        let patterns: Vec<u16> = (0..=u16::MAX).collect();
        let x = Tensor::from_slice(&patterns, &[1 << 16]).unwrap();
        let x = x.bit_cast(dtype).unwrap();
        let wide: Vec<f32> = match dtype {
            DType::F16 => patterns
                .iter()
                .map(|bits| f16::from_bits(*bits).to_f32())
                .collect(),
            _ => patterns
                .iter()
                .map(|bits| bf16::from_bits(*bits).to_f32())
                .collect(),
        };
        for (of, least, most) in DTYPES {
            let (scale, zero_point) = (Tensor::scalar(0.37_f32), Tensor::scalar(2_i32));
            let q = ops::quantize(&x, &scale, &zero_point, of, ScaleAxis::default()).unwrap();
            let found: Vec<Scalar> = q.scalars().unwrap().collect();
            let numbers = wide
                .iter()
                .map(|x| Scalar::Int(quantized(*x, 0.37, 2, least, most)));
            assert_eq!(found, numbers.collect::<Vec<_>>(), "{dtype} to {of}");
        }
    }
}

#[test]
fn quantize_rejects_scales_that_do_not_fit() {
    let x = Tensor::zeros(&[4, 6], DType::F32).unwrap();
    let ones = |shape: &[usize]| Tensor::ones(shape, DType::F32).unwrap();
    let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::I32).unwrap();
    let text = |scale: &[usize], zero_point: &[usize], axis, group| {
        let along = ScaleAxis { axis, group };
        let (scale, zero_point) = (ones(scale), zeros(zero_point));
        let made = ops::quantize(&x, &scale, &zero_point, DType::I8, along);
        let q = Tensor::zeros(&[4, 6], DType::U4).unwrap();
        let back = ops::dequantize(&q, &scale, &zero_point, DType::F16, along);
        let [quantized, back] = [made, back].map(|made| made.unwrap_err().to_string());
        let rest = quantized.strip_prefix("quantize: ").unwrap().to_owned();
        assert_eq!(back, format!("dequantize: {}", rest.replace(" x", " q")));
        rest
    };
    assert_eq!(
        text(&[4], &[], 1, 0),
        "expected scale of shape [6], one for each index of axis 1 of x, or [], one for all elements, got [4]"
    );
    assert_eq!(
        text(&[4, 6], &[], 1, 3),
        "expected scale of shape [4, 2], one for each 3 elements along axis 1 of x, got [4, 6]"
    );
    assert_eq!(
        text(&[], &[], -2, 2),
        "expected scale of shape [2, 6], one for each 2 elements along axis 0 of x, got []"
    );
    assert_eq!(
        text(&[4, 2], &[], 1, 4),
        "axis 1 of x has size 6, which isn't a multiple of group=4; pad x"
    );
    assert_eq!(
        text(&[6], &[4], 1, 0),
        "expected zero_point of shape [6] or [], as scale has, got [4]"
    );
    assert_eq!(
        text(&[], &[6], 1, 0),
        "expected zero_point of shape [], as scale has, got [6]"
    );
    assert_eq!(
        text(&[4], &[], 2, 0),
        "axis 2 is out of bounds for a tensor of rank 2"
    );
}

#[test]
fn quantize_rejects_zero_points_and_types_that_do_not_fit() {
    let x = Tensor::zeros(&[2], DType::F32).unwrap();
    let scale = Tensor::scalar(1.0_f32);
    let along = ScaleAxis::default();
    let text = |point: i32, dtype| {
        let made = ops::quantize(&x, &scale, &Tensor::scalar(point), dtype, along);
        made.unwrap_err().to_string()
    };
    let error = text(-9, DType::I4);
    let expected = "zero_point -9 is out of bounds for int4, which has numbers from -8 to 7";
    assert!(error.ends_with(expected), "{error}");
    let error = text(256, DType::U8);
    let expected = "zero_point 256 is out of bounds for uint8, which has numbers from 0 to 255";
    assert!(error.ends_with(expected), "{error}");
    let error = text(0, DType::I16);
    assert!(
        error.contains(r#"dtype="int8"|"uint8"|"int4"|"uint4""#),
        "{error}"
    );
    let op = Registry::global().op("quantize").unwrap();
    let zero = Tensor::scalar(0_i32);
    let call = op.call().input(&x).input(&scale).input(&zero);
    let error = call.attribute("group", -1).make().unwrap_err();
    assert_eq!(
        error.to_string(),
        "quantize: expected 0 or more for group, got -1"
    );
}
