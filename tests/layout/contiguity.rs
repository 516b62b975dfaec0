//! Contiguity, density and dimensions of layouts.

use crate::model::{indices, offsets};
use crate::strategies::{cases, small};
use dlbridge::layout::{Layout, LayoutRef};
use proptest::prelude::*;

/// Whether the elements, in that order, are the memory's first ones.
fn are_one_after_another(places: impl IntoIterator<Item = i128>) -> bool {
    places.into_iter().zip(0..).all(|(place, at)| place == at)
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn is_contiguous_means_row_major_without_gaps(layout in small(4, 4)) {
        let expected = are_one_after_another(offsets(layout.as_ref()));
        prop_assert_eq!(layout.as_ref().is_contiguous(), expected);
    }

    #[test]
    fn is_f_contiguous_means_column_major_without_gaps(layout in small(4, 4)) {
        // In column-major order it is the first index that runs fastest.
        let backwards: Vec<usize> = layout.shape().iter().rev().copied().collect();
        let place = |index: &Vec<usize>| {
            let terms = index.iter().rev().zip(layout.strides());
            terms.map(|(&i, &stride)| i as i128 * stride as i128).sum::<i128>()
        };
        let expected = are_one_after_another(indices(&backwards).iter().map(place));
        prop_assert_eq!(layout.as_ref().is_f_contiguous(), expected);
    }

    #[test]
    fn is_dense_means_without_gaps_in_memory(layout in small(4, 4)) {
        let mut places = offsets(layout.as_ref());
        places.sort_unstable();
        prop_assert_eq!(layout.as_ref().is_dense(), are_one_after_another(places));
    }

    #[test]
    fn borrowed_and_owned_layouts_round_trip(layout in small(10, 2)) {
        let borrowed = layout.as_ref();
        prop_assert_eq!(borrowed.shape(), layout.shape());
        prop_assert_eq!(borrowed.strides(), layout.strides());
        prop_assert_eq!((borrowed.rank(), borrowed.len()), (layout.rank(), layout.len()));
        prop_assert_eq!(borrowed.is_empty(), layout.is_empty());
        let owned = borrowed.to_owned();
        prop_assert_eq!(owned.as_ref(), borrowed);
        prop_assert_eq!(&owned, &layout);
        prop_assert_eq!(owned.as_ref().is_contiguous(), borrowed.is_contiguous());
    }
}

fn facts(layout: LayoutRef<'_>) -> [bool; 3] {
    [
        layout.is_contiguous(),
        layout.is_f_contiguous(),
        layout.is_dense(),
    ]
}

#[test]
fn orders_of_known_layouts_are_named() {
    for (shape, strides, expected) in [
        (&[2, 3][..], &[3, 1][..], [true, false, true]),
        (&[2, 3], &[1, 2], [false, true, true]),
        (&[2, 3, 4], &[4, 8, 1], [false, false, true]),
        (&[2, 3], &[4, 1], [false, false, false]),
        (&[4], &[-1], [false, false, false]),
        (&[4], &[0], [false, false, false]),
        (&[], &[], [true, true, true]),
        // Strides that say nothing.
        (&[1, 3, 1], &[-7, 1, isize::MAX], [true, true, true]),
        (&[1, 1], &[0, isize::MIN], [true, true, true]),
        (&[2, 0], &[5, -5], [true, true, true]),
    ] {
        let layout = Layout::strided(shape, strides).unwrap();
        assert_eq!(facts(layout.as_ref()), expected, "{layout:?}");
    }
}

#[test]
fn contiguity_of_the_largest_layouts_is_known() {
    let (half, most) = (1_usize << (isize::BITS / 2 - 1), isize::MAX as usize);
    for shape in [&[most][..], &[half, half], &[1, most, 1]] {
        let layout = Layout::contiguous(shape).unwrap();
        assert!(layout.as_ref().is_contiguous() && layout.as_ref().is_dense());
        let reversed = layout.reversed();
        assert!(reversed.as_ref().is_f_contiguous() && reversed.as_ref().is_dense());
    }
    let many: Vec<usize> = (0..255).map(|axis| 1 + axis % 8 / 7).collect();
    let layout = Layout::contiguous(&many).unwrap().reversed();
    assert_eq!(facts(layout.as_ref()), [false, true, true]);
}

#[test]
fn equality_compares_shape_and_strides() {
    let layout = |shape: &[usize], strides: &[isize]| Layout::strided(shape, strides).unwrap();
    let matrix = layout(&[2, 3], &[3, 1]);
    assert_eq!(matrix, Layout::contiguous(&[2, 3]).unwrap());
    for other in [
        layout(&[2, 3], &[4, 1]),
        layout(&[2, 2], &[3, 1]),
        layout(&[2, 3, 1], &[3, 1, 1]),
        layout(&[0, 3], &[3, 1]),
    ] {
        assert_ne!(matrix, other);
        assert_ne!(matrix.as_ref(), other.as_ref());
    }
    // Strides that say nothing are told apart all the same: an export shows them.
    assert_ne!(layout(&[1], &[1]), layout(&[1], &[2]));
}

#[test]
fn debugging_shows_sizes_and_strides() {
    let layout = Layout::strided(&[2, 3], &[-1, 0]).unwrap();
    let expected = "Layout { shape: [2, 3], strides: [-1, 0] }";
    assert_eq!(format!("{layout:?}"), expected);
    assert_eq!(format!("{:?}", layout.as_ref()), expected);
}
