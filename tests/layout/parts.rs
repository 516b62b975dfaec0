//! Some of the elements: slice, step_by, select, split.

use crate::model::Array;
use crate::strategies::{at_the_limit, cases, small};
use dlbridge::layout::Layout;
use proptest::prelude::*;
use proptest::sample::Index;

/// A layout with at least one dimension, and which of them is meant.
fn with_axis() -> impl Strategy<Value = (Layout, usize)> {
    let layout = small(4, 4).prop_filter("no dimension", |layout| layout.rank() > 0);
    (layout, any::<Index>()).prop_map(|(layout, axis)| {
        let axis = axis.index(layout.rank());
        (layout, axis)
    })
}

/// The array with only those indices along `axis` that `chosen` lists.
fn chosen(array: &Array, axis: usize, chosen: &[usize]) -> Array {
    let mut shape = array.shape.clone();
    shape[axis] = chosen.len();
    array.rearranged(shape, |index| {
        let mut index = index.to_vec();
        index[axis] = chosen[index[axis]];
        index
    })
}

proptest! {
    #![proptest_config(cases(2000))]

    #[test]
    fn slice((layout, axis) in with_axis(), from in any::<Index>(), to in any::<Index>()) {
        let size = layout.shape()[axis];
        let (from, to) = (from.index(size + 1), to.index(size + 1));
        let range = from.min(to)..from.max(to);
        let (view, moved) = layout.slice(axis, range.clone()).unwrap();
        let expected = chosen(&Array::shown(&layout, 0), axis, &range.collect::<Vec<_>>());
        prop_assert_eq!(Array::shown(&view, moved), expected);
        prop_assert!(!view.is_empty() || moved == 0, "an empty view moves by {moved}");
    }

    #[test]
    fn step_by(
        (layout, axis) in with_axis(),
        step in prop_oneof![9 => 1..=5_isize, 1 => Just(isize::MAX)],
        backwards in any::<bool>(),
    ) {
        let size = layout.shape()[axis];
        let mut kept: Vec<usize> = (0..size).collect();
        if backwards {
            kept.reverse();
        }
        let kept: Vec<usize> = kept.into_iter().step_by(step as usize).collect();
        let (view, moved) = layout.step_by(axis, if backwards { -step } else { step }).unwrap();
        prop_assert_eq!(Array::shown(&view, moved), chosen(&Array::shown(&layout, 0), axis, &kept));
        prop_assert!(!view.is_empty() || moved == 0, "an empty view moves by {moved}");
    }

    #[test]
    fn select((layout, axis) in with_axis(), at in any::<Index>()) {
        let size = layout.shape()[axis];
        prop_assume!(size > 0);
        let at = at.index(size);
        let (view, moved) = layout.select(axis, at).unwrap();
        let mut shape = layout.shape().to_vec();
        shape.remove(axis);
        let expected = Array::shown(&layout, 0).rearranged(shape, |index| {
            let mut index = index.to_vec();
            index.insert(axis, at);
            index
        });
        prop_assert_eq!(Array::shown(&view, moved), expected);
        prop_assert!(!view.is_empty() || moved == 0, "an empty view moves by {moved}");
    }

    #[test]
    fn split((layout, axis) in with_axis(), cuts in prop::collection::vec(any::<Index>(), 0..4)) {
        let size = layout.shape()[axis];
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(size + 1)).collect();
        ends.push(size);
        ends.sort_unstable();
        let begins = [&[0], &ends[..ends.len() - 1]].concat();
        let lengths: Vec<usize> = begins.iter().zip(&ends).map(|(from, to)| to - from).collect();
        let views = layout.split(axis, &lengths).unwrap();
        prop_assert_eq!(views.len(), lengths.len());
        let whole = Array::shown(&layout, 0);
        for ((view, moved), (from, to)) in views.iter().zip(begins.into_iter().zip(ends)) {
            let expected = chosen(&whole, axis, &(from..to).collect::<Vec<_>>());
            prop_assert_eq!(Array::shown(view, *moved), expected);
        }
    }

    #[test]
    fn far_strides_do_not_overflow(
        layout in at_the_limit(1), axis in any::<Index>(), step in any::<isize>(),
    ) {
        let axis = axis.index(layout.rank());
        let size = layout.shape()[axis];
        let (first, last) = layout.as_ref().extent().unwrap();
        let is_inside = |view: &Layout, moved: isize| {
            let (low, high) = view.as_ref().extent().unwrap();
            moved + low >= first && moved + high <= last
        };
        for at in 0..size {
            let (view, moved) = layout.select(axis, at).unwrap();
            prop_assert!(is_inside(&view, moved));
            let (view, moved) = layout.slice(axis, at..size).unwrap();
            prop_assert!(is_inside(&view, moved));
            let (view, moved) = layout.slice(axis, at..at).unwrap();
            prop_assert!(view.is_empty() && moved == 0);
        }
        let (view, moved) = layout.slice(axis, size..size).unwrap();
        prop_assert!(view.is_empty() && moved == 0);
        for step in [step, step % 4, isize::MIN, isize::MAX, 1, -1] {
            if step != 0 {
                let (view, moved) = layout.step_by(axis, step).unwrap();
                prop_assert!(is_inside(&view, moved));
            }
        }
    }
}

#[test]
fn irrelevant_strides_are_ignored() {
    let odd = Layout::strided(&[1, 3], &[isize::MIN, 1]).unwrap();
    for step in [1, -1, isize::MIN, isize::MAX] {
        let (view, moved) = odd.step_by(0, step).unwrap();
        assert_eq!((view.shape(), moved), (&[1, 3][..], 0));
    }
    let empty = Layout::strided(&[0, 3], &[isize::MAX, isize::MIN]).unwrap();
    for (view, moved) in [
        empty.slice(1, 2..3),
        empty.step_by(1, -2),
        empty.step_by(0, isize::MIN),
        empty.select(1, 2),
    ]
    .map(Result::unwrap)
    {
        assert!(view.is_empty());
        assert_eq!(moved, 0);
    }
}

#[test]
fn split_of_an_empty_layout_is_empty() {
    let empty = Layout::contiguous(&[0, 2]).unwrap();
    assert_eq!(empty.split(0, &[]), Ok(vec![]));
    let parts = empty.split(0, &[0, 0]).unwrap();
    assert_eq!(parts, [(empty.clone(), 0), (empty, 0)]);
}
