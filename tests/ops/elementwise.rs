//! Elementwise functions of two and three tensors, compared with the same function of one element
//! after the other.

use crate::number::Number;
use crate::oracle::List;
use dlbridge::kernel::Registry;
use dlbridge::testing::OpTest;
use dlbridge::{Element, Tensor, ops};
use half::{bf16, f16};

/// Small numbers in a shape, some of them equal to those of another seed.
fn list<T: Number>(shape: &[usize], seed: usize) -> List<T> {
    let len: usize = shape.iter().product();
    let number = |at: usize| T::of((at.wrapping_mul(seed) % 11) as i8 - 5);
    List {
        shape: shape.to_vec(),
        elements: (0..len).map(number).collect(),
    }
}

fn tensor<T: Element>(list: &List<T>) -> Tensor {
    Tensor::from_slice(&list.elements, &list.shape).unwrap()
}

const SHAPES: [[&[usize]; 2]; 5] = [
    [&[2, 3, 5], &[2, 3, 5]],
    [&[4, 1], &[1, 7]],
    [&[70], &[]],
    [&[], &[]],
    [&[0, 3], &[3]],
];

macro_rules! of_each_type {
    ($($name:ident: $ty:ty;)*) => {$(
        mod $name {
            use super::*;

            type T = $ty;

            #[test]
            fn extremes_equal_the_oracle() {
                for [a, b] in SHAPES {
                    let (a, b) = (list::<T>(a, 7), list::<T>(b, 3));
                    let larger = a.zip(&b, |a, b| if a > b { a } else { b }).unwrap();
                    let smaller = a.zip(&b, |a, b| if a < b { a } else { b }).unwrap();
                    for (name, expected) in [("maximum", larger), ("minimum", smaller)] {
                        let test = OpTest::new(name).input(&tensor(&a)).input(&tensor(&b));
                        test.expect(&tensor(&expected));
                    }
                }
            }

            #[test]
            fn comparisons_equal_the_oracle() {
                let comparisons: [(&str, fn(&T, &T) -> bool); 6] = [
                    ("equal", T::eq),
                    ("not_equal", T::ne),
                    ("less", T::lt),
                    ("less_equal", T::le),
                    ("greater", T::gt),
                    ("greater_equal", T::ge),
                ];
                for [a, b] in SHAPES {
                    let (a, b) = (list::<T>(a, 7), list::<T>(b, 3));
                    for (name, compare) in comparisons {
                        let number = |holds: bool| T::of(holds.into());
                        let expected = a.zip(&b, |a, b| number(compare(&a, &b))).unwrap();
                        let holds: Vec<_> =
                            expected.elements.iter().map(|number| *number == T::of(1)).collect();
                        let expected = Tensor::from_slice(&holds, &expected.shape).unwrap();
                        let test = OpTest::new(name).input(&tensor(&a)).input(&tensor(&b));
                        test.expect(&expected);
                    }
                }
            }

            #[test]
            fn where_chooses_by_the_condition() {
                for [a, b] in SHAPES {
                    let (a, b) = (list::<T>(a, 7), list::<T>(b, 3));
                    let expected = a.zip(&b, |a, b| if a > b { a } else { b }).unwrap();
                    let (a, b) = (tensor(&a), tensor(&b));
                    let condition = ops::greater(&a, &b).unwrap();
                    let test = OpTest::new("where").input(&condition).input(&a).input(&b);
                    test.expect(&tensor(&expected));
                }
            }
        }
    )*};
}

of_each_type! {
    of_f32: f32;
    of_f64: f64;
    of_f16: f16;
    of_bf16: bf16;
    of_i8: i8;
    of_i64: i64;
    of_u8: u8;
    of_u32: u32;
}

#[test]
fn extremes_are_nan_where_either_is() {
    let a = Tensor::from([f32::NAN, 1.0, f32::NAN, -0.0]);
    let b = Tensor::from([1.0, f32::NAN, f32::NAN, 0.0]);
    for made in [ops::maximum(&a, &b), ops::minimum(&a, &b)] {
        let made = made.unwrap().to_vec::<f32>().unwrap();
        assert!(made[..3].iter().all(|x| x.is_nan()) && made[3] == 0.0);
    }
}

#[test]
fn comparisons_with_nan_are_false() {
    let (a, b) = (Tensor::from([f64::NAN, 1.0]), Tensor::from([f64::NAN; 2]));
    for made in [
        ops::equal(&a, &b),
        ops::less(&a, &b),
        ops::greater_equal(&a, &b),
    ] {
        assert_eq!(made.unwrap().to_vec::<bool>().unwrap(), [false; 2]);
    }
    let differ = ops::not_equal(&a, &b).unwrap();
    assert_eq!(differ.to_vec::<bool>().unwrap(), [true; 2]);
}

#[test]
fn fma_of_f32_and_f64_is_rounded_once() {
    let (a, c) = (1.0 + f32::EPSILON, -1.0 - 2.0 * f32::EPSILON);
    let tensors = [a, a, c].map(|x| Tensor::from([x; 40]));
    let expected = Tensor::from([f32::EPSILON * f32::EPSILON; 40]);
    let [a, b, c] = &tensors;
    OpTest::new("fma")
        .input(a)
        .input(b)
        .input(c)
        .expect(&expected);
    let (a, c) = (1.0 + f64::EPSILON, -1.0 - 2.0 * f64::EPSILON);
    let made = ops::fma(&Tensor::from([a]), &Tensor::from([a]), &Tensor::from([c])).unwrap();
    assert_eq!(made.to_vec::<f64>().unwrap(), [f64::EPSILON * f64::EPSILON]);
}

#[test]
fn fma_of_f16_is_the_nearest_number() {
    // Every f16 is a multiple of 2^-24, so that products and sums are whole multiples of 2^-48.
    let exact = |x: f16| (f64::from(x) * 2_f64.powi(24)) as i128;
    let mut state = 1_u64;
    let mut next = || loop {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let x = f16::from_bits((state >> 48) as u16);
        if f64::from(x).abs() < 100.0 {
            return x;
        }
    };
    let triples: Vec<[f16; 3]> = (0..20_000)
        .map(|_| std::array::from_fn(|_| next()))
        .collect();
    let tensors: [Tensor; 3] =
        std::array::from_fn(|at| Tensor::from(triples.iter().map(|x| x[at]).collect::<Vec<_>>()));
    let made = ops::fma(&tensors[0], &tensors[1], &tensors[2]).unwrap();
    for ([a, b, c], made) in triples.into_iter().zip(made.to_vec::<f16>().unwrap()) {
        let wanted = exact(a) * exact(b) + (exact(c) << 24);
        let distance = |x: f16| ((exact(x) << 24) - wanted).abs();
        for bits in [
            made.to_bits().wrapping_sub(1),
            made.to_bits().wrapping_add(1),
        ] {
            let other = f16::from_bits(bits);
            let is_nearer = other.is_finite() && distance(other) < distance(made);
            let is_even = distance(other) == distance(made) && made.to_bits() % 2 == 1;
            assert!(
                !(is_nearer || other.is_finite() && is_even),
                "{a} * {b} + {c} is {made}"
            );
        }
    }
}

#[test]
fn short_names_are_aliases() {
    for (alias, name) in [("sub", "subtract"), ("mul", "multiply"), ("div", "divide")] {
        let op = Registry::global().op(alias).unwrap();
        assert_eq!(op.name(), name);
        assert_eq!(op.definition().aliases().collect::<Vec<_>>(), [alias]);
    }
}
