//! A foreign library, played by Rust: it hands out managed tensors that may be wrong in every
//! field, and counts how often their deleters are called.
#![allow(
    dead_code,
    reason = "not every test that shares this asks for all of it"
)]

use dlbridge::dlpack::{
    Abi, DLDataType, DLDevice, DLPackVersion, DLTensor, Deleter, Flags, Legacy, Managed, VERSION,
    Versioned,
};
use dlbridge::{DType, Element};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::{ptr, slice};

/// Counts: calls of a deleter, drops of an owner.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counter(Arc<AtomicUsize>);

impl Counter {
    pub(crate) fn add(&self) {
        self.0.fetch_add(1, SeqCst);
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(SeqCst)
    }
}

/// The fields of a managed tensor that [`Abi`] doesn't set, or sets to what is right.
pub(crate) trait ForeignAbi: Abi {
    fn set_deleter(&mut self, deleter: Option<Deleter<Self>>);

    /// Does nothing where there is no version.
    fn set_version(&mut self, version: DLPackVersion);

    fn descriptor_mut(&mut self) -> &mut DLTensor;

    fn manager_ctx(&self) -> *mut c_void;
}

impl ForeignAbi for Versioned {
    fn set_deleter(&mut self, deleter: Option<Deleter<Self>>) {
        self.deleter = deleter;
    }

    fn set_version(&mut self, version: DLPackVersion) {
        self.version = version;
    }

    fn descriptor_mut(&mut self) -> &mut DLTensor {
        &mut self.dl_tensor
    }

    fn manager_ctx(&self) -> *mut c_void {
        self.manager_ctx
    }
}

impl ForeignAbi for Legacy {
    fn set_deleter(&mut self, deleter: Option<Deleter<Self>>) {
        self.deleter = deleter;
    }

    fn set_version(&mut self, _version: DLPackVersion) {}

    fn descriptor_mut(&mut self) -> &mut DLTensor {
        &mut self.dl_tensor
    }

    fn manager_ctx(&self) -> *mut c_void {
        self.manager_ctx
    }
}

/// A tensor of the foreign library that was not handed out yet.
pub(crate) struct Producer {
    /// Keeps the memory alive.
    _owner: Box<dyn Send>,
    start: *mut u8,
    pub(crate) data: *mut c_void,
    pub(crate) device: DLDevice,
    pub(crate) dtype: DLDataType,
    /// The rank; the number of sizes, unless the test lies about it.
    pub(crate) ndim: i32,
    /// `None` is NULL.
    pub(crate) shape: Option<Vec<i64>>,
    /// `None` is NULL.
    pub(crate) strides: Option<Vec<i64>>,
    pub(crate) byte_offset: u64,
    pub(crate) flags: Flags,
    pub(crate) version: DLPackVersion,
}

impl Producer {
    /// These elements on the host, 64 bytes aligned, with strides that are not NULL: nothing is
    /// wrong with it yet.
    pub(crate) fn of<T: Element>(elements: &[T], shape: &[i64], strides: &[i64]) -> Self {
        let memory = Memory::zeroed(size_of_val(elements) + 64);
        // SAFETY: the memory has room for the elements, and no other code has it.
        unsafe {
            let to = memory.start.cast::<T>();
            ptr::copy_nonoverlapping(elements.as_ptr(), to, elements.len());
        }
        Self {
            start: memory.start,
            data: memory.start.cast(),
            _owner: Box::new(memory),
            device: DLDevice::CPU,
            dtype: DType::of::<T>().into(),
            ndim: i32::try_from(shape.len()).unwrap(),
            shape: Some(shape.to_vec()),
            strides: Some(strides.to_vec()),
            byte_offset: 0,
            flags: Flags::empty(),
            version: VERSION,
        }
    }

    /// The elements 0, 1, 2, 3, 4, 5 as two rows of `f32`.
    pub(crate) fn two_rows() -> Self {
        Self::of(&[0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0], &[2, 3], &[3, 1])
    }

    /// Another library's tensor, taken over to be handed on: as its own, with its own deleter.
    pub(crate) fn relay<A: Abi>(managed: Managed<A>) -> Self {
        let descriptor = *managed.descriptor();
        let numbers = |first: *const i64| {
            // SAFETY: a managed tensor points to as many numbers as its rank says, or is NULL.
            let copy =
                || unsafe { slice::from_raw_parts(first, descriptor.ndim as usize) }.to_vec();
            (!first.is_null()).then(copy)
        };
        Self {
            start: descriptor.data.cast(),
            data: descriptor.data,
            device: descriptor.device,
            dtype: descriptor.dtype,
            ndim: descriptor.ndim,
            shape: numbers(descriptor.shape),
            strides: numbers(descriptor.strides),
            byte_offset: descriptor.byte_offset,
            flags: managed.flags(),
            version: VERSION,
            _owner: Box::new(managed),
        }
    }

    /// Where its memory begins, wherever `data` points.
    pub(crate) fn memory(&self) -> *mut u8 {
        self.start
    }

    /// Hands it out; the deleter frees everything, and counts.
    ///
    /// # Panics
    ///
    /// When the managed tensor itself is refused.
    pub(crate) fn hand_out<A: ForeignAbi>(self, deletions: &Counter) -> Managed<A> {
        let raw = self.hand_out_raw(deletions);
        // SAFETY: the struct was just made, and its deleter may be called once. What else it
        // promises is false in many tests, whose point is that nothing is read then.
        unsafe { Managed::from_raw(raw) }.unwrap()
    }

    /// Hands it out as a C function would.
    pub(crate) fn hand_out_raw<A: ForeignAbi>(self, deletions: &Counter) -> *mut A {
        let numbers = |numbers: &Option<Vec<i64>>| match numbers {
            Some(numbers) => numbers.as_ptr().cast_mut(),
            None => ptr::null_mut(),
        };
        let descriptor = DLTensor {
            data: self.data,
            device: self.device,
            ndim: self.ndim,
            dtype: self.dtype,
            shape: numbers(&self.shape),
            strides: numbers(&self.strides),
            byte_offset: self.byte_offset,
        };
        let mut managed = A::assemble(descriptor, self.flags, ptr::null_mut(), delete::<A>);
        managed.set_version(self.version);
        let block = Block {
            managed,
            _producer: self,
            deletions: deletions.clone(),
        };
        Box::into_raw(Box::new(block)).cast()
    }
}

/// What [`Producer::hand_out`] allocates.
#[repr(C)]
struct Block<A> {
    managed: A,
    /// Its memory, shape and strides are what the descriptor points to.
    _producer: Producer,
    deletions: Counter,
}

/// The deleter of the foreign library.
///
/// # Safety
///
/// `managed` came from [`Producer::hand_out_raw`] and was not deleted yet.
pub(crate) unsafe extern "C" fn delete<A: ForeignAbi>(managed: *mut A) {
    // SAFETY: the struct is the first field of a block that was boxed there.
    let block = unsafe { Box::from_raw(managed.cast::<Block<A>>()) };
    block.deletions.add();
}

/// Zeros, aligned to 64 bytes.
struct Memory {
    start: *mut u8,
    layout: Layout,
}

// SAFETY: plain memory, which only its owner frees.
unsafe impl Send for Memory {}

impl Memory {
    fn zeroed(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes, 64).unwrap();
        // SAFETY: more than 0 bytes, as `Producer::of` adds some.
        let start = unsafe { alloc_zeroed(layout) };
        assert!(!start.is_null());
        Self { start, layout }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` with this layout, and freed only here.
        unsafe { dealloc(self.start, self.layout) }
    }
}
