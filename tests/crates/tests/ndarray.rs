//! The crate `ndarray`.
#![cfg(feature = "ndarray")]

mod support;

use dlbridge::crates::TakeError;
use dlbridge::error::{Error, IncompatibilityKind as Kind};
use dlbridge::{Tensor, View};
use ndarray::{ArcArray, ArcArray2, Array, Array0, Array1, Array2, Array3, ArrayD, Axis, s};
use ndarray::{ArrayView1, ArrayView2, ArrayViewD, ArrayViewMut1, ArrayViewMut2};
use std::sync::atomic::Ordering;
use support::{counted, kind, misaligned};

fn cube() -> Array3<i32> {
    Array::from_iter(0..24)
        .into_shape_with_order((2, 3, 4))
        .unwrap()
}

#[test]
fn array_of_any_strides_moves_its_vector() -> Result<(), Error> {
    let arrays: Vec<ArrayD<i32>> = vec![
        cube().into_dyn(),
        cube().reversed_axes().into_dyn(),
        cube().slice_move(s![.., ..;-1, ..;2]).into_dyn(),
        cube().slice_move(s![1, 1.., ..;-3]).into_dyn(),
        cube().slice_move(s![1..1, .., ..]).into_dyn(),
        Array0::from_elem((), 7).into_dyn(),
        Array1::from_vec(vec![]).into_dyn(),
    ];
    for array in arrays {
        let (copy, first) = (array.clone(), array.as_ptr());
        let tensor = Tensor::try_from(array)?;
        assert_eq!(tensor.shape(), copy.shape());
        assert_eq!(ArrayViewD::<i32>::try_from(&tensor)?, copy);
        if !tensor.is_empty() {
            assert_eq!(tensor.data_ptr().cast(), first);
        }
    }
    Ok(())
}

#[test]
fn tensor_moves_its_vector_back() -> Result<(), Error> {
    let layouts: [fn(Array3<i32>) -> ArrayD<i32>; 5] = [
        |cube| cube.into_dyn(),
        |cube| cube.reversed_axes().into_dyn(),
        |cube| cube.slice_move(s![.., ..;-1, ..]).into_dyn(),
        |cube| cube.slice_move(s![1.., .., ..]).into_dyn(),
        |cube| cube.slice_move(s![.., 1..1, ..]).into_dyn(),
    ];
    for arranged in layouts {
        let array = arranged(cube());
        let (copy, first) = (array.clone(), array.as_ptr());
        let back = ArrayD::<i32>::try_from(Tensor::try_from(array)?)?;
        assert_eq!(back, copy);
        if !back.is_empty() {
            assert_eq!(back.as_ptr(), first);
            assert_eq!(back.is_standard_layout(), copy.is_standard_layout());
        }
    }
    Ok(())
}

#[test]
fn writes_through_a_moved_array_are_the_tensors() -> Result<(), Error> {
    let mut tensor = Tensor::try_from(cube())?;
    ArrayViewMut2::<i32>::try_from(&mut tensor.select(0, 1)?).unwrap_err(); // another handle
    let mut view = ndarray::ArrayViewMut3::<i32>::try_from(&mut tensor)?;
    view[[1, 2, 3]] = -1;
    let mut array = Array3::<i32>::try_from(tensor)?;
    assert_eq!(array[[1, 2, 3]], -1);
    array.push(Axis(0), Array2::zeros((3, 4)).view()).unwrap(); // it is a vector again
    assert_eq!(array.len(), 36);
    Ok(())
}

#[test]
fn shared_tensor_comes_back_with_the_error() -> Result<(), Error> {
    let tensor = Tensor::try_from(cube())?;
    let other = tensor.clone();
    let TakeError { error, tensor, .. } = Array3::<i32>::try_from(tensor).unwrap_err();
    assert_eq!(kind(error), Kind::Alias);
    assert_eq!(tensor.data_ptr(), other.data_ptr());
    drop(other);
    assert_eq!(Array3::<i32>::try_from(tensor)?, cube());
    Ok(())
}

#[test]
fn conversions_name_what_does_not_fit() -> Result<(), Error> {
    let tensor = || Tensor::try_from(cube()).unwrap();
    let refused = |result: Result<Array3<i32>, TakeError>| kind(result.unwrap_err());
    assert_eq!(
        kind(Array3::<f32>::try_from(tensor()).unwrap_err()),
        Kind::DType
    );
    assert_eq!(
        kind(Array2::<i32>::try_from(tensor()).unwrap_err()),
        Kind::Rank
    );
    // A part of the vector with gaps.
    let strided = tensor().slice(2, 1..3)?;
    assert_eq!(refused(strided.try_into()), Kind::Layout);
    let broadcast = Tensor::from(vec![1_i32]).broadcast_to(&[2, 3, 4])?;
    assert_eq!(refused(broadcast.try_into()), Kind::Overlap);
    // Memory that isn't a vector.
    let aligned = Tensor::zeros(&[2, 3, 4], dlbridge::DType::I32)?;
    assert_eq!(refused(aligned.try_into()), Kind::Memory);
    let (foreign, drops) = counted(vec![0_i32; 24], &[2, 3, 4]);
    assert_eq!(refused(foreign.try_into()), Kind::ReadOnly);
    assert_eq!(drops.load(Ordering::Relaxed), 1);

    assert_eq!(
        kind(ArrayView2::<i32>::try_from(&tensor()).unwrap_err()),
        Kind::Rank
    );
    let misaligned = misaligned(2);
    assert_eq!(
        kind(ArrayView1::<f64>::try_from(&misaligned).unwrap_err()),
        Kind::Alignment
    );
    let mut shared = tensor();
    let _other = shared.clone();
    assert_eq!(
        kind(ndarray::ArrayViewMut3::<i32>::try_from(&mut shared).unwrap_err()),
        Kind::Alias
    );
    Ok(())
}

#[test]
fn bytes_that_are_no_bools_are_no_vector_of_bools() -> Result<(), Error> {
    let mut bytes = Tensor::from(vec![true, false]).bit_cast(dlbridge::DType::U8)?;
    ArrayViewMut1::<u8>::try_from(&mut bytes)?[1] = 7;
    let bools = bytes.bit_cast(dlbridge::DType::BOOL)?;
    drop(bytes);
    let TakeError { error, tensor, .. } = Array1::<bool>::try_from(bools).unwrap_err();
    assert_eq!(kind(error), Kind::Value);
    assert_eq!(
        tensor.bit_cast(dlbridge::DType::U8)?.to_vec::<u8>()?,
        [1, 7]
    );
    Ok(())
}

#[test]
fn arc_array_is_moved_if_it_is_the_only_handle_and_shared_if_not() -> Result<(), Error> {
    let only: ArcArray2<i32> = ArcArray::from_iter(0..6)
        .into_shape_with_order((2, 3))
        .unwrap();
    let first = only.as_ptr();
    let mut tensor = Tensor::try_from(only)?;
    assert_eq!(tensor.data_ptr().cast(), first);
    assert!(!tensor.is_read_only());
    ArrayViewMut2::<i32>::try_from(&mut tensor)?[[0, 0]] = 9;

    let mut array = ArcArray2::<i32>::try_from(tensor)?;
    assert_eq!(array.as_ptr(), first);
    let tensor = Tensor::try_from(array.clone().reversed_axes())?;
    assert_eq!(tensor.data_ptr().cast(), first);
    assert!(tensor.is_read_only());
    array[[0, 0]] = 1; // copies, as the tensor shares the memory
    assert_eq!(ArrayView2::<i32>::try_from(&tensor)?[[0, 0]], 9);
    std::thread::spawn(move || drop(tensor)).join().unwrap();
    Ok(())
}

#[test]
fn views_have_the_rank_of_their_type() -> Result<(), Error> {
    let tensor = Tensor::try_from(cube().slice_move(s![.., 1, ..;-1]))?;
    let view = ArrayView2::<i32>::try_from(&tensor)?;
    assert_eq!(view, cube().slice(s![.., 1, ..;-1]));
    let fixed: Result<ArrayView1<'_, i32>, Error> = tensor.view::<i32>()?.try_into();
    assert_eq!(kind(fixed.unwrap_err()), Kind::Rank);
    let layout = dlbridge::tensor::Layout::from_ndarray(&view)?;
    assert_eq!(View::from_ndarray(&view, &layout).as_ptr(), view.as_ptr());
    Ok(())
}
