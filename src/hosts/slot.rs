//! Slots: bare functions, each with a number of its own, for hosts whose callbacks have no place
//! for data.
//!
//! Such a callback is a generic function of a constant, its number, by which it finds its data.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many slots a host has.
pub(super) const COUNT: usize = 512;

/// The bare functions of a host.
pub(super) trait Family {
    /// The type of the functions.
    type Function: Copy;

    /// Returns the function of a slot.
    fn function<const SLOT: usize>() -> Self::Function;
}

/// The data of a host's slots, which are filled in turn and never emptied.
#[derive(Debug)]
pub(super) struct Slots<T> {
    data: [OnceLock<T>; COUNT],
    next: AtomicUsize,
}

impl<T> Slots<T> {
    pub(super) const fn new() -> Self {
        Self {
            data: [const { OnceLock::new() }; COUNT],
            next: AtomicUsize::new(0),
        }
    }

    /// Fills the next slot, and returns its function; `None` when all are full.
    pub(super) fn fill<F: Family>(&self, data: T) -> Option<F::Function> {
        let slot = self.next.fetch_add(1, Ordering::Relaxed);
        // The number of the slot is this call's alone.
        self.data.get(slot)?.set(data).ok()?;
        functions::<F>().get(slot).copied()
    }

    /// Returns the function of the slot with data that is the same, or of the next one, filled with
    /// these; `None` when all are full.
    pub(super) fn find_or_fill<F: Family>(
        &self,
        data: T,
        is_same: impl Fn(&T, &T) -> bool,
    ) -> Option<F::Function> {
        let mut filled = self.data.iter().map_while(OnceLock::get);
        match filled.position(|known| is_same(known, &data)) {
            Some(slot) => functions::<F>().get(slot).copied(),
            None => self.fill::<F>(data),
        }
    }

    /// Returns the data of a slot.
    #[inline]
    pub(super) fn get(&self, slot: usize) -> Option<&T> {
        self.data[slot].get()
    }
}

/// Eight functions, from a number on.
macro_rules! eight {
    ($F:ident, $all:ident, $($base:literal)*) => {$(
        $all.extend([
            $F::function::<{ $base * 8 }>(),
            $F::function::<{ $base * 8 + 1 }>(),
            $F::function::<{ $base * 8 + 2 }>(),
            $F::function::<{ $base * 8 + 3 }>(),
            $F::function::<{ $base * 8 + 4 }>(),
            $F::function::<{ $base * 8 + 5 }>(),
            $F::function::<{ $base * 8 + 6 }>(),
            $F::function::<{ $base * 8 + 7 }>(),
        ]);
    )*};
}

/// Returns the functions of all slots, in order.
fn functions<F: Family>() -> Vec<F::Function> {
    let mut all = Vec::with_capacity(COUNT);
    #[rustfmt::skip]
    eight!(
        F, all,
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15
        16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31
        32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47
        48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63
    );
    all
}

#[cfg(test)]
mod tests {
    use super::{COUNT, Family, Slots, functions};

    static SLOTS: Slots<usize> = Slots::new();

    struct Read;

    impl Family for Read {
        type Function = fn() -> usize;

        fn function<const SLOT: usize>() -> Self::Function {
            || *SLOTS.get(SLOT).unwrap()
        }
    }

    #[test]
    fn each_slot_has_a_function_with_its_data() {
        let read: Vec<_> = (0..COUNT)
            .map(|data| SLOTS.fill::<Read>(data * 3).unwrap())
            .collect();
        assert!(SLOTS.fill::<Read>(1).is_none());
        assert_eq!(functions::<Read>().len(), COUNT);
        assert!(
            read.iter()
                .enumerate()
                .all(|(data, read)| read() == data * 3)
        );
    }
}
