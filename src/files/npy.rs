//! `.npy`: one array of NumPy, behind a header that is a literal of Python.
//!
//! ```text
//!  \x93NUMPY │ version │ size of the header │ header, spaces to 64, newline │ elements
//! ```

mod dtype;
mod header;
mod literal;

use super::bulk;
use super::error::FileError;
use super::format::Format;
use super::stored::{Content, Encoding, Found, Stored, checked_shape, checked_size};
use super::writer::Writer;
use crate::dtype::DType;
use crate::storage::Storage;
use crate::tensor::Tensor;
use std::io::{Seek, Write};

const FORMAT: Format = Format::Npy;

/// What the beginning of the bytes says.
pub(super) struct Head {
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    pub(super) encoding: Encoding,
    /// Where the elements begin.
    pub(super) start: usize,
}

/// Reads the description of the array.
pub(super) fn read(storage: &Storage, name: &str) -> Result<Found, FileError> {
    let head = read_head(bulk::bytes(storage), name)?;
    let bytes = storage.slice(head.start..storage.nbytes());
    Ok(Found {
        stored: vec![head.stored(name, bytes)?],
        metadata: None,
    })
}

/// Reads the header, from the first bytes.
pub(super) fn read_head(bytes: &[u8], name: &str) -> Result<Head, FileError> {
    let (text, start) = header::split(bytes)?;
    let fields = header::parse(text)?;
    let (dtype, big_endian) =
        dtype::from_descr(&fields.descr).ok_or_else(|| FileError::UnsupportedType {
            format: FORMAT,
            name: name.to_owned(),
            found: fields.descr.clone(),
        })?;
    Ok(Head {
        dtype,
        shape: checked_shape(name, dtype, fields.shape)?,
        encoding: Encoding {
            column_major: fields.fortran_order,
            big_endian,
            byte_each: false,
        },
        start,
    })
}

impl Head {
    /// Returns the description of the array whose elements are these bytes.
    pub(super) fn stored(self, name: &str, bytes: Storage) -> Result<Stored, FileError> {
        checked_size(name, self.dtype, &self.shape, false, bytes.nbytes())?;
        Ok(Stored {
            name: name.to_owned(),
            dtype: self.dtype,
            shape: self.shape,
            content: Content::Bytes(bytes),
            encoding: self.encoding,
        })
    }
}

/// Writes one array, as `numpy.save` does.
pub(super) fn write<W: Write + Seek>(
    align: usize,
    to: &mut Writer<W>,
    (name, tensor): (&str, &Tensor),
) -> Result<(), FileError> {
    let (header, elements) = parts(FORMAT, align, name, tensor)?;
    to.bytes(&header)?;
    to.elements(&elements)
}

/// Returns the header, and the tensor whose elements follow in row-major order.
pub(super) fn parts(
    format: Format,
    align: usize,
    name: &str,
    tensor: &Tensor,
) -> Result<(Vec<u8>, Tensor), FileError> {
    let dtype = tensor.dtype();
    let descr = dtype::descr_of(dtype).ok_or_else(|| FileError::unwritable(format, name, dtype))?;
    // Columns are written as they lie, if they lie one after another.
    let layout = tensor.layout();
    let column_major = layout.is_f_contiguous() && !layout.is_contiguous();
    let header = header::write(descr, column_major, tensor.shape(), align);
    let elements = match column_major {
        true => tensor.transpose(),
        false => tensor.clone(),
    };
    Ok((header, elements))
}
