//! Every format with every element type it has, and every kind of shape.

use super::cases::cases;
use super::{bytes_of, numbered, only, written};
use dlbridge::files::{FileError, Format, SaveOptions, TensorFile};
use dlbridge::{DType, Tensor};
use proptest::prelude::*;

/// Empty, rank 0, rank 1, and more; with an even last dimension, so that packed elements fill
/// bytes.
const SHAPES: [&[usize]; 7] = [
    &[],
    &[0],
    &[8],
    &[3, 0, 2],
    &[2, 3, 4],
    &[1, 1, 16],
    &[5, 8],
];

/// How many element types each format has.
const COUNTS: [(Format, usize); 5] = [
    (Format::Safetensors, 22),
    (Format::Npy, 14),
    (Format::Npz, 14),
    (Format::TfProto, 25),
    (Format::OnnxProto, 27),
];

#[test]
fn every_dtype_and_shape_comes_back_bit_for_bit() {
    for (format, expected) in COUNTS {
        let mut dtypes = 0;
        for dtype in DType::ALL {
            if let Err(error) = written(format, &numbered(&[8], *dtype)) {
                assert!(matches!(error, FileError::Unwritable { .. }), "{error}");
                continue;
            }
            dtypes += 1;
            for shape in SHAPES {
                let tensor = numbered(shape, *dtype);
                let bytes = match written(format, &tensor) {
                    // A single element that doesn't fill a byte.
                    Err(FileError::Unsupported { .. }) if dtype.is_sub_byte() => continue,
                    bytes => bytes.unwrap(),
                };
                let back = only(bytes, format).unwrap();
                assert_eq!((back.shape(), back.dtype()), (shape, *dtype), "{format}");
                assert_eq!(
                    bytes_of(&back),
                    bytes_of(&tensor),
                    "{format} {dtype} {shape:?}"
                );
            }
        }
        assert_eq!(dtypes, expected, "{format}");
    }
}

#[test]
fn strided_and_padded_tensors_are_written_in_row_major_order() {
    let tensor = numbered(&[4, 6], DType::I16);
    let column = tensor.transpose().slice(0, 1..5).unwrap();
    let reversed = tensor.step_by(1, -1).unwrap();
    for format in Format::ALL {
        for strided in [&column, &reversed, &tensor.transpose()] {
            let back = only(written(*format, strided).unwrap(), *format).unwrap();
            assert!(back.equals(strided).unwrap(), "{format}");
        }
    }
}

#[test]
fn large_tensors_come_back_from_every_format() {
    // More than one part of a copy on several threads, and not a whole number of parts.
    let bytes: Vec<u8> = (0..=250).collect();
    let bytes = bytes.repeat((17 << 20) / 251);
    let tensor = Tensor::from_slice(&bytes, &[1, bytes.len()]).unwrap();
    for format in Format::ALL {
        let file = TensorFile::from_bytes(written(*format, &tensor).unwrap(), *format).unwrap();
        let stored = file.iter().next().unwrap();
        for align in [1, 4096] {
            let back = stored.tensor(align).unwrap();
            assert!(back.data_ptr().addr().is_multiple_of(align), "{format}");
            assert_eq!(back.is_copied(), stored.copy_reason(align).is_some());
            assert!(bytes_of(&back) == bytes, "{format}");
        }
    }
}

fn tensors() -> impl Strategy<Value = Vec<(String, Tensor)>> {
    let dtype = prop::sample::select(DType::ALL);
    let shape = prop::collection::vec(0_usize..5, 0..5);
    let tensor = (dtype, shape).prop_map(|(dtype, shape)| numbered(&shape, dtype));
    let name = "[a-zA-Z0-9é\"\\\\\n./]{0,8}";
    prop::collection::btree_map(name, tensor, 0..6).prop_map(|map| map.into_iter().collect())
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn any_tensors_come_back_or_are_refused(tensors in tensors(), align in 0_u32..8) {
        let align = 1_usize << align;
        for format in [Format::Safetensors, Format::Npz] {
            let named: Vec<_> = tensors.iter().map(|(name, x)| (name.as_str(), x)).collect();
            let bytes = match SaveOptions::new(format).align(align).to_bytes(&named) {
                Ok(bytes) => bytes,
                Err(FileError::Unwritable { .. } | FileError::Unsupported { .. }) => continue,
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            };
            let file = TensorFile::from_bytes(bytes, format).unwrap();
            let loaded = file.load(64).unwrap();
            prop_assert_eq!(loaded.tensors.len(), tensors.len());
            for (name, tensor) in &loaded.tensors {
                let (_, expected) = tensors.iter().find(|(known, _)| known == name).unwrap();
                prop_assert_eq!(tensor.shape(), expected.shape());
                prop_assert_eq!(tensor.dtype(), expected.dtype());
                prop_assert_eq!(bytes_of(tensor), bytes_of(expected));
                prop_assert!(tensor.is_empty() || tensor.data_ptr().addr() % 64 == 0);
            }
        }
    }

    #[test]
    fn any_prefix_of_a_file_is_refused(cut in 0.0..1.0_f64, which in 0..5_usize) {
        let format = Format::ALL[which];
        let tensor = numbered(&[3, 4], DType::F32);
        let mut bytes = written(format, &tensor).unwrap();
        let len = (bytes.len() as f64 * cut) as usize;
        bytes.truncate(len);
        // A message whose last field is left out is another message: of no values, which are zeros.
        let read = only(bytes, format);
        prop_assert!(read.is_err() || format == Format::TfProto, "{format} {len} {read:?}");
    }

    #[test]
    fn any_changed_byte_gives_tensors_or_an_error(at in 0.0..1.0_f64, to: u8, which in 0..5_usize) {
        let format = Format::ALL[which];
        let mut bytes = written(format, &numbered(&[3, 4], DType::F32)).unwrap();
        let at = (bytes.len() as f64 * at) as usize;
        bytes[at] = to;
        if let Ok(file) = TensorFile::from_bytes(bytes, format) {
            for stored in file.iter().filter(|stored| stored.nbytes() < 1 << 20) {
                if let Ok(tensor) = stored.tensor(64) {
                    prop_assert_eq!(tensor.shape(), stored.shape());
                    bytes_of(&tensor);
                }
            }
        }
    }
}
