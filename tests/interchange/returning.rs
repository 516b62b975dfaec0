//! Re-imports of our own exports: unchanged ones are the original tensor, changed ones are
//! validated.

use crate::consumers::counted;
use crate::foreign::{Counter, ForeignAbi, Producer};
use dlbridge::dlpack::{DLTensor, Flags, Managed, Versioned};
use dlbridge::error::LayoutError;
use dlbridge::{DType, Tensor};
use std::ptr;

for_both_abis!(
    unchanged_it_is_what_it_was,
    unchanged_it_is_written_again,
    while_others_have_it_it_is_not_written,
    changed_it_is_what_it_says,
    of_another_type_it_is_of_that_type,
    changed_beyond_sense_it_is_refused,
    handed_on_by_another_library_it_is_foreign,
);

/// What a consumer does to the struct that it owns.
fn change<A: ForeignAbi>(managed: Managed<A>, change: impl FnOnce(&mut DLTensor)) -> Managed<A> {
    let raw = managed.into_raw().as_ptr();
    // SAFETY: given away above, to no other code.
    change(unsafe { &mut *raw }.descriptor_mut());
    // SAFETY: `into_raw` gave ownership away; the tests keep the descriptor valid, or it is
    // refused.
    unsafe { Managed::from_raw(raw) }.unwrap()
}

fn unchanged_it_is_what_it_was<A: ForeignAbi>() {
    let drops = Counter::default();
    let part = counted(&[1_u16, 2, 3, 4], &drops).slice(0, 1..3).unwrap();
    for _ in 0..3 {
        // One that was deleted is not in the way of the next.
        drop(part.to_dlpack_as::<A>().unwrap());
        let back = Tensor::from_dlpack(part.to_dlpack_as::<A>().unwrap()).unwrap();
        assert_eq!(back.data_ptr(), part.data_ptr());
        assert_eq!((back.byte_offset(), back.storage().nbytes()), (2, 8));
        assert_eq!(back.storage().owner_name(), part.storage().owner_name());
    }
    let copy = part.copy().unwrap();
    let back = Tensor::from_dlpack(copy.into_dlpack_as::<A>().unwrap()).unwrap();
    assert!(back.is_copied());
    assert_eq!(drops.count(), 0);
    drop(Tensor::from_dlpack(part.into_dlpack_as::<A>().unwrap()));
    assert_eq!(drops.count(), 1);
}

fn unchanged_it_is_written_again<A: ForeignAbi>() {
    let drops = Counter::default();
    let mut tensor = counted(&[1_u16, 2, 3], &drops);
    for round in 0..3 {
        tensor = Tensor::from_dlpack(tensor.into_dlpack_as::<A>().unwrap()).unwrap();
        // This is the only handle, as before.
        tensor.view_mut::<u16>().unwrap().fill(round);
    }
    assert_eq!(tensor.to_vec::<u16>().unwrap(), [2, 2, 2]);
    drop(tensor);
    assert_eq!(drops.count(), 1);
}

fn while_others_have_it_it_is_not_written<A: ForeignAbi>() {
    let drops = Counter::default();
    let tensor = counted(&[1_u16, 2, 3], &drops);
    let (kept, moved) = (
        tensor.to_dlpack_as::<A>().unwrap(),
        tensor.into_dlpack_as::<A>().unwrap(),
    );
    let mut back = Tensor::from_dlpack(moved).unwrap();
    assert!(back.view_mut::<u16>().is_err(), "a consumer has it too");
    let other = Tensor::from_dlpack(kept).unwrap();
    assert!(back.view_mut::<u16>().is_err());
    assert_eq!(other.to_vec::<u16>().unwrap(), [1, 2, 3]);
    drop((other, back));
    assert_eq!(drops.count(), 1);
}

fn changed_it_is_what_it_says<A: ForeignAbi>() {
    /// A change, and the elements that there are then.
    type Case<'a> = (&'a dyn Fn(&mut DLTensor), &'a [u16]);
    let (mut sizes, mut steps) = ([2, 2], [1, 2]);
    let (theirs, their_steps) = (sizes.as_mut_ptr(), steps.as_mut_ptr());
    let cases: [Case<'_>; 5] = [
        (&|it| it.data = it.data.wrapping_byte_add(2), &[2, 3, 4, 5]),
        (&|it| it.byte_offset = 4, &[3, 4, 5, 6]),
        (&|it| it.strides = ptr::null_mut(), &[1, 2, 3, 4]),
        (&|it| it.ndim = 0, &[1]),
        (
            &|it| (it.ndim, it.shape, it.strides) = (2, theirs, their_steps),
            &[1, 3, 2, 4],
        ),
    ];
    for (case, (apply, expected)) in cases.into_iter().enumerate() {
        let drops = Counter::default();
        let tensor = counted(&[1_u16, 2, 3, 4, 5, 6], &drops);
        let export = tensor.slice(0, ..4).unwrap().into_dlpack_as::<A>().unwrap();
        drop(tensor);
        let mut back = Tensor::from_dlpack(change(export, apply)).unwrap();
        assert_eq!(back.to_vec::<u16>().unwrap(), expected, "case {case}");
        assert!(
            back.view_mut::<u16>().is_err(),
            "case {case}: not ours alone"
        );
        assert_eq!(drops.count(), 0, "case {case}");
        drop(back);
        assert_eq!(drops.count(), 1, "case {case}");
    }
}

fn of_another_type_it_is_of_that_type<A: ForeignAbi>() {
    let drops = Counter::default();
    let export = counted(&[0x3c00_u16, 0], &drops)
        .into_dlpack_as::<A>()
        .unwrap();
    let managed = change(export, |it| it.dtype = DType::F16.into());
    let back = Tensor::from_dlpack(managed).unwrap();
    let one_and_zero = [half::f16::ONE, half::f16::ZERO];
    assert_eq!(back.to_vec::<half::f16>().unwrap(), one_and_zero);
    drop(back);
    assert_eq!(drops.count(), 1);
}

fn changed_beyond_sense_it_is_refused<A: ForeignAbi>() {
    let drops = Counter::default();
    let tensor = counted(&[1_u16, 2, 3], &drops);
    for last in [false, true] {
        let export = tensor.to_dlpack_as::<A>().unwrap();
        let managed = change(export, |it| it.ndim = -1);
        if last {
            drop(tensor.clone());
        }
        let error = Tensor::from_dlpack(managed).unwrap_err();
        assert_eq!(error, LayoutError::NegativeRank { rank: -1 }.into());
        assert_eq!(tensor.storage().handles(), 1);
    }
    let managed = change(tensor.into_dlpack_as::<A>().unwrap(), |it| {
        it.dtype.lanes = 0
    });
    assert_eq!(drops.count(), 0);
    assert!(Tensor::from_dlpack(managed).is_err());
    assert_eq!(drops.count(), 1);
}

fn handed_on_by_another_library_it_is_foreign<A: ForeignAbi>() {
    let (drops, deletions) = (Counter::default(), Counter::default());
    let tensor = counted(&[1_u16, 2, 3], &drops);
    let relay = Producer::relay(tensor.into_dlpack_as::<A>().unwrap());
    let mut back = Tensor::from_dlpack(relay.hand_out::<A>(&deletions)).unwrap();
    assert!(back.view_mut::<u16>().is_err(), "that library may use it");
    assert_eq!(back.to_vec::<u16>().unwrap(), [1, 2, 3]);
    assert_eq!((drops.count(), deletions.count()), (0, 0));
    drop(back);
    assert_eq!((drops.count(), deletions.count()), (1, 1));
}

#[test]
fn reimport_with_read_only_flag_is_read_only() {
    let drops = Counter::default();
    let raw = counted(&[1_u16, 2, 3], &drops)
        .into_dlpack()
        .into_raw()
        .as_ptr();
    // SAFETY: given away above, to no other code.
    unsafe { (*raw).flags |= Flags::READ_ONLY };
    // SAFETY: `into_raw` gave ownership away, and the struct is still valid.
    let managed = unsafe { Managed::<Versioned>::from_raw(raw) }.unwrap();
    let mut back = Tensor::from_dlpack(managed).unwrap();
    assert!(back.is_read_only() && back.view_mut::<u16>().is_err());
    drop(back);
    assert_eq!(drops.count(), 1);
}

#[test]
fn reimport_without_read_only_flag_stays_read_only() {
    let drops = Counter::default();
    let read_only = counted(&[1_u16, 2, 3], &drops).into_read_only();
    let raw = read_only.to_dlpack().into_raw().as_ptr();
    // SAFETY: given away above, to no other code.
    unsafe { (*raw).flags = Flags::empty() };
    // SAFETY: `into_raw` gave ownership away, the struct is still valid, and no code writes.
    let managed = unsafe { Managed::<Versioned>::from_raw(raw) }.unwrap();
    let mut back = Tensor::from_dlpack(managed).unwrap();
    assert!(back.view_mut::<u16>().is_err());
    drop((back, read_only));
    assert_eq!(drops.count(), 1);
}
