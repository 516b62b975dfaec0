//! Malformed files, by the text of the error.

use super::{numbered, refused};
use dlbridge::DType;
use dlbridge::files::{FileError, Format, SaveOptions, TensorFile};

const FORMAT: Format = Format::Safetensors;

/// Returns a file with a header and a number of bytes of tensors.
fn file(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

fn open(header: &str, data: usize) -> Result<TensorFile, FileError> {
    TensorFile::from_bytes(file(header, data), FORMAT)
}

/// Returns the entry of a tensor in a header.
fn entry(name: &str, dtype: &str, shape: &str, offsets: &str) -> String {
    format!("\"{name}\":{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data_offsets\":{offsets}}}")
}

#[test]
fn truncated_files_are_refused() {
    refused(
        TensorFile::from_bytes(vec![0; 7], FORMAT),
        "truncated safetensors: the size of the header needs 8 bytes, and there are 7",
    );
    refused(
        TensorFile::from_bytes(file("{}", 0)[..9].to_vec(), FORMAT),
        "truncated safetensors: the header needs 10 bytes, and there are 9",
    );
    let header = format!("{{{}}}", entry("x", "F32", "[2]", "[0,8]"));
    refused(
        open(&header, 7),
        "truncated safetensors: the data of the tensors needs 8 bytes, and there are 7",
    );
    refused(
        open(&header, 9),
        "invalid safetensors: expected 8 bytes of tensors, found 9 bytes",
    );
    refused(
        TensorFile::from_bytes(u64::MAX.to_le_bytes(), FORMAT),
        "invalid safetensors: expected a header of at most 100000000 bytes, found \
         18446744073709551615",
    );
}

#[test]
fn invalid_shapes_are_refused() {
    let open = |shape: &str, offsets: &str, data| {
        open(&format!("{{{}}}", entry("x", "F32", shape, offsets)), data)
    };
    refused(
        open("[2,-1]", "[0,8]", 8),
        "tensor \"x\": dimension 1 has the negative size -1",
    );
    refused(
        open("[4294967296,4294967296,2]", "[0,8]", 8),
        "tensor \"x\": the sizes multiply to more elements than memory has addresses",
    );
    refused(
        open("[4611686018427387904]", "[0,8]", 8),
        "tensor \"x\": sizes and strides of float32 elements reach further than memory has \
         addresses",
    );
    refused(
        open("[3]", "[0,8]", 8),
        "tensor \"x\": float32 elements of shape [3] need 12 bytes, found 8",
    );
    let many = format!("[{}]", vec!["1"; 256].join(","));
    refused(
        open(&many, "[0,4]", 4),
        "tensor \"x\": 256 dimensions are more than the 255 that are supported",
    );
}

#[test]
fn ranges_that_overlap_leave_gaps_or_run_backwards_are_refused() {
    let open = |first: &str, second: &str, data| {
        let (a, b) = (
            entry("a", "U8", "[2]", first),
            entry("b", "U8", "[2]", second),
        );
        open(&format!("{{{a},{b}}}"), data)
    };
    refused(
        open("[0,2]", "[1,3]", 3),
        "invalid safetensors: the bytes of \"a\" and \"b\" overlap",
    );
    refused(
        open("[0,2]", "[3,5]", 5),
        "invalid safetensors: expected \"b\" to begin at byte 2 of the data, found data_offsets \
         [3, 5]",
    );
    refused(
        open("[0,2]", "[2,1]", 2),
        "invalid safetensors: expected \"b\" to begin at byte 2 of the data, found data_offsets \
         [2, 1]",
    );
    refused(
        open("[0,2]", "[-2,0]", 2),
        "invalid safetensors: expected two data_offsets of \"b\", not negative, found [-2, 0]",
    );
    refused(
        open("[0,2]", "[2]", 2),
        "invalid safetensors: expected two data_offsets of \"b\", not negative, found [2]",
    );
}

#[test]
fn malformed_headers_are_refused() {
    let at = |expected: &str, found: &str| {
        format!("invalid safetensors: expected {expected} of the header, found {found}")
    };
    for (header, expected, found) in [
        ("", "an object at byte 0", "the end"),
        ("[]", "an object at byte 0", "\"[]\""),
        ("{\"a\"}", "\":\" after a name at byte 4", "\"}\""),
        ("{\"a", "the end of a string at byte 3", "the end"),
        ("{\"a\\x\"", "an escape at byte 4", "\"x\\\"\""),
        ("{\"\\ud800\"", "a character at byte 8", "\"\\\"\""),
        (
            "{\"\\u12\"",
            "four hexadecimal digits at byte 4",
            "\"12\\\"\"",
        ),
        (
            "{\"a\nb\"",
            "no control character in a string at byte 3",
            "\"\\nb\\\"\"",
        ),
        ("{} {}", "the end of the header at byte 3", "\"{}\""),
        ("{\"a\":{\"dtype\":1}}", "a string at byte 14", "\"1}}\""),
        ("{\"a\":{\"more\":tru}}", "a value at byte 13", "\"tru}}\""),
        (
            "{\"a\":{\"shape\":[1.5]}}",
            "an integer of 64 bits at byte 15",
            "\"1.5]}}\"",
        ),
        (
            "{\"a\":{\"shape\":[01]}}",
            "an integer of 64 bits at byte 15",
            "\"01]}}\"",
        ),
        (
            "{\"a\":{\"shape\":[1}}",
            "\",\" or the end of a list at byte 16",
            "\"}}\"",
        ),
        (
            "{\"a\":{}}",
            "\"dtype\" of \"a\", before the end at byte 7",
            "\"}\"",
        ),
        (
            "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"I8\"}}",
            "\"dtype\" of \"a\" once, before the end at byte 31",
            "\"}}\"",
        ),
        (
            "{\"__metadata__\":{\"a\":1}}",
            "a string at byte 21",
            "\"1}}\"",
        ),
    ] {
        refused(open(header, 0), &at(expected, found));
    }
    let deep = format!("{{\"a\":{{\"x\":{}", "[".repeat(100_000));
    let error = open(&deep, 0).unwrap_err().to_string();
    assert!(error.contains("nested less deeply"), "{error}");
    refused(
        TensorFile::from_bytes(vec![1, 0, 0, 0, 0, 0, 0, 0, 0xff], FORMAT),
        "invalid safetensors: expected a header in UTF-8, found invalid utf-8 sequence of 1 \
         bytes from index 0",
    );
}

#[test]
fn duplicate_names_are_refused() {
    let x = entry("x", "U8", "[1]", "[0,1]");
    let text = "invalid safetensors: two tensors are called \"x\"; names must differ";
    refused(open(&format!("{{{x},{x}}}"), 1), text);
    let tensor = numbered(&[1], DType::U8);
    let twice = [("x", &tensor), ("x", &tensor)];
    refused(SaveOptions::new(FORMAT).to_bytes(&twice), text);
    let twice = "{\"__metadata__\":{\"a\":\"\",\"a\":\"\"}}";
    refused(
        open(twice, 0),
        "invalid safetensors: expected metadata of which each name comes once, found \"a\" twice",
    );
    let twice = SaveOptions::new(FORMAT).metadata("a", "").metadata("a", "");
    refused(
        twice.to_bytes(&[("x", &tensor)]),
        "safetensors: the metadata has \"a\" twice; give each name once",
    );
}

#[test]
fn metadata_may_be_null() {
    let file = open("{\"__metadata__\": null}", 0).unwrap();
    assert_eq!((file.metadata(), file.len()), (None, 0));
}

#[test]
fn unknown_element_types_are_refused() {
    refused(
        open(&format!("{{{}}}", entry("x", "F8", "[1]", "[0,1]")), 1),
        "tensor \"x\": elements of type F8 of safetensors have no DLPack equivalent",
    );
}
