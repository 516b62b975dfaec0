//! [`TensorFile`]: a file or message, of which tensors are read one by one or all at once.

use super::error::FileError;
use super::format::Format;
use super::read::read;
use super::source::Source;
use super::stored::{Copied, Found, Stored};
use crate::storage::Storage;
use crate::tensor::Tensor;
use std::collections::HashMap;
use std::path::Path;

/// How a file is opened.
///
/// # Examples
///
/// ```
/// use dlbridge::files::{Format, OpenOptions};
///
/// let options = OpenOptions::new().format(Format::Npy).copy_on_write(true);
/// assert!(options.read("missing.npy").is_err());
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct OpenOptions {
    format: Option<Format>,
    copy_on_write: bool,
}

/// A file or message, read as far as its tensors' descriptions.
///
/// # Examples
///
/// ```
/// use dlbridge::Tensor;
/// use dlbridge::files::{Format, SaveOptions, TensorFile};
///
/// let weights = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
/// let bytes = SaveOptions::new(Format::Safetensors).to_bytes(&[("weights", &weights)])?;
/// let file = TensorFile::from_bytes(bytes, None)?;
/// assert_eq!(file.get("weights").unwrap().shape(), [2, 2]);
/// assert!(file.tensor("weights")?.equals(&weights)?);
/// # Ok::<(), dlbridge::files::FileError>(())
/// ```
#[derive(Debug)]
pub struct TensorFile {
    format: Format,
    metadata: Option<Vec<(String, String)>>,
    stored: Vec<Stored>,
    index: HashMap<String, usize>,
}

/// Tensors that were loaded, and which of them were copied.
#[derive(Debug)]
#[non_exhaustive]
pub struct Loaded {
    /// The tensors, in the order of the file, or of the names that were requested.
    pub tensors: Vec<(String, Tensor)>,
    /// The names of those that couldn't share the file's memory, and why.
    pub copied: Vec<(String, Copied)>,
}

impl OpenOptions {
    /// Creates options: the format by the file's name or first bytes, and memory that is never
    /// written.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the format.
    #[must_use]
    pub fn format(mut self, format: impl Into<Option<Format>>) -> Self {
        self.format = format.into();
        self
    }

    /// Sets whether the tensors may be written. The file stays as it is: a page that is written is
    /// copied first.
    #[must_use]
    pub fn copy_on_write(mut self, copy_on_write: bool) -> Self {
        self.copy_on_write = copy_on_write;
        self
    }

    /// Maps a file into memory.
    ///
    /// # Safety
    ///
    /// While a tensor of the file is in use, no program changes or truncates the file, or those
    /// that it names as external data. A new file that is renamed to its name, as
    /// [`SaveOptions::save`](super::SaveOptions::save) does it, is no change.
    ///
    /// # Errors
    ///
    /// When the file can't be read, or isn't what its format requires.
    pub unsafe fn map(&self, path: impl AsRef<Path>) -> Result<TensorFile, FileError> {
        let copy_on_write = self.copy_on_write;
        // SAFETY: files aren't changed while a tensor uses them, which is this function's own
        // precondition.
        let source = unsafe { Source::mapping(copy_on_write) };
        let path = path.as_ref();
        self.parse(source.open(path)?, Some(path), source)
    }

    /// Reads a whole file into memory that belongs to the tensors alone.
    ///
    /// # Errors
    ///
    /// When the file can't be read, or isn't what its format requires.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<TensorFile, FileError> {
        let path = path.as_ref();
        self.parse(Source::READ.open(path)?, Some(path), Source::READ)
    }

    fn parse(
        &self,
        storage: Storage,
        path: Option<&Path>,
        source: Source,
    ) -> Result<TensorFile, FileError> {
        let (format, found) = read(self.format, &storage, path, source)?;
        TensorFile::new(format, found)
    }
}

/// How many names an error shows.
const SHOWN: usize = 10;

impl TensorFile {
    /// Maps a file into memory, to be read: the format by its name or first bytes.
    ///
    /// # Safety
    ///
    /// The same as for [`OpenOptions::map`]: no program changes or truncates the file while a
    /// tensor of it is in use.
    ///
    /// # Errors
    ///
    /// When the file can't be read, or isn't what its format requires.
    pub unsafe fn map(path: impl AsRef<Path>) -> Result<Self, FileError> {
        // SAFETY: the file isn't changed while a tensor uses it, which is this function's own
        // precondition.
        unsafe { OpenOptions::new().map(path) }
    }

    /// Reads the tensors of bytes, whose memory they share; the format by the first ones.
    ///
    /// # Errors
    ///
    /// When the bytes aren't what the format requires.
    pub fn from_bytes(
        bytes: impl Into<Vec<u8>>,
        format: impl Into<Option<Format>>,
    ) -> Result<Self, FileError> {
        Self::from_storage(Storage::from_vec(bytes.into()), format)
    }

    /// Reads the tensors of a storage on the host, whose memory they share, to be read.
    ///
    /// # Errors
    ///
    /// When the bytes aren't what the format requires, or aren't on the host; and when the storage
    /// [has gaps](Storage::has_gaps).
    pub fn from_storage(
        storage: Storage,
        format: impl Into<Option<Format>>,
    ) -> Result<Self, FileError> {
        Self::from_writable(storage.into_read_only(), format)
    }

    /// Reads the tensors of a storage on the host, which may be written if the storage may.
    pub(crate) fn from_writable(
        storage: Storage,
        format: impl Into<Option<Format>>,
    ) -> Result<Self, FileError> {
        let device = storage.device();
        if device != crate::device::Device::CPU {
            return Err(crate::error::Error::NotOnHost { device }.into());
        }
        storage.check_gapless()?;
        OpenOptions::new()
            .format(format)
            .parse(storage, None, Source::READ)
    }

    fn new(format: Format, found: Found) -> Result<Self, FileError> {
        let mut index = HashMap::with_capacity(found.stored.len());
        for (i, stored) in found.stored.iter().enumerate() {
            if index.insert(stored.name.clone(), i).is_some() {
                let name = stored.name.clone();
                return Err(FileError::Duplicate { format, name });
            }
        }
        Ok(Self {
            format,
            metadata: found.metadata,
            stored: found.stored,
            index,
        })
    }

    /// Returns the format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the metadata, if the file has any: names and texts, in the order of the file.
    pub fn metadata(&self) -> Option<&[(String, String)]> {
        self.metadata.as_deref()
    }

    /// Returns the descriptions of the tensors, in the order of the file.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Stored> {
        self.stored.iter()
    }

    /// Returns the number of tensors.
    pub fn len(&self) -> usize {
        self.stored.len()
    }

    /// Checks whether there are no tensors.
    pub fn is_empty(&self) -> bool {
        self.stored.is_empty()
    }

    /// Returns the description of a tensor.
    pub fn get(&self, name: &str) -> Option<&Stored> {
        self.index.get(name).map(|i| &self.stored[*i])
    }

    /// Returns the description of a tensor.
    ///
    /// # Errors
    ///
    /// When there is no tensor of this name.
    pub fn stored(&self, name: &str) -> Result<&Stored, FileError> {
        self.get(name).ok_or_else(|| FileError::NoSuchTensor {
            name: name.to_owned(),
            known: self
                .iter()
                .take(SHOWN)
                .map(|stored| stored.name.clone())
                .collect(),
        })
    }

    /// Returns one tensor, aligned as its elements need it.
    ///
    /// # Errors
    ///
    /// When there is no tensor of this name, compressed bytes aren't what the file says, or there
    /// is not enough memory for a copy.
    pub fn tensor(&self, name: &str) -> Result<Tensor, FileError> {
        self.stored(name)?.tensor(1)
    }

    /// Returns all tensors, at addresses that are multiples of `align`: those that can share the
    /// file's memory, and copies of the others. JAX and TensorFlow share memory that is aligned to
    /// 64 bytes.
    ///
    /// # Errors
    ///
    /// When compressed bytes aren't what the file says, or there is not enough memory for the
    /// copies.
    pub fn load(&self, align: usize) -> Result<Loaded, FileError> {
        let names: Vec<&str> = self.iter().map(Stored::name).collect();
        self.load_names(&names, align)
    }

    /// Returns the tensors of these names, as [`load`](Self::load) does it.
    ///
    /// # Errors
    ///
    /// The same as for [`load`](Self::load), and when there is no tensor of a name.
    pub fn load_names(&self, names: &[&str], align: usize) -> Result<Loaded, FileError> {
        let mut loaded = Loaded {
            tensors: Vec::with_capacity(names.len()),
            copied: Vec::new(),
        };
        for name in names {
            let stored = self.stored(name)?;
            let reason = stored.copy_reason(align);
            loaded
                .tensors
                .push(((*name).to_owned(), stored.tensor(align)?));
            loaded
                .copied
                .extend(reason.map(|reason| ((*name).to_owned(), reason)));
        }
        Ok(loaded)
    }
}
