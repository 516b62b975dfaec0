//! Outputs of a call, in TensorFlow's memory.

use super::functions::{Handle, Status, TensorFlow};
use super::tensor::Tensor;
use crate::device::Device;
use crate::dtype::DType;
use crate::kernel::{CallHost, Failure, Operand};
use crate::layout::{Layout, LayoutRef};
use crate::storage::Contents;
use crate::tensorflow_types::code_of;
use smallvec::SmallVec;
use std::ffi::c_int;
use std::ptr;

/// The outputs of a call, which it keeps.
pub(super) struct Results<'s> {
    status: &'s Status,
    tensorflow: &'static TensorFlow,
    context: Handle,
    /// The place of the next one.
    next: c_int,
    made: SmallVec<[Tensor; 1]>,
    /// Layouts of tensors, by addresses that stay.
    layouts: SmallVec<[Box<Layout>; 1]>,
}

impl<'s> Results<'s> {
    /// Returns the outputs from a place on.
    pub(super) fn new(
        status: &'s Status,
        tensorflow: &'static TensorFlow,
        context: Handle,
        next: c_int,
    ) -> Self {
        Self {
            status,
            tensorflow,
            context,
            next,
            made: SmallVec::new(),
            layouts: SmallVec::new(),
        }
    }
}

// SAFETY: the tensors are new, and kept with their layouts, whose addresses are stable.
unsafe impl CallHost for Results<'_> {
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
        let code = code_of(dtype).filter(|_| dtype.item_bytes().is_some());
        let code = code.ok_or_else(|| format!("TensorFlow has no dtype {dtype}"))?;
        let nbytes = layout.len() * dtype.item_bytes().unwrap_or(1);
        let sizes: SmallVec<[i64; 8]> = layout.shape().iter().map(|size| *size as i64).collect();
        let functions = &self.tensorflow.functions;
        // SAFETY: the context is that of a call, and there are as many sizes as dimensions.
        let handle = unsafe {
            (functions.TF_AllocateOutput)(
                self.context,
                self.next,
                code,
                sizes.as_ptr(),
                sizes.len() as c_int,
                nbytes,
                self.status.handle,
            )
        };
        if handle.is_null() {
            self.status.check()?;
            return Err("TensorFlow gave no memory".into());
        }
        self.next += 1;
        self.made.push(Tensor {
            tensorflow: self.tensorflow,
            handle,
        });
        // SAFETY: the handle is a tensor's.
        let (first, given) = unsafe {
            let first = (functions.TF_TensorData)(handle).cast::<u8>();
            (first, (functions.TF_TensorByteSize)(handle))
        };
        if given < nbytes {
            return Err("TensorFlow allocated another tensor".into());
        }
        if contents == Contents::Zeros && nbytes > 0 {
            // SAFETY: the tensor is new, and has as many bytes.
            unsafe { first.write_bytes(0, nbytes) };
        }
        Ok(first)
    }

    fn run(
        &mut self,
        _: bool,
        body: &mut (dyn FnMut() -> Result<(), Failure> + Send),
    ) -> Result<(), Failure> {
        // TensorFlow calls kernels without the GIL.
        body()
    }
}
