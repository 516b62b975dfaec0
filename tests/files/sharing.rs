//! Sharing of the file's memory: by addresses, and by writing.

use super::{numbered, written};
use dlbridge::files::{Copied, Format, OpenOptions, SaveOptions, TensorFile};
use dlbridge::{DType, Storage, Tensor};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that count how often they are dropped.
struct Counting(Vec<u8>, Arc<AtomicUsize>);

impl AsRef<[u8]> for Counting {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn tensor_of_bytes_is_a_part_of_them_and_keeps_them() {
    for format in Format::ALL {
        let tensor = numbered(&[2, 8], DType::I8);
        let bytes = written(*format, &tensor).unwrap();
        let drops = Arc::new(AtomicUsize::new(0));
        let storage = Storage::from_owner(Counting(bytes, Arc::clone(&drops)));
        let range = storage.data_ptr().addr()..storage.data_ptr().addr() + storage.nbytes();
        let file = TensorFile::from_storage(storage, *format).unwrap();
        let stored = file.iter().next().unwrap();
        assert_eq!(stored.copy_reason(1), None, "{format}");
        let shared = stored.tensor(1).unwrap();
        assert!(
            range.contains(&shared.data_ptr().addr()) && !shared.is_copied(),
            "{format}"
        );
        assert!(shared.is_read_only() && shared.equals(&tensor).unwrap());
        drop(file);
        assert_eq!(drops.load(Ordering::SeqCst), 0, "{format}");
        drop(shared);
        assert_eq!(drops.load(Ordering::SeqCst), 1, "{format}");
    }
}

#[test]
fn unaligned_bytes_are_copied_and_named() {
    let tensors = [numbered(&[3], DType::F32), numbered(&[16], DType::F32)];
    let named = [("odd", &tensors[0]), ("whole", &tensors[1])];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.safetensors");
    let plain = SaveOptions::new(Format::Safetensors);
    plain.save(&path, &named).unwrap();
    // SAFETY: nothing changes the file.
    let file = unsafe { TensorFile::map(&path) }.unwrap();
    let copied = file.load(64).unwrap().copied;
    let misaligned = |(_, reason): &(String, Copied)| match reason {
        Copied::Misaligned { wanted, found } => *wanted == 64 && (4..64).contains(found),
        _ => false,
    };
    assert!(
        !copied.is_empty() && copied.iter().all(misaligned),
        "{copied:?}"
    );
    assert!(file.load(1).unwrap().copied.is_empty());

    let unaligned = plain.align(64).save(&path, &named).unwrap();
    assert!(unaligned.is_empty());
    // SAFETY: nothing changes the file.
    let file = unsafe { TensorFile::map(&path) }.unwrap();
    let loaded = file.load(64).unwrap();
    assert!(loaded.copied.is_empty());
    for (name, tensor) in &loaded.tensors {
        assert!(
            tensor
                .equals(named.iter().find(|(known, _)| known == name).unwrap().1)
                .unwrap()
        );
    }
}

#[test]
fn save_names_tensors_that_nothing_can_align() {
    let tensors: Vec<_> = (1..5).map(|size| numbered(&[size], DType::F32)).collect();
    let named = [("a", &tensors[0]), ("b", &tensors[1]), ("c", &tensors[2])];
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.safetensors");
    let options = SaveOptions::new(Format::Safetensors).align(64);
    assert_eq!(options.save(&path, &named).unwrap(), ["b", "c"]);
    // Between members of an archive there is room.
    let path = folder.path().join("x.npz");
    let options = SaveOptions::new(Format::Npz).align(64);
    assert!(options.save(&path, &named).unwrap().is_empty());
    // SAFETY: nothing changes the file.
    let file = unsafe { TensorFile::map(&path) }.unwrap();
    assert!(file.load(64).unwrap().copied.is_empty());
}

#[test]
fn copy_on_write_never_changes_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let tensor = numbered(&[4, 4], DType::I32);
    SaveOptions::new(Format::Npy)
        .save(&path, &[("x", &tensor)])
        .unwrap();
    let before = fs::read(&path).unwrap();
    let options = OpenOptions::new().copy_on_write(true);
    // SAFETY: nothing changes the file.
    let file = unsafe { options.map(&path) }.unwrap();
    let written = file.tensor("x").unwrap();
    assert!(!written.is_read_only() && !written.is_copied());
    // SAFETY: nothing else uses the elements.
    let mut view = unsafe { written.view_mut_unchecked::<i32>() }.unwrap();
    view[[1, 1]] = 77;
    let again = file.tensor("x").unwrap();
    assert_eq!(again.view::<i32>().unwrap()[[1, 1]], 77);
    assert_eq!(fs::read(&path).unwrap(), before);

    // SAFETY: nothing changes the file.
    let file = unsafe { TensorFile::map(&path) }.unwrap();
    let mut read = file.tensor("x").unwrap();
    drop(file);
    assert!(read.is_read_only() && read.view_mut::<i32>().is_err());
    assert!(read.equals(&tensor).unwrap());
}

#[test]
fn save_replaces_a_file_that_is_mapped_without_changing_its_tensors() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.safetensors");
    let (old, new) = (numbered(&[1000], DType::F32), numbered(&[3], DType::U8));
    let options = SaveOptions::new(Format::Safetensors);
    options.save(&path, &[("x", &old)]).unwrap();
    // SAFETY: the file isn't changed, but replaced.
    let mapped = unsafe { TensorFile::map(&path) }
        .unwrap()
        .tensor("x")
        .unwrap();
    options.save(&path, &[("x", &new)]).unwrap();
    assert!(mapped.equals(&old).unwrap());
    let read = OpenOptions::new().read(&path).unwrap();
    assert!(read.tensor("x").unwrap().equals(&new).unwrap());
    // Nothing else is left in the folder, also after an error.
    assert!(options.save(&path, &[("__metadata__", &new)]).is_err());
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn elements_off_their_alignment_are_copied_to_memory_of_their_own() {
    let tensor = Tensor::from([1_u16, 2, 3]);
    let bytes = written(Format::Safetensors, &tensor).unwrap();
    let storage = Storage::from_vec([vec![0], bytes].concat());
    let end = storage.nbytes();
    let file = TensorFile::from_storage(storage.slice(1..end), Format::Safetensors).unwrap();
    let reason = file.get("x").unwrap().copy_reason(1).unwrap();
    assert_eq!(
        reason,
        Copied::Misaligned {
            found: 1,
            wanted: 2
        }
    );
    assert_eq!(
        reason.to_string(),
        "aligned to 1 bytes in the file, not to 2"
    );
    let mut copy = file.tensor("x").unwrap();
    assert!(copy.is_copied() && copy.equals(&tensor).unwrap());
    copy.view_mut::<u16>().unwrap()[[0]] = 9;
    assert!(file.tensor("x").unwrap().equals(&tensor).unwrap());
}

#[test]
fn copies_are_aligned_as_they_are_asked_for() {
    let tensor = numbered(&[3, 5], DType::I16);
    let bytes = written(Format::Npz, &tensor).unwrap();
    let file = TensorFile::from_storage(Storage::from_vec(bytes), Format::Npz).unwrap();
    for align in [1, 48, 64, 128, 256, 4096, 1 << 16] {
        let loaded = file.load(align).unwrap();
        let copy = &loaded.tensors[0].1;
        assert!(copy.is_copied() || align <= 2, "{align}");
        assert!(copy.data_ptr().addr().is_multiple_of(align), "{align}");
        assert_eq!(
            copy.to_vec::<i16>().unwrap(),
            tensor.to_vec::<i16>().unwrap()
        );
    }
    assert!(file.load(usize::MAX).is_err());
}
