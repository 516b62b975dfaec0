//! The types that a kernel's arguments can have.

use crate::support::{copy, op, refused};
use dlbridge::kernel::{Kernel, Op, OpHandle, Ranked, Reason, Source, Target, Untyped, UntypedMut};
use dlbridge::{DType, Tensor, View, ViewMut};

fn of_function<M>(function: impl dlbridge::kernel::KernelFunction<M>) -> OpHandle {
    op(copy(), [Kernel::new("copy").function(function)])
}

#[test]
fn slice_parameters_require_contiguous_tensors() {
    let op = of_function(|x: &[f32], y: &mut [f32]| y.copy_from_slice(x));
    let x = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    let y = op.call().input(&x).make().unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [1.0, 2.0, 3.0, 4.0]);
    let (reason, text) = refused(op.call().input(&x.transpose()).make());
    assert!(matches!(reason, Reason::NoKernel { .. }));
    assert!(
        text.ends_with(r#""x" isn't row-major without gaps; pass a copy"#),
        "{text}"
    );
    for shape in [&[0][..], &[3, 0], &[]] {
        let x = Tensor::ones(shape, DType::F32).unwrap();
        let y = op.call().input(&x).make().unwrap();
        assert!(y.equals(&x).unwrap());
    }
}

#[test]
fn ranked_parameters_require_their_rank() {
    let op = of_function(
        |x: Ranked<View<'_, f32>, 1>, mut y: Ranked<ViewMut<'_, f32>, 1>| {
            for at in 0..x.0.shape()[0] {
                y.0[[at]] = 2.0 * x.0[[at]];
            }
        },
    );
    let x = Tensor::from([1.0_f32, 2.0]);
    let y = op.call().input(&x).make().unwrap();
    assert_eq!(y.to_vec::<f32>().unwrap(), [2.0, 4.0]);
    let (reason, text) = refused(op.call().input(&x.unsqueeze(0).unwrap()).make());
    assert!(matches!(reason, Reason::NoKernel { .. }));
    assert!(text.ends_with(r#""x" is of rank 2"#), "{text}");
}

#[test]
fn number_parameters_require_rank_0() {
    let op = of_function(|x: f32, mut y: ViewMut<'_, f32>| y.fill(x + 1.0));
    let one = Tensor::scalar(1.0_f32);
    assert_eq!(
        op.call().input(&one).make().unwrap().item::<f32>().unwrap(),
        2.0
    );
    let (reason, _) = refused(op.call().input(&Tensor::from([1.0_f32])).make());
    assert!(matches!(reason, Reason::NoKernel { .. }));
}

#[test]
fn dispatch_prefers_the_stricter_signature() {
    let fill = Op::new("fill").in_out("y", "T");
    let op = op(
        fill,
        [
            Kernel::new("fill").function(|y: UntypedMut<'_>| {
                let mut y = y;
                y.view_mut::<f32>().unwrap().fill(1.0);
            }),
            Kernel::new("fill").function(|mut y: ViewMut<'_, f32>| y.fill(2.0)),
            Kernel::new("fill").function(|mut y: Ranked<ViewMut<'_, f32>, 2>| y.0.fill(3.0)),
            Kernel::new("fill").function(|y: &mut [f32]| y.fill(4.0)),
            Kernel::new("fill").function(|y: Ranked<&mut [f32], 1>| y.0.fill(5.0)),
            Kernel::new("fill")
                .priority(1)
                .function(|y: Ranked<&mut [f32], 4>| y.0.fill(6.0)),
            Kernel::new("fill")
                .label("any")
                .function(|mut y: UntypedMut<'_>| {
                    y.view_mut::<f32>().unwrap().fill(7.0);
                }),
        ],
    );
    let filled = |shape: &[usize], transposed: bool, label: &str| {
        let mut y = Tensor::zeros(shape, DType::F32).unwrap();
        if transposed {
            y = y.transpose();
        }
        op.call().in_out(&mut y).label(label).run().unwrap();
        let all = y.to_vec::<f32>().unwrap();
        assert!(all.iter().all(|y| *y == all[0]));
        all[0]
    };
    assert_eq!(filled(&[2, 3, 2], true, ""), 2.0);
    assert_eq!(filled(&[2, 3], true, ""), 3.0);
    assert_eq!(filled(&[2, 3], false, ""), 4.0);
    assert_eq!(filled(&[2], false, ""), 5.0);
    assert_eq!(filled(&[2, 1, 1, 1], false, ""), 6.0);
    assert_eq!(filled(&[2], false, "any"), 7.0);
}

#[test]
fn sources_and_targets_accept_strides_and_aliases() {
    let op = of_function(|x: Source<'_, i32>, y: Target<'_, i32>| {
        assert_eq!(
            (x.shape(), x.len(), x.is_empty()),
            (y.shape(), y.len(), y.is_empty())
        );
        assert_eq!(x.layout().rank(), y.layout().rank());
        for (y, x) in y.iter().zip(x.iter()) {
            y.set(x + 1);
        }
        y.update(|y| 10 * y);
    });
    let x = Tensor::arange(0_i32, 6, 1)
        .unwrap()
        .reshape(&[2, 3])
        .unwrap();
    for x in [
        x.clone(),
        x.transpose(),
        x.step_by(1, -2).unwrap(),
        x.slice(0, ..0).unwrap(),
    ] {
        let expected: Vec<_> = x
            .view::<i32>()
            .unwrap()
            .iter()
            .map(|x| 10 * (x + 1))
            .collect();
        let y = op.call().input(&x).make().unwrap();
        assert_eq!(y.to_vec::<i32>().unwrap(), expected);
        let mut strided = Tensor::zeros(&[6, 6], DType::I32).unwrap();
        for (axis, size) in x.shape().iter().enumerate() {
            strided = strided
                .step_by(axis, -1)
                .unwrap()
                .slice(axis, ..*size)
                .unwrap();
        }
        op.call().input(&x).output(&mut strided).run().unwrap();
        assert_eq!(strided.to_vec::<i32>().unwrap(), expected);
    }
}

/// The numbers at all indices of a shape, of which the one given is left out, each with the
/// other's.
fn lines_of(x: &Tensor, axis: usize) -> Vec<Vec<i32>> {
    let view = x.view::<i32>().unwrap();
    let mut around = x.shape().to_vec();
    around[axis] = 1;
    let places = Tensor::zeros(&around, DType::U1).unwrap().len();
    let line = |place: usize| {
        let mut index = vec![0; around.len()];
        let mut rest = place;
        for at in (0..around.len()).rev() {
            (index[at], rest) = (rest % around[at], rest / around[at]);
        }
        let of = |along: usize| {
            index[axis] = along;
            *view.get(&index).unwrap()
        };
        (0..x.shape()[axis]).map(of).collect()
    };
    (0..places).map(line).collect()
}

#[test]
fn sources_and_targets_iterate_by_lines() {
    let sum_up = |axis: usize| {
        of_function(move |x: Source<'_, i32>, y: Target<'_, i32>| {
            for (x, y) in x.lines(axis).zip(y.lines(axis)) {
                assert_eq!((x.shape(), x.layout().rank()), (y.shape(), 1));
                let mut sum = 0;
                y.map(&x, |x| x);
                y.iter().for_each(|y| {
                    sum += y.get();
                    y.set(sum);
                });
            }
        })
    };
    let x = Tensor::arange(0_i32, 24, 1)
        .unwrap()
        .reshape(&[2, 3, 4])
        .unwrap();
    for x in [
        x.clone(),
        x.transpose(),
        x.permute(&[1, 0, 2]).unwrap(),
        x.step_by(2, -3).unwrap(),
        x.step_by(1, -1).unwrap(),
        x.broadcast_to(&[3, 2, 3, 4]).unwrap(),
        x.slice(1, ..0).unwrap(),
        x.slice(0, 1..).unwrap(),
    ] {
        for axis in 0..x.shape().len() {
            let y = sum_up(axis).call().input(&x).make().unwrap();
            let (found, expected) = (lines_of(&y, axis), lines_of(&x, axis));
            for (found, line) in found.iter().zip(&expected) {
                let sum = |sum: &mut i32, x: &i32| {
                    *sum += x;
                    Some(*sum)
                };
                assert_eq!(found, &line.iter().scan(0, sum).collect::<Vec<_>>());
            }
            assert_eq!(found.len(), expected.len());
        }
    }
}

#[test]
#[should_panic(expected = "index out of bounds")]
fn lines_refuse_an_axis_out_of_bounds() {
    let op = of_function(|x: Source<'_, i32>, _: Target<'_, i32>| drop(x.lines(1)));
    let _ = op.call().input(&Tensor::from([1, 2])).make();
}

#[test]
fn functions_of_eight_arguments_are_kernels() {
    let kernel = |a: i32,
                  b: i64,
                  c: View<'_, u8>,
                  d: &[f32],
                  e: Source<'_, i8>,
                  f: Untyped<'_>,
                  mut g: ViewMut<'_, f64>,
                  h: Target<'_, i32>| {
        let sum = c.iter().map(|c| f64::from(*c)).sum::<f64>()
            + d.iter().map(|d| f64::from(*d)).sum::<f64>()
            + e.iter().map(f64::from).sum::<f64>();
        g.fill(f64::from(a) + b as f64 + sum + f.layout().len() as f64);
        h.update(|h| h + 1);
    };
    let many = Op::new("many")
        .input("a", "A")
        .input("b", "B")
        .input("c", "C")
        .input("d", "D");
    let many = many
        .input("e", "E")
        .input("f", dlbridge::kernel::ElementType::Any);
    let many = many
        .output("g", DType::F64)
        .output("h", "A")
        .shapes(|_| Ok(vec![vec![2], vec![3]]));
    let op = op(many, [Kernel::new("many").function(kernel)]);
    let (c, d, e) = (
        Tensor::from([100_u8, 100]),
        Tensor::from([1000.0_f32, 1000.0]),
        Tensor::from([-1_i8]),
    );
    let f = Tensor::zeros(&[5], DType::U1).unwrap();
    let call = op
        .call()
        .number(1_i32)
        .number(10_i64)
        .input(&c)
        .input(&d)
        .input(&e)
        .input(&f);
    let results = call.run().unwrap();
    assert_eq!(results[0].to_vec::<f64>().unwrap(), [2215.0; 2]);
    assert_eq!(results[1].to_vec::<i32>().unwrap(), [1; 3]);
}
