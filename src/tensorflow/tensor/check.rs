//! Check, before the call, whether TensorFlow will share a tensor's memory.

use super::super::dtype::DataType;
use super::super::library::TensorFlow;
use crate::device::Device;
use crate::error::{Incompatibility, IncompatibilityKind as Kind};
use crate::tensor::Tensor;

/// The alignment of memory that TensorFlow shares, in bytes. It copies other memory, or aborts the
/// process at the first op if it came by DLPack.
pub const ALIGNMENT: usize = 64;

/// Returns the element type if TensorFlow shares the memory. `copy_to` of the error says whether it
/// would take a copy.
pub(crate) fn check(tensorflow: TensorFlow, tensor: &Tensor) -> Result<DataType, Incompatibility> {
    let dtype = tensor.dtype();
    let data_type = DataType::from_dtype(dtype)?;
    // SAFETY: the function takes any number.
    let size = unsafe { (tensorflow.functions().TF_DataTypeSize)(data_type.code()) };
    if size == 0 {
        let version = tensorflow.version_text();
        let wanted = format!("an element type of TensorFlow {version}");
        let error = Incompatibility::new(Kind::DType, dtype.to_string(), wanted);
        return Err(error.with_remedy("cast it first, or use a newer TensorFlow"));
    }
    if dtype.is_sub_byte() && !tensor.is_padded() && !tensor.is_empty() {
        let (found, wanted) = (format!("packed {dtype}"), format!("padded {dtype}"));
        let error = Incompatibility::new(Kind::Padding, found, wanted);
        return Err(error.with_remedy("TensorFlow stores each element in a byte; unpack it first"));
    }
    if tensor.device() != Device::CPU {
        let device = tensor.device().to_string();
        let error = Incompatibility::new(Kind::Device, device, "cpu").with_copy_to(Device::CPU);
        return Err(error.with_remedy("copy it to the host first"));
    }
    if !tensor.layout().is_contiguous() {
        let layout = tensor.layout();
        let found = format!("shape {:?}, strides {:?}", layout.shape(), layout.strides());
        let error = Incompatibility::new(Kind::Layout, found, "row-major elements");
        return Err(error.with_copy_to(Device::CPU).with_remedy("copy it first"));
    }
    let address = tensor.data_ptr().addr();
    if !tensor.is_empty() && !address.is_multiple_of(ALIGNMENT) {
        return Err(misaligned(address));
    }
    Ok(data_type)
}

#[cold]
pub(super) fn misaligned(address: usize) -> Incompatibility {
    let found = format!(
        "address {address:#x}, {} bytes past one",
        address % ALIGNMENT
    );
    let wanted = format!("an address aligned to {ALIGNMENT} bytes");
    Incompatibility::new(Kind::Alignment, found, wanted)
        .with_copy_to(Device::CPU)
        .with_remedy("copy it first: Tensor::copy and Tensor::from_slice align to 64")
}
