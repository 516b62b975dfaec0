//! Messages that were made to break readers: numbers and lengths that overflow, groups in groups,
//! and what fuzzing found.

use super::fields::Fields;
use super::{bytes_of, only, refused, written};
use dlbridge::DType;
use dlbridge::files::{Format, TensorFile};
use dlbridge::layout::MAX_RANK;

const TF: Format = Format::TfProto;
const ONNX: Format = Format::OnnxProto;

/// Expects a refusal as malformed, and returns its text.
fn malformed(bytes: Vec<u8>, format: Format) -> String {
    let text = TensorFile::from_bytes(bytes, format)
        .unwrap_err()
        .to_string();
    let start = format!("invalid {format}: expected a message of Protocol Buffers, found ");
    assert!(text.starts_with(&start), "{text}");
    text
}

#[test]
fn numbers_of_more_than_64_bits_are_refused() {
    for format in [TF, ONNX] {
        for tag in [0x08, 0x10] {
            let mut bytes = vec![tag];
            bytes.extend([0xff; 10]);
            bytes.push(0x01);
            malformed(bytes, format);
        }
        // A tag of field 0, and one that is too long.
        malformed(vec![0x00, 0x00], format);
        malformed(vec![0xff, 0xff, 0xff, 0xff, 0xff, 0x7f, 0x00], format);
    }
}

#[test]
fn lengths_past_the_end_are_refused() {
    for (format, tag) in [(TF, 0x22_u8), (ONNX, 0x4a)] {
        for length in [1_u64, 1 << 31, 1 << 32, 1 << 63, u64::MAX] {
            let mut bytes = vec![tag];
            prost::encoding::encode_varint(length, &mut bytes);
            assert!(malformed(bytes, format).contains("buffer underflow"));
        }
    }
}

#[test]
fn groups_in_groups_are_refused_before_the_stack_ends() {
    // 500,000 beginnings of a group of field 100, each in the one before.
    let bytes = [0xa3, 0x06].repeat(500_000);
    for format in [TF, ONNX] {
        assert!(malformed(bytes.clone(), format).contains("recursion limit"));
    }
    // Shapes in shapes are unknown fields of a shape.
    let mut nested = Vec::new();
    for _ in 0..10_000 {
        nested = Fields::default().bytes(2, &nested).0;
    }
    assert!(TensorFile::from_bytes(nested, TF).is_err());
}

#[test]
fn dimensions_whose_product_overflows_are_refused() {
    let shapes: [&[i64]; 5] = [
        &[1 << 62],
        &[1 << 32, 1 << 32],
        &[i64::MAX, i64::MAX],
        &[0, i64::MAX, i64::MAX],
        &[3, -1],
    ];
    for shape in shapes {
        for message in [Fields::tf(1, shape), Fields::tf(29, shape)] {
            let error = TensorFile::from_bytes(message.0, TF).map(|file| {
                let stored = file.iter().next().unwrap();
                (stored.shape().to_vec(), stored.nbytes())
            });
            // Without elements there is nothing that overflows, if the layout allows it.
            assert!(
                error.as_ref().is_err() || error.as_ref().is_ok_and(|(_, nbytes)| *nbytes == 0),
                "{shape:?}: {error:?}"
            );
        }
        let error = only(Fields::onnx(1, shape).bytes(9, &[0; 4]).0, ONNX);
        assert!(error.is_err(), "{shape:?}");
    }
    // More dimensions than a tensor has.
    let many = vec![1; MAX_RANK + 1];
    assert!(only(Fields::onnx(1, &many).bytes(9, &[0; 4]).0, ONNX).is_err());
}

/// Found by fuzzing: memory may have any byte for a truth value, of which a list has only two.
#[test]
fn truth_values_of_other_bytes_are_written_as_true() {
    let message = Fields::tf(10, &[3]).bytes(4, &[0, 1, 24]);
    let tensor = message.read(TF).unwrap();
    assert_eq!(
        (tensor.dtype(), bytes_of(&tensor)),
        (DType::BOOL, vec![0, 1, 24])
    );
    let error = tensor.view::<bool>().unwrap_err().to_string();
    assert_eq!(error, "byte 0x18 is not a valid bool");
    let back = only(written(TF, &tensor).unwrap(), TF).unwrap();
    assert_eq!(bytes_of(&back), [0, 1, 1]);
    // The input, with unknown fields, and the same field twice.
    let input = b"\x08\x0a\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\xfd\x02\xfe\xed\
        \x01\x01\x22\x01\x18\x18\x18\x18\x01";
    let tensor = only(input.to_vec(), TF).unwrap();
    assert_eq!(bytes_of(&tensor), [24]);
    refused(
        only(Fields::tf(10, &[2]).bytes(4, &[24]).0, TF),
        "tensor \"tensor\": bool elements of shape [2] need 2 bytes, found 1",
    );
}
