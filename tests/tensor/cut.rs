//! Parts of views whose rank is in their type, against the model.

use crate::model::{Model, cases, counted, indices, numbers, shapes, steps, viewed, views_of};
use dlbridge::error::{Error, LayoutError};
use dlbridge::view::{
    Arrangement, ColumnMajor, ContiguousRows, Dense, Rank, RemoveAxis, RowMajor, Strided,
};
use dlbridge::{DType, Storage, Tensor, View, ViewMut};
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls a function with the rank as a constant.
macro_rules! with_rank {
    ($tensor:expr, $check:ident($($argument:expr),*)) => {
        match $tensor.rank() {
            1 => $check::<1>($($argument),*),
            2 => $check::<2>($($argument),*),
            3 => $check::<3>($($argument),*),
            4 => $check::<4>($($argument),*),
            5 => $check::<5>($($argument),*),
            // None, or more than random operations usually make.
            _ => {}
        }
    };
}

/// The model's numbers for which the index satisfies a condition.
fn some(model: &Model, condition: impl Fn(&[usize]) -> bool) -> Vec<i32> {
    let pairs = indices(&model.shape).into_iter().zip(numbers(model));
    let pairs = pairs.filter(|(index, _)| condition(index));
    pairs.map(|(_, number)| number).collect()
}

fn panics(cut: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(cut)).expect_err("a panic");
    *panic.downcast::<String>().expect("a formatted message")
}

fn check_elements<const N: usize>(tensor: &Tensor, model: &Model) {
    let view = tensor.view::<i32>().unwrap().with_rank::<N>().unwrap();
    assert_eq!(view.sizes()[..], model.shape);
    assert_eq!(view.layout(), tensor.layout());
    assert_eq!((view.rank(), view.len()), (N, model.len()));
    assert_eq!(view.to_vec(), numbers(model));
    assert_eq!(view.iter().len(), model.len());
    for (index, number) in indices(&model.shape).into_iter().zip(numbers(model)) {
        let index: [usize; N] = index.try_into().unwrap();
        assert_eq!((view.get(index), view[index]), (Some(&number), number));
    }
    for axis in 0..N {
        let mut beyond = [0; N];
        beyond[axis] = view.sizes()[axis];
        assert_eq!(view.get(beyond), None);
        beyond[axis] = usize::MAX;
        assert_eq!(view.get(beyond), None);
    }
    assert_eq!(view.as_any_rank().layout(), tensor.layout());
    let dynamic = tensor.view::<i32>().unwrap();
    assert_eq!(view.as_slice(), dynamic.as_slice());
    assert!(dynamic.with_rank::<9>().is_err());
}

fn check_parts<const N: usize>(tensor: &Tensor, model: &Model, [axis, b, c]: [usize; 3])
where
    Rank<N>: RemoveAxis,
{
    let view = tensor.view::<i32>().unwrap().with_rank::<N>().unwrap();
    let axis = axis % N;
    let size = view.sizes()[axis];
    let start = b % (size + 1);
    let stop = start + c % (size - start + 1);

    let slice = view.slice(axis, start..stop);
    assert_eq!(slice.sizes()[axis], stop - start);
    let wanted = some(model, |index| (start..stop).contains(&index[axis]));
    assert_eq!(slice.to_vec(), wanted);
    // A slice of nothing can be cut, too.
    assert!(
        slice
            .slice(axis, ..0)
            .slice(axis, 0..)
            .transpose()
            .is_empty()
    );

    let (left, right) = view.split_at(axis, start);
    assert_eq!(left.to_vec(), some(model, |index| index[axis] < start));
    assert_eq!(right.to_vec(), some(model, |index| index[axis] >= start));

    for at in 0..size {
        let part = view.select(axis, at);
        assert_eq!((part.rank(), part.len() * size), (N - 1, view.len()));
        assert_eq!(part.to_vec(), some(model, |index| index[axis] == at));
    }

    let chunk = c % 4 + 1;
    let chunks = view.chunks(axis, chunk);
    assert_eq!(chunks.len(), size.div_ceil(chunk));
    let wanted = |number: usize| some(model, |index| index[axis] / chunk == number);
    for (number, part) in chunks.clone().enumerate() {
        assert_eq!(part.to_vec(), wanted(number));
    }
    for (number, part) in chunks.clone().enumerate().rev() {
        assert_eq!(part.to_vec(), wanted(number));
    }
    let skipped = chunks.clone().nth(1).map(|part| part.to_vec());
    assert_eq!(skipped, (chunks.len() > 1).then(|| wanted(1)));

    let reversed: Vec<usize> = (0..N).rev().collect();
    assert_eq!(
        view.transpose().to_vec(),
        numbers(&model.permute(&reversed))
    );
    let mut axes: [usize; N] = std::array::from_fn(|at| at);
    axes.rotate_left(axis);
    axes.swap(b % N, c % N);
    assert_eq!(view.permute(axes).to_vec(), numbers(&model.permute(&axes)));
}

fn check_arrangement<const N: usize, L: Arrangement>(view: View<'_, i32, Rank<N>>) {
    let arranged = view.arranged::<L>();
    assert_eq!(arranged.is_ok(), L::accepts(view.layout()));
    let Ok(arranged) = arranged else { return };
    // What the types say of the parts holds.
    assert!(L::Transposed::accepts(arranged.transpose().layout()));
    for axis in 0..N {
        for at in 0..=arranged.sizes()[axis] {
            let (left, right) = arranged.split_at(axis, at);
            assert!(L::Sliced::accepts(left.layout()) && L::Sliced::accepts(right.layout()));
        }
        assert!((1..3).all(|size| {
            let mut chunks = arranged.chunks(axis, size);
            chunks.all(|chunk| L::Sliced::accepts(chunk.layout()))
        }));
    }
    assert_eq!(arranged.strided().layout(), view.layout());
}

fn check_arrangements<const N: usize>(tensor: &Tensor) {
    let view = tensor.view::<i32>().unwrap().with_rank::<N>().unwrap();
    check_arrangement::<N, Strided>(view);
    check_arrangement::<N, RowMajor>(view);
    check_arrangement::<N, ColumnMajor>(view);
    check_arrangement::<N, Dense>(view);
    check_arrangement::<N, ContiguousRows>(view);
}

/// Writes through parts of a view: its own elements change, and no others.
fn check_writing<const N: usize>(whole: &Tensor, tensor: &Tensor, model: &Model, b: usize)
where
    Rank<N>: RemoveAxis,
{
    let axis = b % N;
    let fresh = || {
        // SAFETY: `whole` and its views are used by this thread alone, and not while this lasts.
        let mut view = unsafe { whole.view_mut_unchecked::<i32>() }.unwrap();
        view.fill(0);
        // SAFETY: the view is gone.
        let view = unsafe { tensor.view_mut_unchecked::<i32>() };
        view.unwrap().with_rank::<N>().unwrap()
    };
    // What each element should be, by its index in the view.
    let check = |value: &dyn Fn(&[usize]) -> i32| {
        let mut wanted = vec![0; whole.len()];
        for (index, id) in indices(&model.shape).iter().zip(&model.ids) {
            wanted[*id] = value(index);
        }
        assert_eq!(whole.to_vec::<i32>().unwrap(), wanted);
    };
    let mut view = fresh();
    let (size, at) = (view.sizes()[axis], b % (view.sizes()[axis] + 1));
    let (mut left, mut right) = view.split_at_mut(axis, at);
    left.fill(1);
    right.fill(2);
    left.iter_mut().for_each(|element| *element += 10);
    check(&|index| if index[axis] < at { 11 } else { 2 });

    fresh().slice_mut(axis, at..).fill(3);
    check(&|index| if index[axis] < at { 0 } else { 3 });
    if at < size {
        fresh().select_mut(axis, at).fill(4);
        check(&|index| if index[axis] == at { 4 } else { 0 });
    }
    let mut view = fresh();
    let mut chunks: Vec<ViewMut<'_, i32, Rank<N>>> = view.chunks_mut(axis, 2).collect();
    // All are there at once.
    for (number, chunk) in chunks.iter_mut().enumerate().rev() {
        chunk.fill(number as i32 + 1);
    }
    check(&|index| (index[axis] / 2) as i32 + 1);
    let mut view = fresh();
    let mut transposed = view.transpose_mut();
    for mut index in indices(transposed.shape()) {
        let at: [usize; N] = index.clone().try_into().unwrap();
        index.reverse();
        transposed[at] = index.iter().fold(7, |sum, at| sum * 10 + *at as i32);
    }
    check(&|index| index.iter().fold(7, |sum, at| sum * 10 + *at as i32));
    let mut axes: [usize; N] = std::array::from_fn(|at| at);
    axes.rotate_left(axis);
    fresh().permute_mut(axes).as_any_rank().fill(9);
    check(&|_| 9);
}

proptest! {
    #![proptest_config(cases(800))]

    #[test]
    fn parts_have_the_elements_of_their_indices(
        shape in shapes(), steps in steps(), numbers: [usize; 3],
    ) {
        let (tensor, model) = viewed(&shape, &steps);
        with_rank!(tensor, check_elements(&tensor, &model));
        with_rank!(tensor, check_parts(&tensor, &model, numbers));
        with_rank!(tensor, check_arrangements(&tensor));
    }

    #[test]
    fn parts_write_their_own_elements_only(shape in shapes(), steps in steps(), b: usize) {
        let whole = counted(&shape);
        let (tensor, model) = views_of(&whole, &steps);
        let mut ids = model.ids.clone();
        ids.sort_unstable();
        ids.dedup();
        if ids.len() == model.len() {
            with_rank!(tensor, check_writing(&whole, &tensor, &model, b));
        }
    }
}

#[test]
fn a_wrong_cut_panics_with_the_axis() {
    let mut tensor = Tensor::from([[1, 2, 3], [4, 5, 6]]);
    let view = tensor.view::<i32>().unwrap().with_rank::<2>().unwrap();
    macro_rules! says {
        ($cut:expr) => {
            panics(|| {
                let _ = $cut;
            })
        };
    }
    let no_axis = "axis 2 is out of bounds for a tensor of rank 2";
    assert_eq!(says!(view.lines(2)), no_axis);
    assert_eq!(says!(view.chunks(2, 1)), no_axis);
    assert_eq!(says!(view.slice(2, ..)), no_axis);
    assert_eq!(says!(view.split_at(2, 0)), no_axis);
    assert_eq!(says!(view.select(2, 0)), no_axis);
    let behind = "index 3 is out of bounds for axis 1 with size 3";
    assert_eq!(says!(view.select(1, 3)), behind);
    let behind = "index 2 is out of bounds for axis 0 with size 2";
    assert_eq!(says!(view.row(2)), behind);
    let behind = "range 1..4 is out of bounds for axis 1 with size 3";
    assert_eq!(says!(view.slice(1, 1..4)), behind);
    let behind = "split at 4 is out of bounds for axis 1 with size 3";
    assert_eq!(says!(view.split_at(1, 4)), behind);
    let behind = "index [0, 3] is out of shape [2, 3]";
    assert_eq!(says!(view[[0, 3]]), behind);
    let twice = "[1, 1] is not an order of 2 dimensions";
    assert_eq!(says!(view.permute([1, 1])), twice);
    let zero = catch_unwind(AssertUnwindSafe(|| view.chunks(0, 0).len())).unwrap_err();
    assert_eq!(
        *zero.downcast::<&str>().unwrap(),
        "chunk size must be non-zero"
    );

    // The checked variants return the same.
    let slice = view.try_slice(1, 1..4).unwrap_err();
    assert!(matches!(
        slice,
        Error::Layout(LayoutError::OutOfRange {
            axis: 1,
            stop: 4,
            ..
        })
    ));
    let select = view.try_select(0, usize::MAX).unwrap_err();
    assert!(matches!(
        select,
        Error::Layout(LayoutError::IndexOutOfBounds { size: 2, .. })
    ));
    assert!(view.split_at_checked(1, 4).is_none() && view.split_at_checked(1, 3).is_some());
    let backwards = view.try_slice(1, std::ops::Range { start: 2, end: 1 });
    assert!(backwards.is_err() && view.try_slice(1, 0..=usize::MAX).is_err());
    assert_eq!(view.try_slice(1, 2..).unwrap().to_vec(), [3, 6]);
    assert_eq!(view.try_select(1, 2).unwrap().to_vec(), [3, 6]);

    let mut view = tensor.view_mut::<i32>().unwrap().with_rank::<2>().unwrap();
    assert!(view.split_at_mut_checked(2, 0).is_none());
    assert_eq!(
        panics(|| view.split_at_mut(0, 3).0.fill(0)),
        "split at 3 is out of bounds for axis 0 with size 2"
    );
    assert_eq!(
        panics(|| view[[2, 0]] = 1),
        "index [2, 0] is out of shape [2, 3]"
    );
}

#[test]
fn a_wrong_rank_or_arrangement_says_what_there_is() {
    let tensor = Tensor::from([[1, 2, 3], [4, 5, 6]]).transpose();
    let view = tensor.view::<i32>().unwrap();
    let error = view.with_rank::<3>().unwrap_err();
    assert_eq!(error.to_string(), "expected 3 dimensions, got shape [3, 2]");
    let fields = error.incompatibility();
    assert_eq!(
        (fields.found.as_deref(), fields.wanted.as_deref()),
        (Some("2"), Some("3"))
    );
    let error = view
        .with_rank::<2>()
        .unwrap()
        .arranged::<ContiguousRows>()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected elements with contiguous rows, got shape [3, 2] with strides [1, 3]; copy the tensor first"
    );
    let fields = error.incompatibility();
    assert_eq!(fields.wanted.as_deref(), Some("with contiguous rows"));
    assert_eq!(fields.remedy.as_deref(), Some("copy the tensor first"));
}

#[test]
fn a_view_of_rank_0_or_of_large_sizes_is_cut_like_others() {
    let tensor = Tensor::from_vec(vec![5], &[]).unwrap();
    let scalar = tensor.view::<i32>().unwrap().with_rank::<0>().unwrap();
    assert_eq!((scalar[[]], scalar.transpose().to_vec()), (5, vec![5]));
    assert!(scalar.sizes().is_empty());
    assert!(scalar.try_slice(0, ..).is_err());
    // Offsets of an empty view aren't computed.
    let huge = isize::MAX as usize;
    let none = Tensor::full(&[0, huge], 0_i32).unwrap();
    let view = none.view::<i32>().unwrap().with_rank::<2>().unwrap();
    assert!(view.select(1, huge - 1).is_empty() && view.slice(1, huge - 1..).is_empty());
    assert_eq!(view.chunks(1, huge - 1).len(), 2);
    assert!(view.chunks(1, huge - 1).all(|chunk| chunk.is_empty()));
    assert_eq!(view.lines(0).len(), huge);
    assert_eq!(view.lines(0).nth_back(3).unwrap().len(), 0);
    assert_eq!(view.rows().len(), 0);
}

#[test]
fn strides_of_an_empty_view_are_not_looked_at() {
    let huge = isize::MAX;
    let storage = || Storage::zeroed(0).unwrap();
    let tensor = Tensor::strided(storage(), &[3, 0], &[huge, 1], DType::U8).unwrap();
    let view = tensor.view::<u8>().unwrap();
    assert_eq!(view.get(&[2, 0]), None);
    assert_eq!(view.lines(1).rev().count(), 3);
    assert_eq!(view.lines(1).nth(2).unwrap().len(), 0);
    let matrix = view.with_rank::<2>().unwrap();
    assert_eq!(matrix.get([2, 0]), None);
    assert!(matrix.rows().all(|row| row.is_empty()) && matrix.row([2]).is_empty());
    let tensor = Tensor::strided(storage(), &[3, 0, 5], &[huge, huge, huge], DType::U8).unwrap();
    let view = tensor.view::<u8>().unwrap().with_rank::<3>().unwrap();
    assert_eq!(view.get([2, 0, 4]), None);
    let row = catch_unwind(AssertUnwindSafe(|| view.row([2, 0]).len()));
    let message = row.unwrap_err();
    let message = message.downcast_ref::<String>().unwrap();
    assert!(
        message.contains("index 0 is out of bounds for axis 1"),
        "{message}"
    );
}
