//! Typed views that are read: indices, slices, and their errors.

use crate::model::{cases, indices, numbers, shapes, steps, viewed};
use dlbridge::error::Error;
use dlbridge::{DType, Element, Storage, Tensor, View, ViewMut};
use proptest::prelude::*;
use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};

const fn sent_and_shared<T: Send + Sync>() {}

const _: () = {
    sent_and_shared::<Tensor>();
    sent_and_shared::<Storage>();
    sent_and_shared::<View<'_, f64>>();
    sent_and_shared::<ViewMut<'_, f64>>();
    sent_and_shared::<dlbridge::view::Iter<'_, bool>>();
    sent_and_shared::<dlbridge::view::IterMut<'_, bool>>();
};

proptest! {
    #![proptest_config(cases(1500))]

    #[test]
    fn every_index_returns_its_element(shape in shapes(), steps in steps()) {
        let (tensor, model) = viewed(&shape, &steps);
        let view = tensor.view::<i32>().unwrap();
        for (index, number) in indices(&model.shape).into_iter().zip(numbers(&model)) {
            prop_assert_eq!(view.get(&index), Some(&number));
        }
        for axis in 0..model.shape.len() {
            let mut beyond = vec![0; model.shape.len()];
            beyond[axis] = model.shape[axis];
            prop_assert_eq!(view.get(&beyond), None);
            beyond[axis] = usize::MAX;
            prop_assert_eq!(view.get(&beyond), None);
        }
        let zeros = vec![0; model.shape.len() + 1];
        prop_assert_eq!(view.get(&zeros), None);
        if let Some(shorter) = zeros.len().checked_sub(2) {
            prop_assert_eq!(view.get(&zeros[..shorter]), None);
        }
    }

    #[test]
    fn slices_are_of_elements_that_lie_one_after_another(shape in shapes(), steps in steps()) {
        let (tensor, model) = viewed(&shape, &steps);
        let view = tensor.view::<i32>().unwrap();
        let successive = model.ids.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        match view.as_slice() {
            Some(slice) => {
                prop_assert_eq!(slice, numbers(&model));
                prop_assert!(slice.is_empty() || slice.as_ptr() == view.as_ptr());
            }
            None => prop_assert!(!successive, "{:?}", tensor.layout()),
        }
    }
}

#[test]
fn brackets_index_each_dimension() {
    let tensor = Tensor::from([[[1_u16, 2], [3, 4]], [[5, 6], [7, 8]]]);
    let view = tensor.view::<u16>().unwrap();
    assert_eq!((view[[0, 0, 1]], view[[1, 1, 0]]), (2, 7));
    assert_eq!(view.rank(), 3);
    assert_eq!(view.strides(), [4, 2, 1]);
    let scalar = Tensor::scalar(2.5_f32);
    assert_eq!(scalar.view::<f32>().unwrap()[[]], 2.5);
}

/// What a panic says.
fn words(action: impl FnOnce()) -> String {
    let payload = catch_unwind(AssertUnwindSafe(action)).unwrap_err();
    *payload.downcast::<String>().unwrap()
}

#[test]
fn index_out_of_bounds_panics_with_both_shapes() {
    let mut tensor = Tensor::from([[1_u8, 2], [3, 4]]);
    let view = tensor.view::<u8>().unwrap();
    assert_eq!(
        words(|| _ = view[[0, 2]]),
        "index [0, 2] is out of shape [2, 2]"
    );
    assert_eq!(words(|| _ = view[[1]]), "index [1] is out of shape [2, 2]");
    assert_eq!(words(|| _ = view[[]]), "index [] is out of shape [2, 2]");
    let mut view = tensor.view_mut::<u8>().unwrap();
    assert_eq!(
        words(|| view[[2, 0]] = 1),
        "index [2, 0] is out of shape [2, 2]"
    );
    assert_eq!(
        words(|| _ = view[[0, 0, 0]]),
        "index [0, 0, 0] is out of shape [2, 2]"
    );
}

fn refusal<T: Element + PartialEq + Debug>(tensor: &Tensor) -> Error {
    match tensor.view::<T>() {
        Err(error) => {
            assert_eq!(tensor.to_vec::<T>(), Err(error.clone()));
            error
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn elements_of_another_type_are_refused() {
    let tensor = Tensor::from([1.0_f32]);
    assert_eq!(
        refusal::<u32>(&tensor),
        Error::DTypeMismatch {
            found: DType::F32,
            wanted: DType::U32
        }
    );
    // Also where there are none, so that a program's mistake shows.
    let empty = Tensor::zeros(&[0], DType::I8).unwrap();
    assert!(matches!(refusal::<u8>(&empty), Error::DTypeMismatch { .. }));
    assert_eq!(
        tensor.item::<f64>(),
        Err(Error::DTypeMismatch {
            found: DType::F32,
            wanted: DType::F64
        })
    );
}

#[test]
fn unaligned_elements_are_refused_and_copied() {
    let bytes = Tensor::zeros(&[17], DType::U8).unwrap();
    let odd = bytes.slice(0, 1..).unwrap();
    let doubles = odd.bit_cast(DType::F64).unwrap();
    assert_eq!(
        refusal::<f64>(&doubles),
        Error::Misaligned {
            address: bytes.data_ptr().addr() + 1,
            alignment: align_of::<f64>()
        }
    );
    assert_eq!(doubles.copy().unwrap().to_vec::<f64>().unwrap(), [0.0; 2]);
    // No elements, no alignment.
    let none = doubles.slice(0, 1..1).unwrap();
    assert_eq!(none.view::<f64>().unwrap().as_slice(), Some(&[][..]));
}

#[test]
fn invalid_bool_bytes_are_refused() {
    let bytes = Tensor::from([1_u8, 0, 1, 2, 255, 0]);
    let bools = bytes.bit_cast(DType::BOOL).unwrap();
    let invalid = |value| Error::InvalidValue {
        value,
        dtype: DType::BOOL,
    };
    assert_eq!(refusal::<bool>(&bools), invalid(2));
    assert_eq!(
        refusal::<bool>(&bools.step_by(0, -1).unwrap()),
        invalid(255)
    );
    // Only elements count, not what is between them.
    let valid = bools.slice(0, ..3).unwrap();
    assert_eq!(valid.to_vec::<bool>().unwrap(), [true, false, true]);
    let apart = bools.step_by(0, 5).unwrap();
    assert_eq!(apart.to_vec::<bool>().unwrap(), [true, false]);
    // SAFETY: no other code uses the memory in this statement.
    let refused = unsafe { bools.view_mut_unchecked::<bool>() };
    assert!(matches!(refused, Err(Error::InvalidValue { value: 2, .. })));
}

#[test]
fn item_returns_the_only_element() {
    let tensor = Tensor::from([[1_i8, 2], [3, 4]]);
    let last = tensor.slice(0, 1..).unwrap().slice(1, 1..).unwrap();
    assert_eq!(last.item::<i8>(), Ok(4));
    assert_eq!(Tensor::scalar(true).item::<bool>(), Ok(true));
    for (tensor, elements) in [(tensor.clone(), 4), (tensor.slice(0, 2..).unwrap(), 0)] {
        assert_eq!(tensor.item::<i8>(), Err(Error::NotScalar { elements }));
    }
}
