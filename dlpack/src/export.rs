//! [`export`]: a managed tensor and everything it needs, in one allocation.

use crate::abi::{Abi, DLDataType, DLDevice, DLTensor, Flags};
use crate::managed::Managed;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ffi::c_void;
use std::iter::zip;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::{self, NonNull};

/// Flags of an export.
#[derive(Debug, Clone, Copy)]
pub struct Description<'a> {
    /// The memory, or a handle to it on devices without addresses.
    pub data: *mut c_void,
    /// Device of the memory.
    pub device: DLDevice,
    /// The type of one element.
    pub dtype: DLDataType,
    /// The sizes.
    pub shape: &'a [usize],
    /// The steps between elements, counted in elements; as many as there are sizes.
    pub strides: &'a [isize],
    /// How far behind `data` the first element is. Many consumers ignore it: leave it at 0
    /// wherever `data` is an address.
    pub byte_offset: u64,
    /// Read-only, copied, padded; dropped by the legacy ABI.
    pub flags: Flags,
}

/// The allocation: the struct that C sees first, then ours, then the numbers of the shape and of
/// the strides.
///
/// ```text
/// ┌───────────────────┬──────┬───────┬───────────────┬─────────────────┐
/// │ managed: A        │ rank │ owner │ shape (rank)  │ strides (rank)  │
/// └─┬────┬────┬───────┴──────┴───────┴─▲─────────────┴─▲───────────────┘
///   │    └────┼────────────────────────┘               │
///   │         └────────────────────────────────────────┘
///   └─▶ manager_ctx: the block itself, so that it is never NULL
/// ```
#[repr(C)]
struct Block<A, O> {
    managed: A,
    /// Kept here because a consumer may change the `ndim` that it sees.
    rank: usize,
    owner: ManuallyDrop<O>,
}

impl<A, O> Block<A, O> {
    /// Returns the layout of the whole block, and where the numbers begin.
    ///
    /// `None` where that overflows, which no rank does whose shape is in memory.
    fn layout(rank: usize) -> Option<(Layout, usize)> {
        let numbers = Layout::array::<i64>(rank.checked_mul(2)?).ok()?;
        let (layout, offset) = Layout::new::<Self>().extend(numbers).ok()?;
        Some((layout.pad_to_align(), offset))
    }
}

/// Exports memory as a managed tensor, whose deleter drops `owner`.
///
/// It takes a single allocation, which holds the struct, shape, strides and owner. Neither
/// `manager_ctx` nor `strides` is NULL, at no rank. The deleter may be called from any thread; it
/// never unwinds: should `owner` panic when dropped, the panic ends there.
///
/// # Panics
///
/// When there are not as many strides as sizes, or more than `i32::MAX` of them.
///
/// # Safety
///
/// While `owner` lives, wherever it is moved to, `description` is true: its data pointer leads to
/// all the memory that it describes; and the rest of the promise holds that
/// [`Managed::from_raw`] asks for.
#[inline]
pub unsafe fn export<A: Abi, O: Send + 'static>(
    description: &Description<'_>,
    owner: O,
) -> Managed<A> {
    let rank = description.shape.len();
    assert_eq!(rank, description.strides.len(), "as many strides as sizes");
    let ndim = i32::try_from(rank).expect("a rank that C can count");
    let (layout, numbers) = Block::<A, O>::layout(rank).expect("a rank whose shape fits memory");

    // SAFETY: the layout is that of a block, so its size is not 0.
    let Some(block) = NonNull::new(unsafe { alloc(layout) }.cast::<Block<A, O>>()) else {
        handle_alloc_error(layout)
    };
    // SAFETY: `numbers` lies inside the allocation, aligned for an `i64`.
    let shape = unsafe { block.as_ptr().byte_add(numbers).cast::<i64>() };
    // SAFETY: the allocation holds 2 * rank numbers from `shape` on.
    let strides = unsafe { shape.add(rank) };
    for (axis, (&size, &stride)) in zip(description.shape, description.strides).enumerate() {
        // A size or stride of a layout in memory fits an i64 on every machine Rust runs on. SAFETY:
        // `axis < rank`, and the allocation holds `rank` numbers from `shape` and from `strides`
        // on.
        unsafe {
            shape.add(axis).write(size as i64);
            strides.add(axis).write(stride as i64);
        }
    }
    let descriptor = DLTensor {
        data: description.data,
        device: description.device,
        ndim,
        dtype: description.dtype,
        shape,
        strides,
        byte_offset: description.byte_offset,
    };
    // SAFETY: the allocation is large enough and aligned, and the struct is made for the purpose:
    // its deleter frees this block, and nothing else does.
    unsafe {
        block.as_ptr().write(Block {
            managed: A::assemble(
                descriptor,
                description.flags,
                block.as_ptr().cast(),
                release::<A, O>,
            ),
            rank,
            owner: ManuallyDrop::new(owner),
        });
        Managed::from_raw_unchecked(block.cast())
    }
}

/// Releases an export: the deleter of every export.
///
/// # Safety
///
/// `managed` is NULL, or the first field of a block that [`export`] made and no code released.
unsafe extern "C" fn release<A: Abi, O>(managed: *mut A) {
    if managed.is_null() {
        return;
    }
    let block = managed.cast::<Block<A, O>>();
    // SAFETY: the block is whole until here, and read for the last time: the owner is moved out,
    // and nothing else in it needs dropping.
    let (rank, owner) = unsafe { ((*block).rank, ptr::read(&raw const (*block).owner)) };
    let (layout, _) = Block::<A, O>::layout(rank).expect("the layout that it was allocated with");
    // SAFETY: allocated in `export`, with this very layout.
    unsafe { dealloc(block.cast(), layout) };
    run_deleter(|| drop(ManuallyDrop::into_inner(owner)));
}

/// Runs the body of a deleter, which must not panic; while it runs, [`is_in_deleter`] is true on
/// this thread.
#[doc(hidden)]
#[inline]
pub fn run_deleter(body: impl FnOnce()) {
    #[cfg(feature = "python")]
    let before = IN_DELETER.replace(true);
    contain_panics(body);
    #[cfg(feature = "python")]
    IN_DELETER.set(before);
}

#[cfg(feature = "python")]
thread_local! {
    static IN_DELETER: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Returns whether this thread is inside a deleter of this crate, which a consumer called.
#[cfg(feature = "python")]
#[doc(hidden)]
#[inline]
pub fn is_in_deleter() -> bool {
    IN_DELETER.get()
}

/// Calls `f`, and ends a panic in it: for deleters, out of which none may get.
#[doc(hidden)]
#[inline]
pub fn contain_panics(f: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(f)) {
        // Dropping what was panicked with can panic again, and there is no caller to report it to.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(payload);
        }
    }
}
