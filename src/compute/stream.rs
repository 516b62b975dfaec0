//! Copies that bypass the caches, and requests of memory to come into them.

/// From this number of written bytes on, stores bypass the caches: the memory would push out
/// everything else, and be read before it is overwritten.
///
/// Builds with debug assertions, as tests are, do so much earlier.
pub(crate) const STREAM_FROM: usize = if cfg!(debug_assertions) {
    1 << 14
} else {
    16 << 20
};

/// Returns whether results of this size bypass the caches, of an operation that reads and writes
/// `total` bytes: what fits the last cache with all that is read is better written there.
#[cfg(feature = "kernels")]
pub(crate) fn bypasses(written: usize, total: usize) -> bool {
    written >= STREAM_FROM && total > 2 * STREAM_FROM
}

/// Copies bytes to memory that isn't read soon. [`fence`] orders them before later stores.
///
/// # Safety
///
/// `bytes` bytes can be read at `from` and written at `to`, and they don't overlap.
#[inline]
pub(crate) unsafe fn stream(from: *const u8, to: *mut u8, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    {
        use std::arch::x86_64::{__m128i, _mm_loadu_si128, _mm_stream_si128};
        const LINE: usize = 64;
        let head = to.align_offset(LINE).min(bytes);
        let lines = (bytes - head) / LINE * LINE;
        // SAFETY: all parts lie within the `bytes` bytes; the middle one begins at a multiple of
        // 64 bytes, as the stores need it.
        unsafe {
            // Mostly nothing, without a call then.
            if head > 0 {
                std::ptr::copy_nonoverlapping(from, to, head);
            }
            let (source, target) = (from.add(head), to.add(head));
            for at in (0..lines).step_by(16) {
                let value = _mm_loadu_si128(source.add(at).cast::<__m128i>());
                _mm_stream_si128(target.add(at).cast::<__m128i>(), value);
            }
            let done = head + lines;
            if done < bytes {
                std::ptr::copy_nonoverlapping(from.add(done), to.add(done), bytes - done);
            }
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    // SAFETY: `bytes` bytes can be read and written, and don't overlap.
    unsafe {
        std::ptr::copy_nonoverlapping(from, to, bytes);
    }
}

/// Orders what [`stream`] wrote on this thread before its later stores.
#[inline]
pub(crate) fn fence() {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    // SAFETY: every CPU of the architecture has SSE.
    unsafe {
        std::arch::x86_64::_mm_sfence();
    }
}

/// Requests the cache lines of some bytes, which need not be there.
#[cfg(any(feature = "ops", all(target_arch = "x86_64", not(miri))))]
#[inline(always)]
pub(crate) fn prefetch(from: *const u8, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    for at in (0..bytes).step_by(64) {
        // SAFETY: every CPU of the architecture has SSE, and a prefetch reads nothing for the
        // program, whatever the address is.
        unsafe {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            _mm_prefetch::<_MM_HINT_T0>(from.wrapping_add(at).cast());
        }
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = (from, bytes);
}
