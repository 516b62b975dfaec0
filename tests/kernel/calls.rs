//! Binding of arguments: by position and name, given and made, tensors, views and numbers.

use crate::support::{copies, copy, op};
use dlbridge::kernel::{Kernel, Op, OpHandle, Operand, Source, Target};
use dlbridge::{DType, Tensor, View, ViewMut};
use half::{bf16, f16};

/// `fused(a, b, m) -> sum, product`, with `m` written: what it was is added to both.
fn fused() -> OpHandle {
    let fused = Op::new("fused")
        .input("a", "T")
        .input("b", "T")
        .in_out("m", "T")
        .output("sum", "T")
        .output("product", "T");
    let kernel = |a: View<'_, i32>,
                  b: View<'_, i32>,
                  mut m: ViewMut<'_, i32>,
                  mut sum: ViewMut<'_, i32>,
                  mut product: ViewMut<'_, i32>| {
        for at in 0..a.shape()[0] {
            sum[[at]] = a[[at]] + b[[at]] + m[[at]];
            product[[at]] = a[[at]] * b[[at]] + m[[at]];
            m[[at]] = -m[[at]];
        }
    };
    op(fused, [Kernel::new("fused").function(kernel)])
}

fn numbers(tensor: &Tensor) -> Vec<i32> {
    tensor.to_vec().unwrap()
}

#[test]
fn arguments_are_positional_or_named() {
    let op = fused();
    let (a, b) = (Tensor::from([1, 2]), Tensor::from([10, 20]));
    let m = || Tensor::from([100, 200]);
    let expected = [vec![111, 222], vec![110, 240]];
    let check = |made: Vec<Tensor>, m: Tensor| {
        assert_eq!(made.iter().map(numbers).collect::<Vec<_>>(), expected);
        assert_eq!(numbers(&m), [-100, -200]);
    };
    let mut this = m();
    check(
        op.call()
            .input(&a)
            .input(&b)
            .in_out(&mut this)
            .run()
            .unwrap(),
        this,
    );
    let mut this = m();
    let call = op
        .call()
        .named_mut("m", &mut this)
        .named("b", &b)
        .named("a", &a);
    check(call.run().unwrap(), this);
    // What is named leaves its place to no other code.
    let mut this = m();
    let call = op.call().named("a", &a).input(&b).in_out(&mut this);
    check(call.run().unwrap(), this);
}

#[test]
fn each_result_is_given_or_made() {
    let op = fused();
    let (a, b) = (Tensor::from([1, 2]), Tensor::from([10, 20]));
    let (mut m, mut sum, mut product) = (a.copy().unwrap(), a.copy().unwrap(), a.copy().unwrap());
    macro_rules! call {
        () => {
            op.call().input(&a).input(&b).in_out(&mut m)
        };
    }
    let given = call!().output(&mut sum).output(&mut product).run();
    assert!(given.unwrap().is_empty());
    assert_eq!(
        (numbers(&sum), numbers(&product)),
        (vec![12, 24], vec![11, 42])
    );
    let made = call!().named_mut("product", &mut product).run().unwrap();
    assert_eq!(made.len(), 1);
    assert_eq!(
        (numbers(&made[0]), numbers(&product)),
        (vec![10, 20], vec![9, 38])
    );
    let made = call!().output(&mut sum).make().unwrap();
    assert_eq!(
        (numbers(&sum), numbers(&made)),
        (vec![12, 24], vec![11, 42])
    );
}

#[test]
fn made_results_are_zeros_of_the_first_shape_and_dtype() {
    let nothing = |_: View<'_, f32>, _: ViewMut<'_, f32>| {};
    let op = op(copy(), [Kernel::new("copy").function(nothing)]);
    for shape in [&[][..], &[0], &[2, 0, 3], &[2, 3]] {
        let x = Tensor::ones(shape, DType::F32).unwrap();
        let y = op.call().input(&x).make().unwrap();
        assert_eq!((y.shape(), y.dtype()), (shape, DType::F32));
        assert!(y.to_vec::<f32>().unwrap().iter().all(|y| *y == 0.0));
    }
}

#[test]
fn views_are_operands() {
    let op = op(copy(), [Kernel::new("copy").function(copies)]);
    let matrix = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    let transposed = matrix.transpose();
    let mut result = Tensor::from([[0.0_f32; 2]; 2]);
    let view = transposed.view::<f32>().unwrap();
    op.call()
        .input(view)
        .output(result.view_mut::<f32>().unwrap())
        .run()
        .unwrap();
    assert_eq!(result.to_vec::<f32>().unwrap(), [1.0, 3.0, 2.0, 4.0]);
    // A view can be lent for a call, and used after it.
    let mut view = result.view_mut::<f32>().unwrap();
    op.call()
        .input(&matrix)
        .output(view.reborrow())
        .run()
        .unwrap();
    view[[0, 0]] += 10.0;
    assert_eq!(result.to_vec::<f32>().unwrap(), [11.0, 2.0, 3.0, 4.0]);
    let operands = op.call().input(Operand::read(&matrix)).make().unwrap();
    assert_eq!(operands.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
}

macro_rules! numbers_by_value {
    ($($name:ident: $ty:ty = $value:expr;)*) => {$(
        #[test]
        fn $name() {
            let kernel = |n: $ty, m: $ty, mut y: ViewMut<'_, $ty>| {
                y[[0]] = n;
                y[[1]] = m;
            };
            let pair = Op::new("pair").input("n", "T").input("m", "T").output("y", "T");
            let pair = pair.shapes(|_| Ok(vec![vec![2]]));
            let op = op(pair, [Kernel::new("pair").function(kernel)]);
            let value: $ty = $value;
            let pair = op.call().number(value).number(<$ty>::default()).make().unwrap();
            assert_eq!(pair.to_vec::<$ty>().unwrap(), [value, <$ty>::default()]);
        }
    )*};
}

numbers_by_value! {
    numbers_of_i8: i8 = -8;
    numbers_of_i16: i16 = -16;
    numbers_of_i32: i32 = -32;
    numbers_of_i64: i64 = i64::MIN;
    numbers_of_u8: u8 = 8;
    numbers_of_u16: u16 = 16;
    numbers_of_u32: u32 = 32;
    numbers_of_u64: u64 = u64::MAX;
    numbers_of_f16: f16 = f16::EPSILON;
    numbers_of_bf16: bf16 = bf16::EPSILON;
    numbers_of_f32: f32 = 0.5;
    numbers_of_f64: f64 = 0.25;
    numbers_of_bool: bool = true;
}

#[test]
fn calls_can_be_moved_before_they_are_made() {
    let op = op(copy(), [Kernel::new("copy").function(copies)]);
    let calls: Vec<_> = (0..20).map(|at| op.call().number(at as f32)).collect();
    let results = calls
        .into_iter()
        .map(|call| call.make().unwrap().item::<f32>().unwrap());
    assert_eq!(
        results.collect::<Vec<_>>(),
        (0..20).map(|at| at as f32).collect::<Vec<_>>()
    );
    let complex = num_complex::Complex::new(1.0_f64, 2.0);
    let copies = |x: Source<'_, num_complex::Complex<f64>>,
                  y: Target<'_, num_complex::Complex<f64>>| y.map(&x, |x| x);
    let op = crate::support::op(copy(), [Kernel::new("copy").function(copies)]);
    let copied = op.call().number(complex).make().unwrap();
    assert_eq!(copied.item::<num_complex::Complex<f64>>().unwrap(), complex);
}

#[test]
fn broadcasting_op_broadcasts_inputs() {
    let kernel = |a: View<'_, i32>, b: View<'_, i32>, mut c: ViewMut<'_, i32>| {
        assert_eq!((a.shape(), b.shape()), (c.shape(), c.shape()));
        c.iter_mut()
            .zip(a.iter().zip(&b))
            .for_each(|(c, (a, b))| *c = a - b);
    };
    let minus = || {
        Op::new("minus")
            .input("a", "T")
            .input("b", "T")
            .output("c", "T")
    };
    let op = op(
        minus().broadcasts(),
        [Kernel::new("minus").function(kernel)],
    );
    let column = Tensor::from([[1], [2]]);
    let row = Tensor::from([10, 20, 30]);
    let c = op.call().input(&column).input(&row).make().unwrap();
    assert_eq!(
        (c.shape(), numbers(&c)),
        (&[2, 3][..], vec![-9, -19, -29, -8, -18, -28])
    );
    let c = op.call().input(&row).number(1_i32).make().unwrap();
    assert_eq!(numbers(&c), [9, 19, 29]);
    let none = Tensor::zeros(&[0, 1], DType::I32).unwrap();
    let c = op.call().input(&none).input(&row).make().unwrap();
    assert_eq!((c.shape(), numbers(&c)), (&[0, 3][..], vec![]));
    // Without broadcasting the kernel sees what was given.
    let sizes = |a: View<'_, i32>, b: View<'_, i32>, mut c: ViewMut<'_, i32>| {
        c.fill((10 * a.len() + b.len()) as i32);
    };
    let op = crate::support::op(minus(), [Kernel::new("minus").function(sizes)]);
    assert_eq!(
        numbers(&op.call().input(&column).input(&row).make().unwrap()),
        [23, 23]
    );
}

#[test]
fn kernel_calls_another_op() {
    let inner = op(copy(), [Kernel::new("copy").function(copies)]);
    let outer = |inner: OpHandle| {
        move |x: View<'_, f32>, y: ViewMut<'_, f32>| -> Result<(), dlbridge::kernel::CallError> {
            let sum = dlbridge::ops::add(x, x)?;
            inner.call().input(&sum).output(y).run().map(drop)
        }
    };
    let op = op(copy(), [Kernel::new("copy").function(outer(inner.clone()))]);
    let doubled = op.call().input(&Tensor::from([1.5_f32])).make().unwrap();
    assert_eq!(doubled.item::<f32>().unwrap(), 3.0);
}
