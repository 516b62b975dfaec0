//! Memory that ends while a file is read or written: an error, and not the end of the process.

use super::npz::claiming;
use super::refused;
use dlbridge::files::{Format, SaveOptions, TensorFile};
use dlbridge::{DType, Tensor};
use std::env;
use std::process::Command;

const MEBIBYTE: usize = 1 << 20;
/// The variable that tells a process that its memory is limited.
const LIMITED: &str = "DLBRIDGE_TEST_LIMITED";

/// Runs itself again in a process with 1 GiB of addresses.
#[test]
fn short_allocation_is_an_error() {
    if env::var_os(LIMITED).is_some() {
        inflate_more_than_there_is();
        list_more_values_than_there_is();
        return;
    }
    let child = Command::new("sh")
        .args(["-c", "ulimit -v 1048576 && exec \"$0\" \"$@\""])
        .arg(env::current_exe().unwrap())
        .args(["--exact", "exhausted_memory::short_allocation_is_an_error"])
        .arg("--nocapture")
        .env(LIMITED, "1")
        .output()
        .unwrap();
    let said = [child.stdout, child.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(child.status.success(), "{}: {said}", child.status);
    assert!(said.contains("1 passed"), "{said}");
}

/// The tensor has room, and the inflated member beside it has not.
fn inflate_more_than_there_is() {
    let (size, header) = (640 * MEBIBYTE, 128);
    let text = format!(
        "{{'descr': '|u1', 'fortran_order': False, 'shape': ({},), }}",
        size - header
    );
    let text = format!("{text:<117}\n");
    let start = [b"\x93NUMPY\x01\x00\x76\x00", text.as_bytes()].concat();
    assert_eq!(start.len(), header);
    let file = TensorFile::from_bytes(claiming(&start, size), Format::Npz).unwrap();
    refused(
        file.tensor("a"),
        &format!("can't allocate {size} bytes of memory"),
    );
}

/// The tensor has room, and the list of `i32` has not.
fn list_more_values_than_there_is() {
    let count = 192 * MEBIBYTE;
    let tensor = Tensor::zeros(&[count], DType::U16).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let options = SaveOptions::new(Format::TfProto);
    refused(
        options.save(folder.path().join("x.pb"), &[("x", &tensor)]),
        &format!("can't allocate {} bytes of memory", 4 * count),
    );
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
