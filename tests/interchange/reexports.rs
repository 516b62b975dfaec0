//! Exports of imports: the first producer's memory lives as long as anything in the chain.
//!
//! Every second link of a chain is another library, which hands on what it takes over.

use crate::foreign::{Counter, ForeignAbi, Producer};
use dlbridge::dlpack::{Flags, Legacy, Managed, Versioned};
use dlbridge::{Device, DeviceKind, Tensor};

for_both_abis!(
    a_reexport_keeps_the_producer_alive,
    a_moved_reexport_keeps_the_producer_alive,
    a_chain_of_shared_exports_ends_with_its_last_link,
    a_chain_of_moved_exports_is_one_handle,
);

fn imported<A: ForeignAbi>(deletions: &Counter) -> Tensor {
    Tensor::from_dlpack(Producer::two_rows().hand_out::<A>(deletions)).unwrap()
}

fn a_reexport_keeps_the_producer_alive<A: ForeignAbi>() {
    let deletions = Counter::default();
    let tensor = imported::<A>(&deletions);
    let exported = tensor.to_dlpack_as::<A>().unwrap();
    drop(tensor);
    assert_eq!(deletions.count(), 0);
    drop(exported);
    assert_eq!(deletions.count(), 1);
}

fn a_moved_reexport_keeps_the_producer_alive<A: ForeignAbi>() {
    let deletions = Counter::default();
    let exported = imported::<A>(&deletions).into_dlpack_as::<A>().unwrap();
    assert_eq!(deletions.count(), 0);
    let back = Tensor::from_dlpack(exported).unwrap();
    assert_eq!(
        back.to_vec::<f32>().unwrap(),
        [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    );
    drop(back);
    assert_eq!(deletions.count(), 1);
}

/// Another library takes an export over, hands it on as its own, and we take that over.
fn by_way_of_another<A: ForeignAbi>(managed: Managed<A>) -> Tensor {
    let counter = Counter::default();
    let managed = Producer::relay(managed).hand_out::<A>(&counter);
    Tensor::from_dlpack(managed).unwrap()
}

/// One more export and import. Versioned and legacy take turns.
fn link(tensor: &Tensor, i: usize) -> Tensor {
    if i.is_multiple_of(2) {
        by_way_of_another(tensor.to_dlpack_as::<Legacy>().unwrap())
    } else {
        by_way_of_another(tensor.to_dlpack_as::<Versioned>().unwrap())
    }
}

fn a_chain_of_shared_exports_ends_with_its_last_link<A: ForeignAbi>() {
    // Which link is dropped last must not matter; nor must it if all but one go at once.
    for last in 0..6 {
        let deletions = Counter::default();
        let mut chain = vec![imported::<A>(&deletions)];
        for i in 0..5 {
            chain.push(link(&chain[i], i));
        }
        let (data, shape) = (chain[0].data_ptr(), chain[0].shape().to_vec());
        let survivor = chain.swap_remove(last);
        drop(chain);
        assert_eq!(deletions.count(), 0);
        assert_eq!(survivor.data_ptr(), data);
        assert_eq!(survivor.shape(), shape);
        assert_eq!(last_element(&survivor), 5.0);
        drop(survivor);
        assert_eq!(deletions.count(), 1);
    }
}

fn a_chain_of_moved_exports_is_one_handle<A: ForeignAbi>() {
    let deletions = Counter::default();
    let mut tensor = imported::<A>(&deletions);
    let data = tensor.data_ptr();
    for _ in 0..5 {
        tensor = by_way_of_another(tensor.into_dlpack_as::<A>().unwrap());
        assert_eq!(tensor.storage().handles(), 1);
    }
    assert_eq!((tensor.data_ptr(), deletions.count()), (data, 0));
    assert_eq!(last_element(&tensor), 5.0);
    drop(tensor);
    assert_eq!(deletions.count(), 1);
}

/// The last element: still readable, as Miri confirms.
fn last_element(tensor: &Tensor) -> f32 {
    *tensor.view::<f32>().unwrap().iter().last().unwrap()
}

#[test]
fn views_of_an_import_keep_it_alive() {
    let deletions = Counter::default();
    let tensor = imported::<Versioned>(&deletions);
    let row = tensor.select(0, 1).unwrap();
    let column = row.slice(0, 2..).unwrap();
    drop((tensor, row));
    assert_eq!(deletions.count(), 0);
    assert_eq!(column.item::<f32>().unwrap(), 5.0);
    let exported = column.into_dlpack();
    assert_eq!(deletions.count(), 0);
    drop(exported);
    assert_eq!(deletions.count(), 1);
}

#[test]
fn read_only_survives_a_chain() {
    let deletions = Counter::default();
    let mut producer = Producer::two_rows();
    producer.flags = Flags::READ_ONLY;
    let mut tensor = Tensor::from_dlpack(producer.hand_out::<Versioned>(&deletions)).unwrap();
    for i in 0..5 {
        let managed = if i % 2 == 0 {
            tensor.to_dlpack()
        } else {
            tensor.into_dlpack()
        };
        assert_eq!(managed.flags(), Flags::READ_ONLY);
        tensor = by_way_of_another(managed);
        assert!(tensor.is_read_only());
        assert!(tensor.to_dlpack_as::<Legacy>().is_err());
    }
}

#[test]
fn reexport_of_copy_is_flagged_only_while_unique() {
    let deletions = Counter::default();
    let mut producer = Producer::two_rows();
    producer.flags = Flags::IS_COPIED;
    let mut tensor = Tensor::from_dlpack(producer.hand_out::<Versioned>(&deletions)).unwrap();
    for _ in 0..5 {
        assert!(tensor.is_copied());
        let managed = tensor.into_dlpack();
        assert_eq!(managed.flags(), Flags::IS_COPIED);
        tensor = by_way_of_another(managed);
    }
    tensor.view_mut::<f32>().unwrap().fill(9.0);

    let shared = tensor.to_dlpack();
    assert_eq!(shared.flags(), Flags::empty());
    let consumer = by_way_of_another(shared);
    assert!(!consumer.is_copied());
    let moved = tensor.into_dlpack();
    assert_eq!(
        moved.flags(),
        Flags::empty(),
        "the consumer above has it too"
    );
    assert_eq!(consumer.to_vec::<f32>().unwrap(), [9.0; 6]);
    drop((consumer, moved));
    assert_eq!(deletions.count(), 1);
}

#[test]
fn reexport_of_shared_import_is_not_flagged_as_copied() {
    let deletions = Counter::default();
    let managed: Managed<Versioned> = imported::<Versioned>(&deletions).into_dlpack();
    assert_eq!(managed.flags(), Flags::empty());
}

#[test]
fn reexport_drops_unknown_flags() {
    let deletions = Counter::default();
    let mut producer = Producer::two_rows();
    producer.flags = Flags::from_bits_retain(1 << 40 | 1 << 63) | Flags::READ_ONLY;
    let managed = producer.hand_out::<Versioned>(&deletions);
    let tensor = Tensor::from_dlpack(managed).unwrap();
    // What they promise is not known, so they are not ours to promise.
    assert_eq!(tensor.into_dlpack().flags(), Flags::READ_ONLY);
}

#[test]
fn reexport_keeps_handle_and_offset() {
    let deletions = Counter::default();
    for &kind in DeviceKind::ALL {
        let mut producer = Producer::two_rows();
        producer.device = Device::new(kind, 0).into();
        producer.byte_offset = 8;
        let data = producer.data;
        let managed = producer.hand_out::<Versioned>(&deletions);
        let tensor = Tensor::from_dlpack(managed).unwrap();
        let managed = tensor.slice(1, 1..).unwrap().to_dlpack();
        let descriptor = managed.descriptor();
        if kind.has_addresses() {
            assert_eq!(descriptor.data, data.wrapping_byte_add(12), "{kind:?}");
            assert_eq!(descriptor.byte_offset, 0, "{kind:?}");
        } else {
            assert_eq!(descriptor.data, data, "{kind:?}");
            assert_eq!(descriptor.byte_offset, 12, "{kind:?}");
        }
    }
    assert_eq!(deletions.count(), DeviceKind::ALL.len());
}
