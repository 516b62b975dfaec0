//! Replacement of existing files by `save`.

use super::{numbered, refused};
use dlbridge::DType;
use dlbridge::files::{Format, OpenOptions, SaveOptions, TensorFile};
use std::fs;
use std::path::Path;

fn save(path: &Path, value: usize) -> Result<Vec<String>, dlbridge::files::FileError> {
    let tensor = numbered(&[value], DType::U8);
    SaveOptions::new(Format::Npy).save(path, &[("x", &tensor)])
}

fn len(path: &Path) -> usize {
    let file: TensorFile = OpenOptions::new().read(path).unwrap();
    file.iter().next().unwrap().shape()[0]
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[cfg(unix)]
#[test]
fn save_keeps_permissions_and_links() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = tempfile::tempdir().unwrap();
    let (file, link) = (folder.path().join("x.npy"), folder.path().join("link.npy"));
    save(&file, 1).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    symlink("x.npy", &link).unwrap();
    save(&link, 2).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(len(&file), 2);
    let mode = fs::metadata(&file).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert_eq!(names(folder.path()), ["link.npy", "x.npy"]);
}

#[cfg(unix)]
#[test]
fn save_refuses_what_is_no_regular_file() {
    use std::os::unix::net::UnixListener;

    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let _listener = UnixListener::bind(&socket).unwrap();
    refused(
        save(&socket, 1),
        &format!("{}: expected a regular file", socket.display()),
    );
    let error = save(folder.path(), 1).unwrap_err().to_string();
    assert!(error.contains("directory"), "{error}");
    assert_eq!(names(folder.path()), ["socket"]);
}

#[test]
fn save_passes_by_files_that_others_left() {
    let folder = tempfile::tempdir().unwrap();
    let left: Vec<_> = (0..200)
        .map(|count| format!(".dlbridge-{}-{count}.tmp", std::process::id()))
        .collect();
    for name in &left {
        fs::write(folder.path().join(name), "another's").unwrap();
    }
    let file = folder.path().join("x.npy");
    save(&file, 3).unwrap();
    assert_eq!(len(&file), 3);
    for name in &left {
        assert_eq!(fs::read(folder.path().join(name)).unwrap(), b"another's");
    }
    assert_eq!(names(folder.path()).len(), left.len() + 1);
}

#[test]
fn map_of_a_folder_says_so() {
    let folder = tempfile::tempdir().unwrap();
    // SAFETY: nothing is mapped of a folder.
    let error = unsafe { OpenOptions::new().map(folder.path()) };
    let error = error.unwrap_err().to_string();
    assert!(error.contains("directory"), "{error}");
}
