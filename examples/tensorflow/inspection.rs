//! The way from a `TF_Tensor` to its elements, printed as a table; and the codes of element types.
//!
//! Run it with `cargo run --example tensorflow_inspection --features tensorflow`.

use dlbridge::Tensor;
use dlbridge::tensorflow::{DataType, TensorFlow, TfTensor, inspect};
use std::error::Error;

/// Runs the example.
pub(crate) fn run(tensorflow: TensorFlow) -> Result<(), Box<dyn Error>> {
    let shapes: [&[usize]; 3] = [&[2, 3], &[1, 70_000], &[1, 2, 1, 2, 1, 2, 1]];
    for shape in shapes {
        let ours = Tensor::zeros(shape, dlbridge::DType::F32)?;
        let theirs = TfTensor::from_tensor(tensorflow, &ours)?;
        // SAFETY: the library is a release of TensorFlow, as Python's package has it.
        let inspection = unsafe { inspect(&theirs) }?;
        assert_eq!(inspection.data, ours.data_ptr().addr());
        println!("{inspection}");
    }
    for data_type in DataType::all() {
        match data_type.dtype() {
            Ok(dtype) => println!("{:>2}  {data_type:<22} {dtype}", data_type.code()),
            Err(_) => println!("{:>2}  {data_type:<22} none", data_type.code()),
        }
    }
    Ok(())
}

// Tests include this file, and call `run`.
#[cfg(not(test))]
fn main() -> Result<(), Box<dyn Error>> {
    run(TensorFlow::load()?)
}
