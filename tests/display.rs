//! `Display` and `Debug` of tensors.

#[path = "display/any_tensor.rs"]
mod any_tensor;
#[path = "display/arrangement.rs"]
mod arrangement;
#[path = "display/numbers.rs"]
mod numbers;

use dlbridge::{DType, Storage, Tensor};

#[track_caller]
fn check(tensor: &Tensor, display: &str, debug: &str) {
    assert_eq!(tensor.to_string(), display);
    assert_eq!(format!("{tensor:?}"), format!("Tensor({debug})"));
}

/// A tensor of those bytes.
fn packed<const N: usize>(bytes: [u8; N], shape: &[usize], dtype: DType) -> Tensor {
    Tensor::from_storage(Storage::from_vec(bytes.to_vec()), shape, dtype).unwrap()
}
