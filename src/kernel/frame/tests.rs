//! What results contain that a call makes.

use super::*;
use crate::kernel::{Kernel, Op, OpHandle, Registry};
use crate::tensor::Tensor;
use crate::view::{View, ViewMut};

/// Makes a result as calls from Rust do, and appends it to a list.
///
/// # Safety
///
/// The list is kept as long as the operand is used, and no other code uses the tensors in it.
pub(super) unsafe fn make_in<'a>(
    list: &mut Vec<Tensor>,
    shape: &[usize],
    dtype: DType,
    device: Device,
    contents: Contents,
) -> Result<Operand<'a>, Failure> {
    let tensor = crate::kernel::call::make(shape, dtype, device, contents)?;
    // SAFETY: the tensor is new, and kept as this function requires.
    let operand = unsafe { Operand::of_new(&tensor) };
    list.push(tensor);
    Ok(operand)
}

/// Makes results as calls from Rust do, and registers a kernel once the first is made.
struct Registering<'r> {
    registry: &'r Registry,
    kernel: Option<Kernel>,
    results: Vec<Tensor>,
}

// SAFETY: the tensors are new, and kept.
unsafe impl CallHost for Registering<'_> {
    fn make<'a>(
        &mut self,
        shape: &[usize],
        dtype: DType,
        device: Device,
        contents: Contents,
    ) -> Result<Operand<'a>, Failure> {
        // SAFETY: the list is this host's, which is dropped after the call.
        let operand = unsafe { make_in(&mut self.results, shape, dtype, device, contents) }?;
        if let Some(kernel) = self.kernel.take() {
            self.registry.register(kernel).unwrap();
        }
        Ok(operand)
    }
}

fn nothing(_: View<'_, u8>, _: ViewMut<'_, u8>, _: ViewMut<'_, u16>) {}

fn kernel() -> Kernel {
    Kernel::new("nothing")
}

fn op() -> Op {
    let op = Op::new("nothing").input("x", "T").output("y", "T");
    let op = op.output("z", DType::U16);
    op.shapes(|question| Ok(vec![question.shape("x").to_vec(), vec![3]]))
}

/// Calls `nothing`, and returns the bytes of both results.
fn bytes_of_results(op: &OpHandle) -> (Vec<u8>, Vec<u16>) {
    let made = op.call().input(&Tensor::from([1_u8; 5])).run().unwrap();
    (made[0].to_vec().unwrap(), made[1].to_vec().unwrap())
}

#[test]
fn results_are_zeros_unless_each_kernel_fills_them() {
    let registry = Registry::new();
    registry.define(op()).unwrap();
    let op = registry.op("nothing").unwrap();
    registry
        .register(kernel().fills_results().function(nothing))
        .unwrap();
    // Debug builds show what no kernel wrote.
    assert_eq!(bytes_of_results(&op), (vec![0xA5; 5], vec![0xA5A5; 3]));

    let other = |_: View<'_, i8>, _: ViewMut<'_, i8>, _: ViewMut<'_, u16>| {};
    registry.register(kernel().function(other)).unwrap();
    assert_eq!(bytes_of_results(&op), (vec![0; 5], vec![0; 3]));
}

#[test]
fn results_are_cleared_for_kernel_registered_meanwhile() {
    let registry = Registry::new();
    registry.define(op()).unwrap();
    let op = registry.op("nothing").unwrap();
    let mut host = Registering {
        registry: &registry,
        kernel: Some(kernel().function(nothing)),
        results: Vec::new(),
    };
    let x = Tensor::from([1_u8; 5]);
    let frame = Frame {
        handle: &op,
        present: 1,
        attributes: &[],
        label: "",
        threads: 0,
    };
    // SAFETY: the tensor outlives the operands.
    let mut operands = unsafe { [Operand::of_new(&x), Operand::ABSENT, Operand::ABSENT] };
    frame.run(&mut operands, &mut host).unwrap();
    assert_eq!(host.results[0].to_vec::<u8>().unwrap(), [0; 5]);
    assert_eq!(host.results[1].to_vec::<u16>().unwrap(), [0; 3]);
}

#[test]
fn results_of_bool_or_packed_elements_are_zeros() {
    let registry = Registry::new();
    registry
        .define(Op::new("nothing").input("x", "T").output("y", DType::BOOL))
        .unwrap();
    let fill = |_: View<'_, u8>, _: ViewMut<'_, bool>| {};
    registry
        .register(kernel().fills_results().function(fill))
        .unwrap();
    let op = registry.op("nothing").unwrap();
    let made = op.call().input(&Tensor::from([1_u8; 5])).run().unwrap();
    assert_eq!(made[0].to_vec::<bool>().unwrap(), [false; 5]);

    assert!(is_any_bits(DType::BF16));
    assert!(!is_any_bits(DType::I4));
}

/// Notes for each call whether other threads may run Python meanwhile.
#[derive(Default)]
struct Noting(Vec<bool>);

// SAFETY: it makes no results.
unsafe impl CallHost for Noting {
    fn make<'a>(
        &mut self,
        _: &[usize],
        _: DType,
        _: Device,
        _: Contents,
    ) -> Result<Operand<'a>, Failure> {
        Err("all results are given".into())
    }

    fn run(
        &mut self,
        releases: bool,
        body: &mut (dyn FnMut() -> Result<(), Failure> + Send),
    ) -> Result<(), Failure> {
        self.0.push(releases);
        body()
    }
}

#[test]
fn calls_like_one_before_release_the_gil_as_that_did() {
    let registry = Registry::new();
    registry
        .define(Op::new("nothing").in_out("x", "T"))
        .unwrap();
    let kernel = |_: ViewMut<'_, u8>| {};
    let kernel = self::kernel().releases_gil_from(10).function(kernel);
    registry.register(kernel).unwrap();
    let op = registry.op("nothing").unwrap();
    let frame = Frame {
        handle: &op,
        present: 1,
        attributes: op.defaults().unwrap(),
        label: "",
        threads: 0,
    };
    let (small, large) = (Tensor::from([1_u8; 5]), Tensor::from([1_u8; 20]));
    let mut host = Noting::default();
    for _ in 0..4 {
        for tensor in [&small, &large] {
            // SAFETY: the tensor outlives the operands, and no other code uses it.
            let mut operands = unsafe { [Operand::of_new(tensor)] };
            frame.run(&mut operands, &mut host).unwrap();
        }
    }
    assert_eq!(host.0, [false, true].repeat(4));
}
