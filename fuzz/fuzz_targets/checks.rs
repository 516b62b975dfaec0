//! Invariants of the results of view operations.

use crate::model;
use dlbridge::error::LayoutError;
use dlbridge::layout::Layout;
use dlbridge_fuzz::Storage;

/// Whether the elements are few enough to list them one by one: so few that it is always found out
/// whether some are at one place.
pub(crate) fn is_small(layout: &Layout) -> bool {
    layout.len() <= 256 && layout.rank() <= 12
}

/// Reshapes, unless only a copy could have the shape: then there are no strides for it.
pub(crate) fn reshape(layout: &Layout, shape: &[usize]) -> Result<Layout, LayoutError> {
    let found = layout.reshape(shape);
    if is_small(layout)
        && shape.len() <= 12
        && !matches!(found, Err(LayoutError::ElementCount { .. }))
    {
        let places = model::offsets(layout.as_ref());
        match &found {
            Ok(view) => assert_eq!(model::offsets(view.as_ref()), places),
            Err(LayoutError::ReshapeNeedsCopy { .. }) => {
                assert_eq!(model::strides_of(shape, &places), None);
            }
            Err(_) => {}
        }
    }
    found
}

/// No element of a view is anywhere but at an old element's place.
pub(crate) fn check_inside(layout: &Layout, view: &Layout, moved: isize) {
    let Some((low, high)) = view.as_ref().extent() else {
        assert_eq!(moved, 0, "an empty view moves");
        return;
    };
    let (first, last) = layout.as_ref().extent().expect("a view shows nothing new");
    let (low, high) = (
        low.checked_add(moved).expect("a place"),
        high.checked_add(moved).expect("a place"),
    );
    assert!(
        first <= low && high <= last,
        "{layout:?} became {view:?} at {moved}"
    );
    if is_small(layout) && is_small(view) {
        let mut places = model::offsets(layout.as_ref());
        places.sort_unstable();
        for place in model::offsets(view.as_ref()) {
            assert!(places.binary_search(&(place + moved as i128)).is_ok());
        }
    }
}

/// Casts where that is possible, and then shows the same bits.
pub(crate) fn bit_cast(layout: Layout, storage: Storage, to: Storage) -> (Layout, Storage) {
    let Storage { dtype, padded } = storage;
    let Ok(view) = layout.bit_cast(dtype, padded, to.dtype) else {
        return (layout, storage);
    };
    let to = Storage {
        padded: false,
        ..to
    };
    assert_eq!(view.is_empty(), layout.is_empty());
    if !layout.is_empty() {
        // As many bits, and no others.
        let bits = |layout: &Layout, storage: Storage| {
            let range = model::bit_range(layout.as_ref(), storage.dtype, storage.padded);
            let step = model::step_bits(storage.dtype, storage.padded);
            (range, layout.len() as i128 * step)
        };
        assert_eq!(bits(&view, to), bits(&layout, storage));
    }
    (view, to)
}
