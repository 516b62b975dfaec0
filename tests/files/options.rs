//! Formats, options and element types that don't go together, by the text of the error.

use super::{numbered, refused, written};
use dlbridge::files::{FileError, Format, OpenOptions, SaveOptions, TensorFile};
use dlbridge::{DType, Device, Storage, Tensor};
use std::path::Path;

const FORMAT: Format = Format::Safetensors;

#[test]
fn element_types_that_one_side_lacks_are_refused() {
    for (format, dtype, remedy) in [
        (FORMAT, DType::C128, "cast it, or view it as integers"),
        (
            Format::Npy,
            DType::BF16,
            "write it to safetensors, or cast it",
        ),
        (
            Format::Npz,
            DType::I4,
            "write it to safetensors, or cast it",
        ),
        (
            Format::TfProto,
            DType::F8_E8M0FNU,
            "write it to safetensors, or cast it",
        ),
        (
            Format::OnnxProto,
            DType::C32,
            "write it to safetensors, or cast it",
        ),
    ] {
        refused(
            written(format, &numbered(&[4], dtype)),
            &format!("tensor \"x\": {format} has no {dtype} elements; {remedy}"),
        );
    }
    refused(
        written(FORMAT, &numbered(&[3], DType::F4_E2M1FN)),
        "safetensors: expected whole bytes of float4_e2m1fn in \"x\", got 12 bits; append elements",
    );
}

#[test]
fn options_that_a_format_lacks_are_refused() {
    let x = numbered(&[2], DType::U8);
    let one = [("x", &x)];
    refused(
        SaveOptions::new(Format::Npy).to_bytes(&[one[0], ("y", &x)]),
        "npy: expected 1 tensor, got 2; write several to safetensors or npz",
    );
    refused(
        SaveOptions::new(Format::Npz)
            .metadata("a", "b")
            .to_bytes(&one),
        "npz: the format has no metadata; write it to safetensors",
    );
    refused(
        SaveOptions::new(Format::TfProto).align(64).to_bytes(&one),
        "tf_proto: the elements of a message can't be aligned; write them to safetensors, npy or \
         npz",
    );
    refused(
        SaveOptions::new(FORMAT).to_bytes(&[("__metadata__", &x)]),
        "safetensors: a tensor can't be called \"__metadata__\"; rename it",
    );
    refused(
        SaveOptions::new(Format::Npz).to_bytes(&[("a\0b", &x)]),
        "npz: a tensor can't be called \"a\\0b\"; rename it",
    );
    let long = "x".repeat(70_000);
    refused(
        SaveOptions::new(Format::Npz).to_bytes(&[(&long, &x)]),
        "npz: a name of 70000 bytes; rename it: names have at most 65531 bytes",
    );
}

#[test]
#[should_panic = "expected a power of two up to 4096, got 48"]
fn align_panics_without_a_power_of_two() {
    let _ = SaveOptions::new(FORMAT).align(48);
}

#[test]
fn unknown_formats_names_and_files_are_refused() {
    let choice = "pass one of safetensors, npy, npz, tf_proto, onnx_proto";
    refused(
        TensorFile::from_bytes(vec![1, 2, 3], None),
        &format!("can't tell the format of the bytes; {choice}"),
    );
    refused(
        "zip".parse::<Format>(),
        &format!("can't tell the format of the name \"zip\"; {choice}"),
    );
    let file = TensorFile::from_bytes(written(FORMAT, &numbered(&[1], DType::U8)).unwrap(), None);
    refused(
        file.unwrap().tensor("y"),
        "no tensor is called \"y\"; there are [\"x\"]",
    );
    let missing = Path::new("no/such/file.npy");
    let error = OpenOptions::new().read(missing).unwrap_err();
    assert!(
        error.to_string().starts_with("no/such/file.npy: "),
        "{error}"
    );
    let tensor = numbered(&[1], DType::U8);
    let error = SaveOptions::new(Format::Npy).save(missing, &[("x", &tensor)]);
    assert!(matches!(error.unwrap_err(), FileError::Io { path, .. } if path == missing));
}

#[test]
fn memory_that_the_host_cannot_reach_is_refused() {
    let mut bytes = [0_u8; 4];
    // SAFETY: the memory is never accessed, as it isn't on the host.
    let storage = unsafe { Storage::from_raw(bytes.as_mut_ptr(), 4, Device::cuda(0), || ()) };
    let read = TensorFile::from_storage(storage.clone(), FORMAT);
    let read = read.unwrap_err().to_string();
    let tensor = Tensor::from_storage(storage, &[4], DType::U8).unwrap();
    let write = written(FORMAT, &tensor).unwrap_err().to_string();
    assert_eq!(read, write);
    assert!(read.contains("cuda:0"), "{read}");
}

#[test]
fn format_is_told_by_name_or_first_bytes() {
    for format in Format::ALL {
        assert_eq!(format.name().parse::<Format>().unwrap(), *format);
        let bytes = written(*format, &numbered(&[2], DType::I32)).unwrap();
        let told = Format::of_bytes(&bytes);
        let path = format!("folder/x.{}", format.name().to_uppercase());
        let named = Format::of_path(Path::new(&path));
        if matches!(format, Format::TfProto | Format::OnnxProto) {
            assert_eq!((told, named), (None, None));
        } else {
            assert_eq!((told, named), (Some(*format), Some(*format)));
        }
    }
}
