//! Rows of a tensor that a list of indices names: copies of them, and sums with them.

mod order;

pub(crate) use order::{Index, Rows};

use super::plan::Dim;
use super::stream::prefetch;
use super::threads::for_each_range;
use super::{Routine, Simd, dispatch, vectorize};
use order::{INDEXED, LISTED, Plan};
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// The least number of bytes that are worth a thread.
const GRAIN: usize = 1 << 16;

/// The least number of indices to check that are worth a thread.
const INDICES: usize = 1 << 16;

/// Returns the first index that isn't within an axis of this size: where it is in the list.
pub(crate) fn out_of_bounds<I: Index>(indices: &[I], size: usize) -> Option<usize> {
    let is_outside = |index: &I| index.position(size) >= size;
    let is_any = AtomicBool::new(false);
    for_each_range(indices.len(), INDICES, |range| {
        let indices = &indices[range];
        // Without a branch, so that it is vectorised.
        let found = vectorize(|| indices.iter().fold(false, |any, at| any | is_outside(at)));
        if found {
            is_any.store(true, Ordering::Relaxed);
        }
    });
    let is_any = is_any.into_inner();
    is_any.then(|| indices.iter().position(is_outside))?
}

impl<I: Index> Rows<'_, I> {
    /// Copies rows to the list.
    ///
    /// # Safety
    ///
    /// The indices are within the axis. The shape of `listed` is that of `indexed` with `rank`
    /// sizes, whose product is the number of indices, in place of the axis; elements have the same
    /// size. Every element that the layouts lead to is there; those of `listed` can be written, no
    /// two of them are at one place, and no other code uses them.
    pub(crate) unsafe fn take(&self) {
        if self.listed.layout.is_empty() {
            return;
        }
        let plan = Plan::new(self, LISTED);
        let count = self.indices.len();
        let least = GRAIN.div_ceil(plan.row.size * plan.item);
        for_each_range(plan.outer_len() * count, least, |range| {
            let mut at = range.start;
            while at < range.end {
                let (outer, begin) = (at / count, at % count);
                let end = count.min(begin + (range.end - at));
                // SAFETY: these indices are within the axis, and no other range has this outer
                // index and these places of the list.
                unsafe { plan.take(outer, begin..end) };
                at += end - begin;
            }
        });
    }

    /// Adds the rows of the list to those that the indices name, one after another in the order of
    /// the list, on any number of threads.
    ///
    /// # Safety
    ///
    /// As for [`take`](Self::take), but it is the elements of `indexed` that are written. All are
    /// elements of `T`, aligned.
    pub(crate) unsafe fn add<T: Copy>(&self, add: impl Fn(T, T) -> T + Sync + Copy) {
        if self.listed.layout.is_empty() {
            return;
        }
        let plan = Plan::new(self, INDEXED);
        let width = plan.row.size;
        // Threads share no rows, and cache lines rarely.
        let line = 64_usize.div_ceil(plan.item);
        let least = (GRAIN / plan.item).div_ceil(self.indices.len());
        let least = least.next_multiple_of(line.min(width));
        for_each_range(plan.outer_len() * width, least, |range| {
            let mut at = range.start;
            while at < range.end {
                let (outer, begin) = (at / width, at % width);
                let end = width.min(begin + (range.end - at));
                let (columns, plan) = (begin..end, &plan);
                // SAFETY: these indices are within the axis, and no other range has this outer
                // index and these columns.
                dispatch(Add {
                    plan,
                    outer,
                    columns,
                    add,
                    element: std::marker::PhantomData,
                });
                at += end - begin;
            }
        });
    }
}

impl<I: Index> Plan<'_, I> {
    /// # Safety
    ///
    /// As for [`Rows::take`], for these rows.
    unsafe fn take(&self, outer: usize, list: Range<usize>) {
        let is_contiguous = self.row.strides == [self.item as isize; 2] || self.row.size == 1;
        // SAFETY: items have this size, and what the caller promises.
        unsafe {
            match (self.row.size * self.item, self.item) {
                (1, _) => self.take_items::<[u8; 1]>(outer, list),
                (2, _) if is_contiguous => self.take_items::<[u8; 2]>(outer, list),
                (4, _) if is_contiguous => self.take_items::<[u8; 4]>(outer, list),
                (8, _) if is_contiguous => self.take_items::<[u8; 8]>(outer, list),
                (16, _) if is_contiguous => self.take_items::<[u8; 16]>(outer, list),
                (bytes, _) if is_contiguous => self.take_bytes(outer, list, bytes),
                (_, 1) => self.take_strided::<[u8; 1]>(outer, list),
                (_, 2) => self.take_strided::<[u8; 2]>(outer, list),
                (_, 4) => self.take_strided::<[u8; 4]>(outer, list),
                (_, 8) => self.take_strided::<[u8; 8]>(outer, list),
                _ => self.take_strided::<[u8; 16]>(outer, list),
            }
        }
    }

    /// Copies rows of one item each.
    ///
    /// # Safety
    ///
    /// As for [`Rows::take`], for these rows, which have the size of an item.
    unsafe fn take_items<T: Copy>(&self, outer: usize, list: Range<usize>) {
        let [to, from] = self.begin(outer);
        for at in list {
            let from = from.wrapping_offset(self.indexed(at)).cast::<T>();
            let to = to.wrapping_offset(self.listed(at)).cast::<T>();
            // SAFETY: rows of both tensors, as the caller promises.
            unsafe { to.write_unaligned(from.read_unaligned()) };
        }
    }

    /// Copies contiguous rows.
    ///
    /// # Safety
    ///
    /// As for [`Rows::take`], for these rows, each of which has this number of bytes.
    unsafe fn take_bytes(&self, outer: usize, list: Range<usize>, bytes: usize) {
        let [to, from] = self.begin(outer);
        // The CPU finds the rest of a row by itself, but not the next one.
        let ahead = (PREFETCHED / bytes).clamp(1, 8);
        for at in list.clone() {
            if at + ahead < list.end {
                let next = from.wrapping_offset(self.indexed(at + ahead));
                prefetch(next, bytes.min(PREFETCHED / 8));
            }
            let from = from.wrapping_offset(self.indexed(at));
            let to = to.wrapping_offset(self.listed(at));
            // SAFETY: rows of both tensors, as the caller promises.
            unsafe { ptr::copy_nonoverlapping(from, to, bytes) };
        }
    }

    /// # Safety
    ///
    /// As for [`Rows::take`], for these rows, of items of this size.
    unsafe fn take_strided<T: Copy>(&self, outer: usize, list: Range<usize>) {
        let [to, from] = self.begin(outer);
        let Dim { size, strides } = self.row;
        for at in list {
            let mut from = from.wrapping_offset(self.indexed(at));
            let mut to = to.wrapping_offset(self.listed(at));
            for _ in 0..size {
                // SAFETY: an item of a row of both tensors, as the caller promises.
                unsafe {
                    let item = from.cast::<T>().read_unaligned();
                    to.cast::<T>().write_unaligned(item);
                }
                to = to.wrapping_offset(strides[0]);
                from = from.wrapping_offset(strides[1]);
            }
        }
    }
}

/// How many bytes are fetched to the caches before they are copied.
const PREFETCHED: usize = 4096;

/// Sums of some columns of all rows with an outer index, of which [`Rows::add`] makes one for each
/// thread.
struct Add<'a, I, T, F> {
    plan: &'a Plan<'a, I>,
    outer: usize,
    columns: Range<usize>,
    add: F,
    element: std::marker::PhantomData<T>,
}

impl<I: Index, T: Copy, F: Fn(T, T) -> T> Routine for Add<'_, I, T, F> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, _: S) {
        let Self { plan, add, .. } = self;
        let Dim { strides, .. } = plan.row;
        let [source, target] = plan.begin(self.outer);
        let step = |first: *mut u8, stride: isize| {
            first.wrapping_offset(stride * self.columns.start as isize)
        };
        let (source, target) = (step(source, strides[0]), step(target, strides[1]));
        let len = self.columns.len();
        let rows = |at: usize| {
            let source = source.wrapping_offset(plan.listed(at)).cast::<T>();
            (source, target.wrapping_offset(plan.indexed(at)).cast::<T>())
        };
        // SAFETY: columns of a row of both tensors: `Rows::add` requires the indices to be within
        // the axis, elements that are there and aligned, no other code that uses those that are
        // written, and the two not to overlap.
        let add_to = |target: *mut T, source: *mut T| unsafe {
            target.write(add(target.read(), source.read()));
        };
        let list = 0..plan.indices.len();
        if len == 1 {
            for (source, target) in list.map(rows) {
                add_to(target, source);
            }
        } else if strides == [size_of::<T>() as isize; 2] {
            for (source, target) in list.map(rows) {
                for at in 0..len {
                    add_to(target.wrapping_add(at), source.wrapping_add(at));
                }
            }
        } else {
            for (source, target) in list.map(rows) {
                for at in 0..len as isize {
                    let target = target.wrapping_byte_offset(at * strides[1]);
                    add_to(target, source.wrapping_byte_offset(at * strides[0]));
                }
            }
        }
    }
}
