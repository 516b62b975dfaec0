//! Memory of other crates' types, kept alive by them.

use bytes::Bytes;
use dlbridge::{DType, Storage, Tensor};
use memmap2::{Mmap, MmapMut};
use std::io::Write;

#[test]
fn bytes_are_shared() {
    let bytes = Bytes::from(vec![1_u8, 2, 3, 4, 5, 6]);
    let part = bytes.slice(2..);
    let tensor = Tensor::from_owner(part, &[2, 2]).unwrap();
    assert_eq!(tensor.data_ptr(), bytes[2..].as_ptr());
    drop(bytes);
    assert_eq!(tensor.to_vec::<u8>().unwrap(), [3, 4, 5, 6]);
    assert!(tensor.is_read_only());
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no files mapped into memory")]
fn mapped_file_becomes_a_tensor_and_exports() {
    let mut file = tempfile::tempfile().unwrap();
    let numbers: Vec<u8> = [1.5_f32, 2.5, 3.5]
        .iter()
        .flat_map(|x| x.to_ne_bytes())
        .collect();
    file.write_all(&numbers).unwrap();
    // SAFETY: no other code has the file.
    let map = unsafe { Mmap::map(&file) }.unwrap();
    let address = map.as_ptr();

    let storage = Storage::from_owner::<u8>(map);
    let tensor = Tensor::from_storage(storage, &[3], DType::F32).unwrap();
    assert_eq!(tensor.data_ptr(), address);
    let managed = tensor.to_dlpack();
    drop(tensor);
    let back = Tensor::from_dlpack(managed).unwrap();
    assert_eq!(back.to_vec::<f32>().unwrap(), [1.5, 2.5, 3.5]);
    assert!(
        back.storage().owner_name().contains("Mmap"),
        "{:?}",
        back.storage()
    );
}

#[test]
#[cfg_attr(miri, ignore = "Miri has no files mapped into memory")]
fn mapped_file_is_writable_through_a_view() {
    let file = tempfile::tempfile().unwrap();
    file.set_len(8).unwrap();
    // SAFETY: no other code has the file but this test, which reads it when the map is gone.
    let map = unsafe { MmapMut::map_mut(&file) }.unwrap();
    let storage = Storage::from_owner_mut::<u8>(map);
    let mut tensor = Tensor::from_storage(storage, &[2], DType::I32).unwrap();
    tensor.view_mut::<i32>().unwrap().fill(-1);
    drop(tensor);
    // SAFETY: only this test uses the file, and nothing writes it while it is mapped.
    let map = unsafe { Mmap::map(&file) }.unwrap();
    assert_eq!(&map[..], [0xff; 8]);
}
