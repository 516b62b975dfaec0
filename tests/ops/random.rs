//! Random shapes, layouts and numbers of each element type, compared with the oracles.

use crate::cases::cases;
use crate::given::{lie, list, matrices, read_and_written, same, shape, two};
use crate::number::Number;
use crate::oracle::List;
use dlbridge::kernel::{CallError, Registry};
use dlbridge::{Element, Tensor, ops};
use half::{bf16, f16};
use proptest::prelude::*;

fn tested<T: Number>(made: Result<Tensor, CallError>) -> Option<List<T>> {
    let made = made.ok()?;
    assert!(made.layout().is_contiguous());
    Some(List::of(&made))
}

macro_rules! of_each_type {
    ($($name:ident: $ty:ty;)*) => {$(
        mod $name {
            use super::*;

            type T = $ty;

            proptest! {
                #![proptest_config(cases(100))]

                #[test]
                fn arithmetic((a, b) in two::<T>(), lies in [lie(), lie(), lie()]) {
                    let (x, y) = (lies[0].tensor(&a), lies[1].tensor(&b));
                    for (name, made, expected) in [
                        ("add", ops::add(&x, &y), a.zip(&b, T::add)),
                        ("sub", ops::sub(&x, &y), a.zip(&b, T::sub)),
                        ("mul", ops::mul(&x, &y), a.zip(&b, T::mul)),
                    ] {
                        prop_assert_eq!(tested(made), expected.clone());
                        let Some(expected) = expected else { continue };
                        let op = Registry::global().op(name).unwrap();
                        let mut out = lies[2].empty::<T>(&expected.shape);
                        op.call().input(&x).input(&y).output(&mut out).run().unwrap();
                        prop_assert_eq!(List::of(&out), expected.clone());
                        if expected.shape == a.shape {
                            let mut x = lies[0].tensor(&a);
                            let (read, written) = read_and_written(&mut x);
                            op.call().input(read).input(&y).output(written).run().unwrap();
                            prop_assert_eq!(List::of(&x), expected.clone());
                        }
                        if expected.shape == b.shape {
                            let mut y = lies[1].tensor(&b);
                            let (read, written) = read_and_written(&mut y);
                            op.call().input(&x).input(read).output(written).run().unwrap();
                            prop_assert_eq!(List::of(&y), expected);
                        }
                    }
                }

                #[test]
                fn axpy((x, y) in same::<T>(), alpha in any::<i8>(), lies in [lie(), lie()]) {
                    let (mut to, from) = (lies[0].tensor(&y), lies[1].tensor(&x));
                    let done = ops::axpy(T::of(alpha), &from, &mut to);
                    let expected = y.axpy(T::of(alpha), &x);
                    prop_assert_eq!(done.is_ok(), expected.is_some());
                    prop_assert_eq!(List::of(&to), expected.unwrap_or(y));
                }

                #[test]
                fn matmul((a, b) in matrices::<T>(), lies in [lie(), lie(), lie()]) {
                    let (x, y) = (lies[0].tensor(&a), lies[1].tensor(&b));
                    let expected = a.matmul(&b, |pairs| T::sum_of_products(pairs.into_iter()));
                    prop_assert_eq!(tested(ops::matmul(&x, &y)), expected.clone());
                    if let Some(expected) = expected {
                        let mut out = lies[2].empty::<T>(&expected.shape);
                        let matmul = Registry::global().op("matmul").unwrap();
                        matmul.call().input(&x).input(&y).output(&mut out).run().unwrap();
                        prop_assert_eq!(List::of(&out), expected);
                    }
                }

                #[test]
                fn reductions(
                    x in shape().prop_flat_map(list::<T>),
                    axes in prop::option::of(prop::collection::vec(-4..4_i64, 0..=3)),
                    keeps in any::<bool>(),
                    lie in lie(),
                ) {
                    let tensor = lie.tensor(&x);
                    let sum = x.reduce(axes.as_deref(), keeps, |part| T::sum(part.into_iter()));
                    prop_assert_eq!(tested(ops::sum_to(&tensor, axes.as_deref(), keeps, T::DTYPE)), sum);
                    let max = x.max(axes.as_deref(), keeps);
                    prop_assert_eq!(tested(ops::max(&tensor, axes.as_deref(), keeps)), max);
                }

                #[test]
                fn copies(x in shape().prop_flat_map(list::<T>), lies in [lie(), lie()]) {
                    let from = lies[0].tensor(&x);
                    prop_assert_eq!(tested(ops::copy(&from)), Some(x.clone()));
                    let mut to = lies[1].empty::<T>(&x.shape);
                    let copy = Registry::global().op("copy").unwrap();
                    copy.call().input(&from).output(&mut to).run().unwrap();
                    prop_assert_eq!(List::of(&to), x);
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
    of_i16: i16;
    of_i32: i32;
    of_i64: i64;
    of_u8: u8;
    of_u16: u16;
    of_u32: u32;
    of_u64: u64;
}

#[test]
fn inputs_may_be_repeated() {
    let one = Tensor::from([3_i32]).broadcast_to(&[2, 4]).unwrap();
    let sum = ops::add(&one, &one).unwrap();
    assert_eq!(sum.to_vec::<i32>().unwrap(), [6; 8]);
    assert_eq!(
        ops::sum(&one, Some(&[1]), false)
            .unwrap()
            .to_vec::<i64>()
            .unwrap(),
        [12; 2]
    );
    let product = ops::matmul(&one, &one.transpose()).unwrap();
    assert_eq!(product.to_vec::<i32>().unwrap(), [36; 4]);
}

macro_rules! products_of_other_dtypes {
    ($($name:ident: $ty:ty => $Out:ty, $widen:expr;)*) => {$(
        proptest! {
            #![proptest_config(cases(100))]

            #[test]
            fn $name((a, b) in matrices::<$ty>(), lies in [lie(), lie()]) {
                let (x, y) = (lies[0].tensor(&a), lies[1].tensor(&b));
                let widen: fn($ty) -> $Out = $widen;
                let sum = |pairs: Vec<($ty, $ty)>| {
                    let pairs = pairs.into_iter().map(|(a, b)| (widen(a), widen(b)));
                    <$Out as Number>::sum_of_products(pairs)
                };
                let matmul = Registry::global().op("matmul").unwrap();
                let call = matmul.call().input(&x).input(&y);
                let product = call.attribute("dtype", <$Out>::DTYPE).make();
                prop_assert_eq!(tested(product), a.matmul(&b, sum));
            }
        }
    )*};
}

products_of_other_dtypes! {
    matmul_of_i8_as_i32: i8 => i32, i32::from;
    matmul_of_u8_as_i32: u8 => i32, i32::from;
    matmul_of_f16_as_f32: f16 => f32, f16::to_f32;
    matmul_of_bf16_as_f32: bf16 => f32, bf16::to_f32;
}
