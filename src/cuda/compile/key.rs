//! [`Key`]: the cache key of an image, a SHA-256 over everything that it depends on.
//!
//! It is SHA-256, as two sources with one key would mean that wrong machine code is run; the hashes
//! of the standard library are too short for that, and may change.

use super::disk_includes::may_read_files;
use super::find::Library;
use super::headers;
use super::source::Source;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Changes with what is hashed, and with how images are kept.
const FORMAT: &str = "dlbridge kernels 2";

/// A hash, in hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key(pub(super) String);

/// Hash input: each part after its length.
struct Hash(Sha256);

impl Hash {
    fn add(&mut self, part: &[u8]) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    fn add_all<'a>(&mut self, parts: impl ExactSizeIterator<Item = &'a [u8]>) {
        self.0.update((parts.len() as u64).to_le_bytes());
        parts.for_each(|part| self.add(part));
    }

    /// Returns which version of a file it is; its contents aren't read. `None` where there is no
    /// such file.
    fn add_file(&mut self, file: &Path) -> Option<()> {
        let facts = fs::metadata(file).ok()?;
        let changed = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        self.add(file.as_os_str().as_encoded_bytes());
        self.add(&facts.len().to_le_bytes());
        self.add(&changed.as_nanos().to_le_bytes());
        Some(())
    }

    /// Adds which version of CUDA's headers is in each folder. `None` where one doesn't tell.
    fn add_headers(&mut self, folders: &[PathBuf]) -> Option<()> {
        folders.iter().try_for_each(|folder| {
            let files = headers::STAMPS.map(|name| folder.join(name));
            let found = files.iter().filter_map(|file| self.add_file(file)).count();
            (found > 0).then_some(())
        })
    }
}

impl Source {
    /// Returns the key of this source's image; `None` if it may depend on the user's files, as then
    /// it isn't cached.
    pub(super) fn key(
        &self,
        library: &Library,
        version: (i32, i32),
        options: &[String],
    ) -> Option<Key> {
        let texts = [&self.text]
            .into_iter()
            .chain(self.headers.iter().map(|(_, text)| text));
        if may_read_files(texts.map(String::as_str), &self.headers, &self.options) {
            return None;
        }
        let mut hash = Hash(Sha256::new());
        hash.add(FORMAT.as_bytes());
        // Which NVRTC it is, without it being loaded.
        hash.add_file(&library.path)?;
        hash.add_headers(&library.headers)?;
        hash.add(&version.0.to_le_bytes());
        hash.add(&version.1.to_le_bytes());
        hash.add(self.name.as_bytes());
        hash.add(self.text.as_bytes());
        hash.add_all(options.iter().map(String::as_bytes));
        hash.add_all(self.kernels.iter().map(String::as_bytes));
        hash.add_all(self.headers.iter().map(|(name, _)| name.as_bytes()));
        hash.add_all(self.headers.iter().map(|(_, text)| text.as_bytes()));
        Some(Key(digits(&hash.0.finalize())))
    }
}

fn digits(hash: &[u8]) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_of_headers_counts() {
        let root = tempfile::tempdir().unwrap();
        let folders = ["cuda", "cccl"].map(|name| root.path().join(name));
        let hash = || {
            let mut hash = Hash(Sha256::new());
            hash.add_headers(&folders)?;
            Some(digits(&hash.0.finalize()))
        };
        let put = |file: &Path, text: &str| {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        };
        put(&folders[0].join(headers::KNOWN_BY), "");
        assert_eq!(hash(), None, "one doesn't tell its version");
        let mut known = Vec::new();
        for text in ["1", "22"] {
            for file in ["cuda/std/version", "cuda/std/__cccl/version.h"] {
                put(&folders[1].join(file), text);
                known.push(hash().unwrap());
            }
        }
        assert_eq!(hash().as_ref(), known.last());
        known.dedup();
        assert_eq!(known.len(), 4, "each change is another key");
    }
}
