//! External data of ONNX's messages: elements in other files, in or below the folder.

use super::fields::Fields;
use super::{numbered, only, refused};
use dlbridge::DType;
use dlbridge::files::{FileError, Format, OpenOptions, SaveOptions, TensorFile};
use std::fs;
use std::path::{Path, PathBuf};

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

/// Creates a folder with a file outside of it, and returns the folder and locations that lead out.
fn outside_locations(outside: &Path) -> (PathBuf, Vec<String>) {
    let (folder, data) = (outside.join("folder"), outside.join("x.bin"));
    fs::create_dir(&folder).unwrap();
    fs::write(&data, [0; 8]).unwrap();
    let mut locations = vec!["../x.bin", "a/../../x.bin", "", "a\\x.bin", "."];
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(&data, folder.join("link")).unwrap();
        std::os::unix::fs::symlink(outside, folder.join("up")).unwrap();
        locations.extend(["link", "up/x.bin"]);
    }
    locations.push(data.to_str().unwrap());
    let locations = locations.into_iter().map(str::to_owned).collect();
    (folder, locations)
}

#[test]
fn external_data_outside_of_the_folder_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    let (folder, locations) = outside_locations(outside.path());
    for location in locations {
        let text = format!(
            "tensor \"x\": external data at {location:?} is outside of the folder of the message; \
             only relative paths below it are read"
        );
        refused(open(&folder, &[("location", &location)]), &text);
    }
    fs::create_dir(folder.join("below")).unwrap();
    let error = open(&folder, &[("location", "below")]).unwrap_err();
    assert!(error.to_string().contains("Is a directory"), "{error}");
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

fn save(folder: &Path, location: &str, len: usize) -> Result<Vec<String>, FileError> {
    let tensor = numbered(&[len], DType::I16);
    let options = SaveOptions::new(ONNX).external(location);
    options.save(folder.join("x.pb"), &[("x", &tensor)])
}

#[test]
fn save_puts_elements_into_another_file() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("data")).unwrap();
    // A longer file is replaced as a whole, and one that is in use stays.
    for (location, len) in [("x.bin", 9), ("x.bin", 3), ("data/x.bin", 5), ("./e", 0)] {
        assert!(save(folder.path(), location, len).unwrap().is_empty());
        let tensor = numbered(&[len], DType::I16);
        let data = fs::read(folder.path().join(location)).unwrap();
        assert_eq!(data.len(), 2 * len);
        let options = OpenOptions::new().format(ONNX);
        // SAFETY: nothing changes the files while they are used.
        let file = unsafe { options.map(folder.path().join("x.pb")) }.unwrap();
        assert_eq!(file.get("x").unwrap().copy_reason(64), None);
        save(folder.path(), location, len + 1).unwrap();
        assert!(file.tensor("x").unwrap().equals(&tensor).unwrap());
    }
    // Behind a link in the folder.
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("data/x.bin", folder.path().join("link")).unwrap();
        save(folder.path(), "link", 7).unwrap();
        assert_eq!(
            fs::read(folder.path().join("data/x.bin")).unwrap().len(),
            14
        );
        assert!(folder.path().join("link").is_symlink());
    }
}

#[test]
fn save_refuses_elements_outside_of_the_folder() {
    let outside = tempfile::tempdir().unwrap();
    let (folder, mut locations) = outside_locations(outside.path());
    locations.push("a\0".to_owned());
    if cfg!(unix) {
        locations.push("up/new.bin".to_owned());
    }
    for location in locations {
        let text = format!(
            "tensor \"x\": external data at {location:?} is outside of the folder of the message; \
             only relative paths below it are read"
        );
        refused(save(&folder, &location, 2), &text);
    }
    assert!(!folder.join("x.pb").exists());
    assert!(!outside.path().join("new.bin").exists());
    assert_eq!(fs::read(outside.path().join("x.bin")).unwrap(), [0; 8]);
    // Nor is the message replaced, the folder, or one that isn't there.
    for location in ["x.pb", "./x.pb"] {
        let text = "onnx_proto: the external data of \"x\" would replace its message; name \
                    another file";
        refused(save(&folder, location, 2), text);
    }
    for location in ["m.bin/", "m.bin/.", "m.bin/./", "./"] {
        let text = format!(
            "onnx_proto: the external data of \"x\" would be the folder {location:?}; name a file"
        );
        refused(save(&folder, location, 2), &text);
    }
    assert!(!folder.join("m.bin").exists());
    fs::create_dir(folder.join("data")).unwrap();
    assert!(save(&folder, "data", 2).is_err() && save(&folder, "missing/x.bin", 2).is_err());
}

/// A link that leads to nothing is followed too, as the file behind it is created.
#[cfg(unix)]
#[test]
fn save_follows_links_to_missing_files_within_the_folder() {
    use std::os::unix::fs::symlink;

    let outside = tempfile::tempdir().unwrap();
    let folder = outside.path().join("folder");
    fs::create_dir_all(folder.join("data")).unwrap();
    symlink("data/x.bin", folder.join("in")).unwrap();
    symlink("../new.bin", folder.join("out")).unwrap();
    symlink("x.pb", folder.join("own")).unwrap();
    refused(
        save(&folder, "out", 2),
        "tensor \"x\": external data at \"out\" is outside of the folder of the message; only \
         relative paths below it are read",
    );
    assert!(!outside.path().join("new.bin").exists() && folder.join("out").is_symlink());
    refused(
        save(&folder, "own", 2),
        "onnx_proto: the external data of \"x\" would replace its message; name another file",
    );
    save(&folder, "in", 2).unwrap();
    assert_eq!(fs::read(folder.join("data/x.bin")).unwrap().len(), 4);
    assert!(folder.join("in").is_symlink());
}

#[test]
fn save_leaves_elements_alone_if_the_message_cant_be_written() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.bin"), "another's").unwrap();
    fs::create_dir(folder.path().join("x.pb")).unwrap();
    assert!(save(folder.path(), "x.bin", 2).is_err());
    assert_eq!(fs::read(folder.path().join("x.bin")).unwrap(), b"another's");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn save_of_external_data_needs_a_file_and_onnx() {
    let x = numbered(&[2], DType::I16);
    refused(
        SaveOptions::new(ONNX)
            .external("x.bin")
            .to_bytes(&[("x", &x)]),
        "onnx_proto: external data at \"x.bin\" needs the message's folder; save the message to \
         a file",
    );
    let folder = tempfile::tempdir().unwrap();
    let npy = SaveOptions::new(Format::Npy).external("x.bin");
    refused(
        npy.save(folder.path().join("x.npy"), &[("x", &x)]),
        "npy: the format has no external data; write it to onnx_proto",
    );
    let aligned = SaveOptions::new(ONNX).external("x.bin").align(64);
    aligned
        .save(folder.path().join("x.pb"), &[("x", &x)])
        .unwrap();
    let complex = numbered(&[2], DType::C32);
    let options = SaveOptions::new(ONNX).external("c.bin");
    assert!(
        options
            .save(folder.path().join("c.pb"), &[("c", &complex)])
            .is_err()
    );
    assert!(!folder.path().join("c.bin").exists());
}
