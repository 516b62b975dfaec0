//! Ops of each kind of attribute and result, and kernels that go wrong.

use dlbridge::kernel::{
    AttributeKind, ElementType, Failure, Kernel, KernelContext, Op, Source, Target, UntypedMut,
};
use dlbridge::{DType, View, ViewMut, register_kernel, register_op};
use half::f16;
use num_complex::Complex;
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;

/// Has `dlbridge.ops` know them.
#[pyfunction]
fn publish_ops(py: Python<'_>) -> PyResult<()> {
    dlbridge::python::publish_ops(py)
}

register_op!(
    Op::new("testing.kinds")
        .doc("Gives back what its attributes say.")
        .input("x", ElementType::Any)
        .output("numbers", DType::F64)
        .output("typed", ElementType::Attribute("dtype".into()))
        .attribute("flag", AttributeKind::Bool, None)
        .attribute("count", AttributeKind::Int, Some((-3_i64).into()))
        .attribute("factor", AttributeKind::Float, Some(f64::INFINITY.into()))
        .attribute("text", AttributeKind::Text, Some("it's \u{301}\n".into()))
        .attribute("dtype", AttributeKind::DType, Some(DType::U8.into()))
        .shapes(|_| Ok(vec![vec![4], vec![2]]))
);
register_kernel!(
    Kernel::new("testing.kinds").factory(|context: &KernelContext<'_>| {
        let numbers = [
            f64::from(context.attribute::<bool>("flag")?),
            context.attribute::<i64>("count")? as f64,
            context.attribute("factor")?,
            context.attribute::<String>("text")?.chars().count() as f64,
        ];
        Ok(
            move |_: dlbridge::kernel::Untyped<'_>, out: &mut [f64], _: UntypedMut<'_>| {
                out.copy_from_slice(&numbers);
            },
        )
    })
);

register_op!(
    Op::new("testing.addresses")
        .doc("Gives back where the kernel found its tensors.")
        .input("x", DType::F32)
        .output("y", DType::I64)
        .shapes(|_| Ok(vec![vec![2]]))
);
register_kernel!(Kernel::new("testing.addresses").function(addresses));

fn addresses(x: View<'_, f32>, y: &mut [i64]) {
    let own = y.as_ptr().addr() as i64;
    y.copy_from_slice(&[x.as_ptr().addr() as i64, own]);
}

register_op!(
    Op::new("testing.panics")
        .input("x", "T")
        .output("y", "T")
        .in_place("y", "x")
        .elementwise()
);
register_kernel!(
    Kernel::new("testing.panics")
        .releases_gil_from(100)
        .function(panics)
);

fn panics(x: Source<'_, f32>, y: Target<'_, f32>) {
    y.map(&x, |x| {
        if x < 0.0 {
            panic!("{x} is negative")
        } else {
            x
        }
    });
}

register_op!(
    Op::new("testing.raises")
        .input("x", DType::F16)
        .in_out("y", DType::BOOL)
);
register_kernel!(
    Kernel::new("testing.raises")
        .releases_gil_from(100)
        .function(raises)
);

/// Raises an exception of Python's where `x` is more than 1.
fn raises(x: View<'_, f16>, mut y: ViewMut<'_, bool>) -> Result<(), Failure> {
    y.iter_mut().for_each(|y| *y = !*y);
    match x.iter().find(|x| **x > f16::ONE) {
        Some(x) => Err(PyKeyError::new_err(x.to_f32()).into()),
        None => Ok(()),
    }
}

register_op!(
    Op::new("testing.fails")
        .input("x", DType::F32)
        .output("y", DType::F32)
);
register_kernel!(Kernel::new("testing.fails").function(fails));

fn fails(x: View<'_, f32>, _: ViewMut<'_, f32>) -> Result<(), String> {
    Err(format!("{} are too many", x.len()))
}

register_op!(
    Op::new("testing.product")
        .doc("Multiplies complex numbers.")
        .input("a", "T")
        .input("b", "T")
        .output("y", "T")
        .elementwise()
        .sizes("a[s...], b[s...] -> y[s...]")
        .gradient("a", "testing.product(dy, b)")
        .gradient("b", "testing.product(dy, a)")
);
register_kernel!(Kernel::new("testing.product").function(product));

fn product(a: View<'_, Complex<f32>>, b: View<'_, Complex<f32>>, mut y: ViewMut<'_, Complex<f32>>) {
    for ((y, a), b) in y.iter_mut().zip(&a).zip(&b) {
        *y = a * b;
    }
}

register_op!(
    Op::new("testing.total")
        .doc("Adds up tensors.")
        .variadic_input("xs", "T")
        .output("y", "T")
        .elementwise()
        .sizes("xs[s...] -> y[s...]")
        .gradient("xs", "dy")
);
register_kernel!(Kernel::new("testing.total").function(total));

fn total(xs: Vec<View<'_, f32>>, mut y: ViewMut<'_, f32>) {
    y.iter_mut().for_each(|y| *y = 0.0);
    for x in &xs {
        y.iter_mut().zip(x).for_each(|(y, x)| *y += x);
    }
}

register_op!(
    Op::new("testing.both")
        .doc("Adds and subtracts.")
        .input("a", "T")
        .input("b", "T")
        .output("sum", "T")
        .output("difference", "T")
        .elementwise()
        .sizes("a[s...], b[s...] -> sum[s...], difference[s...]")
        .gradient("a", "add(dsum, ddifference)")
        .gradient("b", "subtract(dsum, ddifference)")
);
register_kernel!(Kernel::new("testing.both").function(both));

fn both(
    a: View<'_, f32>,
    b: View<'_, f32>,
    mut sum: ViewMut<'_, f32>,
    mut difference: ViewMut<'_, f32>,
) {
    for ((sum, difference), (a, b)) in sum
        .iter_mut()
        .zip(difference.iter_mut())
        .zip(a.iter().zip(&b))
    {
        (*sum, *difference) = (a + b, a - b);
    }
}

register_op!(
    Op::new("testing.guided")
        .doc("Copies. Its gradient calls an op without a gradient.")
        .input("x", "T")
        .output("y", "T")
        .elementwise()
        .gradient("x", "relu(dy)")
);
register_kernel!(Kernel::new("testing.guided").function(guided));

fn guided(x: View<'_, f32>, mut y: ViewMut<'_, f32>) {
    y.iter_mut().zip(&x).for_each(|(y, x)| *y = *x);
}

// Dtypes that frameworks lack.
register_op!(
    Op::new("testing.rare_default")
        .input("x", DType::F32)
        .output("y", ElementType::Attribute("dtype".into()))
        .attribute("dtype", AttributeKind::DType, Some(DType::F8_E3M4.into()))
        .elementwise()
);
register_op!(
    Op::new("testing.rare_input")
        .input("x", DType::F32)
        .input("y", DType::F8_E3M4)
        .output("z", DType::F32)
        .elementwise()
);

pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(publish_ops, module)?)
}
