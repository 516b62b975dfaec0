//! Alternatives to swapping the data pointer inside a TensorFlow tensor.
//!
//! Run it with `cargo run --example tensorflow_replace --features tensorflow`.
//!
//! The pointer is a `const` member of a buffer that other tensors may share: a swap would change
//! all of them, leave the new memory without an owner, and have the old memory's deallocator called
//! with the new address. There are three ways to the same end, none of which needs a word of
//! TensorFlow's structs.

use dlbridge::Tensor;
use dlbridge::tensorflow::{Context, EagerTensor, Operation, TensorFlow, TfTensor};
use std::error::Error;

/// Runs the example.
pub(crate) fn run(tensorflow: TensorFlow) -> Result<(), Box<dyn Error>> {
    let context = Context::new(tensorflow)?;

    // 1. Another tensor over the other memory: a fraction of a microsecond, and no element is
    //    copied. The tensor before it, and all that share its memory, stay as they are.
    let (one, two) = (Tensor::full(&[4], 1.0_f32)?, Tensor::full(&[4], 2.0_f32)?);
    let mut current = EagerTensor::from_tensor(&context, &one)?;
    assert_eq!(doubled(&context, &current)?.to_vec::<f32>()?, [2.0; 4]);
    current = EagerTensor::from_tensor(&context, &two)?;
    assert_eq!(doubled(&context, &current)?.to_vec::<f32>()?, [4.0; 4]);
    println!(
        "another tensor: {:p}, then {:p}",
        one.data_ptr(),
        two.data_ptr()
    );

    // 2. Other elements in the same memory, which is ours: every tensor that shares it sees them.
    let room = Tensor::full(&[4], 1.0_f32)?;
    let shared = EagerTensor::from_tensor(&context, &room)?;
    for value in [3.0, 5.0] {
        // SAFETY: TensorFlow computes nothing now, and no view of the tensor exists.
        unsafe {
            let first = room.data_ptr().cast_mut().cast::<f32>();
            (0..room.len()).for_each(|i| first.add(i).write(value));
        }
        assert_eq!(
            doubled(&context, &shared)?.to_vec::<f32>()?,
            [2.0 * value; 4]
        );
    }
    println!("other elements: both at {:p}", room.data_ptr());

    // 3. A ring of buffers, each with its tensor, made once: the producer fills the next while
    //    TensorFlow reads the last.
    let ring: Vec<_> = (0..3)
        .map(|i| Tensor::full(&[4], i as f32))
        .collect::<Result<_, _>>()?;
    let tensors: Vec<_> = ring
        .iter()
        .map(|buffer| TfTensor::from_tensor(tensorflow, buffer))
        .collect::<Result<_, _>>()?;
    for step in 0..6 {
        let turn = EagerTensor::from_tf_tensor(&context, &tensors[step % 3])?;
        assert_eq!(
            doubled(&context, &turn)?.to_vec::<f32>()?,
            [2.0 * (step % 3) as f32; 4]
        );
    }
    println!(
        "a ring of buffers: {:?}",
        ring.iter().map(Tensor::data_ptr).collect::<Vec<_>>()
    );
    Ok(())
}

fn doubled(context: &Context, x: &EagerTensor) -> Result<Tensor, Box<dyn Error>> {
    let sum = Operation::new(context, "AddV2")?
        .input(x)?
        .input(x)?
        .run_one()?;
    Ok(sum.to_tensor()?)
}

// Tests include this file, and call `run`.
#[cfg(not(test))]
fn main() -> Result<(), Box<dyn Error>> {
    run(TensorFlow::load()?)
}
