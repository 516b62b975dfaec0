//! Visits of a layout's distinct elements, each once: checks of values take as long as the memory
//! is large, also where a broadcast layout has any number of elements.

use super::{Layout, LayoutRef};

impl LayoutRef<'_> {
    /// Returns a layout that visits the same places, and the offset of its first element; `None`
    /// where no two of the elements need be at one place, so that there are no more of them than
    /// memory holds.
    ///
    /// Of strides that aren't multiples of each other, places may be visited again.
    pub(crate) fn distinct(self) -> Option<(Layout, isize)> {
        let (first, last) = self.extent()?;
        let span = last.abs_diff(first).checked_add(1)?;
        if self.len() <= span {
            return None;
        }
        let dims = self.dims().filter(|(size, step)| *size > 1 && *step != 0);
        let mut dims: Vec<_> = dims
            .map(|(size, step)| (size, step.unsigned_abs()))
            .collect();
        dims.sort_unstable_by_key(|(_, step)| *step);
        let mut merged: Vec<(usize, usize)> = Vec::new();
        for (size, step) in dims {
            match merged.last_mut() {
                // Each begins where the one before still is, or right behind it.
                Some((count, unit)) if step % *unit == 0 && step / *unit <= *count => {
                    *count += (size - 1) * (step / *unit);
                }
                _ => merged.push((size, step)),
            }
        }
        let shape: Vec<_> = merged.iter().rev().map(|(size, _)| *size).collect();
        let steps: Vec<_> = merged
            .iter()
            .rev()
            .map(|(_, step)| *step as isize)
            .collect();
        let layout = Layout::strided(&shape, &steps).expect("within the extent of a layout");
        Some((layout, first))
    }
}

/// A set of places, each a number below a bound.
pub(crate) struct Places(Vec<u64>);

impl Places {
    /// Returns the places of a layout's elements, counted from the first one in memory, where no
    /// stride is negative. It takes as many steps as there are places, and not as there are
    /// elements.
    pub(crate) fn new(layout: LayoutRef<'_>) -> Self {
        let last = layout.extent().map_or(0, |(_, last)| last as usize);
        let mut places = Self(vec![0; last / 64 + 1]);
        places.0[0] = 1;
        for (size, step) in layout.dims() {
            // Those of the first `done` indices.
            let (mut done, step) = (1, step.unsigned_abs());
            while done < size {
                let more = done.min(size - done);
                places.unite_shifted(more * step);
                done += more;
            }
        }
        places
    }

    /// Repeats each offset, shifted by `distance`.
    fn unite_shifted(&mut self, distance: usize) {
        let (words, bits) = (distance / 64, distance % 64);
        for at in (words..self.0.len()).rev() {
            let mut shifted = self.0[at - words] << bits;
            if bits > 0 && at > words {
                shifted |= self.0[at - words - 1] >> (64 - bits);
            }
            self.0[at] |= shifted;
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            (0..64)
                .filter(move |bit| word >> bit & 1 != 0)
                .map(move |bit| 64 * at + bit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn places(layout: LayoutRef<'_>, first: isize) -> Vec<isize> {
        let runs = layout.runs();
        let places =
            runs.flat_map(|run| (0..run.len as isize).map(move |i| run.offset + i * run.step));
        places.map(|place| first + place).collect()
    }

    #[test]
    fn distinct_visits_every_place_once() {
        let sizes = [1, 2, 3, 5];
        let steps = [-4, -3, -1, 0, 1, 2, 3, 6];
        for a in sizes {
            for b in sizes {
                for (s, t) in steps.iter().flat_map(|s| steps.map(|t| (*s, t))) {
                    let layout = Layout::strided(&[4, a, b], &[0, s, t]).unwrap();
                    let all = places(layout.as_ref(), 0);
                    let expected: BTreeSet<_> = all.iter().copied().collect();
                    let Some((distinct, first)) = layout.as_ref().distinct() else {
                        // No more elements than places between the first and the last.
                        let span = expected.last().unwrap() - expected.first().unwrap() + 1;
                        assert!(all.len() as isize <= span);
                        continue;
                    };
                    let found = places(distinct.as_ref(), first);
                    let visited: BTreeSet<_> = found.iter().copied().collect();
                    assert_eq!(visited, expected, "{a} {b} {s} {t}");
                    let set = Places::new(distinct.as_ref());
                    let set: BTreeSet<_> = set.iter().map(|place| first + place as isize).collect();
                    assert_eq!(set, expected, "{a} {b} {s} {t}");
                }
            }
        }
    }

    #[test]
    fn distinct_of_coprime_strides_visits_every_place() {
        for (shape, strides) in [([40, 50], [2, 3]), ([7, 90], [65, 64]), ([3, 3], [128, 1])] {
            let layout = Layout::strided(&shape, &strides).unwrap();
            let expected: BTreeSet<_> = places(layout.as_ref(), 0).into_iter().collect();
            let found: Vec<_> = Places::new(layout.as_ref())
                .iter()
                .map(|place| place as isize)
                .collect();
            assert!(found.iter().eq(&expected), "{found:?}");
        }
    }

    #[test]
    fn distinct_of_more_elements_than_memory_is_small() {
        let huge = 1 << 30;
        for (shape, strides, len) in [
            (vec![huge, huge], vec![0, 0], 1),
            (vec![huge, 4, huge], vec![0, 1, 0], 4),
            (vec![huge, 1000, 1000], vec![0, 1, 1], 1999),
            (vec![huge, 1000, 1000], vec![0, -2, 2], 1999),
        ] {
            let layout = Layout::strided(&shape, &strides).unwrap();
            let (distinct, _) = layout.as_ref().distinct().unwrap();
            assert_eq!(distinct.len(), len);
        }
        assert!(
            Layout::contiguous(&[4, 4])
                .unwrap()
                .as_ref()
                .distinct()
                .is_none()
        );
        assert!(
            Layout::contiguous(&[0, 4])
                .unwrap()
                .as_ref()
                .distinct()
                .is_none()
        );
    }
}
