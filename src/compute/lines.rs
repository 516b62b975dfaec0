//! Functions of whole lines of a tensor, as in softmax and normalisation: vectorised, and on
//! several threads where the tensors are large.

#[cfg(feature = "ops")]
mod wide;

#[cfg(feature = "ops")]
pub(crate) use wide::{Line, for_each_wide_line};

use super::address::Address;
use super::gather::{gather, scatter};
use super::plan::{Dim, Operand, merge_slice};
use super::threads::for_each_range;
use crate::dtype::Element;
use crate::view::{View, ViewMut};
use smallvec::SmallVec;
use std::slice;

/// The least number of elements that are worth a thread.
const GRAIN: usize = 1 << 13;

/// The bytes of lines that are gathered at once, if there are more than a few of them.
const ROOM: usize = 1 << 17;

/// The bytes of contiguous lines that the body gets at once.
const SHORT: usize = 1 << 13;

/// What some lines are for, and memory for intermediate results.
type Body<'a> = &'a (dyn Fn(Group, &mut Scratch) + Sync);

/// Some lines: their elements, where the results go, and the distances between lines in bytes.
#[derive(Clone, Copy)]
struct Group {
    x: *const u8,
    out: *mut u8,
    len: usize,
    count: usize,
    steps: [isize; 2],
}

impl Group {
    /// Returns each line: its elements, and where the results go.
    #[inline(always)]
    fn lines(self) -> impl Iterator<Item = (*const u8, *mut u8)> {
        (0..self.count as isize).map(move |at| {
            let x = self.x.wrapping_offset(at * self.steps[1]);
            (x, self.out.wrapping_offset(at * self.steps[0]))
        })
    }

    /// Returns whether each line is where the one before ends, of elements of these sizes.
    #[cfg(feature = "ops")]
    fn is_whole(self, x: usize, out: usize) -> bool {
        self.count == 1 || self.steps == [out, x].map(|size| (self.len * size) as isize)
    }
}

/// Memory for intermediate results, used again for each line.
#[derive(Debug, Default)]
struct Scratch(SmallVec<[u64; 512]>);

impl Scratch {
    /// Returns memory for this number of elements.
    fn items<T>(&mut self, len: usize) -> *mut T {
        let words = (len * size_of::<T>()).div_ceil(size_of::<u64>());
        self.floats::<f64>(words).as_mut_ptr().cast()
    }

    /// Returns memory for this number of floats, whose values are left from earlier uses.
    fn floats<T: Float>(&mut self, len: usize) -> &mut [T] {
        let words = (len * size_of::<T>()).div_ceil(size_of::<u64>());
        if self.0.len() < words {
            self.0.resize(words, 0);
        }
        // SAFETY: the memory is initialised, large enough and aligned, and every pattern of bits
        // is a float.
        unsafe { std::slice::from_raw_parts_mut(self.0.as_mut_ptr().cast(), len) }
    }
}

/// A type of intermediate results.
pub(crate) trait Float: sealed::Sealed {}
impl Float for f32 {}
impl Float for f64 {}
mod sealed {
    pub(crate) trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

/// Calls a function with each line of `x` along an axis, and with that of `out`, to be written: as
/// slices, whatever the strides are. Large tensors are split among
/// [threads](crate::compute::threads).
///
/// What the line of `out` holds before is not specified. The function runs at the baseline SIMD
/// level; [`vectorize`](crate::compute::vectorize) within it chooses the CPU's best one.
///
/// # Examples
///
/// Running sums along the first axis:
///
/// ```
/// use dlbridge::compute::lines::map_lines;
/// use dlbridge::Tensor;
///
/// let x = Tensor::from([[1.0_f32, 10.0], [2.0, 20.0], [3.0, 30.0]]);
/// let mut sums = Tensor::from([[0.0_f32; 2]; 3]);
/// map_lines(x.view::<f32>()?, sums.view_mut::<f32>()?, 0, |x, sums| {
///     let mut total = 0.0;
///     for (sum, x) in sums.iter_mut().zip(x) {
///         total += x;
///         *sum = total;
///     }
/// });
/// assert_eq!(sums.to_vec::<f32>()?, [1.0, 10.0, 3.0, 30.0, 6.0, 60.0]);
/// # Ok::<(), dlbridge::Error>(())
/// ```
///
/// # Panics
///
/// When the shapes differ, or there is no such axis.
pub fn map_lines<T: Element, O: Element>(
    x: View<'_, T>,
    out: ViewMut<'_, O>,
    axis: usize,
    function: impl Fn(&[T], &mut [O]) + Sync,
) {
    let from = Operand {
        first: x.as_ptr().cast_mut().cast(),
        layout: x.layout(),
        item: size_of::<T>(),
    };
    let to = Operand {
        first: out.as_ptr().cast_mut().cast(),
        layout: out.layout(),
        item: size_of::<O>(),
    };
    // SAFETY: views lead to valid elements; no other code uses those of `out` while it is borrowed,
    // so that `x` doesn't overlap it.
    unsafe { map_operands(from, to, axis, function) }
}

/// [`map_lines`] of operands, of which one may be exactly where the other one is.
///
/// # Safety
///
/// Every element that the layouts lead to is there, aligned, and a value of its type; those of
/// `out` can be written, no two of them are at one place, and no other code uses them. `x` is
/// either exactly where `out` is, with elements of the same size, or doesn't overlap it.
///
/// # Panics
///
/// When the shapes differ, or there is no such axis.
pub(crate) unsafe fn map_operands<T: Element, O: Element>(
    x: Operand<'_>,
    out: Operand<'_>,
    axis: usize,
    function: impl Fn(&[T], &mut [O]) + Sync,
) {
    const { assert!(align_of::<T>() <= 8 && align_of::<O>() <= 8) };
    let shape = x.layout.shape();
    assert_eq!(shape, out.layout.shape(), "shapes of lines");
    assert!(axis < shape.len(), "axis {axis} of shape {shape:?}");
    let body = |group: Group, scratch: &mut Scratch| {
        let len = group.len;
        for (x, out) in group.lines() {
            let mut x = x.cast::<T>();
            if x.cast() == out.cast_const() {
                let copy = scratch.items::<T>(len);
                // SAFETY: a line of `len` elements, and memory for as many.
                unsafe { std::ptr::copy_nonoverlapping(x, copy, len) };
                x = copy;
            }
            // SAFETY: `for_each_line` gives lines of `len` elements, of which those of `out` have
            // been written before, or are new memory of valid elements; where both are in one
            // place, `x` is a copy.
            let (x, out) = unsafe {
                let out = slice::from_raw_parts_mut(out.cast::<O>(), len);
                (slice::from_raw_parts(x, len), out)
            };
            function(x, out);
        }
    };
    // SAFETY: what it requires of the operands is required here, and the shapes were compared.
    unsafe { for_each_line(x, out, axis, &body) }
}

/// Calls the body with all lines of `x` along an axis, and those of `out`, as contiguous memory,
/// which may be the same: some lines at a time.
///
/// # Safety
///
/// The shapes are the same. Every element that the layouts lead to is there; those of `out` can be
/// written, no two of them are at one place, and no other code uses them. `x` is either exactly
/// where `out` is or doesn't overlap it.
unsafe fn for_each_line(x: Operand<'_>, out: Operand<'_>, axis: usize, body: Body<'_>) {
    if x.layout.is_empty() {
        return;
    }
    let lines = Lines::new(&x, &out, axis);
    let blocks = lines.blocks();
    let elements_per_block = lines.at_once * lines.line.size;
    for_each_range(blocks, GRAIN.div_ceil(elements_per_block), |range| {
        let mut scratch = Scratch::default();
        let mut gathered = [Scratch::default(), Scratch::default()];
        for block in range {
            // SAFETY: the plan leads to the elements of the layouts, and blocks have no line in
            // common.
            unsafe { lines.run(block, body, &mut scratch, &mut gathered) };
        }
    });
}

/// Lines, and the dimensions around them: strides of `out` and of `x`.
struct Lines {
    first: [Address; 2],
    item: [usize; 2],
    /// Whether elements of a line are contiguous.
    is_contiguous: [bool; 2],
    line: Dim<2>,
    outer: SmallVec<[Dim<2>; 4]>,
    /// The dimension along which several lines are gathered at once.
    beside: Dim<2>,
    at_once: usize,
}

impl Lines {
    fn new(x: &Operand<'_>, out: &Operand<'_>, axis: usize) -> Self {
        let item = [out.item, x.item];
        let mut outer = SmallVec::new();
        let mut line = Dim::NONE;
        for (at, &size) in x.layout.shape().iter().enumerate() {
            let strides = [
                out.layout.strides()[at] * out.item as isize,
                x.layout.strides()[at] * x.item as isize,
            ];
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
        let at_once = if is_contiguous == [true; 2] {
            (SHORT / (line.size * item[0].max(item[1])).max(1)).clamp(1, beside.size.max(1))
        } else {
            // A few even of long lines, as memory comes in cache lines.
            (ROOM / (line.size * item[0].max(item[1])))
                .max(16)
                .min(beside.size)
        };
        Self {
            first: [Address(out.first), Address(x.first)],
            item,
            is_contiguous,
            line,
            outer,
            beside,
            at_once,
        }
    }

    fn blocks(&self) -> usize {
        let outer: usize = self.outer.iter().map(|dim| dim.size).product();
        outer * self.beside.size.div_ceil(self.at_once)
    }

    /// Visits the lines of a block.
    ///
    /// # Safety
    ///
    /// As for [`for_each_line`], and no other code uses these lines of `out`.
    unsafe fn run(
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
        for operand in 0..2 {
            if !self.is_contiguous[operand] {
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
        if !self.is_contiguous[0] {
            // SAFETY: these are lines of `out`, which may be written, and the body has written
            // their elements.
            unsafe { scatter(self.item[0], at[0], strides(0), tile, first[0]) };
        }
    }
}
