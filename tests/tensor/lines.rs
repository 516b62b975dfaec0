//! Lines of views along each axis, against the model.

use crate::model::{Model, cases, counted, indices, numbers, shapes, steps, viewed, views_of};
use dlbridge::Tensor;
use dlbridge::view::{ContiguousRows, Line, LineMut, Lines, Rank, RowMajor};
use proptest::prelude::*;

const fn sent_and_shared<T: Send + Sync>() {}

const _: () = {
    sent_and_shared::<Lines<Line<'_, f32>, Rank<2>>>();
    sent_and_shared::<Lines<LineMut<'_, f32>, Rank<2>>>();
    sent_and_shared::<Lines<&mut [f32], Rank<2, RowMajor>>>();
};

/// The lines along an axis, one after another.
fn lines_of(model: &Model, axis: usize) -> Vec<Vec<i32>> {
    let others: Vec<usize> = (0..model.shape.len()).filter(|at| *at != axis).collect();
    let sizes: Vec<usize> = others.iter().map(|at| model.shape[*at]).collect();
    let elements: Vec<_> = indices(&model.shape)
        .into_iter()
        .zip(numbers(model))
        .collect();
    let line = |outer: Vec<usize>| {
        let in_line = elements.iter().filter(|(index, _)| {
            others
                .iter()
                .zip(&outer)
                .all(|(at, outer)| index[*at] == *outer)
        });
        in_line.map(|(_, number)| *number).collect()
    };
    indices(&sizes).into_iter().map(line).collect()
}

proptest! {
    #![proptest_config(cases(800))]

    #[test]
    fn lines_have_the_elements_along_their_axis(shape in shapes(), steps in steps(), n in 0..9_usize) {
        let (tensor, model) = viewed(&shape, &steps);
        let view = tensor.view::<i32>().unwrap();
        for axis in 0..model.shape.len() {
            let wanted = lines_of(&model, axis);
            let lines = view.lines(axis);
            prop_assert_eq!(lines.len(), wanted.len());
            prop_assert_eq!(lines.line_len(), model.shape[axis]);
            let found: Vec<_> = lines.clone().map(|line| line.to_vec()).collect();
            prop_assert_eq!(&found, &wanted);
            let mut found: Vec<_> = lines.clone().rev().map(|line| line.to_vec()).collect();
            found.reverse();
            prop_assert_eq!(&found, &wanted);
            // From both ends, and with gaps.
            let mut ends = lines.clone();
            let mut wanted_ends = wanted.iter();
            for turn in 0..wanted.len() {
                let (found, wanted) = match (turn + n) % 3 {
                    0 => (ends.next(), wanted_ends.next()),
                    1 => (ends.next_back(), wanted_ends.next_back()),
                    _ => (ends.nth(n % 3), wanted_ends.nth(n % 3)),
                };
                prop_assert_eq!(found.map(|line| line.to_vec()), wanted.cloned());
                prop_assert_eq!(ends.len(), wanted_ends.len());
            }
            let is_contiguous = view.strides()[axis] == 1 || model.shape[axis] <= 1;
            match lines.clone().into_slices() {
                Some(slices) => prop_assert!(slices.eq(wanted.iter().map(|line| &line[..]))),
                None => prop_assert!(!is_contiguous && !wanted.is_empty()),
            }
            for line in lines {
                prop_assert!(line.iter().enumerate().all(|(at, element)| line[at] == *element));
            }
        }
        if !model.shape.is_empty() {
            let wanted = lines_of(&model, model.shape.len() - 1);
            prop_assert!(view.rows().map(|row| row.to_vec()).eq(wanted));
        }
    }

    #[test]
    fn lines_write_their_own_elements_only(shape in shapes(), steps in steps(), axis: usize) {
        let whole = counted(&shape);
        let (tensor, model) = views_of(&whole, &steps);
        let mut seen = vec![false; whole.len()];
        let repeated = model.ids.iter().any(|id| std::mem::replace(&mut seen[*id], true));
        if model.shape.is_empty() || repeated {
            return Ok(());
        }
        let axis = axis % model.shape.len();
        let wanted = lines_of(&model, axis);
        // SAFETY: `whole` and its views are used by this thread alone, and not while this lasts.
        let mut view = unsafe { tensor.view_mut_unchecked::<i32>() }.unwrap();
        let mut lines: Vec<LineMut<'_, i32>> = view.lines_mut(axis).collect();
        // All are there at once, each as a slice where it is one.
        for line in lines.iter_mut().rev() {
            match line.as_mut_slice() {
                Some(slice) => slice.iter_mut().for_each(|element| *element = -1 - *element),
                None => (0..line.len()).for_each(|at| line[at] = -1 - line[at]),
            }
        }
        for (line, wanted) in lines.iter().zip(&wanted) {
            let wanted: Vec<i32> = wanted.iter().map(|number| -1 - number).collect();
            prop_assert_eq!(line.as_view().to_vec(), wanted);
        }
        let wanted = (0..whole.len()).map(|id| if seen[id] { -1 - id as i32 } else { id as i32 });
        prop_assert!(whole.to_vec::<i32>().unwrap().into_iter().eq(wanted));
    }
}

#[test]
fn rows_are_slices_where_the_type_says_so() {
    // Every second row of a matrix with a column cut off.
    let whole = Tensor::arange(0, 24, 1).unwrap().reshape(&[6, 4]).unwrap();
    let tensor = whole.slice(1, ..3).unwrap().step_by(0, -2).unwrap();
    let view = tensor.view::<i32>().unwrap().with_rank::<2>().unwrap();
    assert!(view.arranged::<RowMajor>().is_err());
    let matrix = view.arranged::<ContiguousRows>().unwrap();
    let rows: Vec<&[i32]> = matrix.rows().collect();
    assert_eq!(rows, [[20, 21, 22], [12, 13, 14], [4, 5, 6]]);
    assert_eq!(matrix.row(1), [12, 13, 14]);
    // Parts of it have contiguous rows as well.
    let part = matrix.slice(0, 1..).slice(1, ..2);
    assert_eq!(part.row(1), [4, 5]);
    let chunks: Vec<&[i32]> = matrix.chunks(1, 2).map(|chunk| chunk.row(0)).collect();
    assert_eq!(chunks, [&[20, 21][..], &[22]]);
}

#[test]
fn rows_of_views_to_be_written_are_disjoint_slices() {
    let mut tensor = Tensor::full(&[2, 3, 2], 0_i32).unwrap();
    let view = tensor.view_mut::<i32>().unwrap().with_rank::<3>().unwrap();
    let mut view = view.arranged::<ContiguousRows>().unwrap();
    let rows: Vec<&mut [i32]> = view.rows_mut().collect();
    for (number, row) in rows.into_iter().enumerate() {
        row.fill(number as i32);
    }
    view.row_mut([1, 0]).copy_from_slice(&[8, 9]);
    assert_eq!(
        tensor.to_vec::<i32>().unwrap(),
        [0, 0, 1, 1, 2, 2, 8, 9, 4, 4, 5, 5]
    );
}

#[test]
fn rows_of_any_rank_are_the_lines_along_the_last_axis() {
    let mut tensor = Tensor::arange(0, 12, 1)
        .unwrap()
        .reshape(&[2, 3, 2])
        .unwrap();
    let sums = tensor
        .view::<i32>()
        .unwrap()
        .rows()
        .map(|row| row.iter().sum::<i32>());
    assert_eq!(sums.collect::<Vec<_>>(), [1, 5, 9, 13, 17, 21]);
    let mut view = tensor.view_mut::<i32>().unwrap();
    for row in view.rows_mut().into_slices().expect("contiguous rows") {
        row.reverse();
    }
    assert_eq!(
        tensor.to_vec::<i32>().unwrap(),
        [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10]
    );
    // Rows without elements are there; those of no row are not.
    let none = Tensor::full(&[3, 0], 0_i32).unwrap();
    assert_eq!(
        none.view::<i32>()
            .unwrap()
            .rows()
            .map(|row| row.len())
            .sum::<usize>(),
        0
    );
    assert_eq!(none.view::<i32>().unwrap().rows().count(), 3);
    let none = Tensor::full(&[0, 3], 0_i32).unwrap();
    assert_eq!(none.view::<i32>().unwrap().rows().count(), 0);
}

#[test]
#[should_panic(expected = "axis 0 is out of bounds for a tensor of rank 0")]
fn a_scalar_has_no_rows() {
    let _ = Tensor::from_vec(vec![1], &[])
        .unwrap()
        .view::<i32>()
        .unwrap()
        .rows();
}
