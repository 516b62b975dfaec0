//! Messages: every field that values may be in.

use super::fields::Fields;
use super::{bytes_of, refused, written};
use dlbridge::files::{Copied, Format, TensorFile};
use dlbridge::{DType, Tensor};

const TF: Format = Format::TfProto;
const ONNX: Format = Format::OnnxProto;

#[test]
fn values_are_read_packed_or_not() {
    let cases: [(i64, u32, DType); 9] = [
        (3, 7, DType::I32),
        (4, 7, DType::U8),
        (5, 7, DType::I16),
        (6, 7, DType::I8),
        (9, 10, DType::I64),
        (10, 11, DType::BOOL),
        (17, 7, DType::U16),
        (22, 16, DType::U32),
        (23, 17, DType::U64),
    ];
    for (number, tag, dtype) in cases {
        let head = Fields::tf(number, &[3]);
        let packed = head.clone().packed(tag, &[1, 0, 1]).read(TF).unwrap();
        let each = head.clone().each(tag, &[1, 0, 1]).read(TF).unwrap();
        let both = head.packed(tag, &[1]).each(tag, &[0, 1]).read(TF).unwrap();
        for tensor in [&packed, &each, &both] {
            assert_eq!((tensor.dtype(), tensor.shape()), (dtype, &[3][..]));
            let size = dtype.item_bytes().unwrap();
            let ones = bytes_of(tensor)
                .iter()
                .step_by(size)
                .copied()
                .collect::<Vec<_>>();
            assert_eq!(ones, [1, 0, 1], "{dtype}");
        }
        assert!(packed.equals(&each).unwrap() && packed.is_copied());
    }
}

#[test]
fn last_value_repeats_and_no_values_are_zeros() {
    let head = Fields::tf(3, &[2, 3]);
    let tensor = head.clone().packed(7, &[5, -7]).read(TF).unwrap();
    assert_eq!(tensor.to_vec::<i32>().unwrap(), [5, -7, -7, -7, -7, -7]);
    assert_eq!(
        head.clone().read(TF).unwrap().to_vec::<i32>().unwrap(),
        [0; 6]
    );
    let text = "tensor \"tensor\" of shape [2, 3] has 6 elements, found 7 values";
    refused(head.packed(7, &[0; 7]).read(TF), text);
    // A splat of 1 TiB is as small as its message until it is read.
    let huge = Fields::tf(1, &[1 << 38]).bytes(5, &1.5_f32.to_le_bytes());
    let file = TensorFile::from_bytes(huge.0, TF).unwrap();
    let stored = file.get("tensor").unwrap();
    assert_eq!(
        (stored.nbytes(), stored.copy_reason(1)),
        (1 << 40, Some(Copied::Values))
    );
    assert_eq!(
        Copied::Values.to_string(),
        "a list of values in the message"
    );
    // Of complex numbers both parts repeat.
    let parts: Vec<u8> = [1.0_f32, 2.0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let tensor = Fields::tf(8, &[2]).bytes(9, &parts).read(TF).unwrap();
    assert_eq!(bytes_of(&tensor), [parts.clone(), parts].concat());
}

#[test]
fn half_val_has_bits_of_both_types() {
    for (number, dtype) in [(19, DType::F16), (14, DType::BF16)] {
        let tensor = Fields::tf(number, &[2])
            .packed(13, &[0x3c00, 0xbf80])
            .read(TF)
            .unwrap();
        assert_eq!(tensor.dtype(), dtype);
        assert_eq!(bytes_of(&tensor), [0x00, 0x3c, 0x80, 0xbf]);
    }
}

#[test]
fn sub_byte_elements_of_tensorflow_have_a_byte_each() {
    let tensor = Fields::tf(29, &[5])
        .packed(7, &[1, -2, 7, -8])
        .read(TF)
        .unwrap();
    assert_eq!(tensor.to_string(), "[ 1 -2  7 -8 -8]");
    let message = Fields::tf(33, &[3]).bytes(4, &[1, 2, 0xf]);
    let file = TensorFile::from_bytes(message.0, TF).unwrap();
    let reason = file.get("tensor").unwrap().copy_reason(1);
    assert_eq!(reason, Some(Copied::BytePerElement));
    assert_eq!(
        reason.unwrap().to_string(),
        "one byte for each sub-byte element in the file"
    );
    assert_eq!(bytes_of(&file.tensor("tensor").unwrap()), [0x21, 0x0f]);
}

#[test]
fn values_of_onnx_are_read() {
    for (number, dtype, values, bytes) in [
        (2, DType::U8, vec![255, 1], vec![255, 1]),
        (3, DType::I8, vec![-1, 1], vec![255, 1]),
        (10, DType::F16, vec![0x3c00, 1], vec![0, 0x3c, 1, 0]),
        (9, DType::BOOL, vec![1, 0], vec![1, 0]),
        (19, DType::F8_E5M2, vec![0x80, 1], vec![0x80, 1]),
        (27, DType::F6_E2M3FN, vec![0x3f, 1], vec![0x7f, 0]),
    ] {
        let tensor = Fields::onnx(number, &[2])
            .packed(5, &values)
            .read(ONNX)
            .unwrap();
        assert_eq!((tensor.dtype(), bytes_of(&tensor)), (dtype, bytes));
    }
    // A value has two elements of 4 bits, and four of 2 bits.
    let tensor = Fields::onnx(22, &[3])
        .packed(5, &[0xf1, 0x02])
        .read(ONNX)
        .unwrap();
    assert_eq!(tensor.to_string(), "[ 1 -1  2]");
    let tensor = Fields::onnx(25, &[4])
        .packed(5, &[0b1110_0100])
        .read(ONNX)
        .unwrap();
    assert_eq!(tensor.to_string(), "[0 1 2 3]");
    let tensor = Fields::onnx(12, &[1])
        .packed(11, &[0xffff_ffff])
        .read(ONNX)
        .unwrap();
    assert_eq!(tensor.to_vec::<u32>().unwrap(), [u32::MAX]);
    let text = "tensor \"tensor\" of shape [3] has 3 elements, found 2 values";
    refused(Fields::onnx(6, &[3]).packed(5, &[1, 2]).read(ONNX), text);
}

#[test]
fn values_that_the_type_lacks_are_refused() {
    let refuse = |message: Fields, format: Format, expected: &str, found: &str| {
        let text = format!("invalid {format}: expected {expected} in \"tensor\", found {found}");
        refused(message.read(format), &text);
    };
    refuse(
        Fields::tf(4, &[1]).packed(7, &[256]),
        TF,
        "values of uint8",
        "256",
    );
    refuse(
        Fields::tf(6, &[1]).packed(7, &[-129]),
        TF,
        "values of int8",
        "-129",
    );
    refuse(
        Fields::tf(29, &[1]).packed(7, &[8]),
        TF,
        "values of int4",
        "8",
    );
    refuse(
        Fields::tf(19, &[1]).packed(13, &[-1]),
        TF,
        "values of float16",
        "-1",
    );
    refuse(
        Fields::onnx(9, &[1]).packed(5, &[2]),
        ONNX,
        "values of bool",
        "2",
    );
    refuse(
        Fields::onnx(22, &[1]).packed(5, &[256]),
        ONNX,
        "bytes of int4",
        "256",
    );
    refuse(
        Fields::onnx(12, &[1]).packed(11, &[1 << 32]),
        ONNX,
        "values of uint32",
        "out of range integral type conversion attempted",
    );
    refuse(
        Fields::tf(8, &[1]).bytes(9, &[0; 4]),
        TF,
        "real and imaginary parts",
        "an odd number of values",
    );
}

#[test]
fn strings_and_other_types_are_refused_by_name() {
    for (number, name) in [
        (7, "DT_STRING"),
        (20, "DT_RESOURCE"),
        (21, "DT_VARIANT"),
        (11, "DT_QINT8"),
        (0, "number 0"),
    ] {
        let text = format!(
            "tensor \"tensor\": elements of type {name} of tf_proto have no DLPack equivalent"
        );
        refused(Fields::tf(number, &[1]).read(TF), &text);
    }
    for (number, name) in [(8, "STRING"), (0, "UNDEFINED"), (99, "number 99")] {
        let text = format!(
            "tensor \"tensor\": elements of type {name} of onnx_proto have no DLPack equivalent"
        );
        refused(Fields::onnx(number, &[1]).read(ONNX), &text);
    }
}

#[test]
fn shapes_and_sizes_that_no_tensor_has_are_refused() {
    for (message, format) in [
        (Fields::tf(1, &[2, -3]), TF),
        (Fields::onnx(1, &[2, -3]), ONNX),
    ] {
        refused(
            message.read(format),
            "tensor \"tensor\": dimension 1 has the negative size -3",
        );
    }
    let huge = "tensor \"tensor\": the sizes multiply to more elements than memory has addresses";
    refused(Fields::tf(1, &[1 << 40, 1 << 40]).read(TF), huge);
    refused(Fields::onnx(1, &[1 << 40, 1 << 40]).read(ONNX), huge);
    let size = "tensor \"tensor\": float32 elements of shape [2] need 8 bytes, found 7";
    refused(Fields::tf(1, &[2]).bytes(4, &[0; 7]).read(TF), size);
    refused(Fields::onnx(1, &[2]).bytes(9, &[0; 7]).read(ONNX), size);
    let unknown = Fields::default()
        .number(1, 1)
        .bytes(2, &Fields::default().number(3, 1).0);
    refused(
        unknown.read(TF),
        "invalid tf_proto: expected a shape of \"tensor\", found unknown_rank",
    );
    refused(
        Fields::onnx(1, &[1]).bytes(3, &[]).read(ONNX),
        "onnx_proto: \"tensor\" is a segment of a tensor; write the whole tensor",
    );
    let error = Fields(vec![0xff; 12]).read(TF).unwrap_err().to_string();
    let text = "invalid tf_proto: expected a message of Protocol Buffers, found failed to decode";
    assert!(error.starts_with(text), "{error}");
}

#[test]
fn onnx_tensor_is_called_as_the_message_says() {
    let message = Fields::onnx(2, &[1]).bytes(8, b"weights").bytes(9, &[7]);
    let file = TensorFile::from_bytes(message.0, ONNX).unwrap();
    assert_eq!(file.tensor("weights").unwrap().to_vec::<u8>().unwrap(), [7]);
}

#[test]
fn elements_are_the_last_field_of_a_message() {
    let tensor = Tensor::from([1.0_f32, 2.0]);
    let expected = Fields::tf(1, &[2]).bytes(4, &bytes_of(&tensor)).0;
    assert_eq!(written(TF, &tensor).unwrap(), expected);
    let expected = Fields::onnx(1, &[2])
        .bytes(8, b"x")
        .bytes(9, &bytes_of(&tensor))
        .0;
    assert_eq!(written(ONNX, &tensor).unwrap(), expected);
}
