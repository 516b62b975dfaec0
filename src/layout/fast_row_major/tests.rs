//! The layout of the usual case, which is made and compared in few steps, against the general one.

use crate::layout::{INLINE_RANK, Layout};
use std::ptr;

const HUGE: isize = isize::MAX / 2;

/// Sizes as C has them; some are invalid, or more than are kept inline.
fn shapes() -> Vec<Vec<isize>> {
    let mut shapes: Vec<Vec<isize>> = [
        &[][..],
        &[0],
        &[1],
        &[6],
        &[2, 3],
        &[3, 2],
        &[6, 1],
        &[1, 6],
        &[0, 3],
        &[3, 0],
        &[2, 1, 3],
        &[HUGE, 2],
        &[HUGE, 3],
        &[HUGE, 3, 0],
        &[0, HUGE, HUGE],
        &[-1],
        &[2, -3],
        &[-2, -3],
    ]
    .map(<[isize]>::to_vec)
    .to_vec();
    for rank in INLINE_RANK - 1..=INLINE_RANK + 1 {
        shapes.extend([vec![1; rank], vec![2; rank]]);
    }
    shapes
}

fn general(sizes: &[isize]) -> Option<Layout> {
    let sizes = sizes.iter().map(|size| usize::try_from(*size).ok());
    Layout::contiguous(&sizes.collect::<Option<Vec<_>>>()?).ok()
}

fn become_row_major(layout: &mut Layout, sizes: &[isize], strides: Option<&[isize]>) -> bool {
    let strides = strides.map_or(ptr::null(), <[isize]>::as_ptr);
    // SAFETY: `sizes` and `strides` hold as many numbers as the rank.
    unsafe { layout.become_row_major(sizes.len(), sizes.as_ptr(), strides) }
}

fn is_described_by(layout: &Layout, sizes: &[isize], strides: Option<&[isize]>) -> bool {
    let strides = strides.map_or(ptr::null(), <[isize]>::as_ptr);
    // SAFETY: `sizes` and `strides` hold as many numbers as the rank.
    unsafe { layout.is_described_by(sizes.len(), sizes.as_ptr(), strides) }
}

#[test]
fn become_row_major_agrees_with_the_validator() {
    for before in shapes() {
        for after in shapes() {
            let mut layout = Layout::SCALAR;
            if !become_row_major(&mut layout, &before, None) {
                layout.become_scalar();
            }
            let is_made = become_row_major(&mut layout, &after, None);
            let expected = general(&after).filter(|layout| layout.rank() <= INLINE_RANK);
            assert_eq!(is_made, expected.is_some(), "{after:?}");
            if let Some(expected) = expected {
                assert_eq!(layout, expected);
                assert_eq!(layout.len(), expected.len());
            } else {
                layout.become_scalar();
                assert_eq!(layout, Layout::SCALAR);
            }
        }
    }
}

#[test]
fn is_described_by_compares_shape_and_strides() {
    for ours in shapes() {
        let mut layout = Layout::SCALAR;
        if !become_row_major(&mut layout, &ours, None) {
            continue;
        }
        let strides = layout.strides().to_vec();
        for theirs in shapes() {
            assert_eq!(is_described_by(&layout, &theirs, None), ours == theirs);
        }
        assert!(is_described_by(&layout, &ours, Some(&strides)));
        for axis in 0..ours.len() {
            let mut other = strides.clone();
            other[axis] += 1;
            assert!(!is_described_by(&layout, &ours, Some(&other)));
        }
    }
}

#[test]
fn become_row_major_refuses_other_strides() {
    let cases: [(&[isize], &[isize], bool); 8] = [
        (&[2, 3], &[3, 1], true),
        (&[2, 3], &[1, 2], false),
        (&[2, 3], &[4, 1], false),
        (&[2, 3], &[-3, 1], false),
        (&[2, 3], &[0, 1], false),
        (&[3], &[2], false),
        (&[0, 3], &[3, 1], true),
        // They say nothing, and are kept as they are, which the general way does.
        (&[1, 3], &[7, 1], false),
    ];
    for (sizes, strides, expected) in cases {
        let mut layout = Layout::SCALAR;
        assert_eq!(
            become_row_major(&mut layout, sizes, Some(strides)),
            expected
        );
    }
}
