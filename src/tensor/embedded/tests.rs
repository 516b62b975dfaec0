//! Guests in a tensor's room, that aren't exports.

use crate::dlpack::{Managed, Versioned};
use crate::tensor::Tensor;
use std::ptr::NonNull;

struct Guest {
    count: usize,
    name: &'static str,
}

fn numbers() -> Tensor {
    Tensor::from_vec(vec![1_i32, 2, 3], &[3]).unwrap()
}

/// Moves a guest in, where there is room.
fn enter(tensor: Tensor, name: &'static str) -> Result<NonNull<Guest>, Tensor> {
    let room = tensor.embed::<Guest>()?;
    // SAFETY: the room is this guest's.
    unsafe { room.write(Guest { count: 1, name }) };
    Ok(room)
}

/// Moves it out again.
fn leave(mut guest: NonNull<Guest>, name: &str) -> Tensor {
    // SAFETY: the guest is there until the next line.
    let it = unsafe { guest.as_mut() };
    it.count -= 1;
    assert_eq!((it.count, it.name), (0, name));
    // SAFETY: it isn't used any more.
    unsafe { Tensor::from_embedded(guest) }
}

#[test]
fn guest_keeps_the_tensor_alive() {
    let guest = enter(numbers(), "only").unwrap();
    let tensor = leave(guest, "only");
    assert_eq!(tensor.to_vec::<i32>().unwrap(), [1, 2, 3]);
    let guest = enter(tensor, "again").unwrap();
    drop(leave(guest, "again"));
}

#[test]
fn slot_holds_one_guest() {
    let tensor = numbers();
    let guest = enter(tensor.clone(), "first").unwrap();
    let refused = enter(tensor.clone(), "second").unwrap_err();
    assert_eq!(refused.data_ptr(), tensor.data_ptr());
    drop(leave(guest, "first"));
    let guest = enter(refused, "third").unwrap();
    drop(tensor);
    assert_eq!(leave(guest, "third").to_vec::<i32>().unwrap(), [1, 2, 3]);
}

#[test]
fn slot_holds_a_guest_or_an_export() {
    let tensor = numbers();
    let guest = enter(tensor.clone(), "guest").unwrap();
    let beside: Managed<Versioned> = tensor.clone().into_dlpack();
    assert!(Tensor::behind(&beside).is_none());
    drop(leave(guest, "guest"));
    let inside: Managed<Versioned> = tensor.clone().into_dlpack();
    assert!(Tensor::behind(&inside).is_some());
    assert!(enter(tensor.clone(), "late").is_err());
    drop((inside, beside));
    let guest = enter(tensor, "last").unwrap();
    assert_eq!(leave(guest, "last").to_vec::<i32>().unwrap(), [1, 2, 3]);
}

#[test]
fn guests_of_many_threads_are_exclusive() {
    let tensor = numbers();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for _ in 0..20 {
                    if let Ok(guest) = enter(tensor.clone(), "guest") {
                        drop(leave(guest, "guest"));
                    }
                }
            });
        }
    });
    let guest = enter(tensor, "last").unwrap();
    drop(leave(guest, "last"));
}
