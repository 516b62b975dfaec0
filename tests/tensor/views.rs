//! Views of the same memory, operation by operation.

use crate::model::{cases, counted, numbers, shapes, steps, viewed, views_of};
use dlbridge::error::{Error, LayoutError};
use dlbridge::{DType, Tensor};
use proptest::prelude::*;
use std::ops::Bound;

fn matrix() -> Tensor {
    Tensor::from([[0_i32, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]])
}

/// The numbers, and how many elements the first one is from the matrix's.
fn seen(whole: &Tensor, view: &Tensor) -> (Vec<i32>, usize) {
    let distance = view.data_ptr().addr() - whole.data_ptr().addr();
    assert_eq!(distance % size_of::<i32>(), 0);
    assert_eq!(view.storage().data_ptr(), whole.storage().data_ptr());
    (view.to_vec().unwrap(), distance / size_of::<i32>())
}

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn views_share_memory(shape in shapes(), steps in steps()) {
        let whole = counted(&shape);
        let (tensor, model) = views_of(&whole, &steps);
        prop_assert_eq!(tensor.shape(), &model.shape[..]);
        prop_assert_eq!(tensor.len(), model.len());
        prop_assert_eq!(tensor.nbytes(), 4 * model.len());
        let (found, first) = seen(&whole, &tensor);
        prop_assert_eq!(found, numbers(&model));
        if let Some(id) = model.ids.first() {
            prop_assert_eq!(first, *id);
            prop_assert_eq!(tensor.byte_offset(), 4 * id);
        }
        prop_assert!(!tensor.is_copied());
    }

    #[test]
    fn reshape_keeps_elements_in_order(shape in shapes(), steps in steps(), at in 0..4_usize) {
        let (tensor, model) = viewed(&shape, &steps);
        let flat = [model.len()];
        // Two dimensions joined, or all.
        let mut joined = model.shape.clone();
        if at + 1 < joined.len() {
            joined[at] *= joined.remove(at + 1);
        }
        for shape in [&flat[..], &joined, &model.shape] {
            match tensor.reshape(shape) {
                Ok(view) => {
                    prop_assert_eq!(view.shape(), shape);
                    prop_assert_eq!(view.data_ptr(), tensor.data_ptr());
                    prop_assert_eq!(view.to_vec::<i32>().unwrap(), numbers(&model));
                }
                Err(error) => {
                    let needs_copy = matches!(error, Error::Layout(LayoutError::ReshapeNeedsCopy { .. }));
                    prop_assert!(needs_copy && !tensor.layout().is_contiguous() && shape != model.shape);
                    // Which always helps.
                    let copy = tensor.copy().unwrap().reshape(shape).unwrap();
                    prop_assert_eq!(copy.to_vec::<i32>().unwrap(), numbers(&model));
                }
            }
        }
    }

    #[test]
    fn bytes_are_those_of_the_elements_in_order(shape in shapes(), steps in steps()) {
        let (tensor, model) = viewed(&shape, &steps);
        let bytes: Vec<u8> = numbers(&model).into_iter().flat_map(i32::to_ne_bytes).collect();
        prop_assert_eq!(tensor.as_bytes().is_ok(), tensor.layout().is_contiguous());
        if let Ok(flat) = tensor.as_bytes() {
            prop_assert_eq!(flat.data_ptr(), tensor.data_ptr());
            prop_assert_eq!(&flat.to_vec::<u8>().unwrap(), &bytes);
        }
        // A cast asks for less: only the last dimension must be without gaps.
        if let Ok(cast) = tensor.bit_cast(DType::U8) {
            prop_assert_eq!(cast.data_ptr(), tensor.data_ptr());
            prop_assert_eq!(cast.to_vec::<u8>().unwrap(), bytes);
            let back = cast.bit_cast(DType::I32).unwrap();
            prop_assert_eq!(back.to_vec::<i32>().unwrap(), numbers(&model));
        }
    }
}

#[test]
fn ranges_of_every_kind() {
    let whole = matrix();
    let rows = |view: Result<Tensor, Error>| seen(&whole, &view.unwrap());
    assert_eq!(rows(whole.slice(0, 1..2)), (vec![4, 5, 6, 7], 4));
    assert_eq!(rows(whole.slice(0, 2..)), (vec![8, 9, 10, 11], 8));
    assert_eq!(rows(whole.slice(1, ..1)), (vec![0, 4, 8], 0));
    assert_eq!(rows(whole.slice(1, 3..=3)), (vec![3, 7, 11], 3));
    assert_eq!(rows(whole.slice(1, ..=0)), (vec![0, 4, 8], 0));
    assert_eq!(rows(whole.slice(0, ..)).0.len(), 12);
    let behind = (Bound::Excluded(1), Bound::Included(2));
    assert_eq!(rows(whole.slice(0, behind)), (vec![8, 9, 10, 11], 8));
    assert!(whole.slice(0, 3..).unwrap().is_empty());
}

#[test]
fn ranges_out_of_bounds_are_refused() {
    let error = |start, stop| {
        Error::from(LayoutError::OutOfRange {
            axis: 1,
            start,
            stop,
            size: 4,
        })
    };
    let whole = matrix();
    assert_eq!(whole.slice(1, 2..5).unwrap_err(), error(2, 5));
    assert_eq!(whole.slice(1, 5..).unwrap_err(), error(5, 4));
    #[allow(clippy::reversed_empty_ranges, reason = "that is what is refused")]
    let reversed = whole.slice(1, 3..2);
    assert_eq!(reversed.unwrap_err(), error(3, 2));
    assert_eq!(
        whole.slice(1, ..=usize::MAX).unwrap_err(),
        error(0, usize::MAX)
    );
    assert_eq!(whole.select(1, 4).unwrap_err(), error(4, 5));
}

#[test]
fn axis_out_of_bounds_is_refused() {
    let whole = matrix();
    let no_axis = |axis, rank| Error::from(LayoutError::NoSuchAxis { axis, rank });
    assert_eq!(whole.slice(2, ..).unwrap_err(), no_axis(2, 2));
    assert_eq!(whole.slice(2, 1..).unwrap_err(), no_axis(2, 2));
    assert_eq!(whole.select(2, 0).unwrap_err(), no_axis(2, 2));
    assert_eq!(whole.step_by(9, 1).unwrap_err(), no_axis(9, 2));
    assert_eq!(whole.squeeze(2).unwrap_err(), no_axis(2, 2));
    assert_eq!(whole.split(2, &[]).unwrap_err(), no_axis(2, 2));
    assert_eq!(whole.unsqueeze(3).unwrap_err(), no_axis(3, 3));
    assert_eq!(Tensor::scalar(1).select(0, 0).unwrap_err(), no_axis(0, 0));
}

#[test]
fn refused_views_name_the_request() {
    let whole = matrix();
    let refused = |result: Result<Tensor, Error>, error: LayoutError| {
        assert_eq!(result.unwrap_err(), Error::from(error));
    };
    refused(whole.step_by(0, 0), LayoutError::ZeroStep);
    refused(
        whole.squeeze(0),
        LayoutError::NotSqueezable { axis: 0, size: 3 },
    );
    let axes = vec![0, 0];
    refused(
        whole.permute(&axes),
        LayoutError::NotAPermutation { axes, rank: 2 },
    );
    refused(
        whole.broadcast_to(&[3, 5]),
        LayoutError::NotBroadcastable {
            from: vec![3, 4],
            to: vec![3, 5],
        },
    );
    refused(
        whole.reshape(&[5]),
        LayoutError::ElementCount {
            shape: vec![5],
            expected: 5,
            found: 12,
        },
    );
    refused(
        whole.transpose().reshape(&[12]),
        LayoutError::ReshapeNeedsCopy {
            from: vec![4, 3],
            strides: vec![1, 4],
            to: vec![12],
        },
    );
    assert_eq!(
        whole.split(1, &[1, 2]).unwrap_err(),
        Error::from(LayoutError::UnevenSplit {
            axis: 1,
            parts: vec![1, 2],
            size: 4
        })
    );
    assert!(matches!(
        whole.transpose().bit_cast(DType::U8),
        Err(Error::Layout(LayoutError::NotCastable { .. }))
    ));
}

#[test]
fn split_returns_consecutive_parts() {
    let whole = matrix();
    let parts = whole.split(1, &[1, 0, 3]).unwrap();
    assert_eq!(seen(&whole, &parts[0]), (vec![0, 4, 8], 0));
    assert!(parts[1].is_empty());
    assert_eq!(parts[1].shape(), [3, 0]);
    assert_eq!(
        seen(&whole, &parts[2]),
        (vec![1, 2, 3, 5, 6, 7, 9, 10, 11], 1)
    );
    assert!(parts[0].overlaps(&parts[2]).is_excluded());
    assert_eq!(
        Tensor::zeros(&[0], DType::U8)
            .unwrap()
            .split(0, &[])
            .unwrap()
            .len(),
        0
    );
}

#[test]
fn steps_longer_than_the_dimension_keep_one_element() {
    let whole = matrix();
    for step in [3, 4, isize::MAX] {
        assert_eq!(
            seen(&whole, &whole.step_by(0, step).unwrap()),
            (vec![0, 1, 2, 3], 0)
        );
        let last = whole.step_by(0, -step).unwrap();
        assert_eq!(seen(&whole, &last), (vec![8, 9, 10, 11], 8));
    }
    let last = whole.step_by(0, isize::MIN).unwrap();
    assert_eq!(seen(&whole, &last), (vec![8, 9, 10, 11], 8));
}

#[test]
fn view_keeps_the_whole_memory_alive() {
    let last = matrix().select(0, 2).unwrap().select(0, 3).unwrap();
    assert_eq!((last.rank(), last.item::<i32>()), (0, Ok(11)));
    assert_eq!(last.storage().nbytes(), 48);
    assert_eq!(last.storage().handles(), 1);
}
