//! Ownership: the deleter is called exactly once, whatever happens in between.

use dlbridge_dlpack::*;
use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// An owner that counts its drops, and can panic in them.
struct Owner {
    drops: Arc<AtomicUsize>,
    panics: bool,
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.drops.fetch_add(1, SeqCst);
        if self.panics {
            std::panic::panic_any(Owner {
                drops: Arc::clone(&self.drops),
                panics: false,
            });
        }
    }
}

fn exported<A: Abi>(
    shape: &[usize],
    strides: &[isize],
    panics: bool,
) -> (Managed<A>, Arc<AtomicUsize>) {
    let drops = Arc::new(AtomicUsize::new(0));
    let owner = Owner {
        drops: Arc::clone(&drops),
        panics,
    };
    let description = Description {
        data: ptr::dangling_mut::<u64>().cast(),
        device: DLDevice::CPU,
        dtype: DLDataType::F32,
        shape,
        strides,
        byte_offset: 0,
        flags: Flags::READ_ONLY | Flags::IS_COPIED,
    };
    // SAFETY: these tests don't read the memory.
    (unsafe { export(&description, owner) }, drops)
}

fn exports_keep_what_they_are_given<A: Abi>() {
    for rank in [0, 1, 2, 6, 7, 64, 255] {
        let shape: Vec<usize> = (0..rank).map(|axis| axis + 2).collect();
        let strides: Vec<isize> = (0..rank as isize).map(|axis| 7 - axis).collect();
        let (managed, drops) = exported::<A>(&shape, &strides, false);
        let descriptor = managed.descriptor();
        assert_eq!(descriptor.ndim as usize, rank);
        assert!(!descriptor.shape.is_null() && !descriptor.strides.is_null());
        for axis in 0..rank {
            // SAFETY: an export holds as many numbers as its rank says.
            let (size, stride) =
                unsafe { (*descriptor.shape.add(axis), *descriptor.strides.add(axis)) };
            assert_eq!((size, stride), (axis as i64 + 2, 7 - axis as i64));
        }
        assert_eq!(managed.version().is_some(), A::HAS_FLAGS);
        assert_eq!(managed.flags().is_empty(), !A::HAS_FLAGS);
        assert_eq!(drops.load(SeqCst), 0);
        drop(managed);
        assert_eq!(drops.load(SeqCst), 1);
    }
}

#[test]
fn export_keeps_its_owner_in_both_abis() {
    exports_keep_what_they_are_given::<Versioned>();
    exports_keep_what_they_are_given::<Legacy>();
}

#[test]
fn manager_ctx_is_never_null() {
    let (managed, _) = exported::<Versioned>(&[], &[], false);
    // SAFETY: `managed` owns the struct.
    assert!(unsafe { !(*managed.as_ptr()).manager_ctx.is_null() });
    let (managed, _) = exported::<Legacy>(&[], &[], false);
    // SAFETY: `managed` owns the struct.
    assert!(unsafe { !(*managed.as_ptr()).manager_ctx.is_null() });
}

fn ownership_goes_out_and_comes_back<A: Abi>() {
    let (managed, drops) = exported::<A>(&[3], &[1], false);
    let raw = managed.into_raw();
    assert_eq!(drops.load(SeqCst), 0);
    // SAFETY: given away in the line above, to no other code.
    let managed = unsafe { Managed::from_raw(raw.as_ptr()) }.unwrap();
    assert_eq!(managed.as_ptr(), raw.as_ptr());
    drop(managed);
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn ownership_round_trips_in_both_abis() {
    ownership_goes_out_and_comes_back::<Versioned>();
    ownership_goes_out_and_comes_back::<Legacy>();
}

#[test]
fn descriptor_changed_by_consumer_is_released() {
    let (managed, drops) = exported::<Legacy>(&[3, 4], &[4, 1], false);
    // SAFETY: `managed` owns the struct.
    unsafe {
        (*managed.as_ptr()).dl_tensor.ndim = i32::MAX;
        (*managed.as_ptr()).manager_ctx = ptr::null_mut();
    }
    drop(managed);
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn panic_of_owner_in_deleter_is_caught() {
    let (managed, drops) = exported::<Versioned>(&[3], &[1], true);
    drop(managed);
    let owner_and_payload = 2;
    assert_eq!(drops.load(SeqCst), owner_and_payload);
}

#[test]
fn panic_of_panic_payload_in_deleter_is_caught() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            DROPS.fetch_add(1, SeqCst);
            // Of no size: the second payload has to be forgotten, and this one leaks nothing.
            std::panic::panic_any(());
        }
    }
    contain_panics(|| std::panic::panic_any(Bomb));
    assert_eq!(DROPS.load(SeqCst), 1);
}

#[test]
fn from_raw_refuses_null() {
    // SAFETY: NULL is allowed.
    let error = unsafe { Managed::<Versioned>::from_raw(ptr::null_mut()) }.unwrap_err();
    assert_eq!(error, FromRawError::Null);
    assert_eq!(
        error.to_string(),
        "the pointer to the managed tensor is NULL"
    );
}

/// What stays of a versioned struct in a future major version: the fields that DLPack keeps.
#[repr(C)]
struct FutureHeader {
    version: DLPackVersion,
    manager_ctx: *mut c_void,
    deleter: Option<Deleter<Versioned>>,
    flags: u64,
}

unsafe extern "C" fn delete_future_header(this: *mut Versioned) {
    // SAFETY: the test below boxed it, and gives it away once.
    let header = unsafe { Box::from_raw(this.cast::<FutureHeader>()) };
    // SAFETY: the test's counter outlives the header.
    unsafe { &*header.manager_ctx.cast::<AtomicUsize>() }.fetch_add(1, SeqCst);
}

#[test]
fn foreign_major_version_is_released_unread() {
    for major in [0, 2, u32::MAX] {
        let calls = AtomicUsize::new(0);
        let found = DLPackVersion { major, minor: 7 };
        let header = Box::into_raw(Box::new(FutureHeader {
            version: found,
            manager_ctx: (&raw const calls).cast_mut().cast(),
            deleter: Some(delete_future_header),
            flags: 0,
        }));
        // SAFETY: it is given away; there is no tensor behind the header, so that Miri would see
        // a read of one.
        let error = unsafe { Managed::<Versioned>::from_raw(header.cast()) }.unwrap_err();
        assert_eq!(error, FromRawError::Version { found });
        assert_eq!(calls.load(SeqCst), 1);
        assert_eq!(
            error.to_string(),
            format!(
                "the tensor speaks DLPack {major}.7, and this library 1.3: \
                 the major versions must match"
            )
        );
    }
}

#[test]
fn newer_minor_version_is_accepted() {
    let (managed, drops) = exported::<Versioned>(&[3], &[1], false);
    let raw = managed.into_raw().as_ptr();
    // SAFETY: no other code has it.
    unsafe { (*raw).version.minor = 99 };
    // SAFETY: given away above.
    let managed = unsafe { Managed::from_raw(raw) }.unwrap();
    assert_eq!(managed.version().unwrap().minor, 99);
    drop(managed);
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn null_deleter_is_not_called() {
    let mut managed = Versioned {
        version: VERSION,
        manager_ctx: ptr::null_mut(),
        deleter: None,
        flags: Flags::empty(),
        dl_tensor: *exported::<Legacy>(&[], &[], false).0.descriptor(),
    };
    // SAFETY: the struct outlives the owner, which doesn't follow its pointers.
    let owner = unsafe { Managed::from_raw(&raw mut managed) }.unwrap();
    drop(owner);
    assert!(managed.deleter.is_none());
}

#[test]
fn dlpark_round_trip_shares_memory() {
    let (managed, drops) = exported::<Versioned>(&[2, 3], &[3, 1], false);
    let ptr = managed.as_ptr();
    let theirs: dlpark::Managed<Versioned> = managed.into();
    assert_eq!(theirs.as_ptr(), ptr);
    assert_eq!(theirs.validate().unwrap().shape(), &[2, 3]);
    // SAFETY: it is one of ours.
    let ours = unsafe { Managed::from_dlpark(theirs) }.unwrap();
    assert_eq!((ours.as_ptr(), drops.load(SeqCst)), (ptr, 0));
    drop(ours);
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn last_handle_on_any_thread_releases() {
    let (managed, drops) = exported::<Versioned>(&[3], &[1], false);
    std::thread::spawn(move || drop(managed)).join().unwrap();
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn debug_shows_the_descriptor() {
    let (managed, _) = exported::<Versioned>(&[3], &[1], false);
    let text = format!("{managed:?}");
    assert!(text.starts_with("DLManagedTensorVersioned"), "{text}");
    assert!(
        text.contains("READ_ONLY") && text.contains("ndim: 1"),
        "{text}"
    );
}
