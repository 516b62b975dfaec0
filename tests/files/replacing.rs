//! Replacement of existing files by `save`.

use super::{numbered, refused};
use dlbridge::DType;
use dlbridge::files::{Format, OpenOptions, SaveOptions, TensorFile};
#[cfg(unix)]
use dlbridge::storage::{Access, SyncOwner};
#[cfg(unix)]
use dlbridge::{Device, DeviceKind, Storage, Tensor};
use std::fs;
use std::path::Path;
#[cfg(unix)]
use std::path::PathBuf;
#[cfg(unix)]
use std::sync::{Arc, Mutex};

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
fn save_keeps_the_owner_where_it_may() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};

    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.npy");
    save(&file, 1).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o660)).unwrap();
    // Only the superuser gives files away; others replace a file of their own here.
    let _ = chown(&file, Some(1234), Some(5678));
    let before = fs::metadata(&file).unwrap();
    save(&file, 2).unwrap();
    let after = fs::metadata(&file).unwrap();
    assert_eq!((after.uid(), after.gid()), (before.uid(), before.gid()));
    assert_eq!(after.mode() & 0o7777, 0o660);
    assert_eq!(len(&file), 2);
}

/// The owner of a tensor's memory that looks at a folder when the memory is read.
#[cfg(unix)]
struct Observer {
    values: Vec<u8>,
    folder: PathBuf,
    /// Permissions and sizes of the temporary files.
    seen: Arc<Mutex<Vec<(u32, u64)>>>,
}

#[cfg(unix)]
impl SyncOwner for Observer {
    fn settle(&self) -> Result<(), String> {
        use std::os::unix::fs::PermissionsExt;

        for name in names(&self.folder) {
            if name.starts_with(".dlbridge-") {
                let about = fs::metadata(self.folder.join(name)).unwrap();
                let mode = about.permissions().mode() & 0o777;
                self.seen.lock().unwrap().push((mode, about.len()));
            }
        }
        Ok(())
    }
}

#[cfg(unix)]
#[test]
fn save_has_the_permissions_before_it_writes() {
    use std::os::unix::fs::PermissionsExt;

    for mode in [0o600, 0o640, 0o400, 0o4750] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.npy");
        save(&file, 1).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let seen = Arc::default();
        let mut owner = Observer {
            values: vec![5; 7],
            folder: folder.path().to_owned(),
            seen: Arc::clone(&seen),
        };
        let (data, nbytes) = (owner.values.as_mut_ptr(), owner.values.len());
        let device = Device::new(DeviceKind::CudaManaged, 0);
        // SAFETY: the owner keeps the 7 bytes of the vector where they are until it is dropped, and
        // nothing writes them.
        let storage =
            unsafe { Storage::from_sync_owner(data, nbytes, device, Access::ReadOnly, owner) };
        let tensor = Tensor::from_storage(storage, &[7], DType::U8).unwrap();
        SaveOptions::new(Format::Npy)
            .save(&file, &[("x", &tensor)])
            .unwrap();
        assert_eq!(len(&file), 7);
        let seen = seen.lock().unwrap();
        assert!(!seen.is_empty());
        assert!(
            seen.iter().all(|seen| *seen == (mode & 0o777, 128)),
            "{mode:o}: {seen:?}"
        );
        assert_eq!(
            fs::metadata(&file).unwrap().permissions().mode() & 0o7777,
            mode & 0o777,
            "what runs a file as its owner isn't kept"
        );
    }
}

#[cfg(unix)]
#[test]
fn save_follows_links_to_missing_files() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("links")).unwrap();
    fs::create_dir(path("data")).unwrap();
    // Relative to the folder of each link, and absolute.
    symlink("../data/x.npy", path("links/one.npy")).unwrap();
    symlink("links/two.npy", path("first.npy")).unwrap();
    symlink("../data/y.npy", path("links/two.npy")).unwrap();
    symlink(path("data/z.npy"), path("absolute.npy")).unwrap();
    for (i, (link, target)) in [
        ("links/one.npy", "data/x.npy"),
        ("first.npy", "data/y.npy"),
        ("absolute.npy", "data/z.npy"),
    ]
    .into_iter()
    .enumerate()
    {
        for size in [i + 1, i + 2] {
            save(&path(link), size).unwrap();
            assert_eq!(len(&path(target)), size);
            assert!(path(link).is_symlink() && !path(target).is_symlink());
        }
    }
    assert!(path("links/two.npy").is_symlink());
    assert_eq!(names(&path("data")), ["x.npy", "y.npy", "z.npy"]);
    assert_eq!(names(&path("links")), ["one.npy", "two.npy"]);
}

#[cfg(unix)]
#[test]
fn save_leaves_links_that_lead_nowhere() {
    use std::os::unix::fs::symlink;

    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    symlink("missing/x.npy", path("away.npy")).unwrap();
    symlink("b.npy", path("a.npy")).unwrap();
    symlink("a.npy", path("b.npy")).unwrap();
    for (link, number) in [("away.npy", "(os error 2)"), ("a.npy", "Too many")] {
        let error = save(&path(link), 1).unwrap_err().to_string();
        assert!(error.contains(number), "{error}");
        assert!(error.starts_with(path(link).to_str().unwrap()), "{error}");
    }
    assert_eq!(names(folder.path()), ["a.npy", "away.npy", "b.npy"]);
    assert!(
        names(folder.path())
            .iter()
            .all(|name| path(name).is_symlink())
    );
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

#[cfg(unix)]
#[test]
fn files_that_are_not_regular_are_refused_before_they_are_opened() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe.npy");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let mut paths = vec![pipe, "/dev/zero".into()];
    if cfg!(target_os = "linux") {
        // It says that it is a regular file of no bytes.
        paths.push("/proc/version".into());
    }
    for path in paths {
        let text = format!("{}: expected a regular file", path.display());
        let options = OpenOptions::new().format(Format::Npy);
        // SAFETY: nothing is mapped of them.
        refused(unsafe { options.map(&path) }, &text);
        if !path.starts_with("/proc") {
            refused(options.read(&path), &text);
        }
    }
}
