//! Calls like one before, which are made without the checks that can't turn out otherwise.

use super::{BOOL, F32, handler, run, run_buffers, scale};
use crate::hosts::xla::Handler;
use crate::hosts::xla::abi::Buffer;
use crate::kernel::{Kernel, Op, Registry, Source, Target};
use crate::{View, ViewMut};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

fn call(handler: Handler, x: *mut f32, y: *mut f32, shape: &[i64]) -> Result<(), String> {
    run(handler, F32, &mut [(shape, x), (shape, y)], 1, None)
}

#[test]
fn third_call_is_not_checked_anew() {
    static CHECKS: AtomicUsize = AtomicUsize::new(0);
    let registry = Registry::new();
    let op = Op::new("negate").input("x", "T").output("y", "T");
    let op = op.keeps_shape(|_| {
        CHECKS.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    registry.define(op).unwrap();
    let kernel = |x: Source<'_, f32>, y: Target<'_, f32>| y.map(&x, |x| -x);
    registry
        .register(Kernel::new("negate").function(kernel))
        .unwrap();
    let handler = handler(&registry.op("negate").unwrap()).unwrap();
    for number in 1..6 {
        let (mut x, mut y) = ([number as f32; 3], [0.0; 3]);
        call(handler, x.as_mut_ptr(), y.as_mut_ptr(), &[3]).unwrap();
        assert_eq!(y, [-number as f32; 3]);
    }
    assert_eq!(CHECKS.load(Ordering::Relaxed), 2);
    let (mut x, mut y) = ([1.0; 2], [0.0; 2]);
    call(handler, x.as_mut_ptr(), y.as_mut_ptr(), &[2]).unwrap();
    assert_eq!((CHECKS.load(Ordering::Relaxed), y), (3, [-1.0; 2]));
}

#[test]
fn what_depends_on_addresses_is_checked_each_time() {
    let handler = scale();
    let mut memory = [1.0; 12];
    let first = memory.as_mut_ptr();
    let at = |x: usize, y: usize| {
        let (x, y) = (first.wrapping_byte_add(x), first.wrapping_byte_add(y));
        call(handler, x, y, &[4])
    };
    for _ in 0..3 {
        at(0, 16).unwrap();
    }
    at(16, 32).unwrap();
    let error = at(0, 8).unwrap_err();
    assert!(error.contains("shares memory with \"x\""), "{error}");
    let error = at(0, 18).unwrap_err();
    assert!(error.contains("not aligned to 4 bytes"), "{error}");
    at(0, 0).unwrap_err();
    assert_eq!(memory[8..], [4.0; 4]);
}

/// An op `y = x + 1`, which may be in place; its kernel takes cells, or views.
fn plus_one(takes_cells: bool) -> Handler {
    let registry = Registry::new();
    let op = Op::new("plus_one").input("x", "T").output("y", "T");
    registry.define(op.in_place("y", "x")).unwrap();
    let cells = |x: Source<'_, f32>, y: Target<'_, f32>| y.map(&x, |x| x + 1.0);
    let views = |x: View<'_, f32>, mut y: ViewMut<'_, f32>| {
        y.iter_mut().zip(x.iter()).for_each(|(y, x)| *y = x + 1.0);
    };
    let kernel = Kernel::new("plus_one").fills_results();
    let kernel = match takes_cells {
        true => kernel.function(cells),
        false => kernel.function(views),
    };
    registry.register(kernel).unwrap();
    handler(&registry.op("plus_one").unwrap()).unwrap()
}

#[test]
fn results_are_in_place_each_time_where_op_and_kernel_allow_it() {
    for takes_cells in [true, false] {
        let handler = plus_one(takes_cells);
        let mut memory: Vec<f32> = (0..50).map(|at| at as f32).collect();
        let first = memory.as_mut_ptr();
        let at = |x: usize, y: usize| {
            let (x, y) = (first.wrapping_add(x), first.wrapping_add(y));
            call(handler, x, y, &[20])
        };
        for _ in 0..3 {
            at(0, 25).unwrap();
        }
        for times in 1..4 {
            let error = at(0, 1).unwrap_err();
            assert!(error.contains("shares memory with \"x\""), "{error}");
            assert_eq!(at(0, 0).is_ok(), takes_cells);
            // SAFETY: no call is under way.
            let found = unsafe { first.add(19).read() };
            let wanted = if takes_cells {
                19.0 + times as f32
            } else {
                19.0
            };
            assert_eq!(found, wanted);
        }
        at(0, 20).unwrap();
    }
}

#[test]
fn bytes_of_bools_are_checked_each_time() {
    let registry = Registry::new();
    let op = Op::new("copy").input("x", "T").output("y", "T");
    registry.define(op).unwrap();
    let kernel = |x: Source<'_, bool>, y: Target<'_, bool>| y.map(&x, |x| x);
    registry
        .register(Kernel::new("copy").function(kernel))
        .unwrap();
    let handler = handler(&registry.op("copy").unwrap()).unwrap();
    let (mut x, mut y) = ([1_u8, 0, 1], [0_u8; 3]);
    for last in [1, 0, 1, 0, 2, 1] {
        x[2] = last;
        let shape = [3];
        let mut tensors = [
            (&shape[..], x.as_mut_ptr().cast()),
            (&shape[..], y.as_mut_ptr().cast()),
        ];
        let called = run(handler, BOOL, &mut tensors, 1, None);
        assert_eq!(called.is_ok(), last < 2, "{called:?}");
        if last < 2 {
            assert_eq!(y, x);
        }
    }
}

#[test]
fn attributes_tell_calls_apart() {
    let handler = scale();
    let (mut x, mut y) = ([1.0; 2], [f32::NAN; 2]);
    let mut scaled = |factor| {
        let mut tensors = [(&[2][..], x.as_mut_ptr()), (&[2], y.as_mut_ptr())];
        run(handler, F32, &mut tensors, 1, Some(factor)).map(|()| y[0].to_bits())
    };
    for _ in 0..4 {
        assert_eq!(scaled(3.0), Ok(3_f32.to_bits()));
        assert_eq!(scaled(0.0), Ok(0));
        assert_eq!(scaled(-0.0), Ok((-0_f32).to_bits()));
        assert_eq!(scaled(-1.0).unwrap_err(), "scale: -1 is negative");
    }
}

#[test]
fn kernel_that_is_registered_later_is_used() {
    let registry = Registry::new();
    registry
        .define(Op::new("number").input("x", "T").output("y", "T"))
        .unwrap();
    let register = |priority, number: f32| {
        let kernel = move |x: Source<'_, f32>, y: Target<'_, f32>| y.map(&x, |_| number);
        let kernel = Kernel::new("number").priority(priority).function(kernel);
        registry.register(kernel).unwrap();
    };
    register(0, 1.0);
    let handler = handler(&registry.op("number").unwrap()).unwrap();
    for priority in 1..3 {
        for _ in 0..4 {
            let (mut x, mut y) = ([0.0; 3], [0.0; 3]);
            call(handler, x.as_mut_ptr(), y.as_mut_ptr(), &[3]).unwrap();
            assert_eq!(y, [priority as f32; 3]);
        }
        register(priority, priority as f32 + 1.0);
    }
}

#[test]
fn many_calls_keep_apart() {
    let (ops, sizes) = if cfg!(miri) { (2, 3) } else { (20, 39) };
    let handlers: Vec<_> = (0..ops).map(|_| scale()).collect();
    for round in 0..3 {
        for size in 1..=sizes {
            for (number, handler) in handlers.iter().enumerate() {
                let (mut x, mut y) = (vec![number as f32; size], vec![-1.0; size]);
                let shape = [size as i64];
                call(*handler, x.as_mut_ptr(), y.as_mut_ptr(), &shape).unwrap();
                assert_eq!(y, vec![2.0 * number as f32; size], "{round}");
            }
        }
    }
}

#[test]
fn buffers_that_lie_are_refused_each_time() {
    let handler = scale();
    let (mut x, mut y) = ([1.0; 2], [0.0; 2]);
    let (first, second) = (x.as_mut_ptr(), y.as_mut_ptr());
    call(handler, first, second, &[2]).unwrap();
    let buffer = |data: *mut f32, rank, sizes: *const i64| Buffer {
        struct_size: size_of::<Buffer>(),
        extensions: ptr::null_mut(),
        dtype: F32,
        data: data.cast(),
        rank,
        sizes,
    };
    let sizes = [2];
    for (rank, sizes) in [
        (1, ptr::null()),
        (-1, sizes.as_ptr()),
        (300, sizes.as_ptr()),
    ] {
        for _ in 0..3 {
            let buffers = [buffer(first, rank, sizes), buffer(second, rank, sizes)];
            run_buffers(handler, &buffers, 1, None).unwrap_err();
        }
    }
    call(handler, first, second, &[2]).unwrap();
    assert_eq!(y, [2.0; 2]);
}
