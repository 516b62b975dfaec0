//! Tensors in files and messages: what is shared, what is copied, what is written, and what is
//! refused.

#[path = "support/cases.rs"]
mod cases;
#[path = "files/errors.rs"]
mod errors;
#[cfg(target_os = "linux")]
#[path = "files/exhausted_memory.rs"]
mod exhausted_memory;
#[path = "files/external.rs"]
mod external;
#[path = "files/fields.rs"]
mod fields;
#[path = "files/hostile_messages.rs"]
mod hostile_messages;
#[path = "files/huge.rs"]
mod huge;
#[path = "files/messages.rs"]
mod messages;
#[path = "files/npy.rs"]
mod npy;
#[path = "files/npz.rs"]
mod npz;
#[path = "files/options.rs"]
mod options;
#[path = "files/replacing.rs"]
mod replacing;
#[path = "files/round_trips.rs"]
mod round_trips;
#[path = "files/safetensors.rs"]
mod safetensors;
#[path = "files/sharing.rs"]
mod sharing;

use dlbridge::files::{FileError, Format, SaveOptions, TensorFile};
use dlbridge::{DType, Tensor};

/// Returns a tensor whose bytes are 1, 2, 3, ..., and of bools 1, 0, 1, ...
fn numbered(shape: &[usize], dtype: DType) -> Tensor {
    let count: usize = shape.iter().product();
    let bytes = dtype.packed_bytes(count).unwrap();
    let modulus = if dtype == DType::BOOL { 2 } else { 251 };
    let bytes: Vec<u8> = (1..=bytes).map(|i| (i % modulus) as u8).collect();
    let storage = dlbridge::Storage::from_vec(bytes);
    let tensor = Tensor::from_storage(storage, shape, dtype).unwrap();
    // In memory that is aligned, and where the bits behind the last element are 0.
    tensor.copy().unwrap()
}

/// Returns the bytes of a file with one tensor.
fn written(format: Format, tensor: &Tensor) -> Result<Vec<u8>, FileError> {
    SaveOptions::new(format).to_bytes(&[("x", tensor)])
}

/// Returns the only tensor of bytes.
fn only(bytes: Vec<u8>, format: Format) -> Result<Tensor, FileError> {
    let file = TensorFile::from_bytes(bytes, format)?;
    assert_eq!(file.len(), 1);
    let name = file.iter().next().unwrap().name().to_owned();
    file.tensor(&name)
}

/// Returns the bytes of all elements in row-major order.
fn bytes_of(tensor: &Tensor) -> Vec<u8> {
    let bytes = tensor.contiguous().unwrap().as_bytes().unwrap();
    bytes.to_vec::<u8>().unwrap()
}

/// Expects an error with exactly this text.
#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, FileError>, text: &str) {
    assert_eq!(result.unwrap_err().to_string(), text);
}
