//! `.npy`: headers of all versions, orders of bytes and of dimensions.

use super::{numbered, only, refused, written};
use dlbridge::files::{Copied, Format, SaveOptions, TensorFile};
use dlbridge::{DType, Tensor};

const FORMAT: Format = Format::Npy;

/// Returns a file of a version with a header.
fn file(version: u8, header: &str, elements: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((header.len() as u16).to_le_bytes()),
        _ => bytes.extend((header.len() as u32).to_le_bytes()),
    }
    bytes.extend(header.bytes());
    bytes.extend(elements);
    bytes
}

#[test]
fn header_is_numpy_s_byte_for_byte() {
    let cases = [
        (vec![], "()", ""),
        (vec![3], "(3,)", "                    "),
        (vec![20, 1], "(20, 1)", "                   "),
    ];
    for (shape, tuple, room) in cases {
        let bytes = written(FORMAT, &numbered(&shape, DType::F32)).unwrap();
        let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple}, }}{room}");
        assert!(bytes[10..].starts_with(text.as_bytes()), "{shape:?}");
        assert_eq!(&bytes[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert_eq!(bytes[127], b'\n');
        assert!(bytes[10 + text.len()..127].iter().all(|byte| *byte == b' '));
    }
}

#[test]
fn all_versions_and_spellings_are_read() {
    for (version, header) in [
        (1, "{'descr':'<i2','fortran_order':False,'shape':(2,)}"),
        (
            2,
            "{\"shape\": (2L,), 'fortran_order': False, 'descr': '<i2', }  \n",
        ),
        (
            3,
            " { 'descr' : '<i2', 'shape': (2 , ) , 'fortran_order' :False}\n",
        ),
    ] {
        let tensor = only(file(version, header, &[1, 0, 2, 0]), FORMAT).unwrap();
        assert_eq!(tensor.to_vec::<i16>().unwrap(), [1, 2]);
    }
}

#[test]
fn headers_have_a_limit() {
    let header = |size: usize| {
        let text = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }";
        text.to_owned() + &" ".repeat(size - text.len())
    };
    let largest = only(file(2, &header(1_000_000), &[7]), FORMAT).unwrap();
    assert_eq!(largest.to_vec::<u8>().unwrap(), [7]);
    refused(
        only(file(2, &header(1_000_001), &[7]), FORMAT),
        "invalid npy: expected a header of at most 1000000 bytes, found 1000001",
    );
}

#[test]
fn columns_stay_columns_and_are_shared() {
    let tensor = numbered(&[3, 4], DType::I32).transpose();
    let bytes = written(FORMAT, &tensor).unwrap();
    assert!(String::from_utf8_lossy(&bytes).contains("'fortran_order': True, 'shape': (4, 3)"));
    let file = TensorFile::from_bytes(bytes, None).unwrap();
    let back = file.tensor("tensor").unwrap();
    assert_eq!((back.shape(), back.strides()), (&[4, 3][..], &[1, 4][..]));
    assert!(back.equals(&tensor).unwrap() && !back.is_copied());
}

#[test]
fn big_endian_numbers_are_copied() {
    let header = |descr: &str, shape: &str| {
        format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}")
    };
    let floats: Vec<u8> = [1.5_f32, -2.0]
        .iter()
        .flat_map(|x| x.to_be_bytes())
        .collect();
    let read = TensorFile::from_bytes(file(1, &header(">f4", "(2,)"), &floats), None).unwrap();
    assert_eq!(
        read.get("tensor").unwrap().copy_reason(1),
        Some(Copied::ByteOrder)
    );
    let tensor = read.tensor("tensor").unwrap();
    assert!(tensor.is_copied());
    assert_eq!(tensor.to_vec::<f32>().unwrap(), [1.5, -2.0]);
    // Of complex numbers each part is swapped by itself.
    let tensor = only(file(1, &header(">c8", "()"), &floats), FORMAT).unwrap();
    assert_eq!(
        tensor.to_string(),
        Tensor::scalar(num_complex(1.5, -2.0)).to_string()
    );
    // Bytes have no order.
    let read = TensorFile::from_bytes(file(1, &header(">u1", "(2,)"), &[7, 8]), None).unwrap();
    assert_eq!(read.get("tensor").unwrap().copy_reason(1), None);
}

#[test]
fn native_order_is_little_endian() {
    for descr in ["<f4", "=f4", "|f4", "f4"] {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (1,), }}");
        let bytes = file(1, &header, &1.5_f32.to_le_bytes());
        let read = TensorFile::from_bytes(bytes, None).unwrap();
        let tensor = read.tensor("tensor").unwrap();
        assert_eq!(tensor.to_vec::<f32>().unwrap(), [1.5], "{descr}");
    }
}

fn num_complex(re: f32, im: f32) -> num_complex::Complex<f32> {
    num_complex::Complex::new(re, im)
}

#[test]
fn alignment_beyond_numpy_s_is_reached_by_spaces() {
    let tensor = numbered(&[5], DType::F64);
    let options = SaveOptions::new(FORMAT).align(512);
    let bytes = options.to_bytes(&[("x", &tensor)]).unwrap();
    assert_eq!(bytes.len(), 512 + 40);
    assert!(only(bytes, FORMAT).unwrap().equals(&tensor).unwrap());
}

#[test]
fn elements_without_equivalent_are_refused_by_name() {
    for (descr, name) in [
        ("'|O'", "|O"),
        ("'<U3'", "<U3"),
        ("'<M8[ns]'", "<M8[ns]"),
        ("'<f16'", "<f16"),
        ("'|V2'", "|V2"),
        ("'=x4'", "=x4"),
        ("'=<f4'", "=<f4"),
        ("''", ""),
        ("'é'", "é"),
        ("[('x', '<f4')]", "a struct"),
    ] {
        let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (1,), }}");
        refused(
            only(file(3, &header, &[0; 4]), FORMAT),
            &format!("tensor \"tensor\": elements of type {name} of npy have no DLPack equivalent"),
        );
    }
}

#[test]
fn malformed_headers_are_refused() {
    let message =
        |expected: &str, found: &str| format!("invalid npy: expected {expected}, found {found}");
    for (header, expected, found) in [
        ("", "'{' at byte 0 of the header", "the end"),
        ("{'descr': '<f4'", "'}' at byte 15 of the header", "the end"),
        (
            "{'descr': <f4}",
            "a value at byte 10 of the header",
            "\"<f4}\"",
        ),
        ("{'shape': (1,)}", "a text as descr", "nothing"),
        ("{'descr': 1}", "a text as descr", "1"),
        (
            "{'descr': '<f4'}",
            "True or False as fortran_order",
            "nothing",
        ),
        (
            "{'descr': '<f4', 'fortran_order': 0}",
            "True or False as fortran_order",
            "0",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
            "a tuple as shape",
            "3",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (3)}",
            "a tuple as shape",
            "3",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (True,)}",
            "an integer in shape",
            "True",
        ),
        (
            "{'descr': '<f4', 'descr': '<f8'}",
            "each of descr, fortran_order and shape once",
            "\"descr\"",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
            "the end of the header at byte 56 of the header",
            "\"x\"",
        ),
        (
            "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999999999999,)}",
            "an integer of 64 bits at byte 51 of the header",
            "\"9999999999999999\"",
        ),
    ] {
        refused(
            only(file(1, header, &[]), FORMAT),
            &message(expected, found),
        );
    }
    let nested = format!("{{'descr': {}", "(".repeat(1000));
    let error = only(file(1, &nested, &[]), FORMAT).unwrap_err().to_string();
    assert!(error.contains("nested less deeply"), "{error}");
    refused(
        only(file(4, "{}", &[]), FORMAT),
        &message("version 1.0, 2.0 or 3.0", "version 4.0"),
    );
    refused(
        only(b"\x93NUMPX\x01\x00\x00\x00".to_vec(), FORMAT),
        &message("\"\\x93NUMPY\" at the beginning", "\"\u{fffd}NUMPX\""),
    );
}
