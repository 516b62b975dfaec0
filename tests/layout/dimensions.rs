//! All of the elements, their dimensions in another order, more or fewer: permute, reversed,
//! squeeze, unsqueeze.

use crate::model::Array;
use crate::strategies::{at_the_limit, cases, small};
use dlbridge::layout::{Layout, MAX_RANK};
use proptest::prelude::*;
use proptest::sample::Index;

fn with_order() -> impl Strategy<Value = (Layout, Vec<usize>)> {
    small(4, 4).prop_flat_map(|layout| {
        let axes: Vec<usize> = (0..layout.rank()).collect();
        (Just(layout), Just(axes).prop_shuffle())
    })
}

/// The array with its dimensions in another order: the new one at `i` is the old one at `axes[i]`.
fn permuted(array: &Array, axes: &[usize]) -> Array {
    let shape = axes.iter().map(|axis| array.shape[*axis]).collect();
    array.rearranged(shape, |index| {
        let mut old = vec![0; index.len()];
        for (axis, at) in axes.iter().zip(index) {
            old[*axis] = *at;
        }
        old
    })
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn permute((layout, axes) in with_order()) {
        let view = layout.permute(&axes).unwrap();
        prop_assert_eq!(Array::shown(&view, 0), permuted(&Array::shown(&layout, 0), &axes));
    }

    #[test]
    fn reversed(layout in small(4, 4)) {
        let view = layout.reversed();
        let axes: Vec<usize> = (0..layout.rank()).rev().collect();
        prop_assert_eq!(Array::shown(&view, 0), permuted(&Array::shown(&layout, 0), &axes));
        prop_assert_eq!(view.reversed(), layout);
    }

    #[test]
    fn unsqueeze_and_squeeze(layout in small(4, 3), axis in any::<Index>()) {
        let axis = axis.index(layout.rank() + 1);
        let view = layout.unsqueeze(axis).unwrap();
        let mut shape = layout.shape().to_vec();
        shape.insert(axis, 1);
        let expected = Array::shown(&layout, 0).rearranged(shape, |index| {
            let mut index = index.to_vec();
            index.remove(axis);
            index
        });
        prop_assert_eq!(Array::shown(&view, 0), expected);
        prop_assert_eq!(view.squeeze(axis).unwrap(), layout);
    }

    #[test]
    fn squeeze_refuses_other_sizes(layout in small(4, 2), axis in any::<Index>()) {
        prop_assume!(layout.rank() > 0);
        let axis = axis.index(layout.rank());
        let found = layout.squeeze(axis);
        prop_assert_eq!(found.is_ok(), layout.shape()[axis] == 1);
        if let Ok(view) = found {
            let mut shape = layout.shape().to_vec();
            shape.remove(axis);
            let expected = Array::shown(&layout, 0).rearranged(shape, |index| {
                let mut index = index.to_vec();
                index.insert(axis, 0);
                index
            });
            prop_assert_eq!(Array::shown(&view, 0), expected);
        }
    }

    #[test]
    fn far_strides_do_not_overflow(layout in at_the_limit(1), axis in any::<Index>()) {
        let extent = layout.as_ref().extent();
        prop_assert_eq!(layout.reversed().as_ref().extent(), extent);
        let view = layout.unsqueeze(axis.index(layout.rank() + 1)).unwrap();
        prop_assert_eq!(view.as_ref().extent(), extent);
    }
}

#[test]
fn unsqueeze_keeps_contiguous_strides() {
    let layout = Layout::contiguous(&[2, 3]).unwrap();
    for (axis, strides) in [(0, [6, 3, 1]), (1, [3, 3, 1]), (2, [3, 1, 1])] {
        assert_eq!(layout.unsqueeze(axis).unwrap().strides(), strides);
    }
    let empty = Layout::contiguous(&[2, 0]).unwrap();
    assert!(empty.unsqueeze(1).unwrap().is_empty());
}

#[test]
fn unsqueeze_refuses_rank_beyond_the_maximum() {
    let full = Layout::contiguous(&[1; MAX_RANK]).unwrap();
    assert!(full.unsqueeze(0).is_err());
    let order: Vec<usize> = (0..MAX_RANK).rev().collect();
    assert_eq!(full.permute(&order).unwrap(), full.reversed());
    // From the heap to inline and back.
    let nine = Layout::contiguous(&[1, 2, 1, 2, 1, 2, 1, 2, 1]).unwrap();
    let eight = nine.squeeze(4).unwrap();
    assert_eq!(
        eight,
        Layout::contiguous(&[1, 2, 1, 2, 2, 1, 2, 1]).unwrap()
    );
    assert_eq!(eight.unsqueeze(4).unwrap().shape(), nine.shape());
}
