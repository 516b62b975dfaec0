//! [`Group`]: some lines and where their results go, as the functions of lines get them.

use smallvec::SmallVec;
use std::slice;

/// What some lines are for, and memory for intermediate results.
pub(super) type Body<'a> = &'a (dyn Fn(Group, &mut Scratch) + Sync);

/// Some lines: their elements, where the results go, and the distances between lines in bytes. The
/// results aren't where elements of these lines are.
#[derive(Clone, Copy)]
pub(super) struct Group {
    pub(super) x: *const u8,
    pub(super) out: *mut u8,
    pub(super) len: usize,
    pub(super) count: usize,
    pub(super) steps: [isize; 2],
}

impl Group {
    /// Returns each line: its elements, and where the results go.
    #[inline(always)]
    pub(super) fn lines(self) -> impl ExactSizeIterator<Item = (*const u8, *mut u8)> {
        (0..self.count).map(move |at| {
            let at = at as isize;
            let x = self.x.wrapping_offset(at * self.steps[1]);
            (x, self.out.wrapping_offset(at * self.steps[0]))
        })
    }

    /// Returns a line's elements and the places of its results.
    ///
    /// # Safety
    ///
    /// The line is one of these, whose elements are a `T` each and don't overlap the results, which
    /// are an `O` each.
    #[inline(always)]
    pub(super) unsafe fn slices<'a, T, O>(
        self,
        x: *const u8,
        out: *mut u8,
    ) -> (&'a [T], &'a mut [O]) {
        // SAFETY: the caller promises as many elements and places as a line has.
        unsafe {
            let out = slice::from_raw_parts_mut(out.cast(), self.len);
            (slice::from_raw_parts(x.cast(), self.len), out)
        }
    }
}

/// Memory for intermediate results, used again for each line.
#[derive(Debug, Default)]
pub(crate) struct Scratch(SmallVec<[u64; 512]>);

impl Scratch {
    /// Returns memory for this number of elements.
    pub(super) fn items<T>(&mut self, len: usize) -> *mut T {
        let words = (len * size_of::<T>()).div_ceil(size_of::<u64>());
        self.floats::<f64>(words).as_mut_ptr().cast()
    }

    /// Returns memory for this number of floats, whose values are left from earlier uses.
    pub(crate) fn floats<T: Float>(&mut self, len: usize) -> &mut [T] {
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
