//! Files that appear under their names when they are complete.

use super::error::FileError;
use super::writer::Writer;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// Writes a file beside the one that it replaces, which gives it its permissions, and renames it. A
/// symbolic link stays one.
pub(super) fn replace<R>(
    path: &Path,
    write: impl FnOnce(&mut Writer<&File>) -> Result<R, FileError>,
) -> Result<R, FileError> {
    let failed = |error| FileError::io(path, error);
    // Behind links, so that the file that they lead to is replaced, and not the link.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let replaced = fs::metadata(&target).ok();
    if replaced.as_ref().is_some_and(|file| !file.is_file()) {
        return Err(failed(not_a_file(&target)));
    }
    let (temporary, file) = create_beside(&target).map_err(failed)?;
    let mut writer = Writer::new(&file, path);
    let written = write(&mut writer).and_then(|result| {
        if let Some(replaced) = replaced {
            file.set_permissions(replaced.permissions())
                .map_err(failed)?;
        }
        fs::rename(&temporary, &target).map_err(failed)?;
        Ok(result)
    });
    if written.is_err() {
        // The error is more important than a file that stays.
        let _ = fs::remove_file(&temporary);
    }
    written
}

/// Returns the error of a path that leads to a folder or a device.
fn not_a_file(path: &Path) -> io::Error {
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
/// may have left one, as in another container.
fn create_beside(path: &Path) -> io::Result<(PathBuf, File)> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    loop {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!(".dlbridge-{}-{count}.tmp", process::id());
        let temporary = path.with_file_name(name);
        match File::create_new(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}
