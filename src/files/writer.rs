//! [`Writer`]: bytes and elements on their way to a file, in one pass.

use super::error::FileError;
use crate::dtype::write_small_bits;
use crate::error::Error;
use crate::tensor::Tensor;
use std::io::{Seek, SeekFrom, Write};
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
        written.map_err(|error| FileError::io(&self.path, error))
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

/// Returns how many bytes [`Writer::elements`] writes.
pub(super) fn packed_nbytes(tensor: &Tensor) -> usize {
    (tensor.len() * tensor.dtype().item_bits()).div_ceil(8)
}

/// Returns a tensor whose sub-byte elements share bytes.
fn packed(tensor: Tensor) -> Result<Tensor, Error> {
    let bits = tensor.dtype().item_bits();
    if !tensor.is_padded() || bits >= 8 {
        return Ok(tensor);
    }
    let bytes = tensor.as_bytes()?;
    let mut to = vec![0; packed_nbytes(&tensor)];
    for (i, byte) in bytes.view::<u8>()?.iter().enumerate() {
        write_small_bits(&mut to, i * bits, bits, *byte);
    }
    let len = to.len();
    Tensor::from_vec(to, &[len])
}
