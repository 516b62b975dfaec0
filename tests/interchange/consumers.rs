//! Consumers of exports: several at once, changes of the struct, late deletes on other threads.

use crate::foreign::{Counter, ForeignAbi};
use dlbridge::dlpack::{Legacy, Managed, Versioned};
use dlbridge::{Element, Tensor};
use std::{ptr, slice};

for_both_abis!(
    an_export_keeps_the_memory_alive,
    a_deleter_can_be_called_on_another_thread,
    several_exports_of_one_tensor_are_out_at_once,
    a_tensor_is_exported_again_and_again,
    a_consumer_may_change_the_struct_that_it_owns,
);

/// The sizes and the strides that a consumer reads.
pub(crate) fn numbers<A: ForeignAbi>(managed: &Managed<A>) -> (&[i64], &[i64]) {
    let descriptor = managed.descriptor();
    let rank = usize::try_from(descriptor.ndim).unwrap();
    // SAFETY: an export of this crate points to as many numbers as its rank says.
    unsafe {
        (
            slice::from_raw_parts(descriptor.shape, rank),
            slice::from_raw_parts(descriptor.strides, rank),
        )
    }
}

/// An owner of elements that counts its drops.
struct Owned<T>(Vec<T>, Counter);

impl<T> AsMut<[T]> for Owned<T> {
    fn as_mut(&mut self) -> &mut [T] {
        &mut self.0
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        self.1.add();
    }
}

/// A tensor of shape `[elements]`, whose owner counts its drops.
pub(crate) fn counted<T: Element>(elements: &[T], drops: &Counter) -> Tensor {
    let owner = Owned(elements.to_vec(), drops.clone());
    let storage = dlbridge::Storage::from_owner_mut(owner);
    Tensor::from_storage(storage, &[elements.len()], T::DTYPE).unwrap()
}

fn an_export_keeps_the_memory_alive<A: ForeignAbi>() {
    let drops = Counter::default();
    let tensor = counted(&[1_u16, 2, 3], &drops);
    let shared = tensor.to_dlpack_as::<A>().unwrap();
    let moved = tensor.into_dlpack_as::<A>().unwrap();
    assert_eq!(drops.count(), 0);
    drop(shared);
    assert_eq!(drops.count(), 0);
    let back = Tensor::from_dlpack(moved).unwrap();
    assert_eq!(back.to_vec::<u16>().unwrap(), [1, 2, 3]);
    assert_eq!(drops.count(), 0);
    drop(back);
    assert_eq!(drops.count(), 1);
}

fn a_deleter_can_be_called_on_another_thread<A: ForeignAbi>() {
    let drops = Counter::default();
    let managed = counted(&[1_u16], &drops).into_dlpack_as::<A>().unwrap();
    std::thread::spawn(move || drop(managed)).join().unwrap();
    assert_eq!(drops.count(), 1);
}

/// What a consumer sees, copied.
fn seen<A: ForeignAbi>(managed: &Managed<A>) -> (usize, Vec<i64>, Vec<i64>) {
    let (sizes, strides) = numbers(managed);
    let data = managed.descriptor().data.addr();
    (data, sizes.to_vec(), strides.to_vec())
}

fn several_exports_of_one_tensor_are_out_at_once<A: ForeignAbi>() {
    // Whichever of them goes first: the others stay as they are.
    for first in 0..5 {
        let drops = Counter::default();
        let tensor = counted(&[1_u16, 2, 3], &drops);
        let mut exports: Vec<Managed<A>> = Vec::new();
        for _ in 0..5 {
            exports.push(tensor.to_dlpack_as().unwrap());
        }
        let addresses: Vec<_> = exports.iter().map(|export| export.as_ptr()).collect();
        let of_the_other_abi = (tensor.to_dlpack(), tensor.to_dlpack_as::<Legacy>().unwrap());
        drop(tensor);
        let expected = seen(&of_the_other_abi.0);
        assert_eq!(seen(&of_the_other_abi.1), expected);
        drop(exports.remove(first));
        for (i, export) in exports.iter().enumerate() {
            assert_eq!(seen(export), expected);
            assert_eq!(export.as_ptr(), addresses[i + usize::from(i >= first)]);
        }
        let last = exports.pop().unwrap();
        drop((exports, of_the_other_abi));
        assert_eq!(drops.count(), 0);
        assert_eq!(seen(&last), expected);
        assert_eq!(
            Tensor::from_dlpack(last).unwrap().to_vec::<u16>().unwrap(),
            [1, 2, 3]
        );
        assert_eq!(drops.count(), 1);
    }
}

fn a_tensor_is_exported_again_and_again<A: ForeignAbi>() {
    let drops = Counter::default();
    let tensor = counted(&[1_u16, 2, 3], &drops);
    let expected = seen(&tensor.to_dlpack());
    for _ in 0..3 {
        let export = tensor.to_dlpack_as::<A>().unwrap();
        assert_eq!(seen(&export), expected);
        drop(export);
        // The other ABI's struct may come to lie where this one's was.
        assert_eq!(seen(&tensor.to_dlpack_as::<Legacy>().unwrap()), expected);
        assert_eq!(seen(&tensor.to_dlpack_as::<Versioned>().unwrap()), expected);
    }
    assert_eq!(drops.count(), 0);
    drop(tensor);
    assert_eq!(drops.count(), 1);
}

fn a_consumer_may_change_the_struct_that_it_owns<A: ForeignAbi>() {
    let drops = Counter::default();
    let tensor = counted(&[1_u16, 2, 3], &drops);
    for _ in 0..3 {
        let (one, other) = (
            tensor.to_dlpack_as::<A>().unwrap(),
            tensor.to_dlpack_as::<A>().unwrap(),
        );
        for managed in [one, other] {
            let raw = managed.into_raw().as_ptr();
            // SAFETY: the struct is ours until the deleter is called.
            let descriptor = unsafe { &mut *raw }.descriptor_mut();
            descriptor.ndim = i32::MAX;
            descriptor.shape = ptr::null_mut();
            descriptor.strides = ptr::null_mut();
            descriptor.data = ptr::null_mut();
            // SAFETY: given away above, whatever is in it now.
            drop(unsafe { Managed::from_raw(raw) }.unwrap());
        }
    }
    assert_eq!(tensor.to_vec::<u16>().unwrap(), [1, 2, 3]);
    drop(tensor);
    assert_eq!(drops.count(), 1);
}
