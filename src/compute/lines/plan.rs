//! [`Lines`]: the blocks of lines that are computed at once, and where their results go.

use super::group::{Body, Group, Scratch};
use crate::compute::address::Address;
use crate::compute::gather::{gather, scatter};
use crate::compute::plan::{Dim, Operand, merge_slice};
use crate::compute::stream::{bypasses, stream};
use smallvec::SmallVec;

/// The bytes of lines that are gathered at once, if there are more than a few of them.
const ROOM: usize = 1 << 17;

/// The bytes of contiguous lines that the body gets at once.
const SHORT: usize = 1 << 13;

/// The least bytes of a line that is streamed by itself.
const STREAMED: usize = 1 << 9;

/// Lines, and the dimensions around them: strides of `out` and of `x`.
pub(super) struct Lines {
    first: [Address; 2],
    item: [usize; 2],
    /// Whether elements of a line are contiguous.
    is_contiguous: [bool; 2],
    /// Whether the results are where the elements are.
    is_in_place: bool,
    /// Whether the results bypass the caches.
    pub(super) streams: bool,
    pub(super) line: Dim<2>,
    outer: SmallVec<[Dim<2>; 4]>,
    /// The dimension along which several lines are gathered at once.
    beside: Dim<2>,
    pub(super) at_once: usize,
}

impl Lines {
    pub(super) fn new(x: &Operand<'_>, out: &Operand<'_>, axis: usize) -> Self {
        let item = [out.item, x.item];
        let mut outer = SmallVec::new();
        let mut line = Dim::NONE;
        for (at, &size) in x.layout.shape().iter().enumerate() {
            let strides = [out.stride(at), x.stride(at)];
            if at == axis {
                line = Dim { size, strides };
            } else if size != 1 {
                outer.push(Dim { size, strides });
            }
        }
        outer.sort_by_key(|dim: &Dim<2>| std::cmp::Reverse(dim.strides[0].unsigned_abs()));
        let kept = merge_slice(&mut outer);
        outer.truncate(kept);
        let is_contiguous =
            [0, 1].map(|at| line.size == 1 || line.strides[at] == item[at] as isize);
        let beside = outer.pop().unwrap_or(Dim::NONE);
        let is_in_place = out.first == x.first;
        let is_whole = beside.strides[0] == (line.size * item[0]) as isize;
        let streams = !is_in_place && is_contiguous[0] && {
            let bytes = item.map(|item| x.layout.len() * item);
            bypasses(bytes[0], bytes[0] + bytes[1]) && (is_whole || line.size * item[0] >= STREAMED)
        };
        let bytes = line.size * item[0].max(item[1]);
        let at_once = if is_contiguous == [true; 2] {
            (SHORT / bytes.max(1)).clamp(1, beside.size.max(1))
        } else {
            // A few even of long lines, as memory comes in cache lines.
            (ROOM / bytes).max(16).min(beside.size)
        };
        Self {
            first: [Address(out.first), Address(x.first)],
            item,
            is_contiguous,
            is_in_place,
            streams,
            line,
            outer,
            beside,
            at_once,
        }
    }

    pub(super) fn blocks(&self) -> usize {
        let outer: usize = self.outer.iter().map(|dim| dim.size).product();
        outer * self.beside.size.div_ceil(self.at_once)
    }

    /// Visits the lines of a block.
    ///
    /// # Safety
    ///
    /// As for [`for_each_line`](super::for_each_line), and no other code uses these lines of `out`.
    pub(super) unsafe fn run(
        &self,
        block: usize,
        body: Body<'_>,
        scratch: &mut Scratch,
        gathered: &mut [Scratch; 2],
    ) {
        let across = self.beside.size.div_ceil(self.at_once);
        let (mut index, start) = (block / across, block % across * self.at_once);
        let mut first = self.first.map(|address| address.0);
        let mut advance = |dim: &Dim<2>, steps: usize| {
            for (first, stride) in first.iter_mut().zip(dim.strides) {
                *first = first.wrapping_offset(stride * steps as isize);
            }
        };
        advance(&self.beside, start);
        for dim in self.outer.iter().rev() {
            advance(dim, index % dim.size);
            index /= dim.size;
        }
        let count = self.at_once.min(self.beside.size - start);
        let len = self.line.size;
        let tile = (count, len);
        let strides = |at: usize| (self.beside.strides[at], self.line.strides[at]);
        let mut at = first;
        let mut steps = self.beside.strides;
        // Results are first written elsewhere if they are to be scattered, copied or streamed.
        let is_staged = [
            !self.is_contiguous[0] || self.is_in_place || self.streams,
            !self.is_contiguous[1],
        ];
        for operand in 0..2 {
            if is_staged[operand] {
                let bytes = count * len * self.item[operand];
                at[operand] = gathered[operand].items(bytes);
                steps[operand] = (len * self.item[operand]) as isize;
            }
        }
        if !self.is_contiguous[1] {
            // SAFETY: these are lines of `x`, and the memory has room for them.
            unsafe { gather(self.item[1], first[1], strides(1), tile, at[1]) };
        }
        let group = Group {
            x: at[1],
            out: at[0],
            len,
            count,
            steps,
        };
        body(group, scratch);
        // SAFETY: these are lines of `out`, which may be written, and the body has written their
        // elements.
        unsafe {
            if !self.is_contiguous[0] {
                scatter(self.item[0], at[0], strides(0), tile, first[0]);
            } else if is_staged[0] {
                self.store(group, first[0]);
            }
        }
    }

    /// Copies results to contiguous lines, past the caches if they are streamed.
    ///
    /// # Safety
    ///
    /// `group` has results, one after another, of lines that begin at `to`, which can be written.
    unsafe fn store(&self, group: Group, to: *mut u8) {
        let step = self.beside.strides[0];
        let line = group.len * self.item[0];
        let (count, bytes) = match step == line as isize {
            true => (1, group.count * line),
            false => (group.count, line),
        };
        for at in 0..count {
            let from = group.out.wrapping_add(at * bytes).cast_const();
            let to = to.wrapping_offset(at as isize * step);
            // SAFETY: the caller promises as many bytes at both places, which don't overlap: one is
            // memory of this thread.
            unsafe {
                match self.streams {
                    true => stream(from, to, bytes),
                    false => std::ptr::copy_nonoverlapping(from, to, bytes),
                }
            }
        }
    }
}
