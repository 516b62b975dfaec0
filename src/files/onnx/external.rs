//! External data: elements in another file, in or below the message's folder.

use super::message::Entry;
use crate::files::error::FileError;
use crate::files::format::Format;
use crate::files::replace::{behind_links, not_a_file};
use crate::files::source::Source;
use crate::files::stored::part;
use crate::storage::Storage;
use std::path::{Component, Path, PathBuf};

const FORMAT: Format = Format::OnnxProto;

/// Returns the bytes that the entries name.
pub(super) fn open(
    name: &str,
    entries: &[Entry],
    folder: Option<(&Path, Source)>,
) -> Result<Storage, FileError> {
    let Some((folder, source)) = folder else {
        return Err(FileError::Unsupported {
            format: FORMAT,
            what: format!("the elements of {name:?} are in another file"),
            remedy: "open the message by its path, which says where that is",
        });
    };
    let location = text(entries, "location").unwrap_or_default();
    let path = find(name, location, folder)?;
    let bytes = source.open(&path)?;
    let offset = number(name, entries, "offset")?.unwrap_or(0);
    let rest = (bytes.nbytes() as u64).saturating_sub(offset);
    let length = number(name, entries, "length")?.unwrap_or(rest);
    let end = offset.saturating_add(length);
    let range = usize::try_from(offset).ok().zip(usize::try_from(end).ok());
    let found = range.and_then(|(start, end)| part(&bytes, start..end));
    found.ok_or_else(|| {
        let what = format!("the external data of {name:?}");
        FileError::truncated(FORMAT, &what, end, bytes.nbytes())
    })
}

fn text<'a>(entries: &'a [Entry], key: &str) -> Option<&'a str> {
    let mut found = entries
        .iter()
        .filter(|entry| entry.key.as_deref() == Some(key));
    found.next()?.value.as_deref()
}

fn number(name: &str, entries: &[Entry], key: &str) -> Result<Option<u64>, FileError> {
    let Some(text) = text(entries, key) else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|_| {
        let expected = format!("a number of bytes as {key} of {name:?}");
        FileError::malformed(FORMAT, expected, format!("{text:?}"))
    })
}

/// Returns the entries that name the whole of a file.
pub(super) fn entries(location: &str, nbytes: usize) -> Vec<Entry> {
    let entry = |key: &str, value: String| Entry {
        key: Some(key.to_owned()),
        value: Some(value),
    };
    vec![
        entry("location", location.to_owned()),
        entry("offset", "0".to_owned()),
        entry("length", nbytes.to_string()),
    ]
}

/// Returns the path of a file that is in the folder or below, also behind symbolic links.
fn find(name: &str, location: &str, folder: &Path) -> Result<PathBuf, FileError> {
    let relative = below(name, location)?;
    let (folder, path) = (resolve(folder)?, resolve(&folder.join(relative))?);
    if !path.starts_with(&folder) || path == folder {
        return Err(outside(name, location));
    }
    if !path.is_file() {
        return Err(FileError::io(&path, not_a_file(&path)));
    }
    Ok(path)
}

/// Returns the path at which a message's elements are written: in its folder or below, also behind
/// symbolic links, and not its own.
pub(super) fn place(name: &str, location: &str, message: &Path) -> Result<PathBuf, FileError> {
    let relative = below(name, location)?;
    // A path loses such an end, and the message would keep it.
    if location.ends_with('/') || location.ends_with("/.") {
        return Err(FileError::Unsupported {
            format: FORMAT,
            what: format!("the external data of {name:?} would be the folder {location:?}"),
            remedy: "name a file",
        });
    }
    let folder = message.parent().unwrap_or(Path::new(""));
    let path = folder.join(relative);
    let (Some(parent), Some(file)) = (path.parent(), path.file_name()) else {
        return Err(outside(name, location));
    };
    let (folder, parent) = (resolve(folder)?, resolve(parent)?);
    let path = resolve_new(&parent.join(file))?;
    if !parent.starts_with(&folder) || !path.starts_with(&folder) {
        return Err(outside(name, location));
    }
    let own = message.file_name().map(|name| folder.join(name));
    if own.map(|own| resolve_new(&own)).transpose()? == Some(path.clone()) {
        return Err(FileError::Unsupported {
            format: FORMAT,
            what: format!("the external data of {name:?} would replace its message"),
            remedy: "name another file",
        });
    }
    Ok(path)
}

/// Returns a location as a relative path that doesn't lead up.
fn below<'a>(name: &str, location: &'a str) -> Result<&'a Path, FileError> {
    let relative = Path::new(location);
    let is_below = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    // Elsewhere a backslash separates folders, and a message means the same everywhere.
    if location.is_empty() || !is_below || location.contains(['\\', '\0']) {
        return Err(outside(name, location));
    }
    Ok(relative)
}

fn outside(name: &str, location: &str) -> FileError {
    FileError::OutsideFolder {
        name: name.to_owned(),
        location: location.to_owned(),
    }
}

/// Returns a path without symbolic links, also of a file that isn't there yet.
fn resolve_new(path: &Path) -> Result<PathBuf, FileError> {
    let target = behind_links(path).map_err(|error| FileError::io(path, error))?;
    match (target.parent(), target.file_name()) {
        (Some(folder), Some(file)) => Ok(resolve(folder)?.join(file)),
        _ => Ok(target),
    }
}

/// Returns a path without symbolic links; the current folder for an empty one.
fn resolve(path: &Path) -> Result<PathBuf, FileError> {
    let path = match path.as_os_str().is_empty() {
        true => Path::new("."),
        false => path,
    };
    path.canonicalize()
        .map_err(|error| FileError::io(path, error))
}
