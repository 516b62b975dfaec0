//! Typed views as those of the `ndarray` crate, and back.

use crate::model::{cases, counted, numbers, shapes, steps, viewed, views_of};
use dlbridge::error::Error;
use dlbridge::tensor::Layout;
use dlbridge::{Tensor, View, ViewMut};
use ndarray::{Array2, arr0, array};
use proptest::prelude::*;
use std::ptr::NonNull;

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn ndarray_view_has_the_same_elements(shape in shapes(), steps in steps()) {
        let (tensor, model) = viewed(&shape, &steps);
        let view = tensor.view::<i32>().unwrap();
        let array = view.to_ndarray();
        prop_assert_eq!(array.shape(), &model.shape[..]);
        prop_assert_eq!(array.iter().copied().collect::<Vec<_>>(), numbers(&model));
        if !model.ids.is_empty() {
            prop_assert_eq!(array.as_ptr(), view.as_ptr());
        }
        let layout = Layout::from_ndarray(&array).unwrap();
        prop_assert_eq!(View::from_ndarray(&array, &layout).to_vec(), numbers(&model));
    }

    #[test]
    fn ndarray_writes_reach_the_tensor(shape in shapes(), steps in steps()) {
        let whole = counted(&shape);
        let (tensor, model) = views_of(&whole, &steps);
        // SAFETY: no other code uses the memory before the view is gone.
        if let Ok(view) = unsafe { tensor.view_mut_unchecked::<i32>() } {
            let layout = (view.shape().to_vec(), view.strides().to_vec());
            let mut array = match view.into_ndarray() {
                Ok(array) => array,
                Err(error) => {
                    let (shape, strides) = layout;
                    prop_assert_eq!(error, Error::Interleaved { shape, strides });
                    return Ok(());
                }
            };
            prop_assert_eq!(array.iter().copied().collect::<Vec<_>>(), numbers(&model));
            array += 1000;
            let wanted: Vec<i32> = (0..whole.len())
                .map(|id| id as i32 + if model.ids.contains(&id) { 1000 } else { 0 })
                .collect();
            prop_assert_eq!(whole.to_vec::<i32>().unwrap(), wanted);
        }
    }
}

#[test]
fn arrays_without_dimensions_and_without_elements() {
    let scalar = Tensor::scalar(2.5_f64);
    assert_eq!(
        scalar.view::<f64>().unwrap().to_ndarray(),
        arr0(2.5).into_dyn()
    );
    let empty = Tensor::zeros(&[0, 3], dlbridge::DType::F32).unwrap();
    let view = empty.view::<f32>().unwrap();
    assert_eq!(view.to_ndarray(), Array2::<f32>::zeros((0, 3)).into_dyn());
}

#[test]
#[should_panic = "the layout of this very view"]
fn unsupported_layout_of_array_is_refused() {
    let (small, large) = (array![1, 2], array![1, 2, 3]);
    let layout = Layout::from_ndarray(&large.view()).unwrap();
    let _ = View::from_ndarray(&small.view(), &layout);
}

#[test]
fn more_dimensions_than_are_supported_are_refused() {
    let array = array![1].into_dyn();
    let array = array.into_shape_with_order(vec![1; 256]).unwrap();
    assert!(Layout::from_ndarray(&array.view()).is_err());
}

#[test]
fn interleaved_dimensions_are_refused() {
    let mut numbers = [0_u8; 8];
    let layout = Layout::strided(&[3, 2], &[2, 3]).unwrap();
    let first = NonNull::from(&mut numbers).cast();
    // SAFETY: the layout leads to 0, 2, 3, 4, 5 and 7 of the array, which no other code uses.
    let mut view = unsafe { ViewMut::<u8>::from_raw(first, layout.as_ref()) };
    let error = view.reborrow().into_ndarray().unwrap_err();
    assert!(error.to_string().contains("interleaved"), "{error}");
    view.fill(1);
    assert_eq!(numbers, [1, 0, 1, 1, 1, 1, 0, 1]);
}
