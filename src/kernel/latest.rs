//! [`Latest`]: a table of the latest of what comes again and again, such as calls that are alike.

/// How many of each set are kept.
const WAYS: usize = 4;
const SETS: usize = if cfg!(miri) { 4 } else { 128 };

/// The latest of what came more than once, found by hashes. What comes but once takes no place.
pub(crate) struct Latest<T> {
    kept: [[Option<T>; WAYS]; SETS],
    hashes: [[u32; WAYS]; SETS],
    /// The hashes of what came, latest first.
    seen: [[u32; WAYS]; SETS],
}

/// A number that is equal for the same words, and probably another one for others.
pub(crate) struct Hash {
    sum: u64,
    factor: u64,
}

/// Odd, and otherwise without any order.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
/// Even, so that all sums with the factor are odd.
const STEP: u64 = 0xd6e8_feb8_6659_fd92;

impl Hash {
    #[inline]
    pub(crate) const fn new() -> Self {
        let (sum, factor) = (0, FACTOR);
        Self { sum, factor }
    }

    #[inline]
    pub(crate) fn add(&mut self, word: u64) {
        // Products that don't wait for each other.
        self.sum = self.sum.wrapping_add(word.wrapping_mul(self.factor));
        self.factor = self.factor.wrapping_add(STEP);
    }

    #[inline]
    pub(crate) fn number(&self) -> u32 {
        // The upper bits depend on all others.
        ((self.sum ^ self.sum >> 32).wrapping_mul(FACTOR) >> 32) as u32
    }
}

/// Where something is kept.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    set: usize,
    way: usize,
}

impl<T> Latest<T> {
    pub(crate) const fn new() -> Self {
        Self {
            kept: [const { [const { None }; WAYS] }; SETS],
            hashes: [[0; WAYS]; SETS],
            seen: [[0; WAYS]; SETS],
        }
    }

    /// Returns where something is kept, of this hash, that is the same as what is looked for.
    #[inline]
    pub(crate) fn find(&self, hash: u32, is_same: impl Fn(&T) -> bool) -> Option<Place> {
        let set = hash as usize % SETS;
        let ways = self.hashes[set].iter().zip(&self.kept[set]).enumerate();
        for (way, (known, kept)) in ways {
            if *known == hash
                && let Some(kept) = kept
                && is_same(kept)
            {
                return Some(Place { set, way });
            }
        }
        None
    }

    /// Returns what is kept at a place.
    #[inline]
    pub(crate) fn get(&self, place: Place) -> Option<&T> {
        self.kept[place.set][place.way].as_ref()
    }

    /// Returns whether something of this hash came before, and remembers that it came.
    #[inline]
    pub(crate) fn came_before(&mut self, hash: u32) -> bool {
        let seen = &mut self.seen[hash as usize % SETS];
        if seen.contains(&hash) {
            return true;
        }
        seen.copy_within(..WAYS - 1, 1);
        seen[0] = hash;
        false
    }

    /// Keeps something. Returns what was kept in its place, to be dropped by the caller.
    #[must_use]
    pub(crate) fn keep(&mut self, hash: u32, new: T) -> Option<T> {
        let set = hash as usize % SETS;
        let free = self.kept[set].iter().position(Option::is_none);
        // Which one goes depends on bits that didn't choose the set.
        let way = free.unwrap_or((hash >> 16) as usize % WAYS);
        self.hashes[set][way] = hash;
        self.kept[set][way].replace(new)
    }

    /// Takes out what is kept at a place.
    #[cfg(feature = "hosts")]
    #[inline]
    pub(crate) fn take(&mut self, place: Place) -> Option<T> {
        self.kept[place.set][place.way].take()
    }

    /// Puts back what was taken. Returns what was kept there meanwhile, to be dropped by the
    /// caller.
    #[cfg(feature = "hosts")]
    #[inline]
    #[must_use]
    pub(crate) fn put_back(&mut self, place: Place, hash: u32, taken: T) -> Option<T> {
        self.hashes[place.set][place.way] = hash;
        self.kept[place.set][place.way].replace(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps what came before, and returns whether it was kept already.
    fn come(latest: &mut Latest<u32>, hash: u32) -> bool {
        if latest.find(hash, |kept| *kept == hash).is_some() {
            return true;
        }
        if latest.came_before(hash) {
            let _ = latest.keep(hash, hash);
        }
        false
    }

    #[test]
    fn what_comes_twice_is_kept() {
        let mut latest = Box::new(Latest::new());
        let comings = [7; 4].map(|hash| come(&mut latest, hash));
        assert_eq!(comings, [false, false, true, true]);
        assert!(latest.find(7, |kept| *kept == 8).is_none());
    }

    #[test]
    fn as_many_as_there_are_ways_come_by_turns() {
        let mut latest = Box::new(Latest::new());
        let all = (0..WAYS as u32).map(|way| 3 + (way + 1) * SETS as u32);
        for round in 0..4 {
            for hash in all.clone() {
                assert_eq!(come(&mut latest, hash), round > 1, "{round}");
            }
        }
    }

    #[test]
    fn what_comes_once_drives_nothing_out() {
        let mut latest = Box::new(Latest::new());
        for _ in 0..2 {
            come(&mut latest, 5);
        }
        for once in 1..1000 {
            assert!(!come(&mut latest, 5 + once * SETS as u32));
            assert!(come(&mut latest, 5));
        }
    }

    #[test]
    fn more_than_there_is_room_for_replace_others() {
        let mut latest = Box::new(Latest::new());
        let all = (0..2 * WAYS as u32).map(|at| 1 + at * SETS as u32 + (at << 16));
        for hash in all.clone() {
            for coming in 0..3 {
                assert_eq!(come(&mut latest, hash), coming == 2);
            }
        }
        let kept = all.filter(|hash| latest.find(*hash, |_| true).is_some());
        assert_eq!(kept.count(), WAYS);
    }
}
