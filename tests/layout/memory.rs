//! Invariants 7 to 9: where elements may lie.

use crate::model::{Place, bit_range, bytes, memory_violations};
use crate::strategies::{at_the_limit, cases, dtype, small, storage};
use dlbridge::error::LayoutError;
use dlbridge::layout::Layout;
use dlbridge::{DType, Device, DeviceKind};
use proptest::prelude::*;
use std::ops::Range;

fn check(
    layout: &Layout,
    dtype: DType,
    padded: bool,
    place: Place,
) -> Result<Range<isize>, LayoutError> {
    let Place {
        data,
        byte_offset,
        has_addresses,
    } = place;
    let layout = layout.as_ref();
    layout.check_memory(dtype, padded, data, byte_offset, has_addresses)
}

/// An address, and what leads there from a data pointer.
fn address_and_offset() -> impl Strategy<Value = (usize, u64)> {
    let end = |by: i8| (usize::MAX as u64).wrapping_add_signed(i64::from(by));
    let number = || {
        prop_oneof![
            3 => (-20..=20_i8).prop_map(end),
            3 => 0..100_u64,
            1 => any::<u64>(),
        ]
    };
    prop_oneof![
        (number(), number()),
        // The sum is near one of the ends.
        (any::<usize>(), -20..=20_i8)
            .prop_map(move |(data, by)| { (data as u64, end(by).wrapping_sub(data as u64)) }),
    ]
    .prop_map(|(data, offset)| (data as usize, offset))
}

fn place() -> impl Strategy<Value = Place> {
    (address_and_offset(), prop::bool::weighted(0.8)).prop_map(
        |((data, byte_offset), has_addresses)| Place {
            data,
            byte_offset,
            has_addresses,
        },
    )
}

fn far() -> impl Strategy<Value = (Layout, (DType, bool))> {
    storage().prop_flat_map(|(dtype, padded)| {
        let step = crate::model::step_bits(dtype, padded);
        (at_the_limit(step), Just((dtype, padded)))
    })
}

fn agrees(layout: &Layout, dtype: DType, padded: bool, place: Place) -> Result<(), TestCaseError> {
    let violated = memory_violations(layout.as_ref(), dtype, padded, place);
    let found = check(layout, dtype, padded, place);
    let told = match &found {
        Ok(_) => {
            prop_assert!(violated.is_empty(), "taken in spite of {violated:?}");
            return Ok(());
        }
        Err(LayoutError::ExtentTooLarge { dtype: told }) if *told == dtype => 7,
        Err(LayoutError::NullData { elements }) if *elements == layout.len() => 8,
        Err(LayoutError::AddressOverflow { data, byte_offset })
            if (*data, *byte_offset) == (place.data, place.byte_offset) =>
        {
            9
        }
        Err(other) => return Err(TestCaseError::fail(format!("{other:?}"))),
    };
    prop_assert!(
        violated.contains(&told),
        "{found:?}, but the violated ones are {violated:?}"
    );
    Ok(())
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn validator_accepts_layouts_that_satisfy_the_invariants(
        layout in small(4, 4), (dtype, padded) in storage(), place in place(),
    ) {
        agrees(&layout, dtype, padded, place)?;
    }

    #[test]
    fn validator_accepts_limits_of_the_invariants(
        (layout, (dtype, padded)) in far(), place in place(), snug in any::<bool>(), by in -2..=2_isize,
    ) {
        let bits = bit_range(layout.as_ref(), dtype, padded);
        let lowest = bits.start.div_euclid(8).unsigned_abs() as usize;
        let behind = (bits.end as u128).div_ceil(8) as usize;
        // Nearly at the beginning of the address space, and nearly at its end.
        let at = if snug { lowest } else { usize::MAX - behind };
        for data in [at.saturating_add_signed(by), place.data] {
            agrees(&layout, dtype, padded, Place { data, ..place })?;
            agrees(&layout, dtype, padded, Place { data, byte_offset: 0, has_addresses: true })?;
        }
    }

    #[test]
    fn byte_range_covers_exactly_the_touched_bytes(layout in small(4, 4), (dtype, padded) in storage()) {
        let place = Place { data: 1 << 30, byte_offset: 0, has_addresses: true };
        let touched = bytes(place.data, layout.as_ref(), dtype, padded);
        let relative = |byte: &i128| (*byte - place.data as i128) as isize;
        let expected = match touched.first().zip(touched.last()) {
            Some((first, last)) => relative(first)..relative(last) + 1,
            None => 0..0,
        };
        prop_assert_eq!(layout.as_ref().byte_span(dtype, padded), expected.clone());
        prop_assert_eq!(check(&layout, dtype, padded, place), Ok(expected));
    }

    #[test]
    fn only_parts_of_bytes_can_be_padded(layout in small(2, 2), dtype in dtype()) {
        let place = Place { data: 64, byte_offset: 0, has_addresses: false };
        let found = check(&layout, dtype, true, place);
        if dtype.is_sub_byte() && dtype.lanes() == 1 {
            prop_assert!(found.is_ok());
        } else {
            let is_told = matches!(&found, Err(LayoutError::CannotPad { dtype: told }) if *told == dtype);
            prop_assert!(is_told, "{found:?}");
        }
    }
}

/// One element, or some a fixed number of elements apart.
fn apart(count: usize, stride: isize) -> Layout {
    Layout::strided(&[count], &[stride]).unwrap()
}

fn at(data: usize) -> Place {
    Place {
        data,
        byte_offset: 0,
        has_addresses: true,
    }
}

#[test]
fn invariant_7_far_elements() {
    let most = isize::MAX / 32 - 1;
    for stride in [most, -most] {
        let data = usize::MAX / 2;
        assert!(check(&apart(2, stride), DType::F32, false, at(data)).is_ok());
        let further = apart(2, stride + stride.signum());
        let found = check(&further, DType::F32, false, at(data));
        assert!(matches!(
            found,
            Err(LayoutError::ExtentTooLarge { dtype: DType::F32 })
        ));
    }
    // The bits are more than there are, though as many elements would do.
    let all = Layout::contiguous(&[isize::MAX as usize]).unwrap();
    assert!(check(&all, DType::U1, false, at(8)).is_ok());
    for (dtype, padded) in [(DType::I2, false), (DType::U1, true)] {
        let found = check(&all, dtype, padded, at(8));
        assert!(matches!(found, Err(LayoutError::ExtentTooLarge { dtype: told }) if told == dtype));
    }
    // The last element in memory counts as well as the distance to it.
    let reaching = apart(2, isize::MAX);
    let found = check(&reaching, DType::U1, false, at(8));
    assert!(matches!(
        found,
        Err(LayoutError::ExtentTooLarge { dtype: DType::U1 })
    ));
}

#[test]
fn invariant_8_null_data() {
    for layout in [Layout::contiguous(&[]).unwrap(), apart(3, 0)] {
        for place in [
            at(0),
            Place {
                byte_offset: 64,
                ..at(0)
            },
            Place {
                has_addresses: false,
                ..at(0)
            },
        ] {
            let found = check(&layout, DType::U8, false, place);
            let elements = layout.len();
            assert!(
                matches!(found, Err(LayoutError::NullData { elements: told }) if told == elements)
            );
        }
    }
    let empty = Layout::contiguous(&[2, 0]).unwrap();
    assert_eq!(check(&empty, DType::U8, false, at(0)), Ok(0..0));
}

#[test]
fn invariant_9_the_end_of_the_address_space() {
    let overflows = |layout: &Layout, dtype, padded, place| {
        matches!(
            check(layout, dtype, padded, place),
            Err(LayoutError::AddressOverflow { data, byte_offset })
                if (data, byte_offset) == (place.data, place.byte_offset)
        )
    };
    let end = usize::MAX;
    // The address behind the last byte is the largest one.
    let four = apart(4, 1);
    assert_eq!(check(&four, DType::U8, false, at(end - 4)), Ok(0..4));
    assert!(overflows(&four, DType::U8, false, at(end - 3)));
    // Of packed elements, parts of bytes count as bytes, and of padded ones each is one.
    assert_eq!(check(&four, DType::F6_E2M3FN, false, at(end - 3)), Ok(0..3));
    assert!(overflows(&four, DType::F6_E2M3FN, false, at(end - 2)));
    let five = apart(5, 1);
    assert_eq!(check(&five, DType::F6_E2M3FN, false, at(end - 4)), Ok(0..4));
    assert!(overflows(&five, DType::F6_E2M3FN, false, at(end - 3)));
    assert_eq!(check(&four, DType::F6_E2M3FN, true, at(end - 4)), Ok(0..4));
    assert!(overflows(&four, DType::F6_E2M3FN, true, at(end - 3)));
    // Strides lead forwards to the end, and backwards to the beginning, where NULL is.
    assert!(overflows(&apart(3, 2), DType::F64, false, at(end - 39)));
    assert_eq!(
        check(&apart(3, 2), DType::F64, false, at(end - 40)),
        Ok(0..40)
    );
    assert_eq!(check(&apart(3, -2), DType::F64, false, at(33)), Ok(-32..8));
    assert!(overflows(&apart(3, -2), DType::F64, false, at(32)));
    assert!(overflows(&apart(3, -2), DType::F64, false, at(31)));
}

#[test]
fn invariant_9_byte_offsets() {
    let one = apart(1, 1);
    let place = |data, byte_offset| Place {
        byte_offset,
        ..at(data)
    };
    let overflows = |place| {
        matches!(
            check(&one, DType::U8, false, place),
            Err(LayoutError::AddressOverflow { .. })
        )
    };
    let end = usize::MAX;
    assert!(!overflows(place(16, (end - 17) as u64)));
    assert!(overflows(place(16, (end - 16) as u64)));
    assert!(overflows(place(16, u64::MAX)));
    // The offset comes before strides that lead backwards.
    let backwards = apart(3, -1);
    let found = check(&backwards, DType::U8, false, place(2, 1));
    assert_eq!(found, Ok(-2..1));
    let found = check(&backwards, DType::U8, false, place(end, 1));
    assert!(matches!(found, Err(LayoutError::AddressOverflow { .. })));
}

#[test]
fn invariant_9_does_not_apply_to_handles() {
    let opaque = Device::new(DeviceKind::Vulkan, 0);
    let place = Place {
        data: usize::MAX,
        byte_offset: u64::MAX,
        has_addresses: opaque.has_addresses(),
    };
    assert_eq!(check(&apart(3, -2), DType::F64, false, place), Ok(-32..8));
    // The others are.
    let found = check(&apart(2, isize::MAX / 64), DType::F64, false, place);
    assert!(matches!(found, Err(LayoutError::ExtentTooLarge { .. })));
    let found = check(&apart(1, 1), DType::F64, false, Place { data: 0, ..place });
    assert!(matches!(found, Err(LayoutError::NullData { elements: 1 })));
}

#[test]
fn validator_ignores_the_address_of_an_empty_tensor() {
    let empty = Layout::strided(&[0, 3], &[isize::MIN, isize::MAX]).unwrap();
    let place = Place {
        data: usize::MAX,
        byte_offset: u64::MAX,
        has_addresses: true,
    };
    assert_eq!(check(&empty, DType::C128, false, place), Ok(0..0));
}
