use super::*;
use crate::compute::threads;
use crate::kernel::{Kernel, Op, Source, Target};
use crate::view::{View, ViewMut};
use std::sync::Mutex;

/// Strides, in place, aligned, threads and level of a call.
type Seen = (Vec<isize>, bool, bool, usize, Level);

fn op_with<M: 'static>(
    define: impl FnOnce(Op) -> Op,
    function: impl crate::kernel::KernelFunction<M>,
) -> OpHandle {
    let registry = Registry::new();
    let op = define(Op::new("tested").input("x", "T").output("y", "T"));
    registry.define(op).unwrap();
    registry
        .register(Kernel::new("tested").function(function))
        .unwrap();
    registry.op("tested").unwrap()
}

fn numbers(shape: &[usize]) -> Tensor {
    let len: usize = shape.iter().product();
    Tensor::from_vec((0..len).map(|number| number as f32).collect(), shape).unwrap()
}

fn negated(x: &Tensor) -> Tensor {
    let numbers: Vec<f32> = x.to_vec().unwrap();
    Tensor::from_vec(numbers.into_iter().map(|x| -x).collect(), x.shape()).unwrap()
}

#[test]
fn op_test_makes_every_kind_of_call() {
    static SEEN: Mutex<Vec<Seen>> = Mutex::new(Vec::new());
    let op = op_with(
        |op| op.in_place("y", "x"),
        |x: Source<'_, f32>, y: Target<'_, f32>| {
            let cell = y.iter().next().unwrap();
            let aligned = std::ptr::from_ref(cell).addr().is_multiple_of(64);
            // In place, what is written is what is read.
            let first = cell.replace(-1.0);
            let in_place = x.iter().next() == Some(-1.0);
            cell.set(first);
            SEEN.lock().unwrap().push((
                x.layout().strides().to_vec(),
                in_place,
                aligned,
                threads::num_threads(),
                Level::current(),
            ));
            y.map(&x, |x| -x);
        },
    );
    let x = numbers(&[3, 4]);
    OpTest::with_op(&op).input(&x).expect(&negated(&x));
    let seen = SEEN.lock().unwrap();
    for strides in [[4, 1], [1, 3], [8, 2], [5, 1], [-4, -1]] {
        assert!(seen.iter().any(|call| call.0 == strides), "{strides:?}");
    }
    assert!(seen.iter().any(|call| call.1) && seen.iter().any(|call| !call.2));
    for number in THREADS {
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            assert!(seen.iter().any(|call| (call.3, call.4) == (number, level)));
        }
    }
}

#[test]
fn op_test_repeats_equal_elements() {
    static SEEN: Mutex<Vec<Vec<isize>>> = Mutex::new(Vec::new());
    let op = op_with(
        |op| op,
        |x: View<'_, f32>, mut y: ViewMut<'_, f32>| {
            SEEN.lock().unwrap().push(x.strides().to_vec());
            y.iter_mut().zip(&x).for_each(|(y, x)| *y = -x);
        },
    );
    let x = numbers(&[2, 1, 3]).broadcast_to(&[2, 4, 3]).unwrap();
    OpTest::with_op(&op).input(&x).expect(&negated(&x));
    assert!(SEEN.lock().unwrap().contains(&vec![3, 0, 1]));
}

/// The message of a test that fails.
fn failure(test: OpTest, expected: &Tensor) -> String {
    test.check(&[expected]).unwrap_err()
}

#[test]
fn op_test_finds_kernel_that_ignores_strides() {
    let op = op_with(
        |op| op,
        |x: View<'_, f32>, mut y: ViewMut<'_, f32>| {
            for (at, y) in y.iter_mut().enumerate() {
                // SAFETY: the test's memory goes on at least as far.
                *y = unsafe { -*x.as_ptr().add(at) };
            }
        },
    );
    let x = numbers(&[2, 3]);
    let only = [Arrangement::Contiguous, Arrangement::Transposed];
    let test = OpTest::with_op(&op).input(&x).arrangements(&only);
    let text = failure(test, &negated(&x));
    assert!(text.starts_with("tested: y[0, 1]: expected -1.0 exactly, got -3.0; 3 more of 6 elements are wrong\n  x: transposed in memory\n  y: "), "{text}");
    OpTest::with_op(&op)
        .input(&x)
        .arrangements(&only[..1])
        .expect(&negated(&x));
}

#[test]
fn op_test_finds_error_that_depends_on_threads() {
    let op = op_with(
        |op| op,
        |x: Source<'_, f32>, y: Target<'_, f32>| {
            let wrong = threads::num_threads() == 5;
            y.map(&x, |x| if wrong && x == 5.0 { 5.5 } else { -x });
        },
    );
    let x = numbers(&[2, 3]);
    let text = failure(OpTest::with_op(&op).input(&x), &negated(&x));
    assert!(
        text.contains("y[1, 2]: expected -5.0 exactly, got 5.5; 0 more of 6"),
        "{text}"
    );
    assert!(text.contains("\n  5 threads, SIMD level "), "{text}");
}

#[test]
fn op_test_finds_write_beside_the_result() {
    let op = op_with(
        |op| op,
        |x: View<'_, f32>, mut y: ViewMut<'_, f32>| {
            y.iter_mut().zip(&x).for_each(|(y, x)| *y = -x);
            if y.strides() == [4, 1] {
                // SAFETY: rows of 3 lie 4 apart, as tests have room behind each.
                unsafe { y.as_ptr().cast_mut().add(3).write(0.0) };
            }
        },
    );
    let x = numbers(&[2, 3]);
    let text = failure(OpTest::with_op(&op).input(&x), &negated(&x));
    let expected = "tested: the call wrote memory that isn't a result's, at byte 12\n";
    assert!(text.starts_with(expected), "{text}");
}

#[test]
fn op_test_reports_errors_and_shapes() {
    let op = op_with(
        |op| op,
        |x: View<'_, f32>, _: ViewMut<'_, f32>| {
            if x.layout().is_contiguous() {
                Ok(())
            } else {
                Err("strided")
            }
        },
    );
    let x = numbers(&[2, 3]);
    let zeros = Tensor::zeros(&[2, 3], crate::DType::F32).unwrap();
    let made = [Arrangement::Gaps];
    let text = failure(OpTest::with_op(&op).input(&x).arrangements(&made), &zeros);
    assert!(
        text.contains("failed: strided\n  x: every second element"),
        "{text}"
    );
    let text = failure(OpTest::with_op(&op).input(&x), &numbers(&[6]));
    assert!(
        text.contains("expected float32 of shape [6] for y, got float32 of shape [2, 3]"),
        "{text}"
    );
}

#[test]
fn op_test_accepts_empty_and_scalar_tensors() {
    let op = || {
        op_with(
            |op| op.in_place("y", "x"),
            |x: Source<'_, f32>, y: Target<'_, f32>| y.map(&x, |x| -x),
        )
    };
    for shape in [&[][..], &[0], &[1], &[2, 0, 3], &[1, 1], &[70_000, 3]] {
        let x = numbers(shape);
        OpTest::with_op(&op()).input(&x).expect(&negated(&x));
    }
}
