//! Calls like one before, which are made without the checks that can't turn out otherwise.

use super::{F32, handler, run, run_buffers, scale};
use crate::hosts::xla::Handler;
use crate::hosts::xla::abi::Buffer;
use crate::kernel::{Kernel, Op, Registry, Source, Target};
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
