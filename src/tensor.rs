//! [`Tensor`]: a storage with a layout and an element type.

mod access;
mod arange;
mod compare;
mod copy;
mod create;
mod display;
mod embedded;
mod from;
mod inner;
mod parts;
mod scalars;
mod slot;
mod take;
mod take_error;
mod uninit;
mod views;

use crate::device::Device;
use crate::dtype::DType;
use crate::layout::{LayoutRef, Overlap, Region};
use crate::storage::{Counted, Storage};
use inner::TensorInner;
use std::panic::{RefUnwindSafe, UnwindSafe};

pub use crate::layout::Layout;
pub use arange::Countable;
#[cfg(feature = "python")]
pub(crate) use create::Indices;
pub(crate) use inner::Parts;
#[cfg(feature = "ndarray")]
pub(crate) use take::TakenVec;
pub use take_error::TakeError;
pub(crate) use uninit::Uninit;

/// A tensor: storage, layout and element type.
///
/// It may be on any device and belong to anyone; cloning it is cheap and gives another handle to
/// the same memory. Operations that change the layout alone (slices, transposes, broadcasting)
/// give such handles too.
///
/// Elements are read through a [`View`](crate::View), typed and borrowed. They are written through
/// a [`ViewMut`](crate::ViewMut), which exists only while no other handle to the memory does: a
/// tensor that is shared, read-only or foreign is copied first.
///
/// ```
/// use dlbridge::Tensor;
///
/// let tensor = Tensor::from_vec(vec![1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0], &[2, 3])?;
/// let column = tensor.select(1, 0)?;
/// assert_eq!(column.to_vec::<f32>()?, [1.0, 4.0]);
/// assert_eq!(column.data_ptr(), tensor.data_ptr()); // the same memory
/// # Ok::<(), dlbridge::Error>(())
/// ```
///
/// # Size
///
/// A handle is a pointer to 320 bytes in one allocation, up to rank 8: reference counts, 56 bytes
/// that say where the memory is and who owns it, 144 of the [`Layout`], and room for one export at
/// a time, so that exporting allocates nothing.
#[derive(Clone)]
pub struct Tensor(Counted<TensorInner>);

// A panic in the middle of a call leaves handles as they were. Elements may be written in part, as
// those of a slice; they are values of their type still.
impl RefUnwindSafe for Tensor {}
impl UnwindSafe for Tensor {}

impl Tensor {
    /// Returns the shape.
    #[inline]
    pub fn shape(&self) -> &[usize] {
        self.0.layout.shape()
    }

    /// Returns the strides, counted in elements.
    #[inline]
    pub fn strides(&self) -> &[isize] {
        self.0.layout.strides()
    }

    /// Returns shape and strides.
    #[inline]
    pub fn layout(&self) -> LayoutRef<'_> {
        self.0.layout.as_ref()
    }

    /// Returns the number of dimensions.
    #[inline]
    pub fn rank(&self) -> usize {
        self.0.layout.rank()
    }

    /// Returns the number of elements.
    #[inline]
    pub fn len(&self) -> usize {
        self.0.layout.len()
    }

    /// Checks whether there are no elements.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.layout.is_empty()
    }

    /// Returns the element type.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.0.parts.dtype
    }

    /// Returns the device of the memory.
    #[inline]
    pub fn device(&self) -> Device {
        self.0.parts.storage.device()
    }

    /// Returns the memory, which may be larger than what the elements touch.
    #[inline]
    pub fn storage(&self) -> &Storage {
        &self.0.parts.storage
    }

    /// Returns how many bytes the elements take in contiguous memory, at most `usize::MAX`.
    /// Broadcast elements count each time.
    pub fn nbytes(&self) -> usize {
        let bits = self.len() as u128 * self.dtype().step_bits(self.is_padded()) as u128;
        usize::try_from(bits.div_ceil(8)).unwrap_or(usize::MAX)
    }

    /// Returns the address of the element of index 0; on devices without addresses, the handle.
    #[inline]
    pub fn data_ptr(&self) -> *const u8 {
        if self.device().has_addresses() {
            self.0
                .parts
                .storage
                .data_ptr()
                .wrapping_add(self.0.parts.offset)
        } else {
            self.0.parts.storage.data_ptr()
        }
    }

    /// Returns the offset of the element of index 0, in bytes from the storage's beginning.
    #[inline]
    pub fn byte_offset(&self) -> usize {
        self.0.parts.offset
    }

    /// Checks whether the elements must not be written.
    #[inline]
    pub fn is_read_only(&self) -> bool {
        self.0.parts.storage.is_read_only()
    }

    /// Checks whether the memory was copied for this tensor, rather than shared with where its
    /// elements came from.
    #[inline]
    pub fn is_copied(&self) -> bool {
        self.0.parts.copied
    }

    /// Checks whether sub-byte elements are each padded to whole bytes, rather than packed.
    #[inline]
    pub fn is_padded(&self) -> bool {
        self.0.parts.padded
    }

    /// Checks whether an element of this tensor shares memory with one of `other`, as far as that
    /// can be found out: see [`Overlap`].
    pub fn overlaps(&self, other: &Self) -> Overlap {
        self.region().overlaps(&other.region())
    }

    fn region(&self) -> Region<'_> {
        Region {
            address: self.data_ptr().addr(),
            layout: self.layout(),
            dtype: self.0.parts.dtype,
            padded: self.0.parts.padded,
        }
    }
}

const _: () = assert!(size_of::<Option<Tensor>>() == size_of::<usize>());
