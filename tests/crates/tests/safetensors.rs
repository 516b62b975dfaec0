//! The crate `safetensors`.
#![cfg(feature = "safetensors")]

mod support;

use dlbridge::crates::safetensors::{Contents, copy, tensors};
use dlbridge::error::{Error, IncompatibilityKind as Kind};
use dlbridge::{DType, Tensor};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors, View};
use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::kind;

const DTYPES: [Dtype; 22] = [
    Dtype::BOOL,
    Dtype::F4,
    Dtype::F6_E2M3,
    Dtype::F6_E3M2,
    Dtype::U8,
    Dtype::I8,
    Dtype::F8_E5M2,
    Dtype::F8_E4M3,
    Dtype::F8_E8M0,
    Dtype::F8_E4M3FNUZ,
    Dtype::F8_E5M2FNUZ,
    Dtype::I16,
    Dtype::U16,
    Dtype::F16,
    Dtype::BF16,
    Dtype::I32,
    Dtype::U32,
    Dtype::F32,
    Dtype::C64,
    Dtype::F64,
    Dtype::I64,
    Dtype::U64,
];

#[test]
fn every_dtype_goes_both_ways_with_its_width() -> Result<(), Error> {
    for theirs in DTYPES {
        let ours = DType::try_from(theirs)?;
        assert_eq!(Dtype::try_from(ours)?, theirs);
        assert_eq!(ours.item_bits(), theirs.bitsize());
    }
    assert_eq!(kind(Dtype::try_from(DType::C128).unwrap_err()), Kind::DType);
    Ok(())
}

/// The bytes of a file with two tensors.
fn file() -> Vec<u8> {
    let weight = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    let packed = Tensor::zeros(&[4], DType::F4_E2M1FN).unwrap();
    let contents = [
        ("weight", Contents::try_from(&weight).unwrap()),
        ("packed", Contents::try_from(&packed).unwrap()),
    ];
    safetensors::serialize(contents, None).unwrap()
}

#[test]
fn contents_are_the_tensors_bytes() -> Result<(), Error> {
    let tensor = Tensor::from([[1_i16, 2], [3, 4]]);
    let contents = Contents::try_from(&tensor)?;
    assert_eq!(
        (contents.dtype(), contents.shape()),
        (Dtype::I16, &[2, 2][..])
    );
    assert_eq!(contents.data().as_ptr(), tensor.data_ptr());
    assert_eq!(contents.data_len(), 8);
    let scalar = Tensor::scalar(1.5_f64);
    assert_eq!(
        Contents::try_from(&scalar)?.data().as_ref(),
        1.5_f64.to_le_bytes()
    );
    let none = Tensor::zeros(&[0, 3], DType::F32)?;
    assert_eq!(Contents::try_from(&none)?.data_len(), 0);

    let read = SafeTensors::deserialize(&file()).map(|file| file.len());
    assert_eq!(read.unwrap(), 2);
    Ok(())
}

#[test]
fn contents_name_what_safetensors_does_not_have() -> Result<(), Error> {
    let refused = |tensor: &Tensor| kind(Contents::try_from(tensor).unwrap_err());
    assert_eq!(refused(&Tensor::zeros(&[2], DType::C128)?), Kind::DType);
    assert_eq!(
        refused(&Tensor::from([[1_u8, 2], [3, 4]]).transpose()),
        Kind::Layout
    );
    assert_eq!(
        refused(&Tensor::zeros(&[3], DType::F4_E2M1FN)?),
        Kind::Padding
    );
    Ok(())
}

/// Bytes that count how often they were dropped.
struct Counted(Vec<u8>, Arc<AtomicUsize>);

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.1.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn tensors_of_a_file_keep_its_bytes() -> Result<(), Error> {
    let (bytes, drops) = (file(), Arc::new(AtomicUsize::new(0)));
    let range = bytes.as_ptr_range();
    let read = tensors(Counted(bytes, drops.clone()))?;
    for (name, tensor) in &read {
        assert!(
            range.contains(&tensor.data_ptr()) && tensor.is_read_only(),
            "{name}"
        );
    }
    let weight = read.iter().find(|(name, _)| name == "weight").unwrap();
    assert_eq!(weight.1.shape(), [2, 2]);
    let weight = weight.1.clone();
    drop(read);
    assert_eq!(drops.load(Ordering::Relaxed), 0);
    drop(weight);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    assert_eq!(kind(tensors(vec![1_u8; 9]).unwrap_err()), Kind::Exchange);
    Ok(())
}

#[test]
#[cfg_attr(miri, ignore = "Miri maps no files; ./dev valgrind runs it")]
fn mapped_files_are_read_and_written() -> Result<(), Box<dyn std::error::Error>> {
    let path = tempfile::NamedTempFile::new()?.into_temp_path();
    let weight = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    let contents = [("weight", Contents::try_from(&weight)?)];
    safetensors::serialize_to_file(contents, None, &path)?;
    // SAFETY: no other code writes the file.
    let map = unsafe { memmap2::Mmap::map(&File::open(&path)?) }?;
    let range = map.as_ptr_range();
    let read = tensors(map)?;
    assert!(range.contains(&read[0].1.data_ptr()));
    assert_eq!(read[0].1.to_vec::<f32>()?, [1.0, 2.0, 3.0, 4.0]);
    Ok(())
}

#[test]
fn views_of_static_bytes_are_shared_and_others_copied_by_name() -> Result<(), Error> {
    static BYTES: [u8; 4] = [1, 2, 3, 4];
    let view = TensorView::new(Dtype::U8, vec![2, 2], &BYTES).unwrap();
    let copied = copy(&view)?;
    assert_ne!(copied.data_ptr(), BYTES.as_ptr());
    assert_eq!(copied.to_vec::<u8>()?, BYTES);
    assert!(!copied.is_read_only());
    let shared = Tensor::try_from(view)?;
    assert_eq!(shared.data_ptr(), BYTES.as_ptr());
    assert!(shared.is_read_only());
    Ok(())
}
