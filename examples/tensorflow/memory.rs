//! NumPy's memory in a tensor of TensorFlow, and Rust's: both directions, proven by writing.
//!
//! Run it with `cargo run --example tensorflow_memory --features tensorflow,python`. It embeds a
//! Python with NumPy; TensorFlow's Python package is never imported, only its library is loaded.

use dlbridge::Tensor;
use dlbridge::tensorflow::{Context, EagerTensor, Operation, TensorFlow, TfTensor};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::error::Error;

/// Runs the example.
pub(crate) fn run(tensorflow: TensorFlow) -> Result<(), Box<dyn Error>> {
    let context = Context::new(tensorflow)?;
    rust_memory(&context)?;
    Python::initialize();
    Python::attach(|py| numpy_memory(py, &context))?;
    println!("every write was seen on the other side");
    Ok(())
}

/// Rust's memory in TensorFlow, and TensorFlow's in Rust.
fn rust_memory(context: &Context) -> Result<(), Box<dyn Error>> {
    // `from_slice` allocates memory that is aligned to 64 bytes; memory that isn't would be
    // refused.
    let ours = Tensor::from_slice(&[1.0_f32, 2.0, 3.0], &[3])?;
    let theirs = TfTensor::from_tensor(context.tensorflow(), &ours)?;
    assert_eq!(theirs.data_ptr(), ours.data_ptr());

    // Rust writes, and TensorFlow computes with what was written.
    // SAFETY: nothing else uses the memory now.
    unsafe { ours.data_ptr().cast_mut().cast::<f32>().write(10.0) };
    let negated = negate(context, &EagerTensor::from_tf_tensor(context, &theirs)?)?;
    assert_eq!(negated.to_vec::<f32>()?, [-10.0, -2.0, -3.0]);

    // TensorFlow's result is in memory that TensorFlow allocated, which the tensor keeps.
    println!(
        "Rust's memory in TensorFlow: {ours} at {:p}",
        ours.data_ptr()
    );
    println!(
        "TensorFlow's memory in Rust: {negated} at {:p}",
        negated.data_ptr()
    );
    Ok(())
}

/// NumPy's memory in TensorFlow, and TensorFlow's in NumPy.
fn numpy_memory(py: Python<'_>, context: &Context) -> Result<(), Box<dyn Error>> {
    let names = PyDict::new(py);
    // NumPy aligns to 16 bytes, so the part of a larger array is used that begins at a multiple of
    // 64.
    let program = c"import numpy as np\n\
        room = np.zeros(3 + 16, np.float32)\n\
        start = -room.ctypes.data % 64 // 4\n\
        array = room[start:start + 3]\n\
        array[:] = [1, 2, 3]";
    py.run(program, None, Some(&names))?;
    let array = names.get_item("array")?.ok_or("no array")?;
    let shared: Tensor = array.extract().map_err(PyErr::from)?;
    let theirs = EagerTensor::from_tensor(context, &shared)?;

    // Python writes, and TensorFlow computes with what was written.
    py.run(c"array[0] = 20", None, Some(&names))?;
    let negated = negate(context, &theirs)?;
    assert_eq!(negated.to_vec::<f32>()?, [-20.0, -2.0, -3.0]);
    println!(
        "NumPy's memory in TensorFlow: {shared} at {:p}",
        shared.data_ptr()
    );

    // TensorFlow's memory in NumPy: what is written here, through its address, Python sees.
    let address = negated.data_ptr().cast_mut().cast::<f32>();
    names.set_item("result", negated)?;
    py.run(c"view = np.from_dlpack(result)", None, Some(&names))?;
    // SAFETY: the memory is that of a result that only this program has, and lives as long as the
    // view.
    unsafe { address.write(7.0) };
    py.run(
        c"assert view.tolist() == [7, -2, -3], view",
        None,
        Some(&names),
    )?;
    println!(
        "TensorFlow's memory in NumPy: {}",
        names.get_item("view")?.ok_or("no view")?
    );
    Ok(())
}

fn negate(context: &Context, tensor: &EagerTensor) -> Result<Tensor, Box<dyn Error>> {
    let negated = Operation::new(context, "Neg")?.input(tensor)?.run_one()?;
    Ok(negated.to_tensor()?)
}

// Tests include this file, and call `run`.
#[cfg(not(test))]
fn main() -> Result<(), Box<dyn Error>> {
    run(TensorFlow::load()?)
}
