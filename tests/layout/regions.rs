//! Do elements of two layouts share memory? Compared with looking at each byte.

use crate::model::bytes;
use crate::strategies::{cases, small, storage};
use dlbridge::DType;
use dlbridge::layout::{Layout, Overlap, Region};
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// Listing elements along dimensions of this size takes Miri too long.
const LONG: usize = if cfg!(miri) { 3 } else { 7 };

/// Two regions whose numbers of elements multiply to up to this are always decided.
const ALWAYS_DECIDED: usize = 4096;

const PATIENCE: Duration = Duration::from_secs(5);

/// Far enough from both ends of the address space.
const BASE: usize = 1 << 20;

/// A region that owns its layout.
#[derive(Debug, Clone)]
struct Place {
    address: usize,
    layout: Layout,
    storage: (DType, bool),
}

impl Place {
    fn region(&self) -> Region<'_> {
        Region {
            address: self.address,
            layout: self.layout.as_ref(),
            dtype: self.storage.0,
            padded: self.storage.1,
        }
    }

    fn overlaps(&self, other: &Place) -> Overlap {
        let found = self.region().overlaps(&other.region());
        let reverse = other.region().overlaps(&self.region());
        let is_decided = found != Overlap::Unknown && reverse != Overlap::Unknown;
        assert!(
            found == reverse || !is_decided,
            "{found:?} becomes {reverse:?}"
        );
        found
    }

    fn truth(&self, other: &Place) -> Overlap {
        let [ours, theirs] = [self, other].map(|place| {
            let (dtype, padded) = place.storage;
            bytes(place.address, place.layout.as_ref(), dtype, padded)
        });
        if ours.is_disjoint(&theirs) {
            Overlap::No
        } else {
            Overlap::Yes
        }
    }
}

fn place(
    spread: usize,
    layout: impl Strategy<Value = Layout>,
    storage: impl Strategy<Value = (DType, bool)>,
) -> impl Strategy<Value = Place> {
    (0..=spread, layout, storage).prop_map(|(address, layout, storage)| Place {
        address: BASE + address,
        layout,
        storage,
    })
}

/// Small element types, some of them parts of bytes: where gaps and neighbours matter most.
fn narrow() -> impl Strategy<Value = (DType, bool)> {
    prop::sample::select(vec![
        (DType::U1, false),
        (DType::I2, false),
        (DType::U4, false),
        (DType::F6_E3M2FN, false),
        (DType::F6_E3M2FN, true),
        (DType::U8, false),
        (DType::F16, false),
    ])
}

/// Sizes and strides that are the same in both regions, as those of views of one tensor are.
fn siblings() -> impl Strategy<Value = (Place, Place)> {
    let dim = (1..=4_usize, 1..=4_usize, 1..=24_isize);
    let dims = prop::collection::vec(dim, 1..=3);
    (dims, storage(), 0..64_usize, 0..64_usize).prop_map(|(dims, storage, first, second)| {
        let strides: Vec<isize> = dims.iter().map(|dim| dim.2).collect();
        let place = |shape: Vec<usize>, address| Place {
            address: BASE + address,
            layout: Layout::strided(&shape, &strides).unwrap(),
            storage,
        };
        (
            place(dims.iter().map(|dim| dim.0).collect(), first),
            place(dims.iter().map(|dim| dim.1).collect(), second),
        )
    })
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn overlap_of_small_regions_is_exact(
        ours in place(40, small(3, 4), storage()), theirs in place(40, small(3, 4), storage()),
    ) {
        prop_assume!(ours.layout.len() * theirs.layout.len() <= ALWAYS_DECIDED);
        prop_assert_eq!(ours.overlaps(&theirs), ours.truth(&theirs));
    }

    #[test]
    fn overlap_of_sub_byte_regions_is_exact(
        ours in place(6, small(3, 3), narrow()), theirs in place(6, small(3, 3), narrow()),
    ) {
        prop_assert_eq!(ours.overlaps(&theirs), ours.truth(&theirs));
    }

    #[test]
    fn overlap_of_views_of_one_tensor_is_exact((ours, theirs) in siblings()) {
        prop_assert_eq!(ours.overlaps(&theirs), ours.truth(&theirs));
    }
}

proptest! {
    #![proptest_config(cases(150))]

    #[test]
    fn overlap_of_large_regions_is_exact_or_undecided(
        ours in place(3000, small(4, LONG), storage()), theirs in place(3000, small(4, LONG), storage()),
    ) {
        let found = ours.overlaps(&theirs);
        prop_assert!(found == Overlap::Unknown || found == ours.truth(&theirs), "{found:?}");
    }

    #[cfg(target_pointer_width = "64")]
    #[test]
    #[cfg_attr(miri, ignore = "it is about time")]
    fn overlap_of_every_region_ends_in_time(
        exponents in prop::collection::vec((0..50_u32, 0..50_u32), 1..=48),
        noise in any::<[isize; 48]>(),
        storage in narrow(),
    ) {
        let strides = |side: fn(&(u32, u32)) -> u32| -> Vec<isize> {
            let stride = |(both, noise): (&(u32, u32), &isize)| noise >> 12 >> side(both);
            exponents.iter().zip(&noise).map(stride).collect()
        };
        let place = |strides: Vec<isize>| Place {
            address: usize::MAX / 2,
            layout: Layout::strided(&vec![2; strides.len()], &strides).unwrap(),
            storage,
        };
        let (ours, theirs) = (place(strides(|both| both.0)), place(strides(|both| both.1)));
        let begin = Instant::now();
        // Both begin at one place.
        prop_assert_ne!(ours.region().overlaps(&theirs.region()), Overlap::No);
        let moved = Place { address: ours.address + 12345, ..ours };
        let _ = moved.region().overlaps(&theirs.region());
        prop_assert!(begin.elapsed() < PATIENCE);
    }
}

fn at(address: usize, shape: &[usize], strides: &[isize], dtype: DType) -> Place {
    Place {
        address: BASE + address,
        layout: Layout::strided(shape, strides).unwrap(),
        storage: (dtype, false),
    }
}

#[cfg(target_pointer_width = "64")]
#[test]
fn overlap_of_interleaved_views_is_exact_at_any_size() {
    let many = 1_000_000;
    // Even and odd elements; columns of one matrix; its halves, from top to bottom and side by
    // side.
    for (ours, theirs) in [
        (
            at(0, &[many], &[2], DType::F32),
            at(4, &[many], &[2], DType::F32),
        ),
        (
            at(0, &[many], &[2], DType::F64),
            at(8, &[many], &[2], DType::C64),
        ),
        (
            at(0, &[many, 300], &[1001, 2], DType::F32),
            at(4, &[many, 300], &[1001, 2], DType::F32),
        ),
        (
            at(0, &[many, 3], &[10, 1], DType::F32),
            at(12, &[many, 7], &[10, 1], DType::F32),
        ),
        (
            at(0, &[many, 500], &[1000, 1], DType::F16),
            at(1000, &[500, many], &[1, 1000], DType::F16),
        ),
        (
            at(0, &[many, 10], &[10, 1], DType::F64),
            at(80 * many, &[many, 10], &[10, 1], DType::F64),
        ),
        (
            at(0, &[many], &[6], DType::U4),
            at(1, &[many], &[6], DType::U4),
        ),
        (
            at(8 * many - 8, &[many], &[-2], DType::F32),
            at(4, &[many], &[2], DType::F32),
        ),
    ] {
        assert_eq!(ours.overlaps(&theirs), Overlap::No, "{ours:?} {theirs:?}");
        assert_eq!(ours.overlaps(&ours), Overlap::Yes, "{ours:?}");
    }
    // No two strides are the same, and yet all are even: their divisor tells.
    let ours = at(0, &[500, 300], &[1000, 2], DType::F32);
    let theirs = at(4, &[300, 500], &[998, 2], DType::F32);
    assert_eq!(ours.overlaps(&theirs), Overlap::No);
    // Wider elements reach into the gaps.
    let even = at(0, &[many], &[2], DType::F32);
    let wide = at(4, &[many], &[1], DType::C64);
    assert_eq!(even.overlaps(&wide), Overlap::Yes);
}

#[test]
fn sub_byte_neighbours_overlap() {
    // 3 and 2 elements of 4 bits meet in byte 1, though not in a bit of it.
    let first = at(0, &[3], &[1], DType::U4);
    let last = at(2, &[2], &[-1], DType::U4);
    assert_eq!(first.overlaps(&last), Overlap::Yes);
    // Nibbles 0 and 2 here, 4 and 1 there: byte 0 holds some of both.
    let even = at(0, &[2], &[2], DType::U4);
    let odd = at(2, &[2], &[-3], DType::U4);
    assert_eq!(even.overlaps(&odd), Overlap::Yes);
    // Runs of 6 bits, all of which begin 4 bits into a byte and end in the next.
    let run = |address| at(address, &[2, 3], &[16, -1], DType::U2);
    assert_eq!(run(1).overlaps(&run(2)), Overlap::Yes);
    assert_eq!(run(1).overlaps(&run(3)), Overlap::No);
    // A packed tensor ends inside a byte that is still its own.
    let next = at(2, &[3], &[1], DType::U4);
    assert_eq!(first.overlaps(&next), Overlap::No);
    // Padding belongs to no value, but it is written along with one.
    let padded = Place {
        storage: (DType::U4, true),
        ..at(1, &[2], &[1], DType::U4)
    };
    assert_eq!(first.overlaps(&padded), Overlap::Yes);
    assert_eq!(next.overlaps(&padded), Overlap::Yes);
    assert_eq!(padded.overlaps(&at(3, &[1], &[1], DType::U1)), Overlap::No);
}

#[test]
fn empty_regions_never_overlap() {
    let empty = at(0, &[0, 5], &[1, 1], DType::F32);
    let full = at(0, &[5], &[1], DType::F32);
    assert_eq!(empty.overlaps(&full), Overlap::No);
    assert_eq!(empty.overlaps(&empty), Overlap::No);
}

#[cfg(target_pointer_width = "64")]
#[test]
#[cfg_attr(miri, ignore = "it takes as long as can be")]
fn overlap_search_beyond_its_budget_is_unknown() {
    // Sums of many lengths, all nearly alike, that meet nowhere near.
    let strides: Vec<isize> = (0..24).map(|axis| (1 << 40) + (3 << axis)).collect();
    let ours = at(0, &[2; 24], &strides, DType::U8);
    let strides: Vec<isize> = strides.iter().map(|stride| stride * 2 + 9).collect();
    let theirs = at(1 << 43, &[2; 24], &strides, DType::U8);
    let begin = Instant::now();
    assert_eq!(ours.overlaps(&theirs), Overlap::Unknown);
    assert!(begin.elapsed() < PATIENCE);
}
