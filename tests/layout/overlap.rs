//! Do elements of one layout share a place? Compared with looking at each.

use crate::model::offsets;
use crate::strategies::{cases, small};
use dlbridge::layout::{Layout, Overlap};
use proptest::prelude::*;
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// Listing as many takes Miri too long.
const MANY: usize = if cfg!(miri) { 300 } else { 10_000 };

/// Number of elements up to which a layout is always decided.
const ALWAYS_DECIDED: usize = 256;

/// Far more than any answer needs, and far less than looking at each element would.
const PATIENCE: Duration = Duration::from_secs(5);

fn truth(layout: &Layout) -> Overlap {
    let mut seen = HashSet::new();
    let is_new = |place| seen.insert(place);
    if offsets(layout.as_ref()).into_iter().all(is_new) {
        Overlap::No
    } else {
        Overlap::Yes
    }
}

/// Shapes of a bounded number of elements, with strides that don't nest in each other: those of
/// about the same length, so that no answer is at hand.
fn tangled(max_len: usize, reach: isize) -> impl Strategy<Value = Layout> {
    let dims = prop::collection::vec((2..=9_usize, -reach..=reach), 1..=8);
    dims.prop_map(move |dims| {
        let mut len = 1;
        let fits = |dim: &(usize, isize)| {
            len *= dim.0;
            len <= max_len
        };
        let (shape, strides): (Vec<_>, Vec<_>) = dims.into_iter().take_while(fits).unzip();
        Layout::strided(&shape, &strides).unwrap()
    })
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn overlap_of_small_layouts_is_exact(layout in small(4, 4)) {
        prop_assume!(layout.len() <= ALWAYS_DECIDED);
        prop_assert_eq!(layout.as_ref().overlaps_itself(), truth(&layout));
    }

    #[test]
    fn overlap_of_tangled_small_layouts_is_exact(
        layout in prop_oneof![tangled(ALWAYS_DECIDED, 30), tangled(ALWAYS_DECIDED, 1000)],
    ) {
        prop_assert_eq!(layout.as_ref().overlaps_itself(), truth(&layout));
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn overlap_of_large_layouts_is_exact_or_undecided(layout in tangled(MANY, 1_000_000)) {
        let found = layout.as_ref().overlaps_itself();
        prop_assert!(found == Overlap::Unknown || found == truth(&layout), "{found:?}");
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    #[cfg_attr(miri, ignore = "it is about time")]
    fn overlap_of_every_layout_ends_in_time(
        exponents in prop::collection::vec(0..56_u32, 2..=56), noise in any::<[isize; 56]>(),
    ) {
        // Pairs of elements, about as far apart as the numbers let them be.
        let stride = |(exponent, noise): (&u32, &isize)| noise >> 8 >> exponent;
        let strides: Vec<isize> = exponents.iter().zip(&noise).map(stride).collect();
        let layout = Layout::strided(&vec![2; strides.len()], &strides).unwrap();
        let begin = Instant::now();
        let _ = layout.as_ref().overlaps_itself();
        prop_assert!(begin.elapsed() < PATIENCE);
    }
}

#[test]
fn overlap_below_the_documented_size_is_exact() {
    // The hardest: a search has three choices for each dimension of two elements.
    for seed in 0..if cfg!(miri) { 1 } else { 100_isize } {
        let strides: Vec<isize> = (0..8)
            .map(|axis| 100_000 + (seed * 7919 + axis * axis * 104_729) % 99_991)
            .collect();
        let layout = Layout::strided(&[2; 8], &strides).unwrap();
        assert_eq!(layout.len(), ALWAYS_DECIDED);
        assert_eq!(layout.as_ref().overlaps_itself(), truth(&layout));
    }
}

#[cfg(target_pointer_width = "64")]
#[test]
#[cfg_attr(miri, ignore = "it takes as long as can be")]
fn overlap_search_beyond_its_budget_is_unknown() {
    // All sums are odd multiples that can't cancel out early: only the last dimension's stride
    // tells that none do, after 3^40 choices.
    let strides: Vec<isize> = (0..40).map(|axis| (1 << 56) + (1 << axis)).collect();
    let layout = Layout::strided(&[2; 40], &strides).unwrap();
    let begin = Instant::now();
    assert_eq!(layout.as_ref().overlaps_itself(), Overlap::Unknown);
    assert!(begin.elapsed() < PATIENCE);
    assert!(!Overlap::Unknown.is_excluded() && !Overlap::Yes.is_excluded());
    assert!(Overlap::No.is_excluded());
}

#[test]
fn overlap_of_common_views_is_exact_at_any_size() {
    // About as many elements as there are addresses.
    let big = 1_usize << (isize::BITS / 2 - 4);
    let row = big as isize;
    for (shape, strides, expected) in [
        // Contiguous, transposed, backwards, every other, with gaps.
        (&[big, big][..], &[row, 1][..], Overlap::No),
        (&[big, big], &[1, row], Overlap::No),
        (&[big, big], &[-row, -1], Overlap::No),
        (&[big, big], &[2 * row, 2], Overlap::No),
        (&[big, big], &[row + 3, 1], Overlap::No),
        // Broadcast, and windows that slide by less than their width.
        (&[big, big], &[0, 1], Overlap::Yes),
        (&[big, 3], &[1, 1], Overlap::Yes),
        (&[big, big], &[1, 1], Overlap::Yes),
        (&[big, big], &[row - 1, 1], Overlap::Yes),
        (&[big, big], &[row, -row], Overlap::Yes),
        // Not nested, and yet none at the same place: 1001 a = 1000 b needs a of 1000.
        (&[1000, 1000], &[1001, 1000], Overlap::No),
        (&[1001, 1001], &[1001, 1000], Overlap::No),
        (&[1001, 1002], &[1001, 1000], Overlap::Yes),
        // Strides that say nothing.
        (&[1, big], &[0, 1], Overlap::No),
        (&[0, big], &[0, 0], Overlap::No),
        (&[], &[], Overlap::No),
    ] {
        let layout = Layout::strided(shape, strides).unwrap();
        assert_eq!(layout.as_ref().overlaps_itself(), expected, "{layout:?}");
    }
}

#[cfg(target_pointer_width = "64")]
#[test]
fn overlap_is_decided_by_divisors() {
    // 100 001 a = 100 000 b needs an a of 100 000.
    for (shape, expected) in [
        ([100_000, 100_000], Overlap::No),
        ([100_001, 100_000], Overlap::No),
        ([100_001, 100_002], Overlap::Yes),
    ] {
        let layout = Layout::strided(&shape, &[100_001, 100_000]).unwrap();
        assert_eq!(layout.as_ref().overlaps_itself(), expected, "{layout:?}");
    }
}
