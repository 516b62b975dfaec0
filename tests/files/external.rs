//! External data of ONNX's messages: elements in other files, in or below the folder.

use super::fields::Fields;
use super::{only, refused};
use dlbridge::files::{FileError, Format, OpenOptions, TensorFile};
use std::fs;
use std::path::Path;

const ONNX: Format = Format::OnnxProto;

/// Returns a message of two `float32` whose elements are in another file.
fn external(entries: &[(&str, &str)]) -> Fields {
    let head = Fields::onnx(1, &[2]).number(14, 1);
    entries.iter().fold(head, |message, (key, value)| {
        let entry = Fields::default()
            .bytes(1, key.as_bytes())
            .bytes(2, value.as_bytes());
        message.bytes(13, &entry.0)
    })
}

fn open(folder: &Path, entries: &[(&str, &str)]) -> Result<TensorFile, FileError> {
    let path = folder.join("x.pb");
    fs::write(&path, external(entries).0).unwrap();
    // SAFETY: nothing changes the files while they are used.
    unsafe { OpenOptions::new().format(ONNX).map(path) }
}

#[test]
fn external_data_is_shared() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    let values: Vec<u8> = [0.0_f32, 1.5, -2.0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    fs::write(folder.path().join("data/x.bin"), &values).unwrap();
    for entries in [
        &[("location", "data/x.bin"), ("offset", "4"), ("length", "8")][..],
        &[
            ("offset", "4"),
            ("location", "./data/x.bin"),
            ("checksum", "?"),
        ],
    ] {
        let file = open(folder.path(), entries).unwrap();
        assert_eq!(file.get("x").unwrap().copy_reason(4), None);
        assert_eq!(
            file.tensor("x").unwrap().to_vec::<f32>().unwrap(),
            [1.5, -2.0]
        );
    }
}

#[test]
fn external_data_outside_of_the_folder_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("x.bin"), [0; 8]).unwrap();
    let folder = outside.path().join("folder");
    fs::create_dir(&folder).unwrap();
    let absolute = outside.path().join("x.bin");
    let mut locations = vec![
        "../x.bin",
        "a/../../x.bin",
        absolute.to_str().unwrap(),
        "",
        "a\\x.bin",
        ".",
    ];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&absolute, folder.join("link")).unwrap();
        locations.push("link");
    }
    for location in locations {
        let text = format!(
            "tensor \"x\": external data at {location:?} is outside of the folder of the message; \
             only relative paths below it are read"
        );
        refused(open(&folder, &[("location", location)]), &text);
    }
    refused(
        only(external(&[("location", "x.bin")]).0, ONNX),
        "onnx_proto: the elements of \"tensor\" are in another file; open the message by its \
         path, which says where that is",
    );
}

#[test]
fn external_data_of_another_size_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.bin"), [0; 16]).unwrap();
    let at = ("location", "x.bin");
    refused(
        open(folder.path(), &[at]),
        "tensor \"x\": float32 elements of shape [2] need 8 bytes, found 16",
    );
    refused(
        open(folder.path(), &[at, ("offset", "12"), ("length", "8")]),
        "truncated onnx_proto: the external data of \"x\" needs 20 bytes, and there are 16",
    );
    refused(
        open(
            folder.path(),
            &[at, ("offset", "18446744073709551615"), ("length", "8")],
        ),
        "truncated onnx_proto: the external data of \"x\" needs 18446744073709551615 bytes, and \
         there are 16",
    );
    refused(
        open(folder.path(), &[at, ("offset", "-1")]),
        "invalid onnx_proto: expected a number of bytes as offset of \"x\", found \"-1\"",
    );
    assert!(open(folder.path(), &[("location", "missing")]).is_err());
}
