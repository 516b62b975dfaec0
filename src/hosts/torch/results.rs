//! Results in memory of PyTorch's allocator.

use super::arguments::Tensor;
use super::library::Torch;
use crate::device::Device;
use crate::dtype::DType;
use crate::kernel::{CallHost, Failure, Operand};
use crate::layout::{Layout, LayoutRef};
use crate::storage::Contents;
use smallvec::SmallVec;
use std::ptr;

/// The results of a call, which it keeps.
pub(super) struct Results {
    torch: &'static Torch,
    made: SmallVec<[Tensor; 1]>,
    /// Layouts of tensors, by addresses that stay.
    layouts: SmallVec<[Box<Layout>; 1]>,
}

impl Results {
    pub(super) fn new(torch: &'static Torch) -> Self {
        Self {
            torch,
            made: SmallVec::new(),
            layouts: SmallVec::new(),
        }
    }

    /// Returns the tensors that were made, in order.
    pub(super) fn into_tensors(self) -> impl Iterator<Item = Tensor> {
        self.made.into_iter()
    }
}

// SAFETY: the tensors are new, and kept with their layouts, whose addresses are stable.
unsafe impl CallHost for Results {
    fn make<'a>(
        &mut self,
        shape: &[usize],
        dtype: DType,
        device: Device,
        contents: Contents,
    ) -> Result<Operand<'a>, Failure> {
        if device != Device::CPU {
            return Err(format!("expected a result on the CPU, got {device}").into());
        }
        let layout = Box::new(Layout::contiguous(shape)?);
        let first = self.allocate(Layout::as_ref(&layout), dtype, contents)?;
        // SAFETY: the layout is kept as long as the tensor, at the same address.
        let kept: &'a Layout = unsafe { &*ptr::from_ref(&*layout) };
        self.layouts.push(layout);
        // SAFETY: the tensor is new, has these elements, which are zeros or, if any bits are valid
        // ones, those that the allocator left, and is kept until the host is dropped; no other code
        // uses it.
        Ok(unsafe { Operand::from_raw(first, kept.as_ref(), dtype, device, false, true) })
    }

    #[inline]
    fn allocate(
        &mut self,
        layout: LayoutRef<'_>,
        dtype: DType,
        contents: Contents,
    ) -> Result<*mut u8, Failure> {
        let number = self.torch.number(dtype);
        let number = number.ok_or_else(|| format!("PyTorch has no dtype {dtype}"))?;
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
        if contents == Contents::Zeros {
            let nbytes = layout.len() * dtype.item_bytes().unwrap_or(1);
            if nbytes > 0 {
                // SAFETY: the tensor is new, and has as many bytes.
                unsafe { first.write_bytes(0, nbytes) };
            }
        }
        Ok(first)
    }

    fn run(
        &mut self,
        _: bool,
        body: &mut (dyn FnMut() -> Result<(), Failure> + Send),
    ) -> Result<(), Failure> {
        // PyTorch's dispatcher has released the GIL.
        body()
    }
}
