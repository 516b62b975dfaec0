//! Typed views that are written through, and when there is none.

use crate::model::{cases, counted, indices, shapes, steps, views_of};
use dlbridge::error::{Error, SharedWith};
use dlbridge::{DType, Storage, Tensor};
use proptest::prelude::*;
use std::sync::Arc;

proptest! {
    #![proptest_config(cases(1500))]

    /// A view is written through exactly where no element is there twice, and changes its own
    /// elements alone.
    #[test]
    fn writes_change_the_views_elements_only(shape in shapes(), steps in steps(), how in 0..3_u8) {
        let whole = counted(&shape);
        let (count, (tensor, model)) = (whole.len(), views_of(&whole, &steps));
        let mut seen = vec![false; count];
        let repeated = model.ids.iter().any(|id| std::mem::replace(&mut seen[*id], true));
        // SAFETY: `whole` and its views are used by this thread alone, and not while this lasts.
        let view = unsafe { tensor.view_mut_unchecked::<i32>() };
        if repeated {
            let refused = matches!(view, Err(Error::SelfOverlap { .. }));
            prop_assert!(refused);
            return Ok(());
        }
        let mut view = view.unwrap();
        match how {
            0 => view.fill(-1),
            1 => indices(&model.shape).iter().for_each(|index| *view.get_mut(index).unwrap() = -1),
            _ => match view.as_mut_slice() {
                Some(slice) => slice.fill(-1),
                None => view.reborrow().into_iter().for_each(|number| *number = -1),
            }
        }
        let wanted: Vec<i32> = (0..count).map(|id| if seen[id] { -1 } else { id as i32 }).collect();
        prop_assert_eq!(whole.to_vec::<i32>().unwrap(), wanted);
    }
}

#[test]
fn brackets_write() {
    let mut tensor = Tensor::from([[1_u8, 2], [3, 4]]).transpose();
    let mut view = tensor.view_mut::<u8>().unwrap();
    view[[0, 1]] += 10;
    assert_eq!((view[[0, 1]], view.get(&[1, 0])), (13, Some(&2)));
    assert_eq!(view.get_mut(&[2, 0]), None);
    assert_eq!(view.get(&[0]), None);
    assert_eq!(view.as_slice(), None);
    assert_eq!(view.as_mut_slice(), None);
    assert_eq!(view.as_view().to_vec(), [1, 13, 2, 4]);
    assert_eq!(view.iter().sum::<u8>(), 20);
    let mut shorter = view.reborrow();
    shorter[[0, 0]] = 9;
    assert_eq!(view[[0, 0]], 9);
}

fn refusal(tensor: &mut Tensor) -> Error {
    match tensor.view_mut::<i32>() {
        Err(error) => error,
        other => panic!("{other:?}"),
    }
}

const SHARED: Error = Error::Shared {
    with: SharedWith::Handles,
};

#[test]
fn shared_memory_refuses_writes_until_unique() {
    let mut whole = Tensor::from([1, 2, 3, 4]);
    // Parts that don't overlap share their memory all the same.
    let mut parts = whole.split(0, &[2, 2]).unwrap();
    assert_eq!(refusal(&mut whole), SHARED);
    assert_eq!(refusal(&mut parts[0]), SHARED);
    drop(whole);
    let mut tail = parts.pop().unwrap();
    assert_eq!(refusal(&mut tail), SHARED);
    drop(parts);
    tail.view_mut::<i32>().unwrap().fill(0);
    assert_eq!(tail.to_vec::<i32>().unwrap(), [0, 0]);

    let storage = tail.storage().clone();
    assert_eq!(refusal(&mut tail), SHARED);
    drop(storage);
    let weak = tail.storage().downgrade();
    assert_eq!(refusal(&mut tail), SHARED);
    drop(weak);
    assert!(tail.view_mut::<i32>().is_ok());
}

#[test]
fn tensors_of_one_storage_share_it() {
    let storage = Storage::from_vec(vec![1, 2, 3, 4]);
    let mut low = Tensor::from_storage(storage.slice(0..8), &[2], DType::I32).unwrap();
    let mut high = Tensor::from_storage(storage.slice(8..16), &[2], DType::I32).unwrap();
    drop(storage);
    assert_eq!(refusal(&mut low), SHARED);
    assert_eq!(refusal(&mut high), SHARED);
    drop(low);
    high.view_mut::<i32>().unwrap()[[0]] = 7;
    assert_eq!(high.to_vec::<i32>().unwrap(), [7, 4]);
}

#[test]
fn broadcast_elements_are_not_written() {
    let mut tensor = Tensor::from([1, 2]).broadcast_to(&[3, 2]).unwrap();
    assert_eq!(
        refusal(&mut tensor),
        Error::SelfOverlap {
            shape: vec![3, 2],
            strides: vec![0, 1]
        }
    );
    // A copy has each element once.
    let mut copy = tensor.copy().unwrap();
    copy.view_mut::<i32>().unwrap()[[0, 0]] = 5;
    assert_eq!(copy.to_vec::<i32>().unwrap(), [5, 2, 1, 2, 1, 2]);
    assert_eq!(
        tensor.select(0, 0).unwrap().to_vec::<i32>().unwrap(),
        [1, 2]
    );
}

#[test]
fn memory_lent_immutably_is_read_only() {
    let numbers: Arc<[i32]> = Arc::from([1, 2, 3]);
    let mut tensor = Tensor::from_owner(Arc::clone(&numbers), &[3]).unwrap();
    assert_eq!(tensor.data_ptr().cast(), numbers.as_ptr());
    assert!(tensor.is_read_only());
    assert_eq!(refusal(&mut tensor), Error::ReadOnly);
    // SAFETY: no other code uses the memory in this statement.
    let promised = unsafe { tensor.view_mut_unchecked::<i32>() };
    assert!(matches!(promised, Err(Error::ReadOnly)));
    assert_eq!(refusal(&mut tensor.transpose()), Error::ReadOnly);
}

#[test]
fn memory_lent_mutably_is_written_in_place() {
    let storage = Storage::from_owner_mut::<i32>(vec![1, 2, 3].into_boxed_slice());
    let address = storage.data_ptr();
    let mut tensor = Tensor::from_storage(storage, &[3], DType::I32).unwrap();
    tensor.view_mut::<i32>().unwrap().fill(4);
    assert_eq!(tensor.data_ptr(), address);
    assert_eq!(tensor.to_vec::<i32>().unwrap(), [4; 3]);
}

#[test]
fn empty_tensor_is_written_without_access() {
    let mut tensor = Tensor::zeros(&[2, 0], DType::I32).unwrap();
    let mut view = tensor.view_mut::<i32>().unwrap();
    view.fill(1);
    assert_eq!(view.as_mut_slice(), Some(&mut [][..]));
    assert_eq!(view.iter_mut().next(), None);
    assert_eq!(view.get_mut(&[0, 0]), None);
}

#[test]
fn make_mut_copies_where_another_user_has_the_memory() {
    let mut tensor = Tensor::from([1, 2, 3, 4]);
    let address = tensor.data_ptr();
    tensor.make_mut::<i32>().unwrap()[[0]] = 5;
    assert_eq!(tensor.data_ptr(), address);

    // An export.
    let export = tensor.to_dlpack();
    tensor.make_mut::<i32>().unwrap()[[0]] = 6;
    assert_ne!(tensor.data_ptr(), address);
    assert!(!tensor.is_copied());
    let exported = Tensor::from_dlpack(export).unwrap();
    assert_eq!(exported.to_vec::<i32>().unwrap(), [5, 2, 3, 4]);
    drop(exported);
    let address = tensor.data_ptr();
    tensor.make_mut::<i32>().unwrap()[[1]] = 7;
    assert_eq!(tensor.data_ptr(), address);

    // A part, which shares the memory, and stays as it was.
    let mut part = tensor.slice(0, 1..3).unwrap();
    part.make_mut::<i32>().unwrap().fill(0);
    assert_eq!(tensor.to_vec::<i32>().unwrap(), [6, 7, 3, 4]);
    assert_eq!(part.to_vec::<i32>().unwrap(), [0, 0]);
}

#[test]
fn make_mut_copies_what_can_never_be_written() {
    static NUMBERS: [f32; 2] = [1.0, 2.0];
    let borrowed: &'static [f32; 2] = &NUMBERS;
    let mut constant = Tensor::from_owner(borrowed, &[2]).unwrap();
    constant.make_mut::<f32>().unwrap().fill(3.0);
    assert_eq!(constant.to_vec::<f32>().unwrap(), [3.0, 3.0]);
    assert_eq!(NUMBERS, [1.0, 2.0]);

    let one = Tensor::from([1.0_f32]);
    let mut repeated = one.broadcast_to(&[3]).unwrap();
    drop(one);
    repeated.make_mut::<f32>().unwrap()[[1]] = 2.0;
    assert_eq!(repeated.to_vec::<f32>().unwrap(), [1.0, 2.0, 1.0]);

    let mut empty = Tensor::zeros(&[0, 3], DType::F32).unwrap();
    assert!(empty.make_mut::<f32>().unwrap().is_empty());
}

#[test]
fn make_mut_of_another_type_copies_nothing() {
    let mut tensor = Tensor::from([1.0_f32]);
    let (other, address) = (tensor.clone(), tensor.data_ptr());
    let error = tensor.make_mut::<f64>().unwrap_err();
    assert!(matches!(
        error,
        Error::DTypeMismatch { .. } | Error::Shared { .. }
    ));
    assert_eq!((tensor.data_ptr(), other.data_ptr()), (address, address));
}

#[test]
fn from_fn_and_map_write_every_element_once() {
    let mut seen = Vec::new();
    let tensor = Tensor::from_fn([2, 0, 3], |_| -> u8 { unreachable!() }).unwrap();
    assert_eq!(tensor.shape(), [2, 0, 3]);
    let tensor = Tensor::from_fn([2, 3], |index| {
        seen.push(index);
        seen.len() as i64
    });
    let tensor = tensor.unwrap();
    assert_eq!(seen, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]);
    assert_eq!(
        Tensor::from_fn([], |[]| true).unwrap().item::<bool>(),
        Ok(true)
    );

    let transposed = tensor.transpose();
    let halves = transposed.map(|x: i64| x as f32 / 2.0).unwrap();
    assert_eq!(halves.shape(), [3, 2]);
    assert_eq!(
        halves.to_vec::<f32>().unwrap(),
        [0.5, 2.0, 1.0, 2.5, 1.5, 3.0]
    );
    assert!(tensor.map(|x: i32| x).is_err());
    assert!(Tensor::from_fn([usize::MAX, 2], |_| 0_u8).is_err());
}

#[test]
fn from_fn_that_panics_leaves_nothing_behind() {
    let result = std::panic::catch_unwind(|| {
        Tensor::from_fn([4], |[i]| if i == 2 { panic!("stop") } else { i as u8 })
    });
    assert!(result.is_err());
}
