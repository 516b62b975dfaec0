//! Disk cache of images: in the folder that the environment variable `DLBRIDGE_CACHE` names
//! (disabled if it is empty), or in `dlbridge` in `XDG_CACHE_HOME` or `~/.cache`.
//!
//! Each image is a file, named by its [key](super::key). It is written under a temporary name and
//! renamed, so other processes see all of it or nothing. It begins with a hash of its content:
//! damaged files are compiled again. Failures are ignored: a folder that can't be written disables
//! the cache. Files may be deleted at any time; they are never deleted here.

use super::image::{Image, ImageKind};
use super::key::Key;
use sha2::{Digest, Sha256};
use std::env;
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// The folder's variable.
const VARIABLE: &str = "DLBRIDGE_CACHE";

/// Magic bytes of a cache file.
const MAGIC: &[u8; 8] = b"dlbridge";

/// Path of a cached image.
pub(super) struct Place(PathBuf);

impl Place {
    /// Returns the place of a key; `None` where nothing is kept.
    pub(super) fn of(key: Key) -> Option<Self> {
        Some(Self(folder()?.join(key.0)))
    }

    /// Returns the image, if it is there, and whole.
    pub(super) fn get(&self) -> Option<Image> {
        decode(&fs::read(&self.0).ok()?).map(Image::into_cached)
    }

    /// Keeps an image, if that can be.
    pub(super) fn put(&self, image: &Image) {
        // Nothing depends on it.
        let _ = self.write(&encode(image));
    }

    fn write(&self, content: &[u8]) -> io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let folder = self.0.parent().unwrap_or(Path::new(""));
        create_private(folder)?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let new = self
            .0
            .with_extension(format!("{}-{count}.new", process::id()));
        let written = File::create_new(&new)
            .and_then(|mut file| file.write_all(content))
            .and_then(|()| fs::rename(&new, &self.0));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written
    }
}

fn folder() -> Option<PathBuf> {
    if let Some(told) = env::var_os(VARIABLE) {
        return (!told.is_empty()).then(|| told.into());
    }
    let shared = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let shared = shared.filter(|folder| folder.is_absolute());
    let shared = shared.or_else(|| Some(env::home_dir()?.join(".cache")))?;
    Some(shared.join("dlbridge"))
}

/// Makes a folder whose content is its owner's: what is in it will be run.
fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)
}

/// Returns the beginning, a hash of the rest, and in that the kind, the code, the log, and pairs of
/// names.
fn encode(image: &Image) -> Vec<u8> {
    let kind = match image.kind() {
        ImageKind::Cubin => 0,
        ImageKind::Ptx => 1,
    };
    let mut rest = vec![kind];
    let mut add = |part: &[u8]| {
        rest.extend((part.len() as u64).to_le_bytes());
        rest.extend(part);
    };
    add(image.bytes());
    add(image.log().as_bytes());
    for (name, symbol) in image.symbols() {
        add(name.as_bytes());
        add(symbol.as_bytes());
    }
    [&MAGIC[..], &Sha256::digest(&rest), &rest].concat()
}

fn decode(content: &[u8]) -> Option<Image> {
    let (hash, rest) = content.strip_prefix(MAGIC)?.split_at_checked(32)?;
    if Sha256::digest(rest)[..] != *hash {
        return None;
    }
    let (kind, mut rest) = rest.split_first()?;
    let kind = match kind {
        0 => ImageKind::Cubin,
        1 => ImageKind::Ptx,
        _ => return None,
    };
    let code = part(&mut rest)?.to_owned();
    let log = text(&mut rest)?;
    let mut names = Vec::new();
    while !rest.is_empty() {
        names.push((text(&mut rest)?, CString::new(part(&mut rest)?).ok()?));
    }
    Some(Image::new(kind, code, names, log))
}

/// Returns the next part of the content.
fn part<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (len, behind) = rest.split_first_chunk::<8>()?;
    let len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
    let (part, behind) = behind.split_at_checked(len)?;
    *rest = behind;
    Some(part)
}

fn text(rest: &mut &[u8]) -> Option<String> {
    String::from_utf8(part(rest)?.to_owned()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Image {
        let names = vec![("f<int>".to_owned(), c"_Z1fIiEvT_".to_owned())];
        Image::new(ImageKind::Ptx, vec![1, 0, 2], names, "a warning".to_owned())
    }

    #[test]
    fn encoded_image_decodes_to_itself() {
        let cubin = Image::new(ImageKind::Cubin, Vec::new(), Vec::new(), String::new());
        for image in [image(), cubin] {
            assert_eq!(decode(&encode(&image)), Some(image));
        }
    }

    #[test]
    fn decode_rejects_damaged_bytes() {
        let whole = encode(&image());
        // Miri is slow, and a hash long.
        let step = if cfg!(miri) { 29 } else { 1 };
        for len in (0..whole.len()).step_by(step) {
            assert_eq!(decode(&whole[..len]), None, "{len} bytes");
        }
        for place in (0..whole.len()).step_by(step) {
            let mut other = whole.clone();
            other[place] ^= 0x10;
            assert_eq!(decode(&other), None, "byte {place}");
        }
        assert_eq!(decode(&[&whole[..], b"more"].concat()), None);
        // Right, as far as the hash says, and nothing that could have been written.
        for rest in [
            &[][..],
            &[7],
            &[0, 1],
            &[0, 255, 255, 255, 255, 255, 255, 255, 255],
        ] {
            let content = [&MAGIC[..], &Sha256::digest(rest), rest].concat();
            assert_eq!(decode(&content), None, "{rest:?}");
        }
    }

    #[test]
    fn put_writes_whole_files_or_none() {
        let root = tempfile::tempdir().unwrap();
        let place = Place(root.path().join("a/b/key"));
        assert_eq!(place.get(), None);
        place.put(&image());
        place.put(&image());
        assert_eq!(place.get(), Some(image().into_cached()));
        let files = fs::read_dir(root.path().join("a/b")).unwrap();
        let names: Vec<_> = files.map(|file| file.unwrap().file_name()).collect();
        assert_eq!(names, ["key"]);
        // In the place of the folder there is a file, and a folder in the place of the file.
        let under_file = Place(root.path().join("a/b/key/other"));
        under_file.put(&image());
        assert_eq!(under_file.get(), None);
        let folder = Place(root.path().join("a/b"));
        folder.put(&image());
        assert_eq!(folder.get(), None);
        assert_eq!(fs::read_dir(root.path().join("a")).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn put_makes_private_folders() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        Place(root.path().join("new/key")).put(&image());
        let mode = fs::metadata(root.path().join("new"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
