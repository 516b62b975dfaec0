//! Another shape for the same elements in the same order: reshape.

use crate::model::{Array, offsets, strides_of};
use crate::strategies::{at_the_limit, cases, small};
use dlbridge::error::LayoutError;
use dlbridge::layout::Layout;
use proptest::prelude::*;
use proptest::sample::Index;

/// A shape of a number of elements: a factor at a time is taken out, and ones are put between.
fn shape_of(len: usize) -> impl Strategy<Value = Vec<usize>> {
    let choices = prop::collection::vec((any::<Index>(), prop::bool::weighted(0.2)), 0..5);
    choices.prop_map(move |choices| {
        let (mut left, mut shape) = (len, vec![]);
        for (choice, one) in choices {
            if one {
                shape.push(1);
                continue;
            }
            if len == 0 {
                shape.push(choice.index(4));
                continue;
            }
            let divisors: Vec<usize> = (1..=left).filter(|size| left % size == 0).collect();
            let size = divisors[choice.index(divisors.len())];
            shape.push(size);
            left /= size;
        }
        if left != 1 {
            shape.push(left);
        }
        shape
    })
}

fn with_shape() -> impl Strategy<Value = (Layout, Vec<usize>)> {
    small(4, 4).prop_flat_map(|layout| {
        let shape = shape_of(layout.len());
        (Just(layout), shape)
    })
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn reshape_succeeds_exactly_where_strides_exist((layout, shape) in with_shape()) {
        let places = offsets(layout.as_ref());
        let strides = strides_of(&shape, &places);
        match layout.reshape(&shape) {
            Ok(view) => {
                prop_assert!(strides.is_some(), "the elements are not equally far apart");
                prop_assert_eq!(Array::shown(&view, 0), Array { shape, places });
            }
            Err(error) => {
                prop_assert_eq!(strides, None);
                let (from, strides) = (layout.shape().to_vec(), layout.strides().to_vec());
                let expected = LayoutError::ReshapeNeedsCopy { from, strides, to: shape };
                prop_assert_eq!(error, expected);
            }
        }
    }

    #[test]
    fn reshape_round_trips((layout, shape) in with_shape()) {
        if let Ok(view) = layout.reshape(&shape) {
            let back = view.reshape(layout.shape()).unwrap();
            prop_assert_eq!(Array::shown(&back, 0), Array::shown(&layout, 0));
        }
    }

    #[test]
    fn far_strides_do_not_overflow(layout in at_the_limit(1), ones in 0..3_usize) {
        // Each dimension by itself, and all at once.
        let mut shape = vec![1; ones];
        shape.extend(layout.shape());
        shape.push(1);
        let view = layout.reshape(&shape).unwrap();
        prop_assert_eq!(view.as_ref().extent(), layout.as_ref().extent());
        match layout.reshape(&[layout.len()]) {
            Ok(view) => prop_assert_eq!(view.as_ref().extent(), layout.as_ref().extent()),
            Err(error) => {
                let is_expected = matches!(error, LayoutError::ReshapeNeedsCopy { .. });
                prop_assert!(is_expected);
            }
        }
    }
}

#[test]
fn reshape_of_known_layouts_succeeds_or_fails() {
    let layout = Layout::contiguous(&[4, 6]).unwrap();
    let (left, _) = layout.slice(1, 0..3).unwrap();
    let (even, _) = layout.step_by(1, 2).unwrap();
    let columns = layout.permute(&[1, 0]).unwrap();
    let repeated = Layout::strided(&[4, 6], &[0, 0]).unwrap();
    for (layout, shape, strides) in [
        (&layout, &[3, 8][..], Some(&[8, 1][..])),
        (&left, &[2, 2, 3], Some(&[12, 6, 1])),
        (&left, &[4, 1, 3], Some(&[6, 1, 1])),
        (&left, &[12], None),
        (&left, &[2, 6], None),
        (&even, &[12], Some(&[2])),
        (&even, &[2, 6], Some(&[12, 2])),
        (&columns, &[3, 2, 2, 2], Some(&[2, 1, 12, 6])),
        (&columns, &[8, 3], None),
        (&repeated, &[24], Some(&[0])),
    ] {
        let view = layout.reshape(shape);
        assert_eq!(
            view.as_ref().ok().map(Layout::strides),
            strides,
            "{layout:?} {shape:?}"
        );
    }
}

#[test]
fn reshape_to_many_dimensions_succeeds() {
    // More runs than are kept without an allocation: each with a gap behind it.
    let shape = [2; 12];
    let strides: Vec<isize> = (0..12).rev().map(|axis| 3_isize.pow(axis)).collect();
    let layout = Layout::strided(&shape, &strides).unwrap();
    let mut target = vec![1];
    target.extend(shape);
    assert_eq!(layout.reshape(&target).unwrap().strides()[1..], strides);
    target[6] = 4;
    target[7] = 1;
    let found = layout.reshape(&target);
    assert!(matches!(found, Err(LayoutError::ReshapeNeedsCopy { .. })));
}

#[test]
fn reshape_accepts_any_empty_shape_for_empty_layouts() {
    let empty = Layout::strided(&[0, 3], &[isize::MIN, 7]).unwrap();
    let view = empty.reshape(&[5, 1, 0, 2]).unwrap();
    assert_eq!(view, Layout::contiguous(&[5, 1, 0, 2]).unwrap());
    assert!(empty.reshape(&[]).is_err() && empty.reshape(&[1]).is_err());
}
