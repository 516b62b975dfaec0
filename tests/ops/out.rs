//! Functions that write to a tensor: what those that return one do, in memory that was given, of
//! any strides.

use dlbridge::error::{Error, IncompatibilityKind as Kind};
use dlbridge::kernel::Reason;
use dlbridge::{DType, Tensor, ops};

/// Tensors of a shape and dtype, of different strides, filled with what isn't the result.
fn places(wanted: &Tensor) -> Vec<Tensor> {
    let shape = wanted.shape();
    let other = |shape: &[usize]| match wanted.dtype() {
        DType::BOOL => Tensor::zeros(shape, DType::BOOL).unwrap(),
        dtype => ops::cast(&Tensor::full(shape, -77_i8).unwrap(), dtype).unwrap(),
    };
    let dense = other(shape);
    let reversed: Vec<usize> = shape.iter().rev().copied().collect();
    let transposed = other(&reversed).transpose();
    let wide: Vec<usize> = shape.iter().map(|size| 2 * size).collect();
    let mut strided = other(&wide);
    for (axis, size) in shape.iter().enumerate() {
        strided = strided.slice(axis, *size..2 * size).unwrap();
    }
    vec![dense, transposed, strided]
}

/// Checks that a function writes what another one returns.
macro_rules! check {
    ($($name:ident($($argument:expr),*);)*) => {$(
        let wanted = ops::$name($($argument),*).unwrap();
        for mut place in places(&wanted) {
            let (name, address) = (stringify!($name), place.data_ptr());
            assert!(!place.equals(&wanted).unwrap(), "{name}: the result is there already");
            ops::out::$name($($argument,)* &mut place).unwrap();
            assert!(place.equals(&wanted).unwrap(), "{name} {:?}: {place}", place.strides());
            assert_eq!(place.data_ptr(), address, "{name}");
        }
    )*};
}

fn x() -> Tensor {
    let numbers: Vec<f32> = (0..24).map(|at| (at * 7 % 11) as f32 / 4.0 + 0.5).collect();
    Tensor::from_vec(numbers, &[2, 3, 4]).unwrap()
}

#[test]
fn functions_write_what_their_siblings_return() {
    let x = x();
    let backwards: Vec<f32> = x.to_vec().unwrap().into_iter().rev().collect();
    let y = Tensor::from_vec(backwards, x.shape()).unwrap();
    let weight = Tensor::from([0.5_f32, 1.0, 1.5, 2.0]);
    let condition = ops::less(&x, &y).unwrap();
    let indices = Tensor::from([1_i64, 0, 1]);
    let matrix = Tensor::from([[1.0_f32, 2.0], [0.5, -1.0], [3.0, 0.0], [1.0, 1.0]]);
    check! {
        add(&x, &y);
        subtract(&x, &weight);
        multiply(&x, &y);
        divide(&x, &y);
        maximum(&x, &y);
        minimum(&x, &y);
        fma(&x, &y, &weight);
        where_(&condition, &x, &y);
        equal(&x, &y);
        not_equal(&x, &y);
        less(&x, &y);
        less_equal(&x, &y);
        greater(&x, &y);
        greater_equal(&x, &y);
        negative(&x);
        abs(&x);
        exp(&x);
        log(&x);
        sqrt(&x);
        rsqrt(&x);
        tanh(&x);
        sigmoid(&x);
        relu(&x);
        gelu(&x);
        silu(&x);
        copy(&x);
        cast(&x, DType::F16);
        cast(&x, DType::I64);
        sum(&x, Some(&[0, 2]), false);
        sum(&x, None, true);
        mean(&x, Some(&[-1]), true);
        max(&x, Some(&[1]), false);
        min(&x, None, false);
        var(&x, Some(&[2]), 1.0, false);
        std(&x, Some(&[0]), 0.0, true);
        argmax(&x, Some(1), false);
        argmin(&x, None, false);
        softmax(&x, 1);
        log_softmax(&x, -1);
        rms_norm(&x, &weight, 1e-6);
        layer_norm(&x, &weight, &weight, -1, 1e-5);
        matmul(&x, &matrix);
        take(&x, &indices, 0);
    }
}

#[test]
fn what_is_not_the_results_is_refused() {
    let x = x();
    let refused = |out: &mut Tensor| match *ops::out::exp(&x, out).unwrap_err().reason {
        Reason::Incompatible { argument, error } => (argument, error.kind),
        reason => panic!("{reason:?}"),
    };
    let named = |kind| ("out".to_owned(), kind);
    let mut smaller = Tensor::zeros(&[2, 3], DType::F32).unwrap();
    assert_eq!(refused(&mut smaller), named(Kind::Shape));
    let mut shared = Tensor::zeros(&[2, 3, 4], DType::F32).unwrap();
    let other = shared.clone();
    let error = ops::out::exp(&x, &mut shared).unwrap_err();
    assert!(matches!(
        &*error.reason,
        Reason::Tensor {
            error: Error::Shared { .. },
            ..
        }
    ));
    assert!(
        other
            .equals(&Tensor::zeros(&[2, 3, 4], DType::F32).unwrap())
            .unwrap()
    );
    let mut wider = Tensor::zeros(&[2, 3, 4], DType::F64).unwrap();
    assert_eq!(refused(&mut wider), named(Kind::DType));
    assert!(
        wider
            .equals(&Tensor::zeros(&[2, 3, 4], DType::F64).unwrap())
            .unwrap()
    );
}
