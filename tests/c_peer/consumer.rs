//! Rust makes tensors, and C uses them.

use crate::library::{Library, trials};
use dlbridge::dlpack::{Abi, Managed};
use dlbridge::{DType, Element, Storage, Tensor};
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

trials!(
    fields_and_values_of_every_type,
    layouts,
    writes_are_seen_on_both_sides,
    an_export_outlives_its_tensor,
    deleters_are_called_on_other_threads,
    many_exports_at_once,
    a_panic_in_an_owner_does_not_reach_c,
    out_of_rust_and_back_into_rust,
);

/// On which threads an owner was dropped: once, if all is well.
type Drops = Arc<Mutex<Vec<ThreadId>>>;

struct Owner {
    numbers: Vec<f64>,
    drops: Drops,
    panics: bool,
}

impl AsMut<[f64]> for Owner {
    fn as_mut(&mut self) -> &mut [f64] {
        &mut self.numbers
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.drops.lock().unwrap().push(thread::current().id());
        if self.panics {
            // Unlike `panic!`, this prints nothing.
            std::panic::resume_unwind(Box::new(()));
        }
    }
}

/// 0, 1, 2, 3, 4, 5 in two rows.
fn two_rows(panics: bool) -> (Tensor, Drops) {
    let drops = Drops::default();
    let owner = Owner {
        numbers: vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
        drops: Arc::clone(&drops),
        panics,
    };
    let storage = Storage::from_owner_mut(owner);
    let tensor = Tensor::from_storage(storage, &[2, 3], DType::F64).unwrap();
    (tensor, drops)
}

fn dropped(drops: &Drops) -> usize {
    drops.lock().unwrap().len()
}

fn fields_and_values_of_every_type<A: Abi>(library: &Library) {
    fn check<A: Abi, T: Element>(library: &Library, from: fn(u8) -> T) {
        let tensor: Tensor = (0..=100).map(from).collect();
        let managed = tensor.to_dlpack_as::<A>().unwrap();
        assert_eq!(library.complaint(&managed), None);
        assert_eq!(library.sum(&managed), 5050.0);
        // SAFETY: no code writes.
        assert_eq!(unsafe { library.get(managed.descriptor(), &[42]) }, 42.0);
        library.delete(managed);
    }
    check::<A, f64>(library, f64::from);
    check::<A, f32>(library, f32::from);
    check::<A, i32>(library, i32::from);
    check::<A, i64>(library, i64::from);
    check::<A, u8>(library, u8::from);
}

fn layouts<A: Abi>(library: &Library) {
    let numbers: Vec<f64> = (0..192).map(f64::from).collect();
    let base = Tensor::from_vec(numbers, &[4, 6, 8]).unwrap();
    let deep = base.reshape(&[2, 2, 1, 2, 3, 1, 2, 2, 2]).unwrap();
    for tensor in [
        base.clone(),
        base.transpose(),
        base.slice(1, 2..5).unwrap().slice(2, 1..2).unwrap(),
        base.step_by(0, -3).unwrap().step_by(2, -1).unwrap(),
        base.slice(0, 3..)
            .unwrap()
            .broadcast_to(&[7, 6, 8])
            .unwrap(),
        base.slice(2, 5..5).unwrap(),
        base.select(0, 1)
            .unwrap()
            .select(0, 1)
            .unwrap()
            .select(0, 1)
            .unwrap(),
        deep.permute(&[8, 0, 7, 1, 6, 2, 5, 3, 4]).unwrap(),
    ] {
        let managed = tensor.into_dlpack_as::<A>().unwrap();
        assert_eq!(library.complaint(&managed), None);
        let sum = library.sum(&managed);
        let back = Tensor::from_dlpack(managed).unwrap();
        let elements = back.to_vec::<f64>().unwrap();
        assert_eq!(sum, elements.iter().sum::<f64>(), "{:?}", back.shape());
    }
}

fn writes_are_seen_on_both_sides<A: Abi>(library: &Library) {
    let (tensor, _) = two_rows(false);
    let managed = tensor.transpose().into_dlpack_as::<A>().unwrap();
    // SAFETY: C and Rust take turns, and there is no view while it is C's.
    unsafe {
        library.scale(&managed, 10.0);
        assert_eq!(
            tensor.to_vec::<f64>().unwrap(),
            [0.0, 10.0, 20.0, 30.0, 40.0, 50.0]
        );
        library.set(managed.descriptor(), &[2, 1], -1.0);
        assert_eq!(tensor.view::<f64>().unwrap()[[1, 2]], -1.0);
        tensor.view_mut_unchecked::<f64>().unwrap()[[0, 1]] = 99.0;
        assert_eq!(library.get(managed.descriptor(), &[1, 0]), 99.0);
    }
}

fn an_export_outlives_its_tensor<A: Abi>(library: &Library) {
    let (tensor, drops) = two_rows(false);
    let row = tensor.select(0, 1).unwrap();
    let (kept, moved) = (
        row.to_dlpack_as::<A>().unwrap(),
        tensor.into_dlpack_as::<A>().unwrap(),
    );
    drop(row);
    assert_eq!((library.sum(&kept), library.sum(&moved)), (12.0, 15.0));
    library.delete(moved);
    assert_eq!(dropped(&drops), 0);
    // SAFETY: C has the only handle.
    unsafe { library.scale(&kept, 2.0) };
    assert_eq!(library.sum(&kept), 24.0);
    library.delete(kept);
    assert_eq!(dropped(&drops), 1);
}

fn deleters_are_called_on_other_threads<A: Abi>(library: &Library) {
    let (tensor, drops) = two_rows(false);
    let task = library.start_sum(tensor.into_dlpack_as::<A>().unwrap());
    assert_eq!(task.finish(), 15.0);
    let drops = drops.lock().unwrap();
    assert_eq!(drops.len(), 1);
    assert_ne!(
        drops[0],
        thread::current().id(),
        "C has a thread of its own"
    );
}

fn many_exports_at_once<A: Abi>(library: &Library) {
    let (tensor, drops) = two_rows(false);
    let tasks: Vec<_> = (0..8)
        .map(|_| library.start_sum(tensor.to_dlpack_as::<A>().unwrap()))
        .collect();
    // Meanwhile Rust reads and lets go.
    assert_eq!(tensor.view::<f64>().unwrap().iter().sum::<f64>(), 15.0);
    drop(tensor);
    for task in tasks {
        assert_eq!(task.finish(), 15.0);
    }
    assert_eq!(dropped(&drops), 1);
}

fn a_panic_in_an_owner_does_not_reach_c<A: Abi>(library: &Library) {
    let (tensor, drops) = two_rows(true);
    library.delete(tensor.into_dlpack_as::<A>().unwrap());
    assert_eq!(dropped(&drops), 1);
    let (tensor, drops) = two_rows(true);
    assert_eq!(
        library
            .start_sum(tensor.into_dlpack_as::<A>().unwrap())
            .finish(),
        15.0
    );
    assert_eq!(dropped(&drops), 1);
}

fn out_of_rust_and_back_into_rust<A: Abi>(library: &Library) {
    let (tensor, drops) = two_rows(false);
    let data = tensor.data_ptr();
    let managed = tensor.into_dlpack_as::<A>().unwrap();
    // SAFETY: no other code has the memory.
    unsafe { library.scale(&managed, -1.0) };
    let raw = managed.into_raw().as_ptr();
    // SAFETY: given away in the line above; C would hand the same pointer on.
    let managed: Managed<A> = unsafe { Managed::from_raw(raw) }.unwrap();
    let tensor = Tensor::from_dlpack(managed).unwrap();
    assert_eq!(tensor.data_ptr(), data);
    assert_eq!(
        tensor.to_vec::<f64>().unwrap(),
        [0.0, -1.0, -2.0, -3.0, -4.0, -5.0]
    );
    assert_eq!(dropped(&drops), 0);
    drop(tensor);
    assert_eq!(dropped(&drops), 1);
}
