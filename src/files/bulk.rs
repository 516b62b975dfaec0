//! Large buffers: memory for copies, and copies on several threads.

use crate::device::Device;
use crate::dtype::DType;
use crate::error::Error;
use crate::storage::Storage;
use crate::tensor::Tensor;
use memmap2::MmapMut;
use std::sync::{Mutex, PoisonError};
use std::{slice, thread};

/// The size from which a buffer is a mapping of its own, for which huge pages are requested: a page
/// fault for each 4 KiB takes longer than the copy.
const MAPPED: usize = 4 << 20;

/// The size from which a thread more is worth its start.
const PER_THREAD: usize = 8 << 20;

/// The number of threads from which a copy gets no faster: memory is the limit.
const MOST_THREADS: usize = 4;

/// Allocates zeroed bytes, aligned to 64 at least, and to a page if they are many.
pub(super) fn zeroed(bytes: usize) -> Result<Tensor, Error> {
    if bytes >= MAPPED
        && let Ok(mapping) = MmapMut::map_anon(bytes)
    {
        // The system may have no huge pages, and it works without.
        #[cfg(target_os = "linux")]
        let _ = mapping.advise(memmap2::Advice::HugePage);
        return Tensor::from_storage(Storage::from_owner_mut(mapping), &[bytes], DType::U8);
    }
    Tensor::from_storage(Storage::zeroed(bytes)?, &[bytes], DType::U8)
}

/// Allocates zeroed bytes at a multiple of `align`.
pub(super) fn zeroed_at(align: usize, bytes: usize) -> Result<Tensor, Error> {
    let whole = zeroed(bytes)?;
    if whole.data_ptr().addr().is_multiple_of(align) {
        return Ok(whole);
    }
    let room = bytes
        .checked_add(align)
        .filter(|room| *room <= isize::MAX as usize);
    let whole = zeroed(room.ok_or(Error::OutOfMemory { bytes: usize::MAX })?)?;
    let begin = whole.data_ptr().addr().next_multiple_of(align) - whole.data_ptr().addr();
    let part = whole.storage().slice(begin..begin + bytes);
    drop(whole); // So that the memory has one handle.
    Tensor::from_storage(part, &[bytes], DType::U8)
}

/// Allocates a vector for a number of items, of which a file or a tensor says how many there are.
pub(super) fn with_capacity<T>(capacity: usize) -> Result<Vec<T>, Error> {
    let mut items = Vec::new();
    let reserved = items.try_reserve_exact(capacity);
    let bytes = capacity.saturating_mul(size_of::<T>());
    reserved.map_err(|_| Error::OutOfMemory { bytes })?;
    Ok(items)
}

/// Collects items into a vector that is allocated as [`with_capacity`] does it.
#[cfg(feature = "proto")]
pub(super) fn collect<T>(items: impl ExactSizeIterator<Item = T>) -> Result<Vec<T>, Error> {
    let mut collected = with_capacity(items.len())?;
    collected.extend(items);
    Ok(collected)
}

/// Returns the bytes of a storage on the host.
pub(super) fn bytes(storage: &Storage) -> &[u8] {
    assert_eq!(storage.device(), Device::CPU);
    if storage.nbytes() == 0 {
        return &[];
    }
    // SAFETY: a storage's bytes on the host are initialised and live as long as it, which is
    // borrowed. A view to write through needs the only handle to the memory, and this is another
    // one; that foreign code doesn't write the memory either is the promise of the code that shared
    // it.
    unsafe { slice::from_raw_parts(storage.data_ptr(), storage.nbytes()) }
}

/// Copies bytes, on several threads if they are many and the system has the threads.
pub(super) fn copy(from: &[u8], to: &mut [u8]) {
    assert_eq!(from.len(), to.len());
    let most = thread::available_parallelism().map_or(1, usize::from);
    let threads = (from.len() / PER_THREAD).clamp(1, most.min(MOST_THREADS));
    if threads == 1 {
        return to.copy_from_slice(from);
    }
    // Pages are faulted in by the thread that writes them first: none shares one with another.
    let part = from.len().div_ceil(threads).next_multiple_of(2 << 20);
    let parts = Mutex::new(from.chunks(part).zip(to.chunks_mut(part)));
    let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some((from, to)) = next() {
            to.copy_from_slice(from);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Without that thread, the others do its part.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copy_of_many_bytes_copies_each() {
        let sizes: &[usize] = match cfg!(miri) {
            true => &[0, 5],
            false => &[0, 5, 2 * PER_THREAD, 3 * PER_THREAD + 7],
        };
        for &size in sizes {
            let from: Vec<u8> = (0..size).map(|i| (i % 251) as u8).collect();
            let mut to = vec![255; size];
            copy(&from, &mut to);
            assert!(from == to, "{size} bytes");
        }
    }
}
