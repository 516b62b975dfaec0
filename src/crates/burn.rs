//! The crate `burn`: its `TensorData`, which every backend makes tensors of.
//!
//! A vector is moved into the data, and out of it by the backend `NdArray`. Memory of other owners
//! is lent to the data: `NdArray` reads it where it is, and copies it before it writes.
//!
//! ```
//! use burn_std::TensorData;
//! use dlbridge::Tensor;
//!
//! let data = TensorData::try_from(Tensor::from(vec![1.0_f32, 2.0, 3.0]))?;
//! assert_eq!(data.as_slice::<f32>().unwrap(), [1.0, 2.0, 3.0]);
//! let tensor = Tensor::try_from(data)?; // the same memory again
//! # assert_eq!(tensor.shape(), [3]);
//! # Ok::<(), dlbridge::Error>(())
//! ```

use super::TakeError;
use crate::dtype::{DType, Element};
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::storage::Storage;
use crate::tensor::Tensor;
use burn_std::{AllocationProperty, BoolStore, Bytes, DType as BurnType, TensorData};
use half::{bf16, f16};

/// The element types that both have.
macro_rules! dtypes {
    ($($Theirs:pat => $theirs:expr, $OURS:ident: $ty:ty;)*) => {
        /// The tensor owns the data's vector; or the bytes, read-only, if they are others'.
        impl TryFrom<TensorData> for Tensor {
            type Error = Error;

            /// # Errors
            ///
            /// When the data are quantised, or there are more dimensions than a tensor can have.
            fn try_from(data: TensorData) -> Result<Self, Error> {
                let (bytes, shape, dtype) = data.into_parts();
                match dtype {
                    $($Theirs => match bytes.try_into_vec::<$ty>() {
                        Ok(vec) => Self::from_vec(vec, &shape),
                        Err(bytes) => lent(bytes, &shape, DType::$OURS),
                    },)*
                    BurnType::Bool(BoolStore::Native | BoolStore::U8) => {
                        lent(bytes, &shape, DType::BOOL)
                    }
                    other => Err(refused(format!("{other:?}"))),
                }
            }
        }

        /// The data own the tensor's vector, or keep the tensor.
        impl TryFrom<Tensor> for TensorData {
            type Error = TakeError;

            /// # Errors
            ///
            /// When burn has no such element type, or the elements are not on the CPU, or not one
            /// after another.
            fn try_from(tensor: Tensor) -> Result<Self, TakeError> {
                match tensor.dtype() {
                    $(DType::$OURS => data::<$ty>(tensor, $theirs),)*
                    DType::BOOL => data::<bool>(tensor, BurnType::Bool(BoolStore::Native)),
                    other => Err(TakeError::new(tensor, refused(other.to_string()))),
                }
            }
        }
    };
}

dtypes! {
    BurnType::F64 => BurnType::F64, F64: f64;
    BurnType::F32 | BurnType::Flex32 => BurnType::F32, F32: f32;
    BurnType::F16 => BurnType::F16, F16: f16;
    BurnType::BF16 => BurnType::BF16, BF16: bf16;
    BurnType::I64 => BurnType::I64, I64: i64;
    BurnType::I32 => BurnType::I32, I32: i32;
    BurnType::I16 => BurnType::I16, I16: i16;
    BurnType::I8 => BurnType::I8, I8: i8;
    BurnType::U64 => BurnType::U64, U64: u64;
    BurnType::U32 => BurnType::U32, U32: u32;
    BurnType::U16 => BurnType::U16, U16: u16;
    BurnType::U8 => BurnType::U8, U8: u8;
}

/// Creates a tensor that keeps bytes.
fn lent(bytes: Bytes, shape: &[usize], dtype: DType) -> Result<Tensor, Error> {
    /// Bytes that are read where they are.
    struct Read(Bytes);
    impl AsRef<[u8]> for Read {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    Tensor::from_storage(Storage::from_owner::<u8>(Read(bytes)), shape, dtype)
}

/// Creates data of a tensor whose elements lie one after another.
fn data<T: Element + burn_std::Element>(
    tensor: Tensor,
    dtype: BurnType,
) -> Result<TensorData, TakeError> {
    if let Err(error) = tensor.host_slice::<T>() {
        return Err(TakeError::new(tensor, error));
    }
    let taken = tensor.take_vec::<T>().and_then(|taken| taken.into_whole());
    let tensor = match taken {
        Ok((vec, layout)) => return Ok(TensorData::new(vec, layout.shape())),
        Err((tensor, _)) => tensor,
    };
    let shape = tensor.shape().to_vec();
    let bytes = bytes::Bytes::from_owner(Kept::<T>(tensor, std::marker::PhantomData));
    let bytes = Bytes::from_shared(bytes, AllocationProperty::Other);
    Ok(TensorData::from_bytes(bytes, shape, dtype))
}

/// A tensor of elements that were looked at, as bytes.
struct Kept<T>(Tensor, std::marker::PhantomData<T>);

impl<T: Element> AsRef<[u8]> for Kept<T> {
    fn as_ref(&self) -> &[u8] {
        let elements = self.0.host_slice::<T>().expect("it was checked");
        // SAFETY: elements have no padding, so that each is as many initialised bytes.
        unsafe { std::slice::from_raw_parts(elements.as_ptr().cast(), size_of_val(elements)) }
    }
}

#[cold]
fn refused(found: String) -> Error {
    let wanted = "an element type that both burn and DLPack have";
    Incompatibility::new(IncompatibilityKind::DType, found, wanted).into()
}
