//! Two regions near each other: whether they share memory is found out for sure where they are
//! small, is never told wrongly, and is never waited for.

#![no_main]

#[expect(dead_code, reason = "it is shared, and each target needs a part of it")]
#[path = "../../tests/layout/model.rs"]
mod model;

use dlbridge::layout::{Layout, Overlap, Region};
use dlbridge_fuzz::{Number, Storage};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use std::time::{Duration, Instant};

/// Pairs of elements up to which it is always decided whether two share memory.
const ALWAYS_DECIDED: usize = 4096;

/// Bits of a region up to which its bytes are listed one by one.
const FEW: usize = 5000;

/// Far more than an answer needs, on however slow a machine.
const PATIENCE: Duration = Duration::from_secs(5);

/// Far from both ends of the address space.
const BASE: usize = usize::MAX / 2;

#[derive(Debug, Arbitrary)]
struct Dim {
    size: u16,
    is_small: bool,
    stride: Number,
}

#[derive(Debug, Arbitrary)]
struct Place {
    address: u16,
    dims: Vec<Dim>,
    storage: Storage,
}

#[derive(Debug, Arbitrary)]
struct Input {
    ours: Place,
    theirs: Place,
    /// Whether both have the same strides, as views of one tensor do.
    are_siblings: bool,
}

fn strides(place: &Place) -> impl Iterator<Item = isize> {
    place.dims.iter().map(|dim| dim.stride.0 as isize)
}

fn layout(place: &Place, strides: impl Iterator<Item = isize>) -> Option<Layout> {
    let size = |dim: &Dim| usize::from(if dim.is_small { dim.size % 6 } else { dim.size });
    let (shape, strides): (Vec<_>, Vec<_>) = place.dims.iter().map(size).zip(strides).unzip();
    Layout::strided(&shape, &strides).ok()
}

fn region<'a>(place: &Place, layout: &'a Layout) -> Option<Region<'a>> {
    let Storage { dtype, padded } = place.storage.possible();
    let address = BASE + usize::from(place.address);
    let layout = layout.as_ref();
    let checked = layout.check_memory(dtype, padded, address, 0, true);
    checked.ok().map(|_| Region {
        address,
        layout,
        dtype,
        padded,
    })
}

fn bits(region: &Region<'_>) -> usize {
    let step = model::step_bits(region.dtype, region.padded) as usize;
    region.layout.len().saturating_mul(step)
}

fn truth(ours: &Region<'_>, theirs: &Region<'_>) -> Overlap {
    let [ours, theirs] = [ours, theirs]
        .map(|region| model::bytes(region.address, region.layout, region.dtype, region.padded));
    if ours.is_disjoint(&theirs) {
        Overlap::No
    } else {
        Overlap::Yes
    }
}

fuzz_target!(|input: Input| {
    let Some(ours) = layout(&input.ours, strides(&input.ours)) else {
        return;
    };
    let theirs = if input.are_siblings {
        layout(&input.theirs, strides(&input.ours))
    } else {
        layout(&input.theirs, strides(&input.theirs))
    };
    let Some(theirs) = theirs else { return };
    let regions = region(&input.ours, &ours).zip(region(&input.theirs, &theirs));
    let Some((ours, theirs)) = regions else {
        return;
    };
    let begin = Instant::now();
    let found = [ours.overlaps(&theirs), theirs.overlaps(&ours)];
    assert!(begin.elapsed() < PATIENCE);
    let pairs = ours.layout.len().saturating_mul(theirs.layout.len());
    if pairs <= ALWAYS_DECIDED {
        assert!(!found.contains(&Overlap::Unknown));
    }
    if bits(&ours).max(bits(&theirs)) <= FEW {
        let truth = truth(&ours, &theirs);
        for found in found {
            assert!(
                found == truth || found == Overlap::Unknown,
                "{found:?}, not {truth:?}"
            );
        }
    }
    if !found.contains(&Overlap::Unknown) {
        assert_eq!(found[0], found[1]);
    }
});
