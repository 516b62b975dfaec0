//! The crate `safetensors`: tensors for it to write, and tensors of what it reads.
//!
//! dlbridge reads and writes these files itself, too: see the feature `files`.
//!
//! ```
//! use dlbridge::{Tensor, crates::safetensors::{Contents, tensors}};
//!
//! let weight = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
//! let file = safetensors::serialize([("weight", Contents::try_from(&weight)?)], None).unwrap();
//! let read = tensors(file)?; // or a file mapped into memory: nothing is copied
//! assert_eq!(read[0].0, "weight");
//! assert_eq!(read[0].1.shape(), [2, 2]);
//! # Ok::<(), dlbridge::Error>(())
//! ```

use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::storage::Storage;
use crate::tensor::Tensor;
use ::safetensors::tensor::TensorView;
use ::safetensors::{Dtype, SafeTensors, View};
use std::borrow::Cow;

/// Both conversions of element types.
macro_rules! dtypes {
    ($($theirs:ident = $ours:ident),* $(,)?) => {
        impl TryFrom<Dtype> for DType {
            type Error = Error;

            /// # Errors
            ///
            /// When a later release of `safetensors` has another element type.
            fn try_from(dtype: Dtype) -> Result<Self, Error> {
                match dtype {
                    $(Dtype::$theirs => Ok(Self::$ours),)*
                    #[allow(unreachable_patterns, reason = "the enum may grow")]
                    other => Err(unknown(format!("{other:?}"), "an element type of DLPack 1.3")),
                }
            }
        }

        impl TryFrom<DType> for Dtype {
            type Error = Error;

            /// # Errors
            ///
            /// When safetensors has no such element type.
            fn try_from(dtype: DType) -> Result<Self, Error> {
                match dtype {
                    $(DType::$ours => Ok(Self::$theirs),)*
                    other => Err(unknown(other.to_string(), "an element type of safetensors")),
                }
            }
        }
    };
}

dtypes! {
    BOOL = BOOL, F4 = F4_E2M1FN, F6_E2M3 = F6_E2M3FN, F6_E3M2 = F6_E3M2FN,
    U8 = U8, I8 = I8, F8_E5M2 = F8_E5M2, F8_E4M3 = F8_E4M3FN, F8_E8M0 = F8_E8M0FNU,
    F8_E4M3FNUZ = F8_E4M3FNUZ, F8_E5M2FNUZ = F8_E5M2FNUZ,
    I16 = I16, U16 = U16, F16 = F16, BF16 = BF16, I32 = I32, U32 = U32, F32 = F32, C64 = C64,
    F64 = F64, I64 = I64, U64 = U64,
}

#[cold]
fn unknown(found: String, wanted: &'static str) -> Error {
    Incompatibility::new(IncompatibilityKind::DType, found, wanted).into()
}

/// The contents of a tensor, borrowed, for `safetensors::serialize` and `serialize_to_file`.
#[derive(Debug, Clone, Copy)]
pub struct Contents<'a> {
    dtype: Dtype,
    shape: &'a [usize],
    bytes: &'a [u8],
}

impl<'a> TryFrom<&'a Tensor> for Contents<'a> {
    type Error = Error;

    /// # Errors
    ///
    /// When safetensors has no such element type, the elements are not on the CPU or don't lie one
    /// after another, or elements smaller than a byte don't fill the last one.
    fn try_from(tensor: &'a Tensor) -> Result<Self, Error> {
        let dtype = Dtype::try_from(tensor.dtype())?;
        if tensor.device() != Device::CPU {
            let device = tensor.device();
            return Err(Error::NotOnHost { device });
        }
        if !tensor.layout().is_contiguous() {
            return Err(Error::NotContiguous {
                shape: tensor.shape().to_vec(),
                strides: tensor.strides().to_vec(),
            });
        }
        let bits = tensor.len() as u128 * tensor.dtype().item_bits() as u128;
        if tensor.is_padded() || !bits.is_multiple_of(8) || cfg!(target_endian = "big") {
            return Err(Incompatibility::new(
                IncompatibilityKind::Padding,
                format!("{bits} bits of {}", tensor.dtype()),
                "packed elements in whole bytes, in little-endian order",
            )
            .into());
        }
        let bytes = match tensor.nbytes() {
            0 => &[],
            // SAFETY: the elements lie one after another on the host, in initialised memory that
            // the borrowed tensor keeps. No code writes them: writing needs the only handle, and
            // foreign writers are excluded by the promise that the memory came with.
            nbytes => unsafe { std::slice::from_raw_parts(tensor.data_ptr(), nbytes) },
        };
        let shape = tensor.shape();
        Ok(Self {
            dtype,
            shape,
            bytes,
        })
    }
}

impl View for Contents<'_> {
    fn dtype(&self) -> Dtype {
        self.dtype
    }

    fn shape(&self) -> &[usize] {
        self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        Cow::Borrowed(self.bytes)
    }

    fn data_len(&self) -> usize {
        self.bytes.len()
    }
}

/// Returns the tensors of a file whose bytes `owner` has, by name: read-only, each keeps the owner.
///
/// The owner is a `Vec<u8>`, a file that `memmap2` mapped, or anything else with bytes. A tensor's
/// bytes are where they are in the file: if that isn't aligned to its elements, a typed view of it
/// is refused, and a copy of the tensor helps.
///
/// # Errors
///
/// When the bytes aren't those of such a file.
pub fn tensors(owner: impl AsRef<[u8]> + Send + 'static) -> Result<Vec<(String, Tensor)>, Error> {
    let storage = Storage::from_owner::<u8>(owner);
    // SAFETY: the storage keeps the owner and so its bytes, on the host, and no code writes them.
    let bytes = unsafe { std::slice::from_raw_parts(storage.data_ptr(), storage.nbytes()) };
    let file = SafeTensors::deserialize(bytes).map_err(|error| {
        Incompatibility::from_reason(
            IncompatibilityKind::Exchange,
            format!("not a safetensors file: {error}"),
        )
    })?;
    let mut found = Vec::with_capacity(file.len());
    for (name, view) in file.iter() {
        let begin = view.data().as_ptr().addr() - bytes.as_ptr().addr();
        let part = storage.slice(begin..begin + view.data().len());
        let tensor = Tensor::from_storage(part, view.shape(), view.dtype().try_into()?)?;
        found.push((name.to_owned(), tensor));
    }
    Ok(found)
}

/// The same bytes, read-only: those of `include_bytes!`, for example.
impl TryFrom<TensorView<'static>> for Tensor {
    type Error = Error;

    /// # Errors
    ///
    /// When a later release of `safetensors` has another element type.
    fn try_from(view: TensorView<'static>) -> Result<Self, Error> {
        let storage = Storage::from_owner::<u8>(view.data());
        Self::from_storage(storage, view.shape(), view.dtype().try_into()?)
    }
}

/// Copies what the view borrows.
///
/// # Errors
///
/// When there is not enough memory, or a later release of `safetensors` has another element type.
pub fn copy(view: &TensorView<'_>) -> Result<Tensor, Error> {
    let bytes = Tensor::from_slice(view.data(), &[view.data().len()])?;
    Tensor::from_storage(
        bytes.storage().clone(),
        view.shape(),
        view.dtype().try_into()?,
    )
}
