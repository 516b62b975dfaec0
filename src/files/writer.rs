//! [`Writer`]: bytes and elements on their way to a file, in one pass.

use super::bulk;
use super::error::FileError;
use crate::dtype::write_small_bits;
use crate::error::Error;
use crate::tensor::Tensor;
use std::io::{self, Cursor, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// A sink that knows its position, and whose errors have the file's name.
pub(super) struct Writer<W> {
    sink: W,
    path: PathBuf,
    position: u64,
}

impl<W: Write + Seek> Writer<W> {
    pub(super) fn new(sink: W, path: &Path) -> Self {
        Self {
            sink,
            path: path.to_owned(),
            position: 0,
        }
    }

    pub(super) fn into_inner(self) -> W {
        self.sink
    }

    /// Returns how many bytes were written.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        let written = self.sink.write_all(bytes);
        self.position += bytes.len() as u64;
        written.map_err(|error| match error.kind() {
            ErrorKind::OutOfMemory => Error::OutOfMemory { bytes: bytes.len() }.into(),
            _ => FileError::io(&self.path, error),
        })
    }

    /// Replaces bytes that were written.
    pub(super) fn replace(&mut self, at: u64, bytes: &[u8]) -> Result<(), FileError> {
        let mut replace = || {
            self.sink.seek(SeekFrom::Start(at))?;
            self.sink.write_all(bytes)?;
            self.sink.seek(SeekFrom::Start(self.position))
        };
        let replaced = replace().map(drop);
        replaced.map_err(|error| FileError::io(&self.path, error))
    }

    /// Writes the elements of a tensor in row-major order, straight from its memory if they lie
    /// there like that. Sub-byte elements share bytes.
    pub(super) fn elements(&mut self, tensor: &Tensor) -> Result<(), FileError> {
        with_bytes(tensor, |bytes| self.bytes(bytes))
    }
}

/// A file in memory: without room for more it is an error, where a [`Cursor`] alone would abort.
pub(super) struct Buffer(Cursor<Vec<u8>>);

impl Buffer {
    /// Allocates memory for a number of bytes, and more when they are written.
    pub(super) fn with_capacity(bytes: usize) -> Result<Self, Error> {
        Ok(Self(Cursor::new(bulk::with_capacity(bytes)?)))
    }

    pub(super) fn into_vec(self) -> Vec<u8> {
        self.0.into_inner()
    }
}

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let end = self.0.position().saturating_add(bytes.len() as u64);
        let end = usize::try_from(end).unwrap_or(usize::MAX);
        let written = self.0.get_mut();
        written.try_reserve(end.saturating_sub(written.len()))?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Buffer {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

/// Calls a function with the bytes of the elements in row-major order; sub-byte elements share
/// bytes.
pub(super) fn with_bytes<R>(
    tensor: &Tensor,
    call: impl FnOnce(&[u8]) -> Result<R, FileError>,
) -> Result<R, FileError> {
    let tensor = packed(tensor.contiguous()?)?;
    let bytes = tensor.as_bytes()?;
    let view = bytes.view::<u8>()?;
    call(view.as_slice().unwrap_or_default())
}

/// Returns how many bytes [`Writer::elements`] writes; `usize::MAX` for more than memory has.
pub(super) fn packed_nbytes(tensor: &Tensor) -> usize {
    let bits = tensor.len() as u128 * tensor.dtype().item_bits() as u128;
    usize::try_from(bits.div_ceil(8)).unwrap_or(usize::MAX)
}

/// Returns a tensor whose sub-byte elements share bytes.
fn packed(tensor: Tensor) -> Result<Tensor, Error> {
    let bits = tensor.dtype().item_bits();
    if !tensor.is_padded() || bits >= 8 {
        return Ok(tensor);
    }
    let bytes = tensor.as_bytes()?;
    let mut packed = bulk::zeroed(packed_nbytes(&tensor))?;
    let mut view = packed.view_mut::<u8>()?;
    let to = view.as_mut_slice().unwrap_or_default();
    for (i, byte) in bytes.view::<u8>()?.iter().enumerate() {
        write_small_bits(to, i * bits, bits, *byte);
    }
    Ok(packed)
}
