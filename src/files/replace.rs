//! Files that appear under their names when they are complete.

use super::error::FileError;
use super::writer::Writer;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many symbolic links a path may lead through, as on Linux.
const MOST_LINKS: usize = 40;

/// Writes a file beside the one that it replaces, which gives it its owner and permissions, and
/// renames it. A symbolic link stays one.
pub(super) fn replace<R>(
    path: &Path,
    write: impl FnOnce(&mut Writer<&File>) -> Result<R, FileError>,
) -> Result<R, FileError> {
    let failed = |error| FileError::io(path, error);
    // So that the file that links lead to is replaced, and not the link.
    let target = behind_links(path).map_err(failed)?;
    let replaced = fs::metadata(&target).ok();
    if replaced.as_ref().is_some_and(|file| !file.is_file()) {
        return Err(failed(not_a_file(&target)));
    }
    let (mut temporary, file) = create_beside(&target, replaced.is_some()).map_err(failed)?;
    #[cfg(unix)]
    if let Some(replaced) = &replaced {
        copy_owner_and_permissions(&file, replaced).map_err(failed)?;
    }
    let result = write(&mut Writer::new(&file, path))?;
    // Before, a file that is read-only couldn't be removed after an error.
    #[cfg(not(unix))]
    if let Some(replaced) = &replaced {
        let permissions = replaced.permissions();
        file.set_permissions(permissions).map_err(failed)?;
    }
    fs::rename(&temporary.path, &target).map_err(failed)?;
    temporary.is_renamed = true;
    Ok(result)
}

/// Gives a file the owner, the group and the permissions of another one, as far as this process
/// may. What lets others run it as its owner or group isn't kept, nor are a group's permissions
/// for another group.
#[cfg(unix)]
fn copy_owner_and_permissions(file: &File, replaced: &fs::Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

    let own = file.metadata()?;
    let (owner, group) = (replaced.uid(), replaced.gid());
    let has_group = own.gid() == group || fchown(file, None, Some(group)).is_ok();
    let kept = if has_group { 0o777 } else { 0o707 };
    file.set_permissions(fs::Permissions::from_mode(replaced.mode() & kept))?;
    if own.uid() != owner {
        // Last, as the permissions are then another's to set. Only the superuser gives files away.
        let _ = fchown(file, Some(owner), None);
    }
    Ok(())
}

/// A file that is removed when it is dropped, also by a panic, unless it was renamed.
struct Temporary {
    path: PathBuf,
    is_renamed: bool,
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_renamed {
            // The error or panic is more important than a file that stays.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns the path behind symbolic links, also where the last one leads to a file that isn't there
/// yet.
pub(super) fn behind_links(path: &Path) -> io::Result<PathBuf> {
    let error = match fs::canonicalize(path) {
        Ok(target) => return Ok(target),
        Err(error) => error,
    };
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        // It isn't a link, or nothing is there.
        let Ok(link) = fs::read_link(&target) else {
            return Ok(target);
        };
        let folder = target.parent().unwrap_or(Path::new(""));
        target = folder.join(link);
    }
    // Of a loop.
    Err(error)
}

/// Returns the error of a path that leads to a folder or a device.
pub(super) fn not_a_file(path: &Path) -> io::Error {
    match path.is_dir() {
        // With the system's own number and words.
        true => OpenOptions::new()
            .write(true)
            .open(path)
            .err()
            .unwrap_or_else(|| ErrorKind::IsADirectory.into()),
        false => io::Error::new(ErrorKind::InvalidInput, "expected a regular file"),
    }
}

/// Creates a file in the same folder under a name that nothing has. A process of the same number
/// may have left one, as in another container. `private`: whether only its owner may open it.
fn create_beside(path: &Path, private: bool) -> io::Result<(Temporary, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if private {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    #[cfg(not(unix))]
    let _ = private;
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".dlbridge-{}-{count}.tmp", process::id());
        let path = path.with_file_name(name);
        match options.open(&path) {
            Ok(file) => {
                let is_renamed = false;
                return Ok((Temporary { path, is_renamed }, file));
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    #[test]
    fn panic_of_the_writer_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let write = |_: &mut Writer<&File>| -> Result<(), FileError> { panic!("expected") };
        let replaced = AssertUnwindSafe(|| replace(&folder.path().join("x"), write));
        assert!(catch_unwind(replaced).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
