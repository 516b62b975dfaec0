//! The crate `candle-core`: tensors on the CPU.
//!
//! candle's tensors own vectors behind a lock, and write through any handle that takes it. A tensor
//! that shares such memory holds the lock for reading: candle reads on, and its own writes (`Var`'s
//! `set`, `slice_set`, ops in place) wait until the last handle to the tensor is gone. While such a
//! write waits, the same memory can't be converted again: the conversion waits behind it. The other
//! way a vector is moved into candle's tensor.
//!
//! ```
//! use candle_core::{Device, Tensor as CandleTensor};
//! use dlbridge::Tensor;
//!
//! let weight = CandleTensor::new(&[[1.0_f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
//! let shared = Tensor::try_from(weight.t()?)?; // candle's memory, transposed
//! assert_eq!(shared.to_vec::<f32>()?, [1.0, 3.0, 2.0, 4.0]);
//! let moved = CandleTensor::try_from(Tensor::from(vec![1_i64, 2, 3]))?; // the vector
//! assert_eq!(moved.to_vec1::<i64>()?, [1, 2, 3]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use super::TakeError;
use crate::dtype::{DType, Element};
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::layout::Layout;
use crate::storage::Access;
use crate::tensor::{Tensor, Uninit};
use candle_core::{CpuStorage, Device, Storage, StorageRef, WithDType};
use half::{bf16, f16};

/// The element types that both have.
macro_rules! dtypes {
    ($($Theirs:ident = $OURS:ident: $ty:ty),* $(,)?) => {
        /// The tensor shares candle's memory, read-only, and holds its lock for reading.
        impl TryFrom<candle_core::Tensor> for Tensor {
            type Error = Error;

            /// # Errors
            ///
            /// When the memory is on a GPU, or the elements are of a type that is refused:
            /// `F8E4M3`, and those that candle only stores.
            fn try_from(tensor: candle_core::Tensor) -> Result<Self, Error> {
                let (guard, theirs) = tensor.storage_and_layout();
                let (begin, mut made) = (theirs.start_offset(), arranged(theirs)?);
                match &*guard {
                    Storage::Cpu(storage) => match storage {
                        $(CpuStorage::$Theirs(vec) => {
                            let first = first(vec, begin, made.layout())?;
                            let kept = Locked::new(guard, &tensor);
                            // SAFETY: the lock keeps the vector as it is, and the handle keeps the
                            // lock. The layout was compared with the vector's length. candle reads,
                            // but doesn't write while the lock is held.
                            unsafe { Self::from_lender(kept, first, made, Access::ReadOnly) }
                        })*
                        other => Err(refused(format!("{:?}", other_dtype(other)))),
                    },
                    _ => {
                        let found = format!("{:?}", tensor.device().location());
                        Err(Incompatibility::new(IncompatibilityKind::Device, found, "the CPU")
                            .with_remedy("copy it with tensor.to_device(&Device::Cpu)")
                            .into())
                    }
                }
            }
        }

        /// candle's tensor owns the tensor's vector, if the tensor is its only handle.
        impl TryFrom<Tensor> for candle_core::Tensor {
            type Error = TakeError;

            /// # Errors
            ///
            /// When candle has no such element type, the elements don't lie one after another, or
            /// the memory isn't a vector of them, or is shared.
            fn try_from(tensor: Tensor) -> Result<Self, TakeError> {
                match tensor.dtype() {
                    $(DType::$OURS => moved::<$ty>(tensor),)*
                    other => Err(TakeError::new(tensor, refused(other.to_string()))),
                }
            }
        }
    };
}

dtypes! {
    U8 = U8: u8, U32 = U32: u32, I16 = I16: i16, I32 = I32: i32, I64 = I64: i64,
    BF16 = BF16: bf16, F16 = F16: f16, F32 = F32: f32, F64 = F64: f64,
}

fn moved<T: Element + WithDType>(tensor: Tensor) -> Result<candle_core::Tensor, TakeError> {
    let (vec, layout) = tensor.take_vec::<T>()?.into_whole()?;
    let moved = candle_core::Tensor::from_vec(vec, layout.shape(), &Device::Cpu);
    Ok(moved.expect("as many elements, on the CPU"))
}

/// Returns a tensor with the layout of candle's, and nothing else yet.
fn arranged(theirs: &candle_core::Layout) -> Result<Uninit, Error> {
    let mut tensor = Uninit::new();
    let strides = theirs.stride();
    tensor
        .layout()
        .become_strided(theirs.dims(), |axis| strides[axis].cast_signed())?;
    Ok(tensor)
}

/// Returns the element of index 0, if all that the layout leads to are in the vector.
fn first<T>(vec: &[T], begin: usize, layout: &Layout) -> Result<*const T, Error> {
    let Some((lowest, highest)) = layout.as_ref().extent() else {
        return Ok(vec.as_ptr());
    };
    let inside = |offset| {
        begin
            .checked_add_signed(offset)
            .is_some_and(|at| at < vec.len())
    };
    if inside(lowest) && inside(highest) {
        return Ok(vec.as_ptr().wrapping_add(begin));
    }
    let found = format!("{layout:?} from element {begin} on");
    let wanted = format!("a layout inside of {} elements", vec.len());
    Err(Incompatibility::new(IncompatibilityKind::Layout, found, wanted).into())
}

#[cold]
fn refused(found: String) -> Error {
    let wanted = "uint8, uint32, int16, int32, int64, bfloat16, float16, float32 or float64";
    Incompatibility::new(IncompatibilityKind::DType, found, wanted)
        .with_remedy("cast it first")
        .into()
}

#[cold]
fn other_dtype(storage: &CpuStorage) -> candle_core::DType {
    candle_core::backend::BackendStorage::dtype(storage)
}

/// candle's lock, held for reading, and the handle that keeps it.
struct Locked {
    /// Released before the handle, which is what it borrows from: fields are dropped in order.
    _guard: StorageRef<'static>,
    _tensor: candle_core::Tensor,
}

impl Locked {
    /// Keeps a guard with the tensor that it is of.
    fn new<'a>(guard: StorageRef<'a>, tensor: &'a candle_core::Tensor) -> Self {
        // SAFETY: the guard borrows from what the tensor's handles share, which stays where it is
        // as long as there is one. A clone is one, and outlives the guard.
        let guard = unsafe { std::mem::transmute::<StorageRef<'a>, StorageRef<'static>>(guard) };
        Self {
            _guard: guard,
            _tensor: tensor.clone(),
        }
    }
}
