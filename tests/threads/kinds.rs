//! Tensors of every kind of owner, all of the same numbers.

use crate::foreign::{Counter, ForeignAbi, Producer};
use dlbridge::dlpack::{Legacy, Versioned};
use dlbridge::{DType, Device, Storage, Tensor};

/// What all tensors of these tests hold.
pub(crate) const NUMBERS: [f32; 6] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];

pub(crate) fn imported<A: ForeignAbi>(deletions: &Counter) -> Tensor {
    Tensor::from_dlpack(Producer::two_rows().hand_out::<A>(deletions)).unwrap()
}

/// Numbers that count when they are dropped.
struct Owner(Vec<f32>, Counter);

impl Owner {
    fn new(drops: &Counter) -> Self {
        Self(NUMBERS.to_vec(), drops.clone())
    }
}

impl AsMut<[f32]> for Owner {
    fn as_mut(&mut self) -> &mut [f32] {
        &mut self.0
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.1.add();
    }
}

pub(crate) fn owned(drops: &Counter) -> Tensor {
    let storage = Storage::from_owner_mut(Owner::new(drops));
    Tensor::from_storage(storage, &[2, 3], DType::F32).unwrap()
}

fn raw(drops: &Counter) -> Tensor {
    let mut owner = Owner::new(drops);
    let data = owner.0.as_mut_ptr().cast();
    // SAFETY: the closure keeps the vector until it is called; no other code uses it.
    let storage = unsafe { Storage::from_raw(data, 24, Device::CPU, move || drop(owner)) };
    Tensor::from_storage(storage, &[2, 3], DType::F32).unwrap()
}

/// Makes a tensor of one kind, with its own counter.
pub(crate) type Make = fn(&Counter) -> Tensor;

/// Each kind of owner.
pub(crate) const KINDS: [Make; 4] = [imported::<Versioned>, imported::<Legacy>, owned, raw];

#[track_caller]
pub(crate) fn assert_numbers(tensor: &Tensor) {
    assert_eq!(tensor.view::<f32>().unwrap().as_slice(), Some(&NUMBERS[..]));
}
