//! Lines and chunks by the threads of `rayon`, against the same on one thread.

use crate::model::{cases, counted, shapes, steps, viewed, views_of};
use dlbridge::Tensor;
use dlbridge::view::{MIN_ELEMENTS, RowMajor};
use proptest::prelude::*;
use rayon::prelude::*;
use std::thread;

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn parallel_lines_are_those_of_one_thread(shape in shapes(), steps in steps(), skip in 0..5_usize) {
        let (tensor, model) = viewed(&shape, &steps);
        let view = tensor.view::<i32>().unwrap();
        for axis in 0..model.shape.len() {
            let wanted: Vec<_> = view.lines(axis).map(|line| line.to_vec()).collect();
            let lines = || view.par_lines(axis).with_min_elements(1);
            prop_assert_eq!(lines().len(), wanted.len());
            let found: Vec<_> = lines().map(|line| line.to_vec()).collect();
            prop_assert_eq!(&found, &wanted);
            let found: Vec<_> = lines().skip(skip).step_by(2).map(|line| line.to_vec()).collect();
            prop_assert!(found.iter().eq(wanted.iter().skip(skip).step_by(2)));
        }
    }

    #[test]
    fn parallel_lines_write_each_element_once(shape in shapes(), steps in steps(), axis: usize) {
        let whole = counted(&shape);
        let (tensor, model) = views_of(&whole, &steps);
        let mut seen = vec![false; whole.len()];
        let repeated = model.ids.iter().any(|id| std::mem::replace(&mut seen[*id], true));
        if model.shape.is_empty() || repeated {
            return Ok(());
        }
        let source = tensor.copy().unwrap();
        let (source, axis) = (source.view::<i32>().unwrap(), axis % model.shape.len());
        // SAFETY: `whole` and its views are used by this view alone, while it lasts.
        let mut view = unsafe { tensor.view_mut_unchecked::<i32>() }.unwrap();
        let lines = view.par_lines_mut(axis).with_min_elements(1);
        lines.zip(source.par_lines(axis).with_min_elements(1)).for_each(|(mut line, source)| {
            line.iter_mut().zip(source.iter()).for_each(|(to, from)| *to += 1000 * from);
        });
        let wanted = (0..whole.len()).map(|id| id as i32 * if seen[id] { 1001 } else { 1 });
        prop_assert!(whole.to_vec::<i32>().unwrap().into_iter().eq(wanted));
    }
}

#[test]
fn parallel_chunks_are_disjoint_parts() {
    for (axis, size) in [(0, 1), (0, 2), (1, 3), (1, 9), (2, 2)] {
        let mut tensor = Tensor::full(&[5, 4, 3], 0_i32).unwrap();
        let mut view = tensor.view_mut::<i32>().unwrap().with_rank::<3>().unwrap();
        let chunks = view.par_chunks_mut(axis, size).with_min_elements(1);
        chunks.enumerate().for_each(|(number, mut chunk)| {
            chunk
                .iter_mut()
                .for_each(|element| *element += number as i32 + 1);
        });
        let view = tensor.view::<i32>().unwrap().with_rank::<3>().unwrap();
        let sums = view
            .par_chunks(axis, size)
            .map(|chunk| chunk.iter().sum::<i32>());
        let wanted = view.chunks(axis, size).enumerate();
        let wanted = wanted.map(|(number, chunk)| chunk.len() as i32 * (number as i32 + 1));
        assert_eq!(sums.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
    }
}

#[test]
fn parallel_rows_are_slices_where_the_type_says_so() {
    let mut tensor = Tensor::arange(0, 12, 1).unwrap().reshape(&[4, 3]).unwrap();
    let view = tensor.view_mut::<i32>().unwrap().with_rank::<2>().unwrap();
    let mut view = view.arranged::<RowMajor>().unwrap();
    let rows = view.par_rows_mut().with_min_elements(1);
    rows.for_each(|row: &mut [i32]| row.reverse());
    let sums = view.as_view().par_rows().map(|row: &[i32]| row[0]);
    assert_eq!(sums.collect::<Vec<_>>(), [2, 5, 8, 11]);
    let view = tensor.view::<i32>().unwrap();
    assert_eq!(view.par_rows().map(|row| row[2]).max(), Some(9));
}

#[test]
fn small_work_stays_on_the_thread_that_calls() {
    let tensor = Tensor::full(&[MIN_ELEMENTS / 8, 8], 1_u8).unwrap();
    let view = tensor.view::<u8>().unwrap();
    let this = thread::current().id();
    assert!(view.par_rows().all(|_| thread::current().id() == this));
    // Lines without elements are no work, however many there are.
    let tensor = Tensor::full(&[1000, 0], 1_u8).unwrap();
    let view = tensor.view::<u8>().unwrap();
    assert!(
        view.par_rows()
            .all(|row| row.is_empty() && thread::current().id() == this)
    );
}

#[test]
fn work_is_not_divided_beyond_its_end() {
    use rayon::iter::plumbing::Producer;

    let mut tensor = Tensor::from([[1, 2], [3, 4], [5, 6]]);
    let mut view = tensor.view_mut::<i32>().unwrap();
    let lines = view.rows_mut().into_slices().unwrap();
    let beyond = std::panic::AssertUnwindSafe(|| drop(lines.into_par().split_at(4)));
    assert!(std::panic::catch_unwind(beyond).is_err());

    let mut strided = Tensor::from(vec![7_u8; 16]).step_by(0, -1).unwrap();
    let mut view = strided.view_mut::<u8>().unwrap();
    let mut rows = view.rows_mut();
    rows.next();
    let none = rows.into_slices().unwrap();
    let beyond = std::panic::AssertUnwindSafe(|| drop(none.into_par().split_at(1)));
    assert!(std::panic::catch_unwind(beyond).is_err());

    let view = tensor.view::<i32>().unwrap();
    let view = view.with_rank::<2>().unwrap();
    let chunks = view.par_chunks(0, 2);
    let beyond = std::panic::AssertUnwindSafe(|| drop(chunks.split_at(3)));
    assert!(std::panic::catch_unwind(beyond).is_err());
    let (left, right) = view.par_chunks(0, 2).split_at(2);
    assert_eq!(
        (left.into_iter().count(), right.into_iter().count()),
        (2, 0)
    );
}
