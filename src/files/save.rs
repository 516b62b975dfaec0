//! [`SaveOptions`]: tensors written to a file, or as bytes, in one pass.

use super::error::FileError;
use super::format::Format;
use super::writer::Writer;
use super::{npy, npz, safetensors};
#[cfg(feature = "proto")]
use super::{onnx, tensorflow};
use crate::tensor::Tensor;
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Cursor, ErrorKind, Seek, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// How tensors are written.
///
/// Without options the bytes are those that the format's own library writes.
///
/// # Examples
///
/// ```
/// use dlbridge::Tensor;
/// use dlbridge::files::{Format, SaveOptions, TensorFile};
///
/// let ids = Tensor::from([1_i64, 2, 3]);
/// let options = SaveOptions::new(Format::Safetensors)
///     .align(64) // for JAX and TensorFlow, which share nothing else
///     .metadata("made by", "a test");
/// let file = TensorFile::from_bytes(options.to_bytes(&[("ids", &ids)])?, None)?;
/// assert_eq!(file.metadata().unwrap()[0].1, "a test");
/// # Ok::<(), dlbridge::files::FileError>(())
/// ```
#[derive(Debug, Clone)]
pub struct SaveOptions {
    format: Format,
    align: usize,
    metadata: Option<Vec<(String, String)>>,
}

impl SaveOptions {
    /// The largest alignment: a page.
    pub const LARGEST_ALIGN: usize = 4096;

    /// Creates options for a format, with which the bytes are those that the format's own library
    /// writes.
    pub fn new(format: Format) -> Self {
        Self {
            format,
            align: 1,
            metadata: None,
        }
    }

    /// Sets what the position of each tensor in the file is a multiple of: a power of two, as 64.
    ///
    /// # Panics
    ///
    /// When it isn't a power of two, or is more than [`LARGEST_ALIGN`](Self::LARGEST_ALIGN).
    #[must_use]
    pub fn align(mut self, align: usize) -> Self {
        assert!(
            align.is_power_of_two() && align <= Self::LARGEST_ALIGN,
            "expected a power of two up to {}, got {align}",
            Self::LARGEST_ALIGN
        );
        self.align = align;
        self
    }

    /// Adds a text to the metadata, which safetensors has.
    #[must_use]
    pub fn metadata(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        let metadata = self.metadata.get_or_insert_default();
        metadata.push((name.into(), text.into()));
        self
    }

    /// Writes tensors to a file, which appears under its name when it is complete: a file that was
    /// there gives it its permissions, and a symbolic link stays one. Returns the names of those
    /// that couldn't be aligned: in safetensors nothing can be between tensors, so that those of a
    /// size that isn't a multiple of the alignment come last, and only the first of them is
    /// aligned.
    ///
    /// # Errors
    ///
    /// When the format can't hold the tensors, their elements can't be reached from the host, or
    /// the system can't write the file.
    pub fn save(
        &self,
        path: impl AsRef<Path>,
        tensors: &[(&str, &Tensor)],
    ) -> Result<Vec<String>, FileError> {
        let path = path.as_ref();
        let failed = |error| FileError::io(path, error);
        // Behind links, so that the file that they lead to is replaced, and not the link.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let replaced = fs::metadata(&target).ok();
        if replaced.as_ref().is_some_and(|file| !file.is_file()) {
            return Err(failed(not_a_file(&target)));
        }
        let (temporary, file) = create_beside(&target).map_err(failed)?;
        let mut writer = Writer::new(&file, path);
        let written = self.write(&mut writer, tensors).and_then(|unaligned| {
            if let Some(replaced) = replaced {
                file.set_permissions(replaced.permissions())
                    .map_err(failed)?;
            }
            fs::rename(&temporary, &target).map_err(failed)?;
            Ok(unaligned)
        });
        if written.is_err() {
            // The error is more important than a file that stays.
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Returns the bytes of a file with these tensors.
    ///
    /// # Errors
    ///
    /// When the format can't hold the tensors, or their elements can't be reached from the host.
    pub fn to_bytes(&self, tensors: &[(&str, &Tensor)]) -> Result<Vec<u8>, FileError> {
        let size: usize = tensors.iter().map(|(_, tensor)| tensor.nbytes()).sum();
        let sink = Cursor::new(Vec::with_capacity(size + 512 * (tensors.len() + 1)));
        let mut writer = Writer::new(sink, Path::new(""));
        self.write(&mut writer, tensors)?;
        Ok(writer.into_inner().into_inner())
    }

    fn write<W: Write + Seek>(
        &self,
        to: &mut Writer<W>,
        tensors: &[(&str, &Tensor)],
    ) -> Result<Vec<String>, FileError> {
        let format = self.format;
        self.check(tensors)?;
        match format {
            Format::Safetensors => {
                let layout = (self.align, self.metadata.as_deref());
                safetensors::write(layout, to, tensors)
            }
            Format::Npy => npy::write(self.align, to, tensors[0]).map(|()| Vec::new()),
            Format::Npz => npz::write(self.align, to, tensors).map(|()| Vec::new()),
            #[cfg(feature = "proto")]
            Format::TfProto => tensorflow::write(to, tensors[0]).map(|()| Vec::new()),
            #[cfg(feature = "proto")]
            Format::OnnxProto => onnx::write(to, tensors[0]).map(|()| Vec::new()),
        }
    }

    /// Checks what can be checked before a byte is written.
    fn check(&self, tensors: &[(&str, &Tensor)]) -> Result<(), FileError> {
        let format = self.format;
        let unsupported = |what: String, remedy| FileError::Unsupported {
            format,
            what,
            remedy,
        };
        if format.holds_one() && tensors.len() != 1 {
            let what = format!("expected 1 tensor, got {}", tensors.len());
            return Err(unsupported(what, "write several to safetensors or npz"));
        }
        if self.metadata.is_some() && format != Format::Safetensors {
            let what = "the format has no metadata".to_owned();
            return Err(unsupported(what, "write it to safetensors"));
        }
        let can_align = matches!(format, Format::Safetensors | Format::Npy | Format::Npz);
        if self.align > 1 && !can_align {
            let what = "the elements of a message can't be aligned".to_owned();
            return Err(unsupported(what, "write them to safetensors, npy or npz"));
        }
        let mut names = HashSet::new();
        for (name, _) in tensors {
            // Zip's readers, ours among them, refuse such a name, or cut it off.
            if format == Format::Npz && name.contains('\0') {
                return Err(FileError::bad_name(format, name));
            }
            if !names.insert(name) {
                let name = (*name).to_owned();
                return Err(FileError::Duplicate { format, name });
            }
        }
        Ok(())
    }
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
