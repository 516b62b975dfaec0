//! The same bits as elements of another type: bit_cast.

use crate::model::{indices, offsets, step_bits, strides_of};
use crate::strategies::{cases, dtype, small, storage};
use dlbridge::DType;
use dlbridge::error::LayoutError;
use dlbridge::layout::Layout;
use proptest::prelude::*;

/// The bits of all elements in logical order, each by its place.
fn bits(layout: &Layout, dtype: DType, padded: bool) -> Vec<i128> {
    let step = step_bits(dtype, padded);
    let places = offsets(layout.as_ref()).into_iter();
    places
        .flat_map(|place| place * step..(place + 1) * step)
        .collect()
}

/// Whether elements of `width` bits can be at these bits: each at as many consecutive ones, the
/// first of them a multiple of the width from the very first, and equally far apart.
fn can_hold(shape: &[usize], width: usize, bits: &[i128]) -> bool {
    let elements: Vec<&[i128]> = bits.chunks(width).collect();
    let is_consecutive = |bits: &&[i128]| bits.iter().zip(bits[0]..).all(|(bit, at)| *bit == at);
    let places: Vec<i128> = elements.iter().map(|bits| bits[0]).collect();
    elements.len() == indices(shape).len()
        && elements.iter().all(is_consecutive)
        && strides_of(shape, &places)
            .is_some_and(|strides| strides.iter().all(|stride| stride % width as i128 == 0))
}

/// Layouts whose last dimension is often one that can be cast.
fn castable() -> impl Strategy<Value = Layout> {
    let rows = (
        small(3, 3),
        1..=12_usize,
        prop::bool::weighted(0.7),
        1..=4_isize,
    );
    let rows = rows.prop_filter_map("too large", |(outer, last, is_aligned, unit)| {
        let mut shape = outer.shape().to_vec();
        let factor = if is_aligned { unit * 8 } else { unit };
        let mut strides: Vec<isize> = outer.strides().iter().map(|step| step * factor).collect();
        shape.push(last);
        strides.push(1);
        Layout::strided(&shape, &strides).ok()
    });
    prop_oneof![4 => rows, 1 => small(4, 4)]
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn bit_cast_succeeds_exactly_where_elements_stay_in_place(
        layout in castable(), (from, padded) in storage(), to in dtype(),
    ) {
        let found = layout.bit_cast(from, padded, to);
        let (old, new) = (step_bits(from, padded) as usize, step_bits(to, false) as usize);
        let bits = bits(&layout, from, padded);
        if layout.rank() == 0 {
            prop_assert_eq!(found.is_ok(), old == new);
            return Ok(());
        }
        let mut shape = layout.shape().to_vec();
        let last = shape.last_mut().unwrap();
        let is_whole = *last * old % new == 0;
        *last = *last * old / new;
        match found {
            Ok(view) => {
                prop_assert!(is_whole);
                prop_assert_eq!(view.shape(), shape);
                prop_assert_eq!(self::bits(&view, to, false), bits);
            }
            Err(LayoutError::NotCastable { .. }) => {
                prop_assert!(!is_whole || !can_hold(&shape, new, &bits), "it could be cast");
            }
            Err(other) => prop_assert!(false, "{other:?}"),
        }
    }
}

#[test]
fn bit_cast_changes_the_last_dimension() {
    let rows = Layout::contiguous(&[2, 8]).unwrap();
    for (from, padded, to, shape, strides) in [
        (DType::U8, false, DType::F32, [2, 2], [2, 1]),
        (DType::F32, false, DType::U8, [2, 32], [32, 1]),
        (DType::U8, false, DType::U1, [2, 64], [64, 1]),
        (DType::F4_E2M1FN, false, DType::U8, [2, 4], [4, 1]),
        (DType::F6_E2M3FN, false, DType::U8, [2, 6], [6, 1]),
        (DType::F6_E2M3FN, true, DType::U8, [2, 8], [8, 1]),
        (DType::F6_E2M3FN, true, DType::F4_E2M1FN, [2, 16], [16, 1]),
        (DType::C64, false, DType::F32, [2, 16], [16, 1]),
        (DType::F32, false, DType::I32, [2, 8], [8, 1]),
    ] {
        let view = rows.bit_cast(from, padded, to).unwrap();
        assert_eq!(
            (view.shape(), view.strides()),
            (&shape[..], &strides[..]),
            "{from} {to}"
        );
    }
    // The same width: nothing is asked of the strides.
    let odd = Layout::strided(&[3, 2], &[-7, 0]).unwrap();
    assert_eq!(odd.bit_cast(DType::F32, false, DType::U32), Ok(odd.clone()));
    let scalar = Layout::contiguous(&[]).unwrap();
    assert_eq!(scalar.bit_cast(DType::F32, false, DType::U32), Ok(scalar));
}

#[test]
fn bit_cast_ignores_irrelevant_strides() {
    let cast = |shape: &[usize], strides: &[isize]| {
        let layout = Layout::strided(shape, strides).unwrap();
        layout.bit_cast(DType::U8, false, DType::U32)
    };
    let view = cast(&[1, 4], &[3, 1]).unwrap();
    assert_eq!((view.shape(), view.len()), (&[1, 1][..], 1));
    for strides in [[3, 1], [4, 7], [isize::MIN, isize::MAX]] {
        assert_eq!(cast(&[0, 4], &strides).unwrap().shape(), [0, 1]);
    }
    let one = Layout::strided(&[2, 1], &[1, 99]).unwrap();
    let view = one.bit_cast(DType::U32, false, DType::U8).unwrap();
    assert_eq!((view.shape(), view.strides()), (&[2, 4][..], &[4, 1][..]));
}

#[test]
fn bit_cast_of_sizes_beyond_an_address_in_bits_succeeds() {
    let most = isize::MAX as usize;
    // An empty tensor may have sizes and strides of which there are no bits.
    let empty = Layout::strided(&[0, most], &[isize::MIN, 1]).unwrap();
    let view = empty.bit_cast(DType::U32, false, DType::U32.with_lanes(3).unwrap());
    assert_eq!(view.is_ok(), most.is_multiple_of(3), "{view:?}");
    let half = Layout::contiguous(&[0, 1 << (isize::BITS - 2)]).unwrap();
    let view = half.bit_cast(DType::U8, false, DType::U64).unwrap();
    assert_eq!(view.shape(), [0, 1 << (isize::BITS - 5)]);
    // What would be more elements than there can be is refused, and nothing overflows.
    let all = Layout::contiguous(&[most]).unwrap();
    let found = all.bit_cast(DType::C128, false, DType::U1);
    assert!(matches!(found, Err(LayoutError::TooManyElements)));
    let far = Layout::strided(&[2, 2], &[-(isize::MAX - 7), 1]).unwrap();
    let found = far.bit_cast(DType::U16, false, DType::U8);
    assert!(matches!(found, Err(LayoutError::TooFar)));
    let view = far.bit_cast(DType::U8, false, DType::U16).unwrap();
    assert_eq!(view.strides(), [-(isize::MAX - 7) / 2, 1]);
}
