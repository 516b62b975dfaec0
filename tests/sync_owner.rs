//! Owners of memory that a device may be using while the CPU wants to access it.

use dlbridge::error::Error;
use dlbridge::storage::{Access, SyncOwner};
use dlbridge::{DType, Device, DeviceKind, Storage, Tensor};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Memory of a made-up device, which counts waits and may fail to wait.
struct Pages {
    _bytes: Vec<u8>,
    waits: Arc<AtomicUsize>,
    failure: Option<&'static str>,
}

impl SyncOwner for Pages {
    fn settle(&self) -> Result<(), String> {
        self.waits.fetch_add(1, Ordering::SeqCst);
        self.failure.map_or(Ok(()), |why| Err(why.to_owned()))
    }
}

/// Another type of owner.
struct Other;

impl SyncOwner for Other {
    fn settle(&self) -> Result<(), String> {
        Ok(())
    }
}

fn pages(kind: DeviceKind, failure: Option<&'static str>) -> (Tensor, Arc<AtomicUsize>) {
    let waits = Arc::new(AtomicUsize::new(0));
    let mut bytes = vec![1_u8, 2, 3];
    let (data, nbytes) = (bytes.as_mut_ptr(), bytes.len());
    let owner = Pages {
        _bytes: bytes,
        waits: Arc::clone(&waits),
        failure,
    };
    let device = Device::new(kind, 0);
    // SAFETY: the owner has the bytes until it is dropped, and nothing else uses them.
    let storage =
        unsafe { Storage::from_sync_owner(data, nbytes, device, Access::Exclusive, owner) };
    let tensor = Tensor::from_storage(storage, &[3], DType::U8).unwrap();
    (tensor, waits)
}

#[test]
fn view_of_host_accessible_memory_waits_for_the_owner() {
    let (mut tensor, waits) = pages(DeviceKind::CudaManaged, None);
    assert_eq!(waits.load(Ordering::SeqCst), 0);
    assert_eq!(tensor.to_vec::<u8>().unwrap(), [1, 2, 3]);
    assert_eq!(waits.load(Ordering::SeqCst), 1);
    tensor.view_mut::<u8>().unwrap().fill(4);
    assert_eq!(waits.load(Ordering::SeqCst), 2);
    assert_eq!(tensor.copy().unwrap().to_vec::<u8>().unwrap(), [4; 3]);
    assert_eq!(waits.load(Ordering::SeqCst), 3);
}

#[test]
fn view_fails_if_the_owner_fails_to_wait() {
    let (tensor, _) = pages(DeviceKind::CudaManaged, Some("a kernel failed"));
    let error = tensor.view::<u8>().err().unwrap();
    let Error::InUse { device, reason } = error else {
        panic!("{error}");
    };
    assert_eq!(device, tensor.device());
    assert_eq!(reason, "a kernel failed");
}

#[test]
fn view_of_device_memory_fails_without_a_wait() {
    let (tensor, waits) = pages(DeviceKind::Cuda, None);
    let error = tensor.view::<u8>().err().unwrap();
    assert!(matches!(error, Error::NotOnHost { .. }));
    assert_eq!(waits.load(Ordering::SeqCst), 0);
}

#[test]
fn sync_owner_is_found_by_its_type_from_every_handle() {
    let (tensor, waits) = pages(DeviceKind::CudaManaged, None);
    let part = tensor.storage().slice(1..2);
    for storage in [tensor.storage(), &part] {
        let owner = storage.sync_owner::<Pages>().unwrap();
        assert!(Arc::ptr_eq(&owner.waits, &waits));
        assert!(storage.sync_owner::<Other>().is_none());
        assert_eq!(storage.access(), Access::Exclusive);
    }
    let plain = Storage::from_vec(vec![1_u8]);
    assert!(plain.sync_owner::<Pages>().is_none());
}
