//! Concatenation of contiguous tensors.

use super::address::Address;
use super::stream::{STREAM_FROM, fence, stream_in_turns};
use super::threads::for_each_range;

/// The least number of bytes that are worth a thread.
const GRAIN: usize = 1 << 18;

/// Shorter pieces are copied through the caches.
const STREAMED: usize = 1 << 10;

/// A tensor as rows that are contiguous.
pub(crate) struct Part {
    pub(crate) first: *const u8,
    /// The bytes of a row; not 0.
    pub(crate) bytes: usize,
}

// SAFETY: addresses are numbers to threads; `concat_contiguous` says how the memory is used.
unsafe impl Send for Part {}
// SAFETY: shared references give nothing but the numbers.
unsafe impl Sync for Part {}

/// Writes rows that consist of those of the parts, one after another.
///
/// # Safety
///
/// Each part has as many rows. At `to` the bytes of all of them can be written, which no other code
/// uses, and which overlap no part.
pub(crate) unsafe fn concat_contiguous(parts: &[Part], rows: usize, to: *mut u8) {
    let mut begins = Vec::with_capacity(parts.len());
    let mut row_bytes = 0;
    for part in parts {
        begins.push(row_bytes);
        row_bytes += part.bytes;
    }
    let (total, to) = (rows * row_bytes, Address(to));
    let streams = total >= STREAM_FROM;
    for_each_range(total, GRAIN, |range| {
        if range.is_empty() {
            return;
        }
        let (mut row, within) = (range.start / row_bytes, range.start % row_bytes);
        let mut at = range.start;
        let mut next = begins.partition_point(|begin| *begin <= within) - 1;
        let mut skipped = within - begins[next];
        while at < range.end {
            let part = &parts[next];
            let len = (part.bytes - skipped).min(range.end - at);
            let from = part.first.wrapping_add(row * part.bytes + skipped);
            // SAFETY: these are bytes of a row of the part, and their place, which is within this
            // thread's range.
            unsafe {
                if streams && len >= STREAMED {
                    stream_in_turns(from, to.byte(at), len);
                } else {
                    std::ptr::copy_nonoverlapping(from, to.byte(at), len);
                }
            }
            at += len;
            skipped = 0;
            next += 1;
            if next == parts.len() {
                (next, row) = (0, row + 1);
            }
        }
        if streams {
            fence();
        }
    });
}
