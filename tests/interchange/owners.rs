//! Owners of memory are dropped once, after the last user, also if they panic in `drop`.

use crate::foreign::{Counter, ForeignAbi, Producer};
use dlbridge::{DType, Device, Storage, Tensor};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

for_both_abis!(
    a_panic_in_an_owner_ends_at_the_deleter,
    an_owner_outlives_every_export,
);

/// What a witness panics with. A deleter that contains a panic leaks what it carries: this is
/// nothing, so that Miri finds no leak.
struct WitnessPanics;

/// An owner of numbers that counts its drops, and can panic in them. The array makes it larger or
/// smaller, as small owners are kept elsewhere than large ones.
struct Witness<const SIZE: usize> {
    /// A box would be the only way to its content as Rust sees it, and so must not be moved once
    /// a storage points there.
    numbers: Vec<u16>,
    drops: Counter,
    panics: bool,
    _size: [u64; SIZE],
}

impl<const SIZE: usize> Witness<SIZE> {
    fn new(drops: &Counter, panics: bool) -> Self {
        Self {
            numbers: vec![1, 2, 3, 4],
            drops: drops.clone(),
            panics,
            _size: [0; SIZE],
        }
    }
}

impl<const SIZE: usize> AsRef<[u16]> for Witness<SIZE> {
    fn as_ref(&self) -> &[u16] {
        &self.numbers
    }
}

impl<const SIZE: usize> AsMut<[u16]> for Witness<SIZE> {
    fn as_mut(&mut self) -> &mut [u16] {
        &mut self.numbers
    }
}

impl<const SIZE: usize> Drop for Witness<SIZE> {
    fn drop(&mut self) {
        self.drops.add();
        if self.panics {
            // Unlike `panic!`, this prints nothing.
            std::panic::resume_unwind(Box::new(WitnessPanics));
        }
    }
}

/// The same numbers kept in every way that there is.
fn tensors_of_witnesses(drops: &Counter, panics: bool) -> [Tensor; 4] {
    let witness = Witness::<0>::new(drops, panics);
    let data = witness.numbers.as_ptr().cast_mut().cast();
    // SAFETY: the closure owns the numbers; no code writes them.
    let raw = unsafe { Storage::from_raw(data, 8, Device::CPU, move || drop(witness)) };
    [
        Storage::from_owner(Witness::<0>::new(drops, panics)),
        Storage::from_owner(Witness::<20>::new(drops, panics)),
        Storage::from_owner_mut(Witness::<0>::new(drops, panics)),
        raw.into_read_only(),
    ]
    .map(|storage| Tensor::from_storage(storage, &[4], DType::U16).unwrap())
}

/// Drops, and tells whether that panicked with what a witness panics with.
fn drop_panics<T>(value: T) -> bool {
    match catch_unwind(AssertUnwindSafe(|| drop(value))) {
        Ok(()) => false,
        Err(payload) => payload.is::<WitnessPanics>(),
    }
}

#[test]
fn owner_is_dropped_after_its_last_user() {
    let drops = Counter::default();
    for (i, tensor) in tensors_of_witnesses(&drops, false).into_iter().enumerate() {
        let part = tensor.slice(0, 2..).unwrap();
        let clone = tensor.clone();
        drop((tensor, clone));
        assert_eq!(drops.count(), i);
        assert_eq!(part.to_vec::<u16>().unwrap(), [3, 4]);
        drop(part);
        assert_eq!(drops.count(), i + 1);
    }
}

fn an_owner_outlives_every_export<A: ForeignAbi>() {
    let drops = Counter::default();
    let storage = Storage::from_owner_mut(Witness::<3>::new(&drops, false));
    let tensor = Tensor::from_storage(storage, &[4], DType::U16).unwrap();
    let exports = [(); 3].map(|()| tensor.to_dlpack_as::<A>().unwrap());
    drop(tensor);
    for export in exports {
        assert_eq!(drops.count(), 0);
        drop(export);
    }
    assert_eq!(drops.count(), 1);
}

#[test]
fn a_panic_in_an_owner_propagates_and_nothing_is_dropped_twice() {
    let drops = Counter::default();
    for (i, tensor) in tensors_of_witnesses(&drops, true).into_iter().enumerate() {
        let weak = tensor.storage().downgrade();
        let clone = tensor.clone();
        assert!(!drop_panics(tensor), "another handle is left");
        assert_eq!(drops.count(), i);
        assert!(drop_panics(clone));
        assert_eq!(drops.count(), i + 1);
        assert!(weak.upgrade().is_none());
    }
}

fn a_panic_in_an_owner_ends_at_the_deleter<A: ForeignAbi>() {
    let drops = Counter::default();
    for panics in [false, true] {
        let storage = Storage::from_owner_mut(Witness::<0>::new(&drops, panics));
        let tensor = Tensor::from_storage(storage, &[4], DType::U16).unwrap();
        assert!(!drop_panics(tensor.into_dlpack_as::<A>().unwrap()));
    }
    assert_eq!(drops.count(), 2);

    // Of several exports that were out at once, any can be the last one.
    for last in 0..2 {
        let storage = Storage::from_owner_mut(Witness::<0>::new(&drops, true));
        let tensor = Tensor::from_storage(storage, &[4], DType::U16).unwrap();
        let mut exports = vec![tensor.to_dlpack_as::<A>().unwrap()];
        exports.push(tensor.into_dlpack_as::<A>().unwrap());
        let last = exports.remove(last);
        assert!(!drop_panics(exports));
        assert!(!drop_panics(last));
    }
    assert_eq!(drops.count(), 4);

    // After an exchange through a foreign library, the deleter contains the owner and its panic.
    let storage = Storage::from_owner_mut(Witness::<20>::new(&drops, true));
    let tensor = Tensor::from_storage(storage, &[4], DType::U16).unwrap();
    let relay = Producer::relay(tensor.into_dlpack_as::<A>().unwrap());
    let back = Tensor::from_dlpack(relay.hand_out::<A>(&Counter::default())).unwrap();
    assert!(!drop_panics((back.clone(), back)));
    assert_eq!(drops.count(), 5);
}

#[test]
fn a_panic_in_an_owner_at_a_refusal_propagates() {
    let drops = Counter::default();
    let storage = Storage::from_owner(Witness::<0>::new(&drops, true));
    // Sizes that can't be: an error without an allocation, which a panicking drop would leak.
    let sizes = [usize::MAX, 2];
    let refused = catch_unwind(|| Tensor::from_storage(storage, &sizes, DType::U16).is_err());
    assert!(refused.is_err());
    assert_eq!(drops.count(), 1);
}

#[test]
fn raw_memory_is_released_once() {
    let drops = Counter::default();
    let (counter, mut memory) = (drops.clone(), vec![7_u8; 4]);
    let data = memory.as_mut_ptr();
    let release = move || {
        counter.add();
        drop(memory);
    };
    // SAFETY: a vector that moves keeps its memory where it is, and the closure does nothing
    // with it but free it.
    let storage = unsafe { Storage::from_raw(data, 4, Device::CPU, release) };
    assert_eq!(
        (storage.data_ptr(), storage.nbytes()),
        (data.cast_const(), 4)
    );
    let tensor = Tensor::from_storage(storage.slice(1..3), &[2], DType::U8).unwrap();
    assert_eq!(tensor.data_ptr(), data.wrapping_add(1));
    drop(storage);
    assert_eq!(drops.count(), 0);
    drop(tensor.into_dlpack());
    assert_eq!(drops.count(), 1);
}

/// Elements inside the owner itself.
struct Inline([f64; 3]);

impl AsRef<[f64]> for Inline {
    fn as_ref(&self) -> &[f64] {
        &self.0
    }
}

#[test]
fn owners_of_every_kind_share_their_memory() {
    const NUMBERS: [f64; 3] = [1.0, 2.0, 3.0];
    static STATIC: [f64; 3] = NUMBERS;

    fn check(storage: Storage, data: Option<*const f64>) {
        assert!(storage.is_read_only());
        if let Some(data) = data {
            assert_eq!(storage.data_ptr().cast(), data);
        }
        let tensor = Tensor::from_storage(storage, &[3], DType::F64).unwrap();
        let back = Tensor::from_dlpack(tensor.clone().into_dlpack()).unwrap();
        drop(tensor);
        assert_eq!(back.to_vec::<f64>().unwrap(), NUMBERS);
    }

    let vec = NUMBERS.to_vec();
    let data = vec.as_ptr();
    check(Storage::from_owner(vec), Some(data));

    let boxed: Box<[f64]> = Box::new(NUMBERS);
    let data = boxed.as_ptr();
    check(Storage::from_owner(boxed), Some(data));

    let shared: Arc<[f64]> = Arc::new(NUMBERS);
    let storage = Storage::from_owner(Arc::clone(&shared));
    assert_eq!(Arc::strong_count(&shared), 2);
    check(storage, Some(shared.as_ptr()));
    assert_eq!(Arc::strong_count(&shared), 1);

    check(Storage::from_owner(&STATIC[..]), Some(STATIC.as_ptr()));

    // These move into the storage, and are looked at there.
    check(Storage::from_owner(Inline(NUMBERS)), None);
    check(Storage::from_owner(NUMBERS), None);
}

#[test]
fn vec_keeps_its_allocation() {
    let mut vec = Vec::with_capacity(100);
    vec.extend([1_u32, 2, 3]);
    let data = vec.as_ptr();
    let mut tensor = Tensor::from(vec);
    assert_eq!(tensor.data_ptr().cast(), data);
    assert_eq!(tensor.storage().nbytes(), 12);
    tensor.view_mut::<u32>().unwrap()[[2]] = 9;
    assert_eq!(tensor.to_vec::<u32>().unwrap(), [1, 2, 9]);
}

#[test]
fn mutable_owner_is_written_in_place() {
    let drops = Counter::default();
    let owner = Witness::<0>::new(&drops, false);
    let data = owner.numbers.as_ptr();
    let storage = Storage::from_owner_mut(owner);
    assert_eq!(storage.data_ptr().cast(), data);
    let mut tensor = Tensor::from_storage(storage, &[2, 2], DType::U16).unwrap();
    tensor.view_mut::<u16>().unwrap()[[1, 1]] = 40;
    let back = Tensor::from_dlpack(tensor.into_dlpack()).unwrap();
    assert_eq!(back.to_vec::<u16>().unwrap(), [1, 2, 3, 40]);
    drop(back);
    assert_eq!(drops.count(), 1);
}
