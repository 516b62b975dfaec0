//! Do two elements share memory? Of one layout, or of two.
//!
//! Elements are at the sums of index times stride, so two of them meet exactly when an equation
//! in bounded integers has a solution. Most layouts are decided by comparing ranges, or by strides
//! that are each longer than all shorter ones together. The rest is searched: exactly, and up to a
//! limit, past which the answer is [`Overlap::Unknown`], to be treated as a yes.

use super::LayoutRef;
use crate::dtype::DType;

/// How many steps the search may take.
const SEARCH_LIMIT: u32 = 10_000;

/// Whether elements share memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Overlap {
    /// No two elements do.
    No,
    /// Some do.
    Yes,
    /// Finding out would take too long.
    Unknown,
}

impl Overlap {
    /// Whether it is certain that no memory is shared: what writing needs.
    pub const fn is_excluded(self) -> bool {
        matches!(self, Self::No)
    }
}

/// Where a tensor's elements are.
#[derive(Debug, Clone, Copy)]
pub struct Region<'a> {
    /// The address of the element of index 0.
    pub address: usize,
    /// The sizes and strides.
    pub layout: LayoutRef<'a>,
    /// The element type.
    pub dtype: DType,
    /// Whether sub-byte elements are each padded to whole bytes.
    pub padded: bool,
}

impl LayoutRef<'_> {
    /// Whether two of the layout's own elements are at one place.
    pub fn overlaps_itself(self) -> Overlap {
        if self.len() <= 1 {
            return Overlap::No;
        }
        let mut terms = Terms::default();
        for (size, stride) in self.dims() {
            match (size, stride) {
                (0 | 1, _) => {}
                (_, 0) => return Overlap::Yes,
                _ => terms.push(stride.unsigned_abs() as i128, size - 1),
            }
        }
        terms.sort();
        if terms.are_nested() {
            return Overlap::No;
        }
        // Two indices i and j meet where the sum of (i - j) * stride is 0. The differences run
        // from -n to n; counted from 0 to 2n they must reach half of the largest sum, other than
        // by n each, which is i = j.
        let middle = terms.largest_sum();
        let mut doubled = terms;
        for term in &mut doubled.0 {
            term.1 *= 2;
        }
        let trivial: Vec<i128> = doubled.0.iter().map(|(_, most)| most / 2).collect();
        doubled.search(middle, Some(&trivial))
    }
}

impl Region<'_> {
    /// Whether an element of the one shares memory with an element of the other.
    ///
    /// # Panics
    ///
    /// When [`LayoutRef::check_memory`] refuses one of the regions.
    pub fn overlaps(&self, other: &Region<'_>) -> Overlap {
        let (Some(ours), Some(theirs)) = (self.bits(), other.bits()) else {
            return Overlap::No;
        };
        if ours.1 <= theirs.0 || theirs.1 <= ours.0 {
            return Overlap::No;
        }
        if self.is_solid() && other.is_solid() {
            return Overlap::Yes;
        }
        // A bit of ours is at `lowest + sum(i * stride) + u`, one of theirs, counted from the other
        // end, at `highest - sum(j * stride) - v`. They are one where both sums and u + v add up
        // to the distance.
        let mut terms = Terms::default();
        for region in [self, other] {
            let step = region.dtype.step_bits(region.padded);
            for (size, stride) in region.layout.dims() {
                if size > 1 && stride != 0 {
                    terms.push(stride.unsigned_abs() as i128 * step as i128, size - 1);
                }
            }
            // Padding belongs to no value, but it is written along with one.
            terms.push(1, step - 1);
        }
        terms.sort();
        terms.search(theirs.1 - 1 - ours.0, None)
    }

    /// The bits from the lowest to behind the highest one, absolute.
    fn bits(&self) -> Option<(i128, i128)> {
        if self.layout.is_empty() {
            return None;
        }
        let (begin, end) = self
            .layout
            .bit_extent(self.dtype, self.padded)
            .expect("an element type for which the layout was checked");
        let address = self.address as i128 * 8;
        Some((address + begin as i128, address + end as i128))
    }

    /// Whether every bit between the lowest and the highest one belongs to an element.
    fn is_solid(&self) -> bool {
        self.layout.is_dense()
    }
}

/// The terms of a sum: factors, all positive, and how often each may be taken at most.
#[derive(Default)]
struct Terms(Vec<(i128, i128)>);

impl Terms {
    fn push(&mut self, factor: i128, most: usize) {
        if most > 0 {
            self.0.push((factor, most as i128));
        }
    }

    /// Largest factors first.
    fn sort(&mut self) {
        self.0.sort_unstable_by(|a, b| b.cmp(a));
    }

    fn largest_sum(&self) -> i128 {
        self.0.iter().map(|(factor, most)| factor * most).sum()
    }

    /// Whether each factor is larger than all the smaller ones' terms together: then no two
    /// choices have the same sum. Needs sorting first.
    fn are_nested(&self) -> bool {
        let mut below = 0;
        self.0.iter().rev().all(|(factor, most)| {
            let nested = *factor > below;
            below += factor * most;
            nested
        })
    }

    /// Whether a choice, other than the one `except`, has the sum `target`. Needs sorting first.
    fn search(&self, target: i128, except: Option<&[i128]>) -> Overlap {
        // What the terms from each one on can reach, and what divides all their sums.
        let mut tails = vec![(0, 0); self.0.len() + 1];
        for (i, (factor, most)) in self.0.iter().enumerate().rev() {
            let (sum, divisor) = tails[i + 1];
            tails[i] = (sum + factor * most, gcd(divisor, *factor));
        }
        let mut search = Search {
            terms: &self.0,
            tails: &tails,
            steps: 0,
        };
        search.from(0, target, except)
    }
}

struct Search<'a> {
    terms: &'a [(i128, i128)],
    tails: &'a [(i128, i128)],
    steps: u32,
}

impl Search<'_> {
    /// Whether the terms from `i` on can make up `target`. `except` is what must not be chosen for
    /// them, while everything chosen before is what must not be.
    fn from(&mut self, i: usize, target: i128, except: Option<&[i128]>) -> Overlap {
        self.steps += 1;
        if self.steps > SEARCH_LIMIT {
            return Overlap::Unknown;
        }
        let Some(&(factor, most)) = self.terms.get(i) else {
            // Nothing is left to choose; what was chosen must not be all that is excepted.
            return if target == 0 && except.is_none() {
                Overlap::Yes
            } else {
                Overlap::No
            };
        };
        let (rest, divisor) = self.tails[i + 1];
        // So often that the others can make up for the rest, and not more than all.
        let least = (target - rest + factor - 1).div_euclid(factor).max(0);
        let greatest = target.div_euclid(factor).min(most);
        // Of these, only some leave a rest that the others' common divisor divides.
        let Some((residue, period)) = solve_congruence(factor, target, divisor) else {
            return Overlap::No;
        };
        let mut n = least + (residue - least).rem_euclid(period);
        while n <= greatest {
            let except = except
                .and_then(|chosen| chosen.split_first())
                .filter(|(excepted, _)| **excepted == n)
                .map(|(_, others)| others);
            match self.from(i + 1, target - factor * n, except) {
                Overlap::No => {}
                found => return found,
            }
            n += period;
        }
        Overlap::No
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    extended_gcd(a, b).0
}

/// The greatest common divisor of `a` and `b`, and an `x` for which it is `a * x` plus a multiple
/// of `b`.
fn extended_gcd(a: i128, b: i128) -> (i128, i128) {
    let (mut old, mut new) = ((a, 1), (b, 0));
    while new.0 != 0 {
        let quotient = old.0 / new.0;
        (old, new) = (new, (old.0 - quotient * new.0, old.1 - quotient * new.1));
    }
    old
}

/// The `n` for which `divisor` divides `target - factor * n`: those of a residue, with a period.
/// A divisor of 0 stands for no terms, which have to make up for nothing.
fn solve_congruence(factor: i128, target: i128, divisor: i128) -> Option<(i128, i128)> {
    if divisor == 0 {
        return (target % factor == 0).then(|| (target / factor, 1));
    }
    let (common, inverse) = extended_gcd(factor, divisor);
    let period = divisor / common;
    (target % common == 0).then(|| {
        // Both factors are below the period, which is a stride in bits: no overflow.
        let residue = (target / common).rem_euclid(period) * inverse.rem_euclid(period);
        (residue.rem_euclid(period), period)
    })
}
