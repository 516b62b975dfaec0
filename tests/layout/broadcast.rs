//! Elements repeated: broadcast_to.

use crate::model::Array;
use crate::strategies::{cases, shape, small};
use dlbridge::error::LayoutError;
use dlbridge::layout::{Layout, MAX_RANK};
use proptest::prelude::*;

/// What NumPy documents: shapes are compared from the last dimension on, and sizes must be the
/// same, or 1 become the other.
fn fits(from: &[usize], to: &[usize]) -> bool {
    let pairs = from.iter().rev().zip(to.iter().rev());
    from.len() <= to.len() && pairs.into_iter().all(|(from, to)| from == to || *from == 1)
}

/// Shapes that the layout's can often become: its own, with other sizes for 1 and more in front.
fn wider(layout: &Layout) -> impl Strategy<Value = Vec<usize>> + use<> {
    let shape = layout.shape().to_vec();
    let sizes = prop::collection::vec(0..4_usize, shape.len());
    (prop::collection::vec(0..4_usize, 0..3), sizes).prop_map(move |(new, sizes)| {
        let size = |(old, wide): (&usize, usize)| if *old == 1 { wide } else { *old };
        let sizes = shape.iter().zip(sizes).map(size);
        new.iter().copied().chain(sizes).collect()
    })
}

fn with_target() -> impl Strategy<Value = (Layout, Vec<usize>)> {
    small(3, 3).prop_flat_map(|layout| {
        let target = prop_oneof![5 => wider(&layout).boxed(), 1 => shape(5, 3).boxed()];
        (Just(layout), target)
    })
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn broadcast_to((layout, target) in with_target()) {
        let found = layout.broadcast_to(&target);
        prop_assert_eq!(found.is_ok(), fits(layout.shape(), &target));
        match found {
            Ok(view) => {
                let new = target.len() - layout.rank();
                let expected = Array::shown(&layout, 0).rearranged(target, |index| {
                    let old = index[new..].iter().zip(layout.shape());
                    old.map(|(at, size)| if *size == 1 { 0 } else { *at }).collect()
                });
                prop_assert_eq!(Array::shown(&view, 0), expected);
            }
            Err(error) => {
                let from = layout.shape().to_vec();
                prop_assert_eq!(error, LayoutError::NotBroadcastable { from, to: target });
            }
        }
    }
}

#[test]
fn broadcast_result_satisfies_the_invariants() {
    let one = Layout::contiguous(&[1]).unwrap();
    let found = one.broadcast_to(&[1; MAX_RANK + 1]);
    assert!(matches!(
        found,
        Err(LayoutError::RankTooLarge { rank: 256 })
    ));
    let (most, two) = (isize::MAX as usize, Layout::contiguous(&[2]).unwrap());
    assert_eq!(one.broadcast_to(&[most]).unwrap().len(), most);
    let found = two.broadcast_to(&[most, 2]);
    assert!(matches!(found, Err(LayoutError::TooManyElements)));
    let found = one.broadcast_to(&[usize::MAX]);
    assert!(matches!(found, Err(LayoutError::TooManyElements)));
}

#[test]
fn broadcast_to_the_same_shape_is_the_identity() {
    let odd = Layout::strided(&[2, 1, 3], &[5, 7, -1]).unwrap();
    assert_eq!(odd.broadcast_to(odd.shape()), Ok(odd));
}

#[test]
fn broadcast_ignores_irrelevant_strides() {
    let odd = Layout::strided(&[1, 2], &[isize::MIN, 1]).unwrap();
    let wide = odd.broadcast_to(&[3, 1, 2]).unwrap();
    assert_eq!(wide.as_ref().extent(), Some((0, 1)));
    let wide = odd.broadcast_to(&[3, 2]).unwrap();
    assert_eq!(wide.strides(), [0, 1]);
}
