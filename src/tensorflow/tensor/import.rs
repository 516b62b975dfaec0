//! Import of a [`TfTensor`] as a [`Tensor`], which keeps it.

use super::{ALIGNMENT, TfTensor};
use crate::device::Device;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::layout::{Layout, MAX_RANK};
use crate::storage::{Access, Owner, SmallOwner, Storage};
use crate::tensor::{Parts, Tensor};
use crate::tensorflow::error::TensorFlowError;
use std::ptr;
use std::sync::Arc;

impl TfTensor {
    /// Returns a tensor that shares the memory, and keeps this one. It is read-only, as other
    /// tensors of TensorFlow may be in the same memory.
    ///
    /// # Errors
    ///
    /// When the elements are strings, resources, variants or quantized numbers.
    pub fn to_tensor(&self) -> Result<Tensor, TensorFlowError> {
        let dtype = self.data_type().dtype()?;
        let padded = dtype.is_sub_byte();
        let functions = self.tensorflow().functions();
        let mut sizes = [0_usize; MAX_RANK];
        // SAFETY: the tensor lives as long as `self`, and has as many sizes as it says.
        let rank = unsafe { (functions.TF_NumDims)(self.as_ptr()) } as usize;
        let Some(sizes) = sizes.get_mut(..rank) else {
            let found = format!("rank {rank}");
            let wanted = format!("rank {MAX_RANK} or less");
            return Err(Incompatibility::new(IncompatibilityKind::Rank, found, wanted).into());
        };
        for (axis, size) in sizes.iter_mut().enumerate() {
            // SAFETY: the axis is below the rank.
            *size = unsafe { (functions.TF_Dim)(self.as_ptr(), axis as i32) } as usize;
        }
        let layout = Layout::contiguous(sizes).map_err(Error::from)?;
        let (data, nbytes) = (self.data_ptr().cast_mut(), self.nbytes());
        let address = if layout.is_empty() {
            ALIGNMENT
        } else {
            data.addr()
        };
        layout
            .as_ref()
            .check_memory(dtype, padded, address, 0, true)
            .map_err(Error::from)?;
        let needed = layout.len() as u128 * dtype.step_bits(padded) as u128 / 8;
        if needed > nbytes as u128 {
            let (found, wanted) = (format!("{nbytes} bytes"), format!("{needed} bytes"));
            return Err(Incompatibility::new(IncompatibilityKind::Memory, found, wanted).into());
        }
        let storage = if layout.is_empty() {
            Storage::empty(Device::CPU).into_read_only()
        } else {
            let owner = Owner::small(Kept(self.clone()));
            // SAFETY: the memory has this many bytes while the tensor lives, which the owner keeps.
            // What is read-only needs no promise about other handles.
            unsafe { Storage::from_parts(data, nbytes, Device::CPU, Access::ReadOnly, owner) }
        };
        let parts = Parts {
            storage,
            offset: 0,
            dtype,
            padded,
            copied: false,
        };
        // SAFETY: the elements are row-major from the storage's beginning on, which has enough
        // bytes; those of other libraries count as initialised.
        Ok(unsafe { Tensor::from_parts(parts, layout) })
    }
}

/// The owner of a tensor's memory: a handle, which is one word.
struct Kept(TfTensor);

// SAFETY: the first word is the address of an `Arc`'s content, which holds a pointer and so is
// even.
unsafe impl SmallOwner for Kept {
    fn into_words(self) -> [*mut (); 2] {
        let inner = Arc::into_raw(self.0.inner);
        [inner.cast_mut().cast(), ptr::null_mut()]
    }

    unsafe fn from_words([inner, _]: [*mut (); 2]) -> Self {
        // SAFETY: the word came from `into_words`, and is used once.
        let inner = unsafe { Arc::from_raw(inner.cast_const().cast()) };
        Self(TfTensor { inner })
    }
}
