//! Operands whose memory lies between pages that can't be accessed.

use super::super::Matrices;
use proptest::prelude::*;

/// How an operand lies in memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) by_columns: bool,
    /// Elements that aren't the operand's behind each of it.
    pub(super) gap: usize,
    pub(super) backwards: [bool; 3],
    /// Whether the memory begins behind a page, and doesn't end before one.
    pub(super) at_begin: bool,
}

impl Place {
    pub(super) const DENSE: Self = Self {
        by_columns: false,
        gap: 0,
        backwards: [false; 3],
        at_begin: false,
    };

    pub(super) fn any() -> impl Strategy<Value = Self> {
        let gap = prop_oneof![3 => Just(0), 1 => 1..4_usize];
        let backwards = prop::array::uniform3(prop::bool::weighted(0.2));
        (any::<bool>(), gap, backwards, any::<bool>()).prop_map(
            |(by_columns, gap, backwards, at_begin)| Self {
                by_columns,
                gap,
                backwards,
                at_begin,
            },
        )
    }
}

/// A batch of matrices.
pub(super) struct Guarded<T> {
    _pages: Pages,
    first: *mut T,
    sizes: [usize; 3],
    pub(super) strides: [isize; 3],
}

impl<T: Copy> Guarded<T> {
    pub(super) fn new(place: Place, sizes: [usize; 3]) -> Self {
        let order = if place.by_columns {
            [1, 2, 0]
        } else {
            [2, 1, 0]
        };
        let mut strides = [0; 3];
        let mut stride = 1 + place.gap;
        for dimension in order {
            strides[dimension] = stride as isize;
            stride *= sizes[dimension].max(1);
        }
        let count = if sizes.contains(&0) {
            0
        } else {
            let last = |at: usize| (sizes[at] - 1) * strides[at] as usize;
            last(0) + last(1) + last(2) + 1
        };
        let pages = Pages::new(count * size_of::<T>());
        let begin = if place.at_begin {
            0
        } else {
            pages.nbytes - count * size_of::<T>()
        };
        let mut first = pages.first.wrapping_add(begin).cast::<T>();
        for at in 0..3 {
            if place.backwards[at] && count > 0 {
                first = first.wrapping_offset((sizes[at] - 1) as isize * strides[at]);
                strides[at] = -strides[at];
            }
        }
        Self {
            _pages: pages,
            first,
            sizes,
            strides,
        }
    }

    fn at(&self, index: [usize; 3]) -> *mut T {
        let offset = |at: usize| index[at] as isize * self.strides[at];
        self.first
            .wrapping_offset(offset(0) + offset(1) + offset(2))
    }

    pub(super) fn get(&self, index: [usize; 3]) -> T {
        // SAFETY: the index is one of the operand, whose elements `fill` wrote.
        unsafe { self.at(index).read() }
    }

    pub(super) fn fill(&self, element: impl Fn([usize; 3]) -> T) {
        for item in 0..self.sizes[0] {
            for row in 0..self.sizes[1] {
                for column in 0..self.sizes[2] {
                    let index = [item, row, column];
                    // SAFETY: the index is one of the operand.
                    unsafe { self.at(index).write(element(index)) };
                }
            }
        }
    }

    pub(super) fn matrices<'a>(&self, batch: &'a [isize]) -> Matrices<'a, *const T> {
        Matrices {
            first: self.first.cast_const(),
            batch,
            row: self.strides[1],
            column: self.strides[2],
        }
    }

    pub(super) fn matrices_mut(&self) -> Matrices<'_, *mut T> {
        Matrices {
            first: self.first,
            batch: &self.strides[..1],
            row: self.strides[1],
            column: self.strides[2],
        }
    }
}

/// Pages between two that can't be accessed, where the system has such.
struct Pages {
    first: *mut u8,
    nbytes: usize,
}

#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
impl Pages {
    const PAGE: usize = 1 << 16;

    fn new(nbytes: usize) -> Self {
        let nbytes = nbytes.next_multiple_of(Self::PAGE);
        // SAFETY: new memory, that can't be accessed (0) and is private and anonymous (0x22), of
        // which the middle is made accessible (3).
        unsafe {
            let all = mmap(
                std::ptr::null_mut(),
                nbytes + 2 * Self::PAGE,
                0,
                0x22,
                -1,
                0,
            );
            assert_ne!(all.addr(), usize::MAX, "mmap failed");
            let first = all.add(Self::PAGE);
            assert!(nbytes == 0 || mprotect(first, nbytes, 3) == 0);
            Self { first, nbytes }
        }
    }
}

#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: `new` mapped these pages.
        unsafe {
            let all = self.first.sub(Self::PAGE);
            assert_eq!(munmap(all, self.nbytes + 2 * Self::PAGE), 0);
        }
    }
}

#[cfg(all(target_os = "linux", target_pointer_width = "64", not(miri)))]
unsafe extern "C" {
    fn mmap(at: *mut u8, nbytes: usize, access: i32, flags: i32, file: i32, from: i64) -> *mut u8;
    fn mprotect(at: *mut u8, nbytes: usize, access: i32) -> i32;
    fn munmap(at: *mut u8, nbytes: usize) -> i32;
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64", not(miri))))]
impl Pages {
    fn new(nbytes: usize) -> Self {
        // Of words, so that it is aligned for every type.
        let words = vec![0_u64; nbytes.div_ceil(8)].into_boxed_slice();
        let nbytes = words.len() * 8;
        let first = Box::into_raw(words).cast();
        Self { first, nbytes }
    }
}

#[cfg(not(all(target_os = "linux", target_pointer_width = "64", not(miri))))]
impl Drop for Pages {
    fn drop(&mut self) {
        let words = std::ptr::slice_from_raw_parts_mut(self.first.cast::<u64>(), self.nbytes / 8);
        // SAFETY: `new` made it of such a box.
        drop(unsafe { Box::from_raw(words) });
    }
}
