//! Results in memory of PyTorch's allocator.

use super::arguments::Tensor;
use super::library::Torch;
use crate::dtype::DType;
use crate::hosts::allocated::Allocator;
use crate::hosts::problem::no_dtype;
use crate::kernel::Failure;
use crate::layout::LayoutRef;
use smallvec::SmallVec;
use std::ptr;

/// The tensors of a call's results, which it keeps.
pub(super) struct Results {
    torch: &'static Torch,
    made: SmallVec<[Tensor; 1]>,
}

impl Results {
    pub(super) fn new(torch: &'static Torch) -> Self {
        Self {
            torch,
            made: SmallVec::new(),
        }
    }

    /// Returns the tensors that were made, in order.
    pub(super) fn into_tensors(self) -> impl Iterator<Item = Tensor> {
        self.made.into_iter()
    }
}

// SAFETY: the tensors are new, and kept.
unsafe impl Allocator for Results {
    #[inline]
    fn allocate(&mut self, layout: LayoutRef<'_>, dtype: DType) -> Result<*mut u8, Failure> {
        let number = self.torch.number(dtype);
        let number = number.ok_or_else(|| no_dtype("PyTorch", dtype))?;
        let sizes: SmallVec<[i64; 8]> = layout.shape().iter().map(|size| *size as i64).collect();
        let strides: SmallVec<[i64; 8]> = layout
            .strides()
            .iter()
            .map(|stride| *stride as i64)
            .collect();
        let (functions, mut handle) = (&self.torch.functions, ptr::null_mut());
        let (rank, sizes, strides) = (sizes.len() as i64, sizes.as_ptr(), strides.as_ptr());
        // SAFETY: there are as many sizes and strides as dimensions.
        let status = unsafe {
            let make = functions.aoti_torch_empty_strided;
            make(rank, sizes, strides, number, self.torch.cpu, 0, &mut handle)
        };
        if status != 0 {
            return Err("PyTorch has no memory for it".into());
        }
        self.made.push(Tensor {
            torch: self.torch,
            handle,
        });
        let mut first = ptr::null_mut();
        // SAFETY: the handle is a tensor's.
        if unsafe { (functions.aoti_torch_get_data_ptr)(handle, &mut first) } != 0 {
            return Err("PyTorch has no memory for it".into());
        }
        Ok(first)
    }
}
