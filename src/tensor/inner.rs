//! [`TensorInner`]: the refcounted struct that a tensor's handles point to.

use super::slot::Slot;
use crate::dtype::DType;
use crate::layout::Layout;
use crate::storage::Storage;

/// The refcounted content of a tensor.
pub(super) struct TensorInner {
    pub(super) parts: Parts,
    pub(super) layout: Layout,
    /// Room for an embedded export.
    pub(super) slot: Slot,
}

/// The content of a tensor beside its layout.
#[derive(Clone)]
pub(crate) struct Parts {
    pub(crate) storage: Storage,
    /// Offset of the element of index 0, in bytes from the storage's beginning.
    pub(crate) offset: usize,
    pub(crate) dtype: DType,
    /// Whether sub-byte elements are each padded to whole bytes.
    pub(crate) padded: bool,
    /// Whether the memory was copied for the receiver of this tensor.
    pub(crate) copied: bool,
}

const _: () = assert!(size_of::<TensorInner>() == 304 || size_of::<usize>() != 8);
