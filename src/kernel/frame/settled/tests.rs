//! Calls that are made again, with results that replace inputs.

use super::*;
use crate::dtype::DType;
use crate::kernel::frame::Operands;
use crate::kernel::frame::tests::make_in;
use crate::kernel::{DeviceSource, Failure, Kernel, Op, Registry, Source, Target};
use crate::layout::LayoutRef;
use crate::tensor::Tensor;

/// Notes which inputs a result could replace, and replaces the first or the second of them.
#[derive(Default)]
struct Replacing {
    settled: Option<Settled>,
    inputs: Vec<*mut u8>,
    replaceable: Vec<u32>,
    results: Vec<Tensor>,
}

// SAFETY: a result is new and kept, or an input of the test's, which nothing else uses.
unsafe impl CallHost for Replacing {
    fn make<'a>(
        &mut self,
        shape: &[usize],
        dtype: DType,
        device: Device,
        contents: Contents,
    ) -> Result<Operand<'a>, Failure> {
        // SAFETY: the list is this host's, which is dropped after the call.
        let made = unsafe { make_in(&mut self.results, shape, dtype, device, contents) };
        made.map(of_host)
    }

    fn allocate(
        &mut self,
        layout: LayoutRef<'_>,
        dtype: DType,
        contents: Contents,
        replaceable: u32,
    ) -> Result<*mut u8, Failure> {
        self.replaceable.push(replaceable);
        match self.inputs.get(replaceable.trailing_zeros() as usize) {
            Some(input) => Ok(*input),
            None => Ok(self
                .make(layout.shape(), dtype, Device::CPU, contents)?
                .first),
        }
    }

    fn keep(&mut self, made: Made<'_>) {
        self.settled = Settled::of(made);
    }
}

/// Returns an operand as a host's, which has no storage.
fn of_host(operand: Operand<'_>) -> Operand<'_> {
    Operand {
        storage: None,
        ..operand
    }
}

fn subtract(a: Source<'_, i32>, b: Source<'_, i32>, out: Target<'_, i32>) {
    out.zip(&a, &b, |a, b| a - b);
}

/// Returns a call of `subtract` of shapes that was made once.
fn settled(op: Op, shapes: [&[usize]; 2]) -> (Settled, Replacing) {
    let kernel = Kernel::new("subtract").fills_results().function(subtract);
    settled_by(kernel, op, shapes)
}

/// Returns a call of a kernel of `subtract` that was made once.
fn settled_by(kernel: Kernel, op: Op, shapes: [&[usize]; 2]) -> (Settled, Replacing) {
    let registry = Registry::new();
    let op = op.input("a", "T").input("b", "T").output("out", "T");
    registry.define(op.broadcasts()).unwrap();
    registry.register(kernel).unwrap();
    let handle = registry.op("subtract").unwrap();
    let inputs = shapes.map(|shape| Tensor::zeros(shape, DType::I32).unwrap());
    let frame = Frame {
        handle: &handle,
        present: 0b11,
        attributes: handle.defaults().unwrap(),
        label: "",
        threads: 0,
    };
    let mut host = Replacing::default();
    let mut operands: Operands<'_> = inputs
        .iter()
        // SAFETY: the tensors outlive the operands, and no other code uses them.
        .map(|tensor| of_host(unsafe { Operand::of_new(tensor) }))
        .chain([Operand::ABSENT])
        .collect();
    frame.run(&mut operands, &mut host).unwrap();
    (host.settled.take().unwrap(), host)
}

/// Makes the call again with two places of five numbers, and returns the numbers then, and the
/// inputs that could be replaced.
fn again(settled: &mut Settled, host: &mut Replacing, places: [usize; 2]) -> (Vec<i32>, u32) {
    let mut numbers: Vec<i32> = (1..=5).map(|at| at * at).collect();
    let first = numbers.as_mut_ptr();
    // SAFETY: the places are below five.
    host.inputs = places.map(|at| unsafe { first.add(at) }.cast()).to_vec();
    let firsts = host.inputs.clone();
    // SAFETY: there are numbers of both inputs, which no other code uses.
    let outcome = unsafe { settled.run(&firsts, host) };
    outcome.unwrap().unwrap();
    (numbers, host.replaceable.pop().unwrap())
}

fn in_place() -> Op {
    Op::new("subtract")
        .in_place("out", "a")
        .in_place("out", "b")
}

#[test]
fn result_replaces_input_that_is_apart_from_others() {
    let (mut call, mut host) = settled(in_place(), [&[2], &[2]]);
    let apart = again(&mut call, &mut host, [0, 2]);
    assert_eq!(apart, (vec![1 - 9, 4 - 16, 9, 16, 25], 0b11));
    let overlap = again(&mut call, &mut host, [0, 1]);
    assert_eq!(overlap, (vec![1, 4, 9, 16, 25], 0));
    assert_eq!(
        host.results.last().unwrap().to_vec::<i32>().unwrap(),
        [-3, -5]
    );
    assert_eq!(again(&mut call, &mut host, [2, 2]).1, 0);
}

#[test]
fn result_replaces_inputs_of_its_shape_alone() {
    let (mut call, mut host) = settled(in_place(), [&[1], &[2]]);
    let made = again(&mut call, &mut host, [0, 2]);
    assert_eq!(made, (vec![1, 4, 1 - 9, 1 - 16, 25], 0b10));
}

#[test]
fn result_replaces_no_input_unless_the_op_allows_it() {
    let (mut call, mut host) = settled(Op::new("subtract"), [&[2], &[2]]);
    assert_eq!(again(&mut call, &mut host, [0, 2]).1, 0);
}

#[test]
fn result_replaces_no_input_of_any_alignment() {
    let second = |_: DeviceSource<'_>, b: Source<'_, i32>, out: Target<'_, i32>| out.map(&b, |b| b);
    let kernel = Kernel::new("subtract").fills_results().function(second);
    let (mut call, mut host) = settled_by(kernel, in_place(), [&[2], &[2]]);
    assert_eq!(again(&mut call, &mut host, [0, 2]).1, 0b10);
}

#[test]
fn arguments_are_alone_if_no_other_overlaps() {
    let tensors = [(); 2].map(|()| Tensor::zeros(&[2], DType::I32).unwrap());
    let operands = [0, 1, 0].map(|at| Operand::read(&tensors[at]));
    assert_eq!(are_alone(0b11, &operands[..2]), 0b11);
    assert_eq!(are_alone(0b111, &operands), 0b10);
    assert_eq!(are_alone(0b1, &operands), 0);
}

#[test]
fn result_replaces_no_input_when_it_is_cleared_before() {
    let kernel = Kernel::new("subtract").function(subtract);
    let (mut call, mut host) = settled_by(kernel, in_place(), [&[2], &[2]]);
    assert_eq!(again(&mut call, &mut host, [0, 2]).1, 0);
}
