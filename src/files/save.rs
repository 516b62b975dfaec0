//! [`SaveOptions`]: tensors written to a file, or as bytes, in one pass.

use super::error::FileError;
use super::format::Format;
use super::replace::replace;
use super::writer::{Buffer, Writer};
use super::{npy, npz, safetensors};
#[cfg(feature = "proto")]
use super::{onnx, tensorflow};
use crate::tensor::Tensor;
use std::collections::HashSet;
use std::io::{Seek, Write};
use std::path::Path;

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
    external: Option<String>,
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
            external: None,
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

    /// Sets all of the metadata. Without texts it is empty, which differs from none.
    #[cfg(feature = "python")]
    pub(crate) fn all_metadata(mut self, metadata: Option<Vec<(String, String)>>) -> Self {
        self.metadata = metadata;
        self
    }

    /// Puts the elements of ONNX's message into another file, as external data: a relative path in
    /// or below the message's folder, where a file is replaced. Messages of more than 2 GB need it,
    /// and the elements are aligned.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "proto")] {
    /// use dlbridge::Tensor;
    /// use dlbridge::files::{Format, OpenOptions, SaveOptions};
    ///
    /// let folder = std::env::temp_dir().join(format!("dlbridge-{}", std::process::id()));
    /// std::fs::create_dir_all(&folder)?;
    /// let (x, path) = (Tensor::from([1.0_f32, 2.0]), folder.join("x.pb"));
    /// let options = SaveOptions::new(Format::OnnxProto).external("x.bin");
    /// options.save(&path, &[("x", &x)])?;
    /// assert_eq!(std::fs::read(folder.join("x.bin"))?.len(), 8);
    /// let file = OpenOptions::new().format(Format::OnnxProto).read(&path)?;
    /// assert!(file.tensor("x")?.equals(&x)?);
    /// # std::fs::remove_dir_all(folder)?;
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn external(mut self, location: impl Into<String>) -> Self {
        self.external = Some(location.into());
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
    /// When the format can't hold the tensors, their elements can't be reached from the host, the
    /// external data would be outside of the folder, or the system can't write the file.
    pub fn save(
        &self,
        path: impl AsRef<Path>,
        tensors: &[(&str, &Tensor)],
    ) -> Result<Vec<String>, FileError> {
        let path = path.as_ref();
        #[cfg(feature = "proto")]
        if let Some(location) = &self.external {
            self.check(tensors)?;
            return onnx::save(path, location, tensors[0]).map(|()| Vec::new());
        }
        replace(path, |to| self.write(to, tensors))
    }

    /// Returns the bytes of a file with these tensors.
    ///
    /// # Errors
    ///
    /// When the format can't hold the tensors, their elements can't be reached from the host, or
    /// there is not enough memory.
    pub fn to_bytes(&self, tensors: &[(&str, &Tensor)]) -> Result<Vec<u8>, FileError> {
        if let Some(location) = &self.external {
            return Err(FileError::Unsupported {
                format: self.format,
                what: format!("external data at {location:?} needs the message's folder"),
                remedy: "save the message to a file",
            });
        }
        let sizes = tensors.iter().map(|(_, tensor)| tensor.nbytes());
        let headers = 512 * (tensors.len() + 1);
        let buffer = Buffer::with_capacity(sizes.fold(headers, usize::saturating_add))?;
        let mut writer = Writer::new(buffer, Path::new(""));
        self.write(&mut writer, tensors)?;
        Ok(writer.into_inner().into_vec())
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
        if self.external.is_some() && !format.has_external_data() {
            let what = "the format has no external data".to_owned();
            return Err(unsupported(what, "write it to onnx_proto"));
        }
        let can_align = matches!(format, Format::Safetensors | Format::Npy | Format::Npz);
        if self.align > 1 && !can_align && self.external.is_none() {
            let what = "the elements of a message can't be aligned".to_owned();
            return Err(unsupported(what, "write them to safetensors, npy or npz"));
        }
        let mut names = HashSet::new();
        for (name, _) in self.metadata.iter().flatten() {
            if !names.insert(name.as_str()) {
                let what = format!("the metadata has {name:?} twice");
                return Err(unsupported(what, "give each name once"));
            }
        }
        names.clear();
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
