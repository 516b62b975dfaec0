//! [`Source`]: how the bytes of a file get into memory.

use super::error::FileError;
use crate::storage::Storage;
use memmap2::MmapOptions;
use std::fs::{self, File};
use std::path::Path;

/// How the bytes of a file get into memory.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source(Way);

#[derive(Debug, Clone, Copy)]
enum Way {
    Read,
    Map { copy_on_write: bool },
}

impl Source {
    /// Files are read into memory.
    pub(super) const READ: Self = Self(Way::Read);

    /// Files are mapped into memory.
    ///
    /// # Safety
    ///
    /// No program changes or truncates a file that is opened in this way while a storage of it
    /// exists.
    pub(super) unsafe fn mapping(copy_on_write: bool) -> Self {
        Self(Way::Map { copy_on_write })
    }

    /// Opens a file.
    pub(super) fn open(self, path: &Path) -> Result<Storage, FileError> {
        let failed = |error| FileError::io(path, error);
        let Way::Map { copy_on_write } = self.0 else {
            return Ok(Storage::from_vec(fs::read(path).map_err(failed)?));
        };
        let file = File::open(path).map_err(failed)?;
        let about = file.metadata().map_err(failed)?;
        if about.is_dir() {
            // Reading says so in the system's own words, which mapping doesn't.
            fs::read(path).map_err(failed)?;
        }
        if about.len() == 0 {
            return Ok(Storage::from_vec(Vec::<u8>::new()));
        }
        let mut options = MmapOptions::new();
        if copy_on_write {
            // SAFETY: the file isn't changed while a storage of it exists: the precondition of
            // `mapping`, which alone creates such a source.
            let mapping = unsafe { options.no_reserve_swap().map_copy(&file) };
            return Ok(Storage::from_owner_mut(mapping.map_err(failed)?));
        }
        // SAFETY: the file isn't changed while a storage of it exists: the precondition of
        // `mapping`, which alone creates such a source.
        let mapping = unsafe { options.map(&file) };
        Ok(Storage::from_owner(mapping.map_err(failed)?))
    }
}
