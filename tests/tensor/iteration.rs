//! Iterators over typed views: order, sizes, and every way to mix single steps with whole runs.

use crate::model::{cases, numbers, shapes, steps, viewed};
use dlbridge::Tensor;
use proptest::prelude::*;

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn elements_come_in_logical_order(shape in shapes(), steps in steps()) {
        let (tensor, model) = viewed(&shape, &steps);
        let view = tensor.view::<i32>().unwrap();
        let expected = numbers(&model);
        prop_assert_eq!(view.shape(), &model.shape[..]);
        prop_assert_eq!(view.len(), expected.len());
        prop_assert_eq!(view.is_empty(), expected.is_empty());
        prop_assert_eq!(&view.to_vec(), &expected);
        prop_assert_eq!(&view.into_iter().copied().collect::<Vec<_>>(), &expected);
        let mut one_by_one = vec![];
        let mut iter = view.iter();
        // A `for` loop calls `next`, where `collect` calls `fold`.
        for number in iter.by_ref() {
            one_by_one.push(*number);
        }
        prop_assert_eq!(iter.next(), None);
        prop_assert_eq!(one_by_one, expected);
    }

    #[test]
    fn fold_continues_after_single_steps(
        shape in shapes(), steps in steps(), taken in 0..40_usize,
    ) {
        let (tensor, model) = viewed(&shape, &steps);
        let expected = numbers(&model);
        let view = tensor.view::<i32>().unwrap();
        let mut iter = view.iter();
        let taken = taken.min(expected.len());
        for (i, number) in expected[..taken].iter().enumerate() {
            prop_assert_eq!(iter.len(), expected.len() - i);
            prop_assert_eq!(iter.next(), Some(number));
        }
        let rest = &expected[taken..];
        prop_assert_eq!(iter.size_hint(), (rest.len(), Some(rest.len())));
        let folded = iter.fold(vec![], |mut found, number| { found.push(*number); found });
        prop_assert_eq!(folded, rest);
    }

    #[test]
    fn skipping_and_stepping_agree_with_slices(
        shape in shapes(), steps in steps(), skipped in 0..20_usize, stride in 1..5_usize,
    ) {
        let (tensor, model) = viewed(&shape, &steps);
        let expected = numbers(&model);
        let view = tensor.view::<i32>().unwrap();
        let found: Vec<i32> = view.iter().skip(skipped).step_by(stride).copied().collect();
        let wanted: Vec<i32> = expected.iter().skip(skipped).step_by(stride).copied().collect();
        prop_assert_eq!(found, wanted);
        prop_assert_eq!(view.iter().count(), expected.len());
        prop_assert_eq!(view.iter().last(), expected.last());
        prop_assert_eq!(view.iter().nth(skipped), expected.get(skipped));
        prop_assert_eq!(view.iter().max(), expected.iter().max());
    }

    #[test]
    fn written_elements_come_in_the_same_order(
        shape in shapes(), steps in steps(), taken in 0..40_usize,
    ) {
        let (mut tensor, model) = viewed(&shape, &steps);
        let expected = numbers(&model);
        // Broadcast elements can't be written; that is tested elsewhere.
        if let Ok(mut view) = tensor.view_mut::<i32>() {
            let mut iter = view.iter_mut();
            prop_assert_eq!(iter.len(), expected.len());
            // The references are kept, so that Miri sees them side by side with the fold's.
            let mut first: Vec<&mut i32> = iter.by_ref().take(taken).collect();
            prop_assert_eq!(iter.len(), expected.len().saturating_sub(taken));
            let rest = iter.fold(vec![], |mut rest, number| { rest.push(number); rest });
            first.extend(rest);
            for (i, number) in first.iter_mut().enumerate() {
                prop_assert_eq!(**number, expected[i]);
                **number = 1000 + i as i32;
            }
            drop(first);
            let wanted: Vec<i32> = (0..expected.len()).map(|i| 1000 + i as i32).collect();
            prop_assert_eq!(tensor.to_vec::<i32>().unwrap(), wanted);
        }
    }
}

#[test]
fn iterator_is_fused() {
    let tensor = Tensor::from([[1_u8, 2], [3, 4]]).transpose();
    let view = tensor.view::<u8>().unwrap();
    let mut iter = view.iter();
    assert_eq!(iter.by_ref().count(), 4);
    assert_eq!((iter.next(), iter.len()), (None, 0));
    assert_eq!((iter.next(), iter.sum::<u8>()), (None, 0));
}

#[test]
fn iterator_outlives_its_view() {
    let tensor = Tensor::from([1_u8, 2, 3]);
    let (iter, slice, element) = {
        let view = tensor.view::<u8>().unwrap();
        (
            view.iter(),
            view.as_slice().unwrap(),
            view.get(&[2]).unwrap(),
        )
    };
    assert!(iter.eq(slice));
    assert_eq!(*element, 3);
}

#[test]
fn iterators_go_to_other_threads() {
    let mut tensor = Tensor::from([[1_i64, 2, 3], [4, 5, 6]]).transpose();
    std::thread::scope(|scope| {
        let iter = tensor.view_mut::<i64>().unwrap().into_iter();
        scope.spawn(|| iter.for_each(|x| *x *= 10));
    });
    assert_eq!(tensor.to_vec::<i64>().unwrap(), [10, 40, 20, 50, 30, 60]);
}
