//! Kernels for `MatMul` in our registry: one for each element type on a device, looked up by
//! TensorFlow's rules.
//!
//! Run it with `cargo run --example tensorflow_matmul --features tensorflow,kernels`.
//!
//! | TensorFlow | here |
//! |---|---|
//! | `REGISTER_OP("MatMul")` | [`Op::new`] |
//! | `.Input("a: T")` | `input` |
//! | `.Attr("transpose_a: bool = false")` | `attribute` |
//! | `Name("MatMul")` | [`Kernel::new`] |
//! | `.Device(DEVICE_CPU)` | `on(DeviceKind::Cpu)` |
//! | `.TypeConstraint<float>("T")` | the function's signature, or `types("T", &[DType::F32])` |
//! | `.Label("naive")`, `.Priority(1)` | `label`, `priority` |
//! | the kernel's constructor reads attributes | `factory`, once for each set of attributes |
//!
//! The rules are the same: a kernel matches if its device, its label and all of its type
//! constraints do; of several, the highest priority wins; two of one priority are an error. Here
//! that error comes when the second is registered, in TensorFlow at the first call that both match.

use dlbridge::kernel::{AttributeKind, Kernel, KernelContext, Op, Registry};
use dlbridge::tensorflow::{Context, EagerTensor, Operation, TensorFlow};
use dlbridge::{DType, DeviceKind, Element, Tensor, View, ViewMut};
use std::error::Error;
use std::ops::{Add, Mul};

/// Runs the example.
pub(crate) fn run(tensorflow: TensorFlow) -> Result<(), Box<dyn Error>> {
    let registry = registry()?;
    let op = registry.op("MatMul")?;
    for kernel in op.kernels() {
        println!("{}", kernel.description);
    }

    // The kernel for float32, and what TensorFlow's own computes of the same memory.
    let a = Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
    let ours = op
        .call()
        .input(&a)
        .input(&a)
        .attribute("transpose_b", true)
        .make()?;
    let context = Context::new(tensorflow)?;
    let shared = EagerTensor::from_tensor(&context, &a)?;
    let theirs = Operation::new(&context, "MatMul")?
        .input(&shared)?
        .input(&shared)?;
    let theirs = theirs
        .attribute("transpose_b", true)?
        .run_one()?
        .to_tensor()?;
    assert_eq!(ours.to_vec::<f32>()?, theirs.to_vec::<f32>()?);
    println!("{ours}");

    // The type constraint selects the kernel: there is one for float64, and none for int32.
    let doubles = Tensor::from([[1.0_f64, 2.0], [3.0, 4.0]]);
    let product = op.call().input(&doubles).input(&doubles).make()?;
    assert_eq!(product.to_vec::<f64>()?, [7.0, 10.0, 15.0, 22.0]);
    let integers = Tensor::from([[1_i32, 2], [3, 4]]);
    let error = op
        .call()
        .input(&integers)
        .input(&integers)
        .make()
        .unwrap_err();
    println!("{error}");

    // A label is requested by name; a second kernel that matches equally well is refused.
    let zeros = op
        .call()
        .input(&a)
        .input(&a)
        .attribute("transpose_b", true)
        .label("zeros");
    assert_eq!(zeros.make()?.to_vec::<f32>()?, [0.0; 4]);
    println!("{}", registry.register(kernel::<f32>()).unwrap_err());
    // With a higher priority it is taken instead.
    registry.register(zeros_kernel().priority(1))?;
    let replaced = op
        .call()
        .input(&a)
        .input(&a)
        .attribute("transpose_b", true)
        .make()?;
    assert_eq!(replaced.to_vec::<f32>()?, [0.0; 4]);
    Ok(())
}

fn registry() -> Result<Registry, Box<dyn Error>> {
    let registry = Registry::new();
    registry.define(
        Op::new("MatMul")
            .input("a", "T")
            .input("b", "T")
            .output("product", "T")
            .attribute("transpose_a", AttributeKind::Bool, Some(false.into()))
            .attribute("transpose_b", AttributeKind::Bool, Some(false.into()))
            .shapes(|context| {
                let turned = |name, turn: bool| match (context.shape(name), turn) {
                    ([rows, columns], false) | ([columns, rows], true) => Ok([*rows, *columns]),
                    (shape, _) => Err(format!("expected a matrix, got shape {shape:?}")),
                };
                let a = turned("a", context.attribute("transpose_a")?)?;
                let b = turned("b", context.attribute("transpose_b")?)?;
                match a[1] == b[0] {
                    true => Ok(vec![vec![a[0], b[1]]]),
                    false => Err(format!("shapes {a:?} and {b:?} can't be multiplied").into()),
                }
            }),
    )?;
    // One line for each type, as a macro does it in TensorFlow.
    registry.register(kernel::<f32>())?;
    registry.register(kernel::<f64>())?;
    registry.register(zeros_kernel().label("zeros"))?;
    Ok(registry)
}

/// The kernel for one element type.
fn kernel<T: Element + Add<Output = T> + Mul<Output = T> + Default>() -> Kernel {
    let factory = |context: &KernelContext<'_>| {
        // The attributes are read once, and kept for all calls with the same ones.
        let turn_a: bool = context.attribute("transpose_a")?;
        let turn_b: bool = context.attribute("transpose_b")?;
        Ok(
            move |a: View<'_, T>, b: View<'_, T>, mut product: ViewMut<'_, T>| {
                let at = |x: &View<'_, T>, i, j, turn| if turn { x[[j, i]] } else { x[[i, j]] };
                let inner = a.shape()[usize::from(!turn_a)];
                let [rows, columns] = [product.shape()[0], product.shape()[1]];
                for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                    let terms = (0..inner).map(|k| at(&a, i, k, turn_a) * at(&b, k, j, turn_b));
                    product[[i, j]] = terms.fold(T::default(), Add::add);
                }
            },
        )
    };
    Kernel::new("MatMul")
        .on(DeviceKind::Cpu)
        .types("T", &[T::DTYPE])
        .factory(factory)
}

/// A kernel that computes nothing, so that it is seen which one was taken.
fn zeros_kernel() -> Kernel {
    let fill = |_: View<'_, f32>, _: View<'_, f32>, mut product: ViewMut<'_, f32>| {
        product.fill(0.0);
    };
    Kernel::new("MatMul")
        .on(DeviceKind::Cpu)
        .types("T", &[DType::F32])
        .function(fill)
}

// Tests include this file, and call `run`.
#[cfg(not(test))]
fn main() -> Result<(), Box<dyn Error>> {
    run(TensorFlow::load()?)
}
