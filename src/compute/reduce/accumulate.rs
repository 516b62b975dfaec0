//! [`Accumulate`]: what a reduction makes of elements, and memory for it.

use std::mem::MaybeUninit;

/// The most bytes that the accumulators of one tile take.
pub(super) const ACCUMULATORS: usize = 16384;

/// The least number of elements that are worth a thread.
pub(super) const GRAIN: usize = 1 << 15;

/// Shorter runs of elements of one result are gathered, or taken across results.
pub(super) const SHORT: usize = 32;

/// Positions of elements among those of one result, in row-major order of the reduced axes: the
/// first one's, and the distance to each next one's. 0 unless the reduction
/// [locates](Accumulate::locates) elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Positions {
    pub(super) first: usize,
    pub(super) step: usize,
}

/// What a reduction makes of elements. Its accumulators are plain data of at most 32 bytes.
pub(super) trait Accumulate: Sync {
    /// Returns whether it uses the elements' positions.
    fn locates(&self) -> bool {
        false
    }

    /// The size of an accumulator in bytes.
    fn accumulator(&self) -> usize;

    /// Writes the accumulators of no elements.
    ///
    /// # Safety
    ///
    /// There is aligned memory for `count` accumulators.
    unsafe fn begin(&self, accumulators: *mut u8, count: usize);

    /// Adds `len` contiguous elements to each of some accumulators: `count` of them, with a
    /// distance in bytes between the first elements of each.
    ///
    /// # Safety
    ///
    /// There are as many elements for each, and as many accumulators.
    unsafe fn along(
        &self,
        accumulators: *mut u8,
        x: *const u8,
        len: usize,
        lines: (usize, isize),
        positions: Positions,
    );

    /// Adds contiguous elements to one accumulator each: `count` of them, `rows` times, with a
    /// distance in bytes between rows, of which each has the next position.
    ///
    /// # Safety
    ///
    /// There are as many elements in each row, and as many accumulators.
    unsafe fn across(
        &self,
        accumulators: *mut u8,
        x: *const u8,
        count: usize,
        rows: (usize, isize),
        positions: Positions,
    );

    /// Writes the results of a few contiguous rows, without accumulators. Returns whether it did:
    /// otherwise it wrote nothing.
    ///
    /// # Safety
    ///
    /// There are as many elements in each row, and contiguous places for as many results.
    unsafe fn write_across(
        &self,
        _x: *const u8,
        _out: *mut u8,
        _count: usize,
        _rows: (usize, isize),
    ) -> bool {
        false
    }

    /// Adds accumulators of later elements to those of earlier ones.
    ///
    /// # Safety
    ///
    /// There are `count` of both.
    unsafe fn combine(&self, accumulators: *mut u8, later: *const u8, count: usize);

    /// Writes the results of accumulators, with a distance in bytes between results.
    ///
    /// # Safety
    ///
    /// There are `count` accumulators, and places for as many results.
    unsafe fn finish(&self, accumulators: *const u8, out: *mut u8, step: isize, count: usize);
}

pub(super) const ALIGN: usize = 64;

/// Memory for accumulators.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub(super) struct Accumulators {
    _memory: [MaybeUninit<u8>; ALIGN],
}

impl Accumulators {
    pub(super) const NEW: Self = Self {
        _memory: [MaybeUninit::uninit(); ALIGN],
    };
}
