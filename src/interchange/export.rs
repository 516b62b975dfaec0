//! Export of a [`Tensor`] as a managed tensor.

use crate::dlpack::{Abi, DLTensor, Description, Flags, Managed, Versioned, export};
use crate::dtype::DType;
use crate::error::{Incompatibility, IncompatibilityKind};
use crate::tensor::Tensor;

impl Tensor {
    /// Exports another handle to the tensor's memory, without copying.
    ///
    /// The first export that is out at a time lies inside the tensor; others take one allocation.
    /// It says whether the memory is read-only. It doesn't say that the memory was copied: what is
    /// shared belongs to no consumer alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::Tensor;
    ///
    /// let tensor = Tensor::from([1.0_f32, 2.0]);
    /// let back = Tensor::from_dlpack(tensor.to_dlpack())?;
    /// assert_eq!(back.data_ptr(), tensor.data_ptr());
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    #[inline]
    pub fn to_dlpack(&self) -> Managed<Versioned> {
        self.clone().export_handle(Flags::empty())
    }

    /// Exports the tensor, without copying.
    ///
    /// Where it is the only handle to memory that was [copied](Self::copy) for it, the export says
    /// so: the memory then belongs to the consumer alone.
    #[inline]
    pub fn into_dlpack(mut self) -> Managed<Versioned> {
        let flags = self.ownership_flags();
        self.export_handle(flags)
    }

    /// Exports by [`to_dlpack`](Self::to_dlpack), through either ABI.
    ///
    /// # Errors
    ///
    /// When the ABI is the legacy one, and the tensor is read-only or its elements are padded,
    /// which that can't say. [`into_dlpack_unmarked`](Self::into_dlpack_unmarked) shares read-only
    /// memory all the same, as the caller promises.
    pub fn to_dlpack_as<A: Abi>(&self) -> Result<Managed<A>, Incompatibility> {
        self.check_abi::<A>()?;
        Ok(self.clone().export_handle(Flags::empty()))
    }

    /// Exports by [`into_dlpack`](Self::into_dlpack), through either ABI.
    ///
    /// # Errors
    ///
    /// The same as for [`to_dlpack_as`](Self::to_dlpack_as).
    pub fn into_dlpack_as<A: Abi>(mut self) -> Result<Managed<A>, Incompatibility> {
        self.check_abi::<A>()?;
        let flags = self.ownership_flags();
        Ok(self.export_handle(flags))
    }

    /// Exports by [`into_dlpack_as`](Self::into_dlpack_as), also read-only memory through an ABI
    /// without that flag.
    ///
    /// In Python, `dlbridge::python::ReadOnlyPolicy` makes that choice; here it is the caller's,
    /// between this function and [`to_dlpack_as`](Self::to_dlpack_as).
    ///
    /// ```
    /// use dlbridge::Tensor;
    /// use dlbridge::dlpack::Legacy;
    ///
    /// static TABLE: [f32; 3] = [1.0, 2.0, 4.0];
    ///
    /// let tensor = Tensor::from_owner(&TABLE, &[3])?;
    /// assert!(tensor.to_dlpack_as::<Legacy>().is_err());
    /// // SAFETY: the descriptor's consumer only reads through the pointers.
    /// let managed = unsafe { tensor.clone().into_dlpack_unmarked::<Legacy>() }?;
    /// assert_eq!(managed.descriptor().data.cast_const().cast(), tensor.data_ptr());
    /// # Ok::<(), dlbridge::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// When the ABI is the legacy one, and the tensor's elements are padded.
    ///
    /// # Safety
    ///
    /// The consumer doesn't write to memory that is read-only.
    pub unsafe fn into_dlpack_unmarked<A: Abi>(mut self) -> Result<Managed<A>, Incompatibility> {
        if !A::HAS_FLAGS && self.is_padded() {
            return Err(legacy_padded(self.dtype()));
        }
        let flags = self.ownership_flags();
        Ok(self.export_handle(flags))
    }

    fn check_abi<A: Abi>(&self) -> Result<(), Incompatibility> {
        if A::HAS_FLAGS {
            return Ok(());
        }
        if self.is_read_only() {
            return Err(legacy_read_only());
        }
        if self.is_padded() {
            return Err(legacy_padded(self.dtype()));
        }
        Ok(())
    }

    #[inline]
    fn ownership_flags(&mut self) -> Flags {
        if self.is_copied() && self.is_exclusive() {
            Flags::IS_COPIED
        } else {
            Flags::empty()
        }
    }

    /// Exports this handle: inside the tensor, where there is room, or in one allocation.
    #[inline]
    fn export_handle<A: Abi>(self, mut flags: Flags) -> Managed<A> {
        flags.set(Flags::READ_ONLY, self.is_read_only());
        flags.set(Flags::IS_SUBBYTE_TYPE_PADDED, self.is_padded());
        // What C sees as sizes and strides can be our own, where the numbers look the same.
        if size_of::<usize>() == size_of::<i64>() {
            let descriptor = self.describe();
            // SAFETY: the descriptor is that of this tensor.
            match unsafe { self.export_embedded(descriptor, flags) } {
                Ok(managed) => managed,
                Err(tensor) => tensor.export_outside(flags),
            }
        } else {
            self.export_outside(flags)
        }
    }

    /// Exports this handle in an allocation of its own.
    fn export_outside<A: Abi>(self, flags: Flags) -> Managed<A> {
        let facts = self.clone();
        // SAFETY: the owner is a handle to the tensor, which keeps its memory.
        unsafe { facts.export_as(flags, self) }
    }

    /// Exports the tensor in an allocation of its own, whose deleter drops an owner.
    ///
    /// # Safety
    ///
    /// The owner keeps the tensor's memory.
    #[cfg(feature = "python")]
    pub(crate) unsafe fn export_kept_by<A: Abi, O: Send + 'static>(self, owner: O) -> Managed<A> {
        let mut flags = Flags::empty();
        flags.set(Flags::READ_ONLY, self.is_read_only());
        flags.set(Flags::IS_SUBBYTE_TYPE_PADDED, self.is_padded());
        // SAFETY: the owner keeps the memory, by this function's contract.
        unsafe { self.export_as(flags, owner) }
    }

    /// # Safety
    ///
    /// The owner keeps the tensor's memory, and flags are honest.
    unsafe fn export_as<A: Abi, O: Send + 'static>(&self, flags: Flags, owner: O) -> Managed<A> {
        let descriptor = self.describe();
        let description = Description {
            data: descriptor.data,
            device: descriptor.device,
            dtype: descriptor.dtype,
            shape: self.shape(),
            strides: self.strides(),
            byte_offset: descriptor.byte_offset,
            flags,
        };
        // SAFETY: the caller promises that the owner keeps the memory that the tensor's elements
        // are in.
        unsafe { export(&description, owner) }
    }

    /// Returns whether a descriptor equals that of the tensor.
    #[inline]
    pub(super) fn is_described_by(&self, descriptor: &DLTensor, flags: Flags) -> bool {
        let ours = self.describe();
        ours.data == descriptor.data
            && ours.device == descriptor.device
            && ours.ndim == descriptor.ndim
            && ours.dtype == descriptor.dtype
            && ours.shape == descriptor.shape
            && ours.strides == descriptor.strides
            && ours.byte_offset == descriptor.byte_offset
            && flags.contains(Flags::READ_ONLY) == self.is_read_only()
            && flags.contains(Flags::IS_SUBBYTE_TYPE_PADDED) == self.is_padded()
    }

    /// Returns the tensor's descriptor. Its shape and strides lie in the `TensorInner`.
    #[inline]
    pub(crate) fn describe(&self) -> DLTensor {
        let layout = self.layout();
        DLTensor {
            data: self.data_ptr().cast_mut().cast(),
            device: self.device().into(),
            ndim: layout.rank() as i32,
            dtype: self.dtype().into(),
            shape: layout.shape().as_ptr().cast_mut().cast(),
            strides: layout.strides().as_ptr().cast_mut().cast(),
            byte_offset: if self.device().has_addresses() {
                0 // It is in the address.
            } else {
                self.byte_offset() as u64
            },
        }
    }
}

/// Makes the error that the legacy ABI can't mark read-only memory.
#[cold]
pub(crate) fn legacy_read_only() -> Incompatibility {
    Incompatibility::new(IncompatibilityKind::ReadOnly, "read-only", "writable")
        .with_reason("a read-only tensor can't be exported through the legacy DLManagedTensor, which can't mark it")
        .with_remedy("export the versioned one, or copy it first")
}

/// Makes the error that the legacy ABI can't mark padded elements.
#[cold]
fn legacy_padded(dtype: DType) -> Incompatibility {
    Incompatibility::new(IncompatibilityKind::Padding, format!("padded {dtype}"), format!("packed {dtype}"))
        .with_reason(format!("padded {dtype} elements can't be exported through the legacy DLManagedTensor, which can't mark them"))
        .with_remedy("export the versioned one")
}
