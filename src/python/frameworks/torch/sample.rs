//! Tensors of which the memory is compared, to find out where PyTorch keeps things.

use super::class::address_of;
use pyo3::prelude::*;
use std::ptr;

/// A tensor, and its words.
pub(super) struct Sample<'py> {
    pub(super) object: Bound<'py, PyAny>,
    pub(super) words: Vec<u64>,
}

/// How many of a tensor's words are looked at, at most: the struct had up to 26 in the versions
/// so far, and has 22 in the newest.
const MOST_WORDS: usize = 26;

/// How many bytes lie behind a pointer that the system's allocator gave; where it doesn't tell, 0,
/// and nothing is looked at.
///
/// # Safety
///
/// The pointer is one that the allocator gave, and that wasn't given back, or NULL.
pub(super) unsafe fn allocated(pointer: *const u8) -> usize {
    #[cfg(target_os = "linux")]
    unsafe extern "C" {
        fn malloc_usable_size(pointer: *const u8) -> usize;
    }
    #[cfg(target_os = "macos")]
    unsafe extern "C" {
        #[link_name = "malloc_size"]
        fn malloc_usable_size(pointer: *const u8) -> usize;
    }
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    // SAFETY: the pointer is one that the allocator gave, as this function demands, or NULL, behind
    // which lie 0 bytes.
    return unsafe { malloc_usable_size(pointer) };
    #[cfg(not(any(target_os = "linux", target_os = "macos")))]
    return {
        let _ = pointer;
        0
    };
}

/// The words of a C++ tensor.
pub(super) fn words_of(object: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let tensor = ptr::with_exposed_provenance::<u64>(address_of(object)?);
    // SAFETY: the C type's own attribute says where the tensor is, which PyTorch made with `new`; 0
    // bytes lie behind NULL.
    Ok(unsafe {
        let count = allocated(tensor.cast()) / size_of::<u64>();
        if count == 0 {
            return Ok(Vec::new());
        }
        std::slice::from_raw_parts(tensor, count.min(MOST_WORDS)).to_vec()
    })
}
