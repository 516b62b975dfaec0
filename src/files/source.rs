//! [`Source`]: how the bytes of a file get into memory.

use super::error::FileError;
use super::replace::not_a_file;
use crate::storage::Storage;
use memmap2::MmapOptions;
use std::fs::{self, File};
use std::io::Read;
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
        // Before it is opened, as that would wait for the other end of a pipe.
        if !fs::metadata(path).map_err(failed)?.is_file() {
            return Err(failed(not_a_file(path)));
        }
        let Way::Map { copy_on_write } = self.0 else {
            return Ok(Storage::from_vec(fs::read(path).map_err(failed)?));
        };
        let mut file = File::open(path).map_err(failed)?;
        if file.metadata().map_err(failed)?.len() == 0 {
            // Files of `/proc` claim to be empty, and can't be mapped.
            return match file.read(&mut [0]).map_err(failed)? {
                0 => Ok(Storage::from_vec(Vec::<u8>::new())),
                _ => Err(failed(not_a_file(path))),
            };
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
