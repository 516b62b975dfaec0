//! [`Stored`]: the description of a tensor in a file or message, the same for all formats.

use super::bulk;
use super::error::FileError;
use super::inflate::{Deflated, inflate_exactly};
use crate::dtype::{DType, write_small_bits};
use crate::error::Error;
use crate::layout::{Layout, LayoutError};
use crate::storage::Storage;
use crate::tensor::Tensor;
use std::fmt;
use std::ops::Range;

/// A tensor in a file or message, which isn't read yet.
#[derive(Debug, Clone)]
pub struct Stored {
    pub(super) name: String,
    pub(super) dtype: DType,
    pub(super) shape: Vec<usize>,
    pub(super) content: Content,
    pub(super) encoding: Encoding,
}

/// What a reader of one format finds.
pub(super) struct Found {
    pub(super) stored: Vec<Stored>,
    pub(super) metadata: Option<Vec<(String, String)>>,
}

/// Where the bytes of a tensor are.
#[derive(Debug, Clone)]
pub(super) enum Content {
    /// A range of the mapped file, or of the message.
    Bytes(Storage),
    /// Values of a message, with their last one repeated to the end; zeros if there are none.
    #[cfg(feature = "proto")]
    Values(Vec<u8>),
    /// A compressed member of an archive.
    Deflated(Deflated),
}

/// How elements are written as bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Encoding {
    /// Whether the first index changes fastest.
    pub(super) column_major: bool,
    /// Whether numbers are big-endian.
    pub(super) big_endian: bool,
    /// Whether each sub-byte element has a byte of its own.
    pub(super) byte_each: bool,
}

/// Why a tensor was copied, rather than shared with the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Copied {
    /// The bytes begin at an address that isn't a multiple of what is needed.
    Misaligned {
        /// The largest power of two that divides the address.
        found: usize,
        /// What is needed.
        wanted: usize,
    },
    /// The numbers are big-endian.
    ByteOrder,
    /// The bytes are compressed.
    Compressed,
    /// Sub-byte elements have a byte each in the file, and share bytes in memory.
    BytePerElement,
    /// The message has a list of values instead of memory.
    Values,
}

impl fmt::Display for Copied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Misaligned { found, wanted } => {
                write!(f, "aligned to {found} bytes in the file, not to {wanted}")
            }
            Self::ByteOrder => f.write_str("big-endian in the file"),
            Self::Compressed => f.write_str("compressed in the file"),
            Self::BytePerElement => f.write_str("one byte for each sub-byte element in the file"),
            Self::Values => f.write_str("a list of values in the message"),
        }
    }
}

impl Stored {
    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the sizes.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns how many bytes the elements take in memory. Compressed tensors, and messages with a
    /// value that is repeated, are larger than their files.
    pub fn nbytes(&self) -> usize {
        let count: usize = self.shape.iter().product();
        self.dtype.packed_bytes(count).unwrap_or(usize::MAX)
    }

    /// Returns why the tensor would be copied if its address must be a multiple of `align`; `None`
    /// if it shares the file's memory. The alignment of the elements themselves is always needed.
    pub fn copy_reason(&self, align: usize) -> Option<Copied> {
        let bytes = match &self.content {
            Content::Deflated(_) => return Some(Copied::Compressed),
            #[cfg(feature = "proto")]
            Content::Values(_) => return Some(Copied::Values),
            Content::Bytes(bytes) => bytes,
        };
        if self.encoding.byte_each {
            return Some(Copied::BytePerElement);
        }
        if self.encoding.big_endian && self.dtype.bits() > 8 {
            return Some(Copied::ByteOrder);
        }
        let wanted = align.max(self.element_align());
        let address = bytes.data_ptr().addr();
        (bytes.nbytes() > 0 && !address.is_multiple_of(wanted)).then(|| Copied::Misaligned {
            found: bytes.alignment(),
            wanted,
        })
    }

    /// Returns what the address of an element must be a multiple of.
    fn element_align(&self) -> usize {
        usize::from(self.dtype.bits()).div_ceil(8).min(8) / self.parts()
    }

    /// Returns how many numbers a number consists of: two of a complex one.
    fn parts(&self) -> usize {
        if matches!(self.dtype, DType::C32 | DType::C64 | DType::C128) {
            2
        } else {
            1
        }
    }

    /// Returns the tensor at an address that is a multiple of `align`: one that shares the file's
    /// memory where it can, and says in [`copy_reason`](Self::copy_reason) why it can't.
    ///
    /// # Errors
    ///
    /// When compressed bytes aren't what the file says, or there is not enough memory.
    pub fn tensor(&self, align: usize) -> Result<Tensor, FileError> {
        if let (Content::Bytes(bytes), None) = (&self.content, self.copy_reason(align)) {
            return self.share(bytes.clone());
        }
        let mut copy = bulk::zeroed_at(align.max(1), self.nbytes())?;
        self.fill(copy.view_mut::<u8>()?.as_mut_slice().unwrap_or_default())?;
        let tensor = self.share(copy.storage().clone())?;
        // SAFETY: neither the memory nor where it is changes.
        Ok(unsafe { tensor.with_parts(|parts| parts.copied = true) })
    }

    /// Returns the tensor whose elements are these bytes, in this crate's encoding.
    fn share(&self, bytes: Storage) -> Result<Tensor, FileError> {
        let shape: Vec<usize> = match self.encoding.column_major {
            true => self.shape.iter().rev().copied().collect(),
            false => self.shape.clone(),
        };
        let wrong = |error: Error| FileError::shape(&self.name, error);
        let tensor = Tensor::from_storage(bytes, &shape, self.dtype).map_err(wrong)?;
        Ok(match self.encoding.column_major {
            true => tensor.transpose(),
            false => tensor,
        })
    }

    /// Writes the elements, which take all of the memory.
    fn fill(&self, to: &mut [u8]) -> Result<(), FileError> {
        match &self.content {
            Content::Bytes(bytes) => self.decode(bulk::bytes(bytes), to),
            #[cfg(feature = "proto")]
            Content::Values(values) => self.repeat(values, to),
            Content::Deflated(member) => {
                let inflated = inflate_exactly(&self.name, member)?;
                self.decode(&bulk::bytes(&inflated)[member.skip..], to);
            }
        }
        Ok(())
    }

    /// Writes values, and the last one again to the end.
    #[cfg(feature = "proto")]
    fn repeat(&self, values: &[u8], to: &mut [u8]) {
        let Some(last) = values.len().checked_sub(1) else {
            return to.fill(0);
        };
        if self.encoding.byte_each {
            let bits = usize::from(self.dtype.bits());
            let count = self.shape.iter().product();
            for i in 0..count {
                write_small_bits(to, i * bits, bits, values[i.min(last)]);
            }
            return;
        }
        let (given, rest) = to.split_at_mut(values.len());
        given.copy_from_slice(values);
        let size = self.dtype.bits() as usize / 8;
        let last = &values[values.len() - size..];
        rest.chunks_exact_mut(size)
            .for_each(|element| element.copy_from_slice(last));
    }

    /// Writes the elements that a file's bytes stand for.
    fn decode(&self, from: &[u8], to: &mut [u8]) {
        if self.encoding.byte_each {
            let bits = usize::from(self.dtype.bits());
            to.fill(0);
            for (i, byte) in from.iter().enumerate() {
                write_small_bits(to, i * bits, bits, *byte);
            }
            return;
        }
        bulk::copy(from, to);
        let number = usize::from(self.dtype.bits()) / 8 / self.parts();
        if self.encoding.big_endian && number > 1 {
            to.chunks_exact_mut(number).for_each(<[u8]>::reverse);
        }
    }
}

/// Checks a shape of a file: dimensions that aren't negative, of not too many elements.
pub(super) fn checked_shape(
    name: &str,
    dtype: DType,
    sizes: impl IntoIterator<Item = i64>,
) -> Result<Vec<usize>, FileError> {
    let mut shape = Vec::new();
    for (axis, size) in sizes.into_iter().enumerate() {
        let negative = || FileError::shape(name, LayoutError::NegativeSize { axis, size });
        shape.push(usize::try_from(size).map_err(|_| negative())?);
    }
    let layout = Layout::contiguous(&shape).map_err(|error| FileError::shape(name, error))?;
    let too_large = || FileError::shape(name, LayoutError::ExtentTooLarge { dtype });
    dtype
        .packed_bytes(layout.len())
        .filter(|bytes| *bytes <= isize::MAX as usize)
        .ok_or_else(too_large)?;
    Ok(shape)
}

/// Checks that a range of bytes is as large as a tensor needs.
pub(super) fn checked_size(
    name: &str,
    dtype: DType,
    shape: &[usize],
    byte_each: bool,
    found: usize,
) -> Result<(), FileError> {
    let count: usize = shape.iter().product();
    let expected = match byte_each {
        true => count,
        false => dtype.packed_bytes(count).unwrap_or(usize::MAX),
    };
    if expected == found {
        return Ok(());
    }
    Err(FileError::WrongSize {
        name: name.to_owned(),
        dtype,
        shape: shape.to_vec(),
        expected: expected as u64,
        found: found as u64,
    })
}

/// Returns the part of a storage, if it has one there.
pub(super) fn part(storage: &Storage, range: Range<usize>) -> Option<Storage> {
    (range.start <= range.end && range.end <= storage.nbytes()).then(|| storage.slice(range))
}
