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

/// Returns whether this CPU gets what is in no cache sooner from several far parts in turns than
/// from one after the other.
///
/// CPUs read ahead of several sequences of addresses. Of those without AVX-512 (Zen 3), four get up
/// to twice as much as one. With it, one gets as much as the memory gives on Zen 5, where parts at
/// some distances from each other take up to five times as long; on Zen 4 one thread gains, and two
/// may lose. On others nothing was measured.
///
/// Builds with debug assertions, as tests are, do everything in turns.
#[inline]
pub(crate) fn reads_in_turns() -> bool {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    let gains = !is_x86_feature_detected!("avx512f");
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let gains = false;
    cfg!(debug_assertions) || gains
}

/// Calls a function with the first and the number of elements of pieces, which together are all:
/// the first `head`, then pieces of several parts in turns, and the rest.
#[inline]
pub(crate) fn in_turns(
    len: usize,
    head: usize,
    (parts, piece): (usize, usize),
    mut visit: impl FnMut(usize, usize),
) {
    let head = head.min(len).min(piece);
    if head > 0 {
        visit(0, head);
    }
    let pieces = (len - head) / parts / piece;
    for at in 0..pieces {
        for part in 0..parts {
            visit(head + (part * pieces + at) * piece, piece);
        }
    }
    for at in (head + parts * pieces * piece..len).step_by(piece) {
        visit(at, piece.min(len - at));
    }
}

/// Copies bytes as [`stream`] does, of several parts in turns where that
/// [gains](reads_in_turns).
///
/// # Safety
///
/// As for [`stream`].
pub(crate) unsafe fn stream_in_turns(from: *const u8, to: *mut u8, bytes: usize) {
    let parts = if reads_in_turns() { 4 } else { 1 };
    in_turns(bytes, to.align_offset(64), (parts, 1024), |at, bytes| {
        // SAFETY: these are some of the bytes.
        unsafe { stream(from.wrapping_add(at), to.wrapping_add(at), bytes) }
    });
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
#[cfg(any(feature = "kernels", all(target_arch = "x86_64", not(miri))))]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_in_turns_are_all_elements_once() {
        for parts in [1, 2, 4] {
            for len in [0, 1, 7, 8, 9, 31, 32, 33, 100] {
                for head in [0, 3, 200] {
                    let mut visits = vec![0; len];
                    in_turns(len, head, (parts, 8), |at, count| {
                        assert!(count <= 8);
                        visits[at..at + count].iter_mut().for_each(|one| *one += 1);
                    });
                    assert_eq!(visits, vec![1; len], "{parts} parts, {head} before");
                }
            }
        }
    }

    #[test]
    fn streams_in_turns_copy_every_byte() {
        let from: Vec<u8> = (0..20_000).map(|at| (at * 7 % 251) as u8).collect();
        let sizes = [0, 1, 63, 64, 4095, 4096, 4097, 8192, 12_345, 19_000];
        // Miri takes a minute for all of them.
        let cases = if cfg!(miri) {
            (&[1][..], &sizes[4..7])
        } else {
            (&[0, 1, 16, 63][..], &sizes[..])
        };
        for &begin in cases.0 {
            for &bytes in cases.1 {
                let mut to = vec![0; from.len()];
                // SAFETY: both have as many bytes, and don't overlap.
                unsafe {
                    stream_in_turns(from.as_ptr().add(begin), to.as_mut_ptr().add(begin), bytes)
                };
                fence();
                assert_eq!(to[begin..][..bytes], from[begin..][..bytes]);
                let is_zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
                assert!(is_zero(&to[..begin]) && is_zero(&to[begin + bytes..]));
            }
        }
    }
}
