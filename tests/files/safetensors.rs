//! safetensors, against the format's own library.

use super::cases::cases;
use super::{bytes_of, numbered, only, written};
use dlbridge::files::{Format, SaveOptions, TensorFile};
use dlbridge::{DType, Tensor};
use proptest::prelude::*;
use safetensors::tensor::{Dtype, SafeTensors, TensorView, serialize};
use std::collections::HashMap;

const FORMAT: Format = Format::Safetensors;

/// The library's element types.
const TYPES: [(Dtype, DType); 22] = [
    (Dtype::BOOL, DType::BOOL),
    (Dtype::F4, DType::F4_E2M1FN),
    (Dtype::F6_E2M3, DType::F6_E2M3FN),
    (Dtype::F6_E3M2, DType::F6_E3M2FN),
    (Dtype::U8, DType::U8),
    (Dtype::I8, DType::I8),
    (Dtype::F8_E5M2, DType::F8_E5M2),
    (Dtype::F8_E4M3, DType::F8_E4M3FN),
    (Dtype::F8_E8M0, DType::F8_E8M0FNU),
    (Dtype::F8_E4M3FNUZ, DType::F8_E4M3FNUZ),
    (Dtype::F8_E5M2FNUZ, DType::F8_E5M2FNUZ),
    (Dtype::I16, DType::I16),
    (Dtype::U16, DType::U16),
    (Dtype::F16, DType::F16),
    (Dtype::BF16, DType::BF16),
    (Dtype::I32, DType::I32),
    (Dtype::U32, DType::U32),
    (Dtype::F32, DType::F32),
    (Dtype::C64, DType::C64),
    (Dtype::F64, DType::F64),
    (Dtype::I64, DType::I64),
    (Dtype::U64, DType::U64),
];

fn tensors() -> impl Strategy<Value = Vec<(String, Dtype, Tensor)>> {
    let shape = prop::collection::vec(0_usize..4, 0..4);
    let tensor = (prop::sample::select(&TYPES), shape).prop_map(|((theirs, ours), mut shape)| {
        // Elements of 4 and 6 bits fill bytes.
        shape.push(4);
        (theirs, numbered(&shape, ours))
    });
    prop::collection::btree_map("\\PC{0,6}|[\u{0}-\u{7f}]{0,4}", tensor, 0..6).prop_map(|map| {
        map.into_iter()
            .map(|(name, (dtype, tensor))| (name, dtype, tensor))
            .collect()
    })
}

/// Returns what the library writes.
fn by_library(tensors: &[(String, Dtype, Tensor)], metadata: Option<&str>) -> Vec<u8> {
    let bytes: Vec<_> = tensors
        .iter()
        .map(|(.., tensor)| bytes_of(tensor))
        .collect();
    let views = tensors
        .iter()
        .zip(&bytes)
        .map(|((name, dtype, tensor), bytes)| {
            let view = TensorView::new(*dtype, tensor.shape().to_vec(), bytes).unwrap();
            (name.clone(), view)
        });
    let metadata = metadata.map(|text| HashMap::from([("made by".to_owned(), text.to_owned())]));
    serialize(views, metadata).unwrap()
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn files_are_those_of_the_library_byte_for_byte(
        tensors in tensors(),
        metadata in prop::option::of("\\PC{0,6}|[\u{0}-\u{7f}]{0,4}"),
    ) {
        let named: Vec<_> = tensors.iter().map(|(name, _, x)| (name.as_str(), x)).collect();
        let mut options = SaveOptions::new(FORMAT);
        if let Some(text) = &metadata {
            options = options.metadata("made by", text);
        }
        let ours = options.to_bytes(&named).unwrap();
        prop_assert_eq!(&ours, &by_library(&tensors, metadata.as_deref()));
        let file = TensorFile::from_bytes(ours, None).unwrap();
        let texts = file.metadata().map(|metadata| metadata[0].1.clone());
        prop_assert_eq!(texts, metadata);
        for (name, _, tensor) in &tensors {
            prop_assert_eq!(bytes_of(&file.tensor(name).unwrap()), bytes_of(tensor));
        }
    }

    #[test]
    fn aligned_files_are_read_by_the_library(tensors in tensors(), align in 0_u32..9) {
        let named: Vec<_> = tensors.iter().map(|(name, _, x)| (name.as_str(), x)).collect();
        let options = SaveOptions::new(FORMAT).align(1 << align);
        let bytes = options.to_bytes(&named).unwrap();
        let file = SafeTensors::deserialize(&bytes).unwrap();
        prop_assert_eq!(file.len(), tensors.len());
        for (name, dtype, tensor) in &tensors {
            let view = file.tensor(name).unwrap();
            prop_assert_eq!((view.dtype(), view.shape()), (*dtype, tensor.shape()));
            prop_assert_eq!(view.data(), bytes_of(tensor));
        }
    }
}

#[test]
fn pairs_of_4_bit_numbers_are_written_as_numbers() {
    let pairs = DType::F4_E2M1FN.with_lanes(2).unwrap();
    let tensor = numbered(&[2, 4], DType::U8).bit_cast(pairs).unwrap();
    let back = only(written(FORMAT, &tensor).unwrap(), FORMAT).unwrap();
    assert_eq!(
        (back.shape(), back.dtype()),
        (&[2, 8][..], DType::F4_E2M1FN)
    );
    assert_eq!(bytes_of(&back), bytes_of(&tensor));
}

#[test]
fn header_may_have_any_order_spaces_escapes_and_unknown_fields() {
    let header = r#" { "b\u00e9\ud83d\ude00\n" : {"data_offsets":[2,4],
        "more": [1.5e3, {"x": null}, true], "shape":[2],"dtype":"U8"} ,"__metadata__":{"k":"\"v\\"},
        "a":{"dtype":"BOOL","shape":[],"data_offsets":[0,1]},
        "c":{"dtype":"I8","shape":[1,1],"data_offsets":[1,2]}} "#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.extend([1, 2, 3, 4]);
    let file = TensorFile::from_bytes(bytes, FORMAT).unwrap();
    let names: Vec<_> = file.iter().map(|stored| stored.name().to_owned()).collect();
    assert_eq!(names, ["a", "c", "bé😀\n"]);
    assert_eq!(
        file.tensor("bé😀\n").unwrap().to_vec::<u8>().unwrap(),
        [3, 4]
    );
    assert!(file.tensor("a").unwrap().item::<bool>().unwrap());
    assert_eq!(
        file.metadata().unwrap(),
        [("k".to_owned(), "\"v\\".to_owned())]
    );
}

#[test]
fn several_texts_of_metadata_keep_their_order() {
    let options = SaveOptions::new(FORMAT)
        .metadata("z", "1")
        .metadata("a", "2");
    let bytes = options.to_bytes(&[]).unwrap();
    assert_eq!(&bytes[8..], br#"{"__metadata__":{"z":"1","a":"2"}}      "#);
    let file = TensorFile::from_bytes(bytes, FORMAT).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 2);
    assert!(file.is_empty());
}
