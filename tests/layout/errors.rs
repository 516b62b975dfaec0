//! Errors of view operations: each reason once, with its text.

use dlbridge::DType;
use dlbridge::error::LayoutError;
use dlbridge::layout::Layout;
use std::fmt::Debug;

fn matrix() -> Layout {
    Layout::contiguous(&[2, 3]).unwrap()
}

#[track_caller]
fn refused<T: Debug>(found: Result<T, LayoutError>, expected: LayoutError, sentence: &str) {
    let error = found.unwrap_err();
    assert_eq!(error, expected);
    assert_eq!(error.to_string(), sentence);
}

#[test]
fn views_reject_an_axis_out_of_bounds() {
    let sentence = "axis 2 is out of bounds for a tensor of rank 2";
    let expected = || LayoutError::NoSuchAxis { axis: 2, rank: 2 };
    refused(matrix().slice(2, 0..1), expected(), sentence);
    refused(matrix().step_by(2, 1), expected(), sentence);
    refused(matrix().select(2, 0), expected(), sentence);
    refused(matrix().split(2, &[1]), expected(), sentence);
    refused(matrix().squeeze(2), expected(), sentence);
    // A new dimension can be behind the last one, and no further.
    assert!(matrix().unsqueeze(2).is_ok());
    refused(
        matrix().unsqueeze(3),
        LayoutError::NoSuchAxis { axis: 3, rank: 3 },
        "axis 3 is out of bounds for a tensor of rank 3",
    );
    let far = matrix().select(usize::MAX, 0);
    let (axis, rank) = (usize::MAX, 2);
    assert_eq!(far.unwrap_err(), LayoutError::NoSuchAxis { axis, rank });
}

#[test]
fn out_of_range() {
    let expected = |start, stop| LayoutError::OutOfRange {
        axis: 1,
        start,
        stop,
        size: 3,
    };
    refused(
        matrix().slice(1, 1..4),
        expected(1, 4),
        "range 1..4 is out of bounds for axis 1 with size 3",
    );
    #[allow(clippy::reversed_empty_ranges, reason = "it is what is refused")]
    let backwards = matrix().slice(1, 2..1);
    refused(
        backwards,
        expected(2, 1),
        "range 2..1 is out of bounds for axis 1 with size 3",
    );
    refused(
        matrix().select(1, 3),
        expected(3, 4),
        "range 3..4 is out of bounds for axis 1 with size 3",
    );
    let far = matrix().select(1, usize::MAX);
    assert_eq!(far.unwrap_err(), expected(usize::MAX, usize::MAX));
    let far = matrix().slice(1, usize::MAX..usize::MAX);
    assert_eq!(far.unwrap_err(), expected(usize::MAX, usize::MAX));
}

#[test]
fn zero_step() {
    refused(
        matrix().step_by(0, 0),
        LayoutError::ZeroStep,
        "a slice can't have step 0",
    );
}

#[test]
fn uneven_split() {
    for (parts, sentence) in [
        (
            vec![1, 1],
            "parts of [1, 1] don't make up dimension 1 of size 3",
        ),
        (vec![], "parts of [] don't make up dimension 1 of size 3"),
        (
            vec![2, 2],
            "parts of [2, 2] don't make up dimension 1 of size 3",
        ),
    ] {
        let expected = LayoutError::UnevenSplit {
            axis: 1,
            parts: parts.clone(),
            size: 3,
        };
        refused(matrix().split(1, &parts), expected, sentence);
    }
    // A sum that overflows to the right size is the wrong one.
    let parts = [usize::MAX, 4];
    let found = matrix().split(1, &parts);
    assert!(matches!(
        found,
        Err(LayoutError::UnevenSplit { axis: 1, .. })
    ));
}

#[test]
fn not_a_permutation() {
    for (axes, sentence) in [
        (vec![0], "[0] is not an order of 2 dimensions"),
        (vec![0, 0], "[0, 0] is not an order of 2 dimensions"),
        (vec![0, 2], "[0, 2] is not an order of 2 dimensions"),
        (vec![0, 1, 0], "[0, 1, 0] is not an order of 2 dimensions"),
    ] {
        let expected = LayoutError::NotAPermutation {
            axes: axes.clone(),
            rank: 2,
        };
        refused(matrix().permute(&axes), expected, sentence);
    }
    assert!(matrix().permute(&[usize::MAX, 0]).is_err());
    assert!(matrix().permute(&[0; 1000]).is_err());
}

#[test]
fn not_squeezable() {
    refused(
        matrix().squeeze(1),
        LayoutError::NotSqueezable { axis: 1, size: 3 },
        "dimension 1 has size 3 and can't be squeezed: only size 1 can",
    );
}

#[test]
fn not_broadcastable() {
    refused(
        matrix().broadcast_to(&[4, 2, 1]),
        LayoutError::NotBroadcastable {
            from: vec![2, 3],
            to: vec![4, 2, 1],
        },
        "shape [2, 3] can't be broadcast to [4, 2, 1]",
    );
}

#[test]
fn too_many_dimensions_or_elements() {
    let full = Layout::contiguous(&[1; 255]).unwrap();
    refused(
        full.unsqueeze(7),
        LayoutError::RankTooLarge { rank: 256 },
        "256 dimensions are more than the 255 that are supported",
    );
    let one = Layout::contiguous(&[1]).unwrap();
    refused(
        one.broadcast_to(&[isize::MAX as usize, 2]),
        LayoutError::TooManyElements,
        "the sizes multiply to more elements than memory has addresses",
    );
}

#[test]
fn element_count() {
    refused(
        matrix().reshape(&[2, 2]),
        LayoutError::ElementCount {
            shape: vec![2, 2],
            expected: 4,
            found: 6,
        },
        "shape [2, 2] has 4 elements, and there are 6",
    );
}

#[test]
fn reshape_needs_copy() {
    refused(
        matrix().reversed().reshape(&[6]),
        LayoutError::ReshapeNeedsCopy {
            from: vec![3, 2],
            strides: vec![1, 3],
            to: vec![6],
        },
        "shape [3, 2] with strides [1, 3] can't become [6] without a copy; copy it first",
    );
}

#[test]
fn not_castable() {
    let cast = |layout: Layout, from: DType, to: DType, reason: &'static str, sentence: &str| {
        let expected = LayoutError::NotCastable {
            from,
            to,
            shape: layout.shape().to_vec(),
            strides: layout.strides().to_vec(),
            reason,
        };
        refused(layout.bit_cast(from, false, to), expected, sentence);
    };
    cast(
        Layout::contiguous(&[]).unwrap(),
        DType::U8,
        DType::U16,
        "a single element keeps its width",
        "uint8 elements of shape [], strides [] can't be viewed as uint16: a single element keeps its width",
    );
    cast(
        matrix().reversed(),
        DType::U8,
        DType::U16,
        "the last dimension's elements are apart",
        "uint8 elements of shape [3, 2], strides [1, 3] can't be viewed as uint16: the last dimension's elements are apart",
    );
    cast(
        matrix(),
        DType::U8,
        DType::U16,
        "the last dimension doesn't hold a whole number of the new elements",
        "uint8 elements of shape [2, 3], strides [3, 1] can't be viewed as uint16: the last dimension doesn't hold a whole number of the new elements",
    );
    cast(
        Layout::strided(&[2, 2], &[3, 1]).unwrap(),
        DType::U8,
        DType::U16,
        "a stride isn't a multiple of the new elements",
        "uint8 elements of shape [2, 2], strides [3, 1] can't be viewed as uint16: a stride isn't a multiple of the new elements",
    );
}
