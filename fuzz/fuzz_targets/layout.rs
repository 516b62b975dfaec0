//! Any descriptor goes through the validator, and what comes out through everything that layouts
//! can do. Nothing may panic, and where the elements are few, the naive model has to agree.

#![no_main]

mod checks;
#[expect(dead_code, reason = "it is shared, and each target needs a part of it")]
#[path = "../../tests/layout/model.rs"]
mod model;
mod operation;

use dlbridge::error::LayoutError;
use dlbridge::layout::{Layout, Overlap};
use dlbridge_fuzz::{Fields, Storage};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use model::Place;
use operation::Operation;

#[derive(Debug, Arbitrary)]
struct Input {
    fields: Fields,
    storage: Storage,
    address: dlbridge_fuzz::Number,
    byte_offset: dlbridge_fuzz::Number,
    has_addresses: bool,
    operations: Vec<Operation>,
}

fuzz_target!(|input: Input| {
    let Input {
        fields, storage, ..
    } = &input;
    let violated = model::violations(
        fields.ndim,
        fields.shape.as_deref(),
        fields.strides.as_deref(),
    );
    let layout = match fields.layout() {
        Ok(layout) => layout,
        Err(error) => {
            assert!(!violated.is_empty(), "{error:?} of nothing");
            return;
        }
    };
    assert!(violated.is_empty(), "taken in spite of {violated:?}");
    check_memory(&input, &layout);
    check_answers(&layout);
    let mut current = (layout, storage.possible());
    for operation in &input.operations {
        current = operation.checked(current);
        check_answers(&current.0);
    }
});

fn check_memory(input: &Input, layout: &Layout) {
    let Storage { dtype, padded } = input.storage;
    let place = Place {
        data: input.address.0 as usize,
        byte_offset: input.byte_offset.0 as u64,
        has_addresses: input.has_addresses,
    };
    let Place {
        data,
        byte_offset,
        has_addresses,
    } = place;
    let found = layout
        .as_ref()
        .check_memory(dtype, padded, data, byte_offset, has_addresses);
    if matches!(found, Err(LayoutError::CannotPad { .. })) {
        assert!(padded && !input.storage.possible().padded);
        return;
    }
    let violated = model::memory_violations(layout.as_ref(), dtype, padded, place);
    match found {
        Ok(span) if layout.is_empty() => assert_eq!(span, 0..0),
        Ok(span) => {
            assert!(violated.is_empty(), "taken in spite of {violated:?}");
            let bits = model::bit_range(layout.as_ref(), dtype, padded);
            let expected = bits.start.div_euclid(8)..(bits.end + 7).div_euclid(8);
            assert_eq!(span.start as i128..span.end as i128, expected);
            assert_eq!(layout.as_ref().byte_span(dtype, padded), span);
        }
        Err(error) => assert!(!violated.is_empty(), "{error:?} of nothing"),
    }
}

fn check_answers(layout: &Layout) {
    // However a layout came about, the validator takes it, and finds the same.
    let again = Layout::strided(layout.shape(), layout.strides());
    assert_eq!(again.as_ref(), Ok(layout));
    let borrowed = layout.as_ref();
    assert_eq!(borrowed.to_owned(), *layout);
    let answers = [
        borrowed.is_contiguous(),
        borrowed.is_f_contiguous(),
        borrowed.is_dense(),
    ];
    let extent = borrowed.extent();
    let overlap = borrowed.overlaps_itself();
    if !checks::is_small(layout) {
        return;
    }
    let are_first = |places: &[i128]| places.iter().copied().eq(0..places.len() as i128);
    let mut places = model::offsets(borrowed);
    let backwards = model::offsets(layout.reversed().as_ref());
    assert_eq!(answers[0], are_first(&places));
    // Column-major elements are row-major ones when the dimensions are in the other order.
    assert_eq!(answers[1], are_first(&backwards));
    places.sort_unstable();
    let are_distinct = places.is_sorted_by(|a, b| a < b);
    let truth = if are_distinct {
        Overlap::No
    } else {
        Overlap::Yes
    };
    assert_eq!(overlap, truth);
    assert_eq!(answers[2], are_first(&places));
    let ends = places.first().zip(places.last());
    let extent = extent.map(|(first, last)| (first as i128, last as i128));
    assert_eq!(extent, ends.map(|(first, last)| (*first, *last)));
}
