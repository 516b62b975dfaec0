//! The equation behind both questions: can terms, each taken a limited number of times, add up to
//! a sum?

use super::Overlap;
use std::cmp::Reverse;

/// How many steps the search may take.
const SEARCH_LIMIT: u32 = 10_000;

/// A term of a sum.
#[derive(Clone, Copy)]
pub(super) struct Term {
    /// How large it is; positive.
    pub(super) factor: i128,
    /// How often it may be taken at most.
    pub(super) most: i128,
    /// Amount that it adds to a [`Choice`]'s phase.
    pub(super) phase: i128,
}

impl Term {
    /// Returns the steps along a dimension of more than one element, each of `unit` times `stride`.
    pub(super) fn new(stride: isize, unit: usize, size: usize) -> Self {
        Self {
            factor: stride.unsigned_abs() as i128 * unit as i128,
            most: size as i128 - 1,
            phase: 0,
        }
    }
}

/// How often some terms are taken.
#[derive(Clone, Copy)]
pub(super) struct Choice {
    /// Remainder for the other terms.
    pub(super) rest: i128,
    /// The phases of the terms taken, added up modulo 8.
    pub(super) phase: i128,
    /// Whether each was taken half as often as it may be.
    pub(super) is_middle: bool,
}

/// The terms of a sum, largest first.
pub(super) struct Terms(Vec<Term>);

impl Terms {
    pub(super) fn sorted(mut terms: Vec<Term>) -> Self {
        terms.sort_unstable_by_key(|term| Reverse((term.factor, term.phase)));
        Self(terms)
    }

    pub(super) fn largest_sum(&self) -> i128 {
        self.0.iter().map(|term| term.factor * term.most).sum()
    }

    pub(super) fn are_whole_bytes(&self) -> bool {
        self.0.iter().all(|term| term.factor % 8 == 0)
    }

    /// Returns whether each factor is larger than all the smaller ones' terms together: then no two
    /// choices have the same sum.
    pub(super) fn are_nested(&self) -> bool {
        let mut below = 0;
        self.0.iter().rev().all(|term| {
            let is_larger = term.factor > below;
            below += term.factor * term.most;
            is_larger
        })
    }

    /// Doubles the maximal count of each term.
    pub(super) fn double(&mut self) {
        self.0.iter_mut().for_each(|term| term.most *= 2);
    }

    /// Returns whether there is a choice that leaves a rest of 0 to `slack` and that is accepted.
    ///
    /// While a choice is the middle one, only those that go on from there are looked at: the
    /// others mirror them.
    pub(super) fn search(
        mut self,
        start: Choice,
        slack: i128,
        accept: impl Fn(Choice) -> bool,
    ) -> Overlap {
        if !start.is_middle {
            self.unite_equals();
        }
        let mut levels = Vec::with_capacity(self.0.len());
        let (mut reach, mut divisor) = (slack, 0);
        for term in self.0.into_iter().rev() {
            let level = Level::new(term, reach, divisor, slack);
            reach += term.factor * term.most;
            divisor = level.common;
            levels.push(level);
        }
        levels.reverse();
        let mut search = Search {
            slack,
            steps: 0,
            accept,
        };
        search.choose(&levels, start)
    }

    /// Merges terms that differ only in their maximal counts.
    fn unite_equals(&mut self) {
        self.0.dedup_by(|next, kept| {
            let are_equal = next.factor == kept.factor && next.phase == kept.phase;
            if are_equal {
                kept.most += next.most;
            }
            are_equal
        });
    }
}

/// A term, and what is to be known of those after it.
struct Level {
    term: Term,
    /// The largest rest that they can leave behind acceptably.
    reach: i128,
    /// Common divisor of all factors from this one on.
    common: i128,
    /// How often this term is taken is only known to be right modulo this.
    period: i128,
    /// With this, a rest tells how often, modulo the period.
    inverse: i128,
}

impl Level {
    /// `divisor` divides all factors after this term's; where there are none, it is 0.
    fn new(term: Term, reach: i128, divisor: i128, slack: i128) -> Self {
        let (common, inverse) = extended_gcd(term.factor, divisor);
        // An exact rest leaves some counts, and a slack leaves all.
        let period = match divisor / common {
            period if slack == 0 && period > 0 => period,
            _ => 1,
        };
        Self {
            term,
            reach,
            common,
            period,
            inverse: inverse.rem_euclid(period),
        }
    }

    /// Returns the first count, from `least` on, with which the rest is one that the terms after
    /// this can make up for as far as divisors tell. It is followed by one every period.
    fn first_count(&self, rest: i128, least: i128) -> i128 {
        if self.period == 1 {
            return least;
        }
        // Both factors are below the period, which is a stride: no overflow.
        let residue = (rest / self.common).rem_euclid(self.period) * self.inverse;
        least + (residue - least).rem_euclid(self.period)
    }
}

struct Search<F> {
    slack: i128,
    steps: u32,
    accept: F,
}

impl<F: Fn(Choice) -> bool> Search<F> {
    /// Returns whether the terms of these levels can complete the choice.
    fn choose(&mut self, levels: &[Level], choice: Choice) -> Overlap {
        self.steps += 1;
        if self.steps > SEARCH_LIMIT {
            return Overlap::Unknown;
        }
        let Some((level, others)) = levels.split_first() else {
            let is_end = (0..=self.slack).contains(&choice.rest) && (self.accept)(choice);
            return if is_end { Overlap::Yes } else { Overlap::No };
        };
        if choice.rest.rem_euclid(level.common) > self.slack {
            return Overlap::No;
        }
        let Term {
            factor,
            most,
            phase,
        } = level.term;
        // So often that the others can make up for the rest, and not more than all.
        let mut least = (choice.rest - level.reach + factor - 1).div_euclid(factor);
        least = least.max(if choice.is_middle { most / 2 } else { 0 });
        let greatest = choice.rest.div_euclid(factor).min(most);
        let mut count = level.first_count(choice.rest, least);
        while count <= greatest {
            let found = self.choose(
                others,
                Choice {
                    rest: choice.rest - factor * count,
                    phase: (choice.phase + phase * count) % 8,
                    is_middle: choice.is_middle && count == most / 2,
                },
            );
            if found != Overlap::No {
                return found;
            }
            count += level.period;
        }
        Overlap::No
    }
}

/// Returns the greatest common divisor of `a` and `b`, and an `x` for which it is `a * x` plus a
/// multiple of `b`.
fn extended_gcd(a: i128, b: i128) -> (i128, i128) {
    let (mut old, mut new) = ((a, 1), (b, 0));
    while new.0 != 0 {
        let quotient = old.0 / new.0;
        (old, new) = (new, (old.0 - quotient * new.0, old.1 - quotient * new.1));
    }
    old
}
