//! Our own memory on the host: aligned for every framework, and zeroed lazily.

use super::owner::SmallOwner;
use crate::error::Error;
use std::alloc::{Layout, alloc, alloc_zeroed, dealloc};
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};

/// Alignment of small buffers: what TensorFlow and JAX ask for before they share memory.
const ALIGNMENT: usize = 64;
/// Alignment of buffers from a page up: what DLPack's header recommends.
const LARGE_ALIGNMENT: usize = 256;
const PAGE: usize = 4096;

/// What allocators give anyway. Asking for more makes them slow, and zeroing touch every page; so
/// the room for a better alignment is allocated too.
const BASE_ALIGNMENT: usize = 16;

/// Allocators have small blocks at hand, but not zeroed ones.
const QUICK: usize = 1024;

/// Allocations from this size on are best in huge pages, of 2 MB.
#[cfg(all(target_os = "linux", feature = "kernels", not(miri)))]
const HUGE: usize = 4 << 20;

/// What is in new memory.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Contents {
    Zeros,
    /// Any bits.
    Arbitrary,
}

/// An allocation, somewhere inside of which the buffer begins.
pub(crate) struct HostBuffer {
    base: NonNull<u8>,
    layout: Layout,
}

// SAFETY: plain memory, which only its owner frees.
unsafe impl Send for HostBuffer {}

impl HostBuffer {
    /// Allocates `bytes` bytes, more than 0, and tells where they begin.
    pub(super) fn allocate(bytes: usize, contents: Contents) -> Result<(Self, NonNull<u8>), Error> {
        debug_assert_ne!(bytes, 0);
        Self::behind(0, bytes, contents)
    }

    /// Allocates uninitialised room for a header and memory behind it, and tells where both begin.
    /// The header lies in the buffer, so it is moved out before that is dropped.
    #[cfg(all(feature = "python", feature = "kernels"))]
    #[inline]
    pub(crate) fn with_header<H>(
        bytes: usize,
        contents: Contents,
    ) -> Result<(Self, NonNull<H>, NonNull<u8>), Error> {
        const { assert!(size_of::<H>() > 0 && align_of::<H>() <= BASE_ALIGNMENT) };
        let header = size_of::<H>().next_multiple_of(BASE_ALIGNMENT);
        let (buffer, data) = Self::behind(header, bytes, contents)?;
        let base = buffer.base.cast();
        Ok((buffer, base, data))
    }

    /// Allocates `bytes` bytes behind a header of `header` bytes, a multiple of the base's
    /// alignment: not both are 0.
    #[inline]
    fn behind(
        header: usize,
        bytes: usize,
        contents: Contents,
    ) -> Result<(Self, NonNull<u8>), Error> {
        let out_of_memory = || Error::OutOfMemory { bytes };
        let alignment = if bytes < PAGE {
            ALIGNMENT
        } else {
            LARGE_ALIGNMENT
        };
        let size = bytes
            .checked_add(header + alignment - BASE_ALIGNMENT)
            .ok_or_else(out_of_memory)?;
        let layout = Layout::from_size_align(size, BASE_ALIGNMENT).map_err(|_| out_of_memory())?;
        let zeroed = contents == Contents::Zeros;
        let clears = zeroed && size < QUICK;
        let allocate = if zeroed && !clears {
            alloc_zeroed
        } else {
            alloc
        };
        // SAFETY: the size is not 0, as header and bytes aren't both.
        let base = NonNull::new(unsafe { allocate(layout) }).ok_or_else(out_of_memory)?;
        #[cfg(all(target_os = "linux", feature = "kernels", not(miri)))]
        if size >= HUGE {
            advise_huge_pages(base, size);
        }
        let address = base.addr().get();
        // SAFETY: the base is aligned to 16, so that the next multiple of the alignment behind the
        // header is at most what was allocated in addition to `bytes` away.
        let data = unsafe { base.add((address + header).next_multiple_of(alignment) - address) };
        if clears {
            // SAFETY: that much was allocated from there on.
            unsafe { data.write_bytes(0, bytes) };
        }
        if contents == Contents::Arbitrary {
            // SAFETY: that much was allocated from there on.
            unsafe { initialize(data, bytes) };
        }
        Ok((Self { base, layout }, data))
    }
}

/// Asks for huge pages: the system clears memory page by page when it is first written, and that
/// takes longer than most ops. A system that has none, or won't, changes nothing.
#[cfg(all(target_os = "linux", feature = "kernels", not(miri)))]
#[cold]
fn advise_huge_pages(base: NonNull<u8>, size: usize) {
    let first = base.addr().get().next_multiple_of(PAGE);
    let end = (base.addr().get() + size) / PAGE * PAGE;
    let pages = base.as_ptr().with_addr(first).cast();
    // SAFETY: whole pages of memory that was just allocated, whose contents the advice doesn't
    // change. Where the system's pages are larger it is refused.
    unsafe { libc::madvise(pages, end - first, libc::MADV_HUGEPAGE) };
}

/// Makes uninitialised memory count as initialised, with the bits that it has. Debug builds write
/// bits that stand out where a kernel leaves them.
///
/// # Safety
///
/// There are `bytes` bytes at `data` to be written.
#[inline]
unsafe fn initialize(data: NonNull<u8>, bytes: usize) {
    #[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
    if !cfg!(any(debug_assertions, miri)) {
        // SAFETY: it does nothing. For the compiler it may write the memory, which the caller
        // allows, so bytes that are read later are those that it wrote.
        unsafe { std::arch::asm!("/* {0} */", in(reg) data.as_ptr(), options(nostack)) };
        return;
    }
    // SAFETY: the caller says that the bytes are there.
    unsafe { data.write_bytes(0xA5, bytes) };
}

// SAFETY: twice a size is even.
unsafe impl SmallOwner for HostBuffer {
    fn into_words(self) -> [*mut (); 2] {
        let this = ManuallyDrop::new(self);
        let size = ptr::without_provenance_mut(2 * this.layout.size());
        [size, this.base.as_ptr().cast()]
    }

    unsafe fn from_words([size, base]: [*mut (); 2]) -> Self {
        let layout = Layout::from_size_align(size.addr() / 2, BASE_ALIGNMENT);
        Self {
            base: NonNull::new(base.cast()).expect("it was not NULL"),
            layout: layout.expect("it was a layout before"),
        }
    }
}

impl Drop for HostBuffer {
    fn drop(&mut self) {
        // SAFETY: allocated in `allocate` with this layout, and freed only here.
        unsafe { dealloc(self.base.as_ptr(), self.layout) }
    }
}

#[cfg(all(test, target_os = "linux", feature = "kernels", not(miri)))]
mod tests {
    use super::*;

    /// Returns the flags of the mapping of an address, if the system tells them.
    fn flags(address: usize) -> Option<String> {
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut is_there = false;
        for line in maps.lines() {
            let range = line
                .split_once(' ')
                .and_then(|(range, _)| range.split_once('-'));
            let ends = range.and_then(|(first, end)| {
                let number = |text| usize::from_str_radix(text, 16).ok();
                Some(number(first)?..number(end)?)
            });
            if let Some(ends) = ends {
                is_there = ends.contains(&address);
            } else if is_there && let Some(flags) = line.strip_prefix("VmFlags:") {
                return Some(flags.to_owned());
            }
        }
        None
    }

    #[test]
    fn large_memory_asks_for_huge_pages() {
        let system = std::path::Path::new("/sys/kernel/mm/transparent_hugepage/enabled");
        for contents in [Contents::Arbitrary, Contents::Zeros] {
            let (buffer, data) = HostBuffer::allocate(64 << 20, contents).unwrap();
            let middle = data.addr().get() + (32 << 20);
            let flags = flags(middle).unwrap_or_default();
            let asks = flags.split(' ').any(|flag| flag == "hg");
            assert_eq!(asks, system.exists(), "{flags}");
            drop(buffer);
        }
    }
}
