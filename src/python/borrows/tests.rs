//! Tests of the lists without Python, which Miri runs.

use super::*;
use crate::device::Device;
use crate::dlpack::{DLDevice, DLDeviceType, DLTensor, Flags};
use crate::dtype::DType;
use crate::error::Error;
use crate::interchange::Usual;
use crate::python::borrows::Aligned;
use crate::tensor::Tensor;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard};
use std::thread;

/// In place of the GIL.
static ATTACHED: Mutex<()> = Mutex::new(());

fn attach() -> MutexGuard<'static, ()> {
    ATTACHED.lock().unwrap_or_else(|poison| poison.into_inner())
}

/// Returns an entry that is about a tensor's memory, filled.
fn filled(tensor: &Tensor) -> NonNull<Entry> {
    // SAFETY: the test holds the lock that stands in for the GIL, and the entry alone.
    unsafe {
        let mut entry = blank();
        entry.as_mut().borrow_tensor(tensor).unwrap();
        entry
    }
}

/// Enters one, or gives it back.
fn entered(tensor: &Tensor, is_written: bool) -> Option<NonNull<Entry>> {
    let entry = filled(tensor);
    // SAFETY: the test holds the lock that stands in for the GIL; the entry was filled.
    unsafe {
        if enter(entry, is_written) {
            return Some(entry);
        }
        give_back(entry);
        None
    }
}

fn left(entry: NonNull<Entry>) {
    // SAFETY: the test holds the lock that stands in for the GIL, and the entry is in use.
    unsafe { leave(entry) }
}

fn numbers() -> Tensor {
    Tensor::from_vec((0..12).collect::<Vec<i32>>(), &[3, 4]).unwrap()
}

/// Registers a tensor as kept.
fn kept(tensor: &Tensor) -> Tensor {
    let entry = entered(tensor, false).unwrap();
    // SAFETY: an entry in use stays allocated.
    let kept = hold(unsafe { entry.as_ref() }, tensor.clone());
    left(entry);
    kept
}

#[test]
fn references_to_an_entry_outlast_changes_of_its_neighbours() {
    let _attached = attach();
    let (a, b, c) = (numbers(), numbers(), numbers());
    let first = entered(&a, false).unwrap();
    let middle = entered(&b, true).unwrap();
    // SAFETY: an entry in use stays, and only shared references to it are made.
    let (entry, layout) = unsafe { (middle.as_ref(), middle.as_ref().layout()) };
    let last = entered(&c, false).unwrap();
    left(first);
    let first = entered(&a, false).unwrap();
    left(last);
    assert!(entered(&b, false).is_none());
    entry.keep_for_good(Keep::Number);
    assert_eq!((layout.shape(), entry.bytes.len()), (&[3, 4][..], 48));
    assert!(matches!(entry.keep(), Keep::Number));
    left(middle);
    left(first);
    left(entered(&b, true).unwrap());
}

#[test]
fn pointer_to_a_number_outlasts_references_to_its_entry() {
    let _attached = attach();
    // SAFETY: the test holds the lock that stands in for the GIL; the entry is filled, entered
    // once, and left once.
    unsafe {
        let mut entry = blank();
        let number = Aligned::from_bytes(&7_i32.to_ne_bytes());
        entry.as_mut().borrow_number(number, DType::I32);
        point_to_number(entry, 4);
        assert!(enter(entry, false));
        let first = entry.as_ref().first.cast::<i32>();
        let other = numbers();
        let written = entered(&other, true).unwrap();
        assert_eq!(first.read(), 7);
        left(written);
        assert_eq!(
            (first.read(), entry.as_ref().layout().is_contiguous()),
            (7, true)
        );
        left(entry);
    }
}

#[test]
fn number_is_contiguous_in_an_entry_that_was_strided() {
    let _attached = attach();
    let strided = numbers().transpose();
    // SAFETY: the test holds the lock that stands in for the GIL; the entries are used here alone,
    // and given back once.
    unsafe {
        let entry = filled(&strided);
        assert!(!entry.as_ref().layout().is_contiguous());
        give_back(entry);
        let mut again = blank();
        assert_eq!(again, entry);
        again.as_mut().borrow_number(Aligned::ZERO, DType::F32);
        assert!(again.as_ref().layout().is_contiguous());
        give_back(again);
    }
}

#[test]
fn kept_memory_is_not_written_until_the_last_handle_is_dropped() {
    let _attached = attach();
    let whole = numbers();
    let column = kept(&whole.select(1, 1).unwrap());
    assert!(entered(&whole, true).is_none());
    left(entered(&whole, false).unwrap());
    for other in [0, 2, 3] {
        left(entered(&whole.select(1, other).unwrap(), true).unwrap());
    }
    // Nor is what lies between its elements read.
    assert_eq!(from_storage(&column), Err(Error::HasGaps));
    let part = column.slice(0, 1..2).unwrap();
    assert_eq!(from_storage(&part), Err(Error::HasGaps));
    drop(column);
    assert!(entered(&whole, true).is_none());
    // What leaves Rust isn't kept by it.
    let gone = part.clone().unguarded();
    drop(part);
    left(entered(&whole, true).unwrap());
    assert_eq!(gone.to_vec::<i32>().unwrap(), [5]);
}

/// Reads a storage from its beginning on.
fn from_storage(tensor: &Tensor) -> Result<Vec<i32>, Error> {
    let storage = tensor.storage().clone();
    Tensor::from_storage(storage, &[tensor.len()], DType::I32)?.to_vec()
}

#[test]
fn storage_of_what_is_kept_as_a_whole_makes_other_tensors() {
    let _attached = attach();
    let whole = numbers();
    let all = kept(&whole);
    assert_eq!(from_storage(&all), Ok((0..12).collect()));
    let turned = kept(&whole.transpose());
    assert_eq!(from_storage(&turned), Ok((0..12).collect()));
    let row = kept(&whole.select(0, 0).unwrap());
    assert_eq!(from_storage(&row), Err(Error::HasGaps));
}

#[test]
fn kept_memory_is_dropped_by_any_thread() {
    let _attached = attach();
    let whole = numbers();
    let rows: Vec<Tensor> = (0..3)
        .map(|row| kept(&whole.select(0, row).unwrap()))
        .collect();
    let threads = rows.into_iter().map(|row| {
        thread::spawn(move || {
            let sum: i32 = row.view::<i32>().unwrap().iter().sum();
            drop(row);
            sum
        })
    });
    let threads: Vec<_> = threads.collect();
    // Meanwhile it may be found kept, or not any more.
    if let Some(entry) = entered(&whole, true) {
        left(entry);
    }
    let sums: Vec<i32> = threads
        .into_iter()
        .map(|thread| thread.join().unwrap())
        .collect();
    assert_eq!(sums, [6, 22, 38]);
    left(entered(&whole, true).unwrap());
}

#[test]
fn memory_kept_twice_is_released_by_the_second_drop() {
    let _attached = attach();
    let whole = numbers();
    let (first, second) = (kept(&whole), kept(&whole));
    // One that is kept already stays what it is.
    let again = kept(&first);
    drop(first);
    drop(second);
    assert!(entered(&whole, true).is_none());
    drop(again);
    left(entered(&whole, true).unwrap());
}

/// Returns a descriptor of 3 x 4 elements in a column-major layout at this address.
fn column_major(first: usize, dtype: DType) -> DLTensor {
    static SIZES: [i64; 2] = [3, 4];
    static STRIDES: [i64; 2] = [1, 3];
    DLTensor {
        data: ptr::without_provenance_mut(first),
        device: Device::CPU.into(),
        ndim: 2,
        dtype: dtype.into(),
        shape: (&raw const SIZES).cast_mut().cast(),
        strides: (&raw const STRIDES).cast_mut().cast(),
        byte_offset: 0,
    }
}

/// Validates a descriptor in an entry, and returns the bytes of the entry's next use, if that is on
/// the fast path.
fn reused(first: &DLTensor, second: &DLTensor) -> Option<Range<usize>> {
    // SAFETY: the test holds the lock that stands in for the GIL; the descriptors' numbers are
    // static, their elements aren't read, and the entries are given back once.
    unsafe {
        let mut entry = blank();
        entry.as_mut().fill(first, Flags::empty()).unwrap();
        give_back(entry);
        let mut again = blank();
        assert_eq!(again, entry);
        let usual = Usual::from_descriptor(second, Flags::empty());
        let is_reused = usual.is_some_and(|usual| again.as_mut().fill_usual(&usual));
        let bytes = again.as_ref().bytes.clone();
        give_back(again);
        is_reused.then_some(bytes)
    }
}

#[test]
fn strided_layout_is_reused_for_the_same_numbers_and_dtype() {
    let _attached = attach();
    let before = column_major(0x1000, DType::F32);
    let bytes = |first| reused(&before, &column_major(first, DType::F32));
    assert_eq!(bytes(0x1000), Some(0x1000..0x1030));
    assert_eq!(bytes(0x2000), Some(0x2000..0x2030));
    assert_eq!(reused(&before, &column_major(0x1000, DType::F64)), None);
    let without_strides = DLTensor {
        strides: ptr::null_mut(),
        ..before
    };
    assert_eq!(reused(&before, &without_strides), Some(0x1000..0x1030));
    let swapped = DLTensor {
        shape: before.strides,
        strides: before.shape,
        ..before
    };
    assert_eq!(reused(&before, &swapped), None);
}

#[test]
fn strided_layout_is_validated_at_an_address_that_cant_be() {
    let _attached = attach();
    let before = column_major(0x1000, DType::F32);
    for first in [0, usize::MAX - 46, usize::MAX] {
        assert_eq!(reused(&before, &column_major(first, DType::F32)), None);
    }
    let last = usize::MAX - 48;
    let bytes = reused(&before, &column_major(last, DType::F32));
    assert_eq!(bytes, Some(last..usize::MAX));
    // One element lies at address 0, the others above.
    static STRIDES: [i64; 2] = [1, -3];
    let backwards = |first| DLTensor {
        strides: (&raw const STRIDES).cast_mut().cast(),
        ..column_major(first, DType::F32)
    };
    assert_eq!(reused(&backwards(0x1000), &backwards(36)), None);
    assert_eq!(reused(&backwards(0x1000), &backwards(40)), Some(4..52));
}

#[test]
fn layout_of_other_devices_and_of_padded_elements_is_validated_each_time() {
    let _attached = attach();
    let cuda = DLTensor {
        device: DLDevice {
            device_type: DLDeviceType::CUDA,
            device_id: 0,
        },
        ..column_major(0x1000, DType::F32)
    };
    assert_eq!(reused(&cuda, &column_major(0x1000, DType::F32)), None);
    assert_eq!(reused(&column_major(0x1000, DType::F32), &cuda), None);
}
