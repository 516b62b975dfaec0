//! Handles to memory: how many there are, parts of it, and those that don't keep it alive.

use crate::foreign::{Counter, ForeignAbi, Producer};
use dlbridge::dlpack::Versioned;
use dlbridge::{DType, Device, DeviceKind, Storage, Tensor, WeakStorage};
use std::panic::{AssertUnwindSafe, catch_unwind};

for_both_abis!(
    handles_to_an_import_are_counted,
    weak_handles_see_an_import_go,
    a_part_keeps_the_whole_import_alive,
);

fn imported<A: ForeignAbi>(deletions: &Counter) -> Tensor {
    Tensor::from_dlpack(Producer::two_rows().hand_out::<A>(deletions)).unwrap()
}

fn handles_to_an_import_are_counted<A: ForeignAbi>() {
    let deletions = Counter::default();
    let tensor = imported::<A>(&deletions);
    assert_eq!(tensor.storage().handles(), 1);
    let part = tensor.slice(1, ..1).unwrap();
    assert_eq!(tensor.storage().handles(), 2);
    let exported = part.into_dlpack_as::<A>().unwrap();
    assert_eq!(tensor.storage().handles(), 2, "the part became the export");
    let relayed = Producer::relay(exported).hand_out::<A>(&Counter::default());
    let back = Tensor::from_dlpack(relayed).unwrap();
    assert_eq!(tensor.storage().handles(), 2);
    assert_eq!(
        back.storage().handles(),
        1,
        "the other side counts for itself"
    );
    drop(back);
    assert_eq!(tensor.storage().handles(), 1);
    assert_eq!(deletions.count(), 0);
    drop(tensor);
    assert_eq!(deletions.count(), 1);
}

fn weak_handles_see_an_import_go<A: ForeignAbi>() {
    let deletions = Counter::default();
    let tensor = imported::<A>(&deletions);
    let weak = tensor.storage().downgrade();
    let upgraded = weak.upgrade().unwrap();
    assert_eq!(upgraded.data_ptr(), tensor.storage().data_ptr());
    assert_eq!(upgraded.nbytes(), 24);
    assert_eq!(upgraded.handles(), 2, "a weak one doesn't count");
    drop(tensor);
    assert_eq!(deletions.count(), 0, "what was upgraded keeps it alive");
    let exported = Tensor::from_storage(upgraded, &[6], DType::F32)
        .unwrap()
        .into_dlpack_as::<A>()
        .unwrap();
    let again = weak.upgrade().unwrap();
    drop(exported);
    assert_eq!(deletions.count(), 0);
    drop(again);
    assert_eq!(deletions.count(), 1);
    assert!(weak.upgrade().is_none() && weak.clone().upgrade().is_none());
}

fn a_part_keeps_the_whole_import_alive<A: ForeignAbi>() {
    let deletions = Counter::default();
    let tensor = imported::<A>(&deletions);
    let root = tensor.data_ptr();
    let part = tensor.storage().slice(4..20).slice(4..12);
    drop(tensor);
    assert_eq!(deletions.count(), 0);
    assert_eq!(part.data_ptr(), root.wrapping_add(8));
    let tensor = Tensor::from_storage(part, &[2], DType::F32).unwrap();
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [2.0, 3.0]);
    drop(tensor);
    assert_eq!(deletions.count(), 1);
}

#[test]
fn part_of_handle_has_its_bytes() {
    let storage = Storage::from_vec(vec![0_u8, 1, 2, 3, 4, 5, 6, 7]);
    let part = storage.slice(2..6);
    assert_eq!((part.nbytes(), part.handles()), (4, 2));
    let available = |error: dlbridge::Error| error.to_string();
    let error = Tensor::from_storage(part.clone(), &[5], DType::U8).unwrap_err();
    assert!(available(error).ends_with("need 5 bytes, and there are 4"));
    let tensor = Tensor::from_storage(part, &[2, 2], DType::U8).unwrap();
    assert_eq!(tensor.to_vec::<u8>().unwrap(), [2, 3, 4, 5]);
    assert_eq!(storage.slice(8..8).nbytes(), 0);
}

#[test]
fn part_out_of_bounds_panics() {
    let storage = Storage::from_vec(vec![0_u8; 8]);
    #[allow(clippy::reversed_empty_ranges, reason = "that is what is refused")]
    for range in [0..9, 9..9, 5..4, 8..usize::MAX] {
        let slice = catch_unwind(AssertUnwindSafe(|| storage.slice(range.clone())));
        assert!(slice.is_err(), "{range:?}");
    }
    // SAFETY: no code reads behind the handle.
    let handle = unsafe {
        let device = Device::new(DeviceKind::Metal, 0);
        Storage::from_raw(std::ptr::dangling_mut(), 8, device, || {})
    };
    assert!(catch_unwind(AssertUnwindSafe(|| handle.slice(0..4))).is_err());
    assert_eq!((storage.handles(), handle.handles()), (1, 1));
}

#[test]
fn last_part_of_handle_is_writable() {
    let storage = Storage::from_vec(vec![1_u8, 2, 3, 4]);
    let mut low = Tensor::from_storage(storage.slice(0..2), &[2], DType::U8).unwrap();
    let high = Tensor::from_storage(storage.slice(2..4), &[2], DType::U8).unwrap();
    drop(storage);
    // They don't overlap, but that isn't looked at: the rule is one handle to the memory.
    assert!(low.view_mut::<u8>().is_err());
    drop(high);
    low.view_mut::<u8>().unwrap().fill(0);
}

#[test]
fn weak_handle_describes_its_storage() {
    let storage = Storage::from_vec(vec![1_u16, 2, 3, 4]);
    let weak: WeakStorage = storage.slice(2..6).into_read_only().downgrade();
    let upgraded = weak.upgrade().unwrap();
    assert!(upgraded.is_read_only() && !storage.is_read_only());
    assert_eq!(upgraded.nbytes(), 4);
    assert_eq!(upgraded.data_ptr(), storage.data_ptr().wrapping_add(2));
    drop((storage, upgraded));
    assert!(weak.upgrade().is_none());
}

#[test]
fn static_memory_has_handles() {
    let mut empty = Tensor::zeros(&[0], DType::F32).unwrap();
    let weak = empty.storage().downgrade();
    assert!(empty.view_mut::<f32>().is_err());
    assert!(weak.upgrade().is_some());
    let managed = empty.clone().into_dlpack();
    drop(empty);
    assert!(weak.upgrade().is_some());
    drop(managed);
    assert!(weak.upgrade().is_none());
}

#[test]
fn owner_has_a_name() {
    let tensor = Tensor::from(vec![1_u8]);
    assert!(tensor.storage().owner_name().contains("Vec<u8>"));
    let imported = imported::<Versioned>(&Counter::default());
    assert!(imported.storage().owner_name().contains("Managed"));
    let text = format!("{:?}", imported.storage());
    assert!(
        text.contains("Shared") && text.contains("handles: 1"),
        "{text}"
    );
}
