//! Address space for the double's memory. Each range is handed out once, so an old pointer never
//! meets new memory.

use std::ffi::c_void;
use std::ptr;

pub(crate) const PAGE: u64 = 4096;

/// What the host may do with pages.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Nothing,
    Read,
    Write,
}

#[derive(Default)]
pub(crate) struct Arena {
    next: u64,
    end: u64,
    reserved: Vec<(u64, u64)>,
}

impl Arena {
    /// The start of a new range, with a page behind it that nothing may ever touch.
    pub(crate) fn take(&mut self, bytes: u64) -> Option<u64> {
        let whole = bytes.checked_next_multiple_of(PAGE)?.checked_add(PAGE)?;
        if self.end - self.next < whole {
            (self.next, self.end) = reserve(whole)?;
            self.reserved.push((self.next, self.end));
        }
        let start = self.next;
        self.next += whole;
        Some(start)
    }

    pub(crate) fn contains(&self, address: u64) -> bool {
        self.reserved
            .iter()
            .any(|&(start, end)| (start..end).contains(&address))
    }
}

/// Address space alone: nothing is stored until pages are opened and written.
fn reserve(at_least: u64) -> Option<(u64, u64)> {
    [1 << 38, 1 << 34, 1 << 30, at_least]
        .into_iter()
        .filter(|&bytes| bytes >= at_least)
        .find_map(|bytes| {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let length = usize::try_from(bytes).ok()?;
            // SAFETY: a new mapping at an address that the system chooses touches nothing that
            // exists.
            let start =
                unsafe { libc::mmap(ptr::null_mut(), length, libc::PROT_NONE, flags, -1, 0) };
            (start != libc::MAP_FAILED).then(|| (start as u64, start as u64 + bytes))
        })
}

/// Sets what the host may do with the pages of a range of the arena.
pub(crate) fn protect(start: u64, bytes: u64, access: Access) {
    let protection = match access {
        Access::Nothing => libc::PROT_NONE,
        Access::Read => libc::PROT_READ,
        Access::Write => libc::PROT_READ | libc::PROT_WRITE,
    };
    let length = bytes.next_multiple_of(PAGE) as usize;
    // SAFETY: the pages are the arena's, and no reference of Rust points into them.
    let failed = unsafe { libc::mprotect(start as *mut c_void, length, protection) };
    assert_eq!(failed, 0, "mprotect: {}", std::io::Error::last_os_error());
}

/// Gives the pages' storage back to the system; the addresses stay taken.
pub(crate) fn discard(start: u64, bytes: u64) {
    protect(start, bytes, Access::Nothing);
    // SAFETY: the pages are the arena's, and what they hold isn't needed any more.
    unsafe {
        libc::madvise(
            start as *mut c_void,
            bytes.next_multiple_of(PAGE) as usize,
            libc::MADV_DONTNEED,
        )
    };
}
