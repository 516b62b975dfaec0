//! The fields of a zip archive: little-endian numbers one after another.

use crate::files::error::FileError;
use crate::files::format::Format;

const FORMAT: Format = Format::Npz;

/// What the names of arrays end with in the archive.
pub(super) const SUFFIX: &str = ".npy";

/// Signatures of the parts of an archive.
pub(super) const LOCAL: u32 = 0x0403_4b50;
pub(super) const CENTRAL: u32 = 0x0201_4b50;
pub(super) const END: u32 = 0x0605_4b50;
pub(super) const END_64: u32 = 0x0606_4b50;
pub(super) const LOCATOR_64: u32 = 0x0706_4b50;

/// Sizes of the parts, without names and extra fields.
pub(super) const LOCAL_SIZE: usize = 30;
pub(super) const CENTRAL_SIZE: usize = 46;
pub(super) const END_SIZE: usize = 22;
pub(super) const END_64_SIZE: usize = 56;
pub(super) const LOCATOR_64_SIZE: usize = 20;

/// The extra field with sizes of 64 bits.
pub(super) const EXTRA_64: u16 = 1;
/// In place of a size of 32 bits: it is in the extra field.
pub(super) const IN_EXTRA: u32 = u32::MAX;
/// The flag of names in UTF-8.
pub(super) const UTF_8: u16 = 1 << 11;

/// A reader of numbers.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    what: &'static str,
}

impl<'a> Fields<'a> {
    /// Reads a part at a position, if it has the signature.
    pub(super) fn at(
        archive: &'a [u8],
        at: usize,
        signature: u32,
        what: &'static str,
    ) -> Result<Self, FileError> {
        let bytes = archive.get(at..).unwrap_or_default();
        let mut fields = Self { bytes, what };
        let found = fields.u32()?;
        if found != signature {
            let expected = format!("the signature {signature:#010x} of {what} at byte {at}");
            return Err(FileError::malformed(
                FORMAT,
                expected,
                format!("{found:#010x}"),
            ));
        }
        Ok(fields)
    }

    pub(super) fn u16(&mut self) -> Result<u16, FileError> {
        self.take().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, FileError> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, FileError> {
        self.take().map(u64::from_le_bytes)
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], FileError> {
        let bytes = self.slice(N)?;
        Ok(bytes.try_into().expect("as many bytes"))
    }

    pub(super) fn slice(&mut self, len: usize) -> Result<&'a [u8], FileError> {
        let truncated = || FileError::truncated(FORMAT, self.what, len as u64, self.bytes.len());
        let (bytes, rest) = self.bytes.split_at_checked(len).ok_or_else(truncated)?;
        self.bytes = rest;
        Ok(bytes)
    }

    /// Returns the extra field of a kind, among those in some bytes.
    pub(super) fn extra(bytes: &'a [u8], kind: u16) -> Result<Option<Self>, FileError> {
        let what = "an extra field";
        let mut fields = Self { bytes, what };
        while !fields.bytes.is_empty() {
            let (found, len) = (fields.u16()?, fields.u16()?);
            let bytes = fields.slice(len.into())?;
            if found == kind {
                return Ok(Some(Self { bytes, what }));
            }
        }
        Ok(None)
    }

    /// Returns a size that is in the extra field if 32 bits are too few for it.
    pub(super) fn wide(extra: &mut Option<Self>, size: u32) -> Result<u64, FileError> {
        match extra {
            Some(extra) if size == IN_EXTRA => extra.u64(),
            _ => Ok(size.into()),
        }
    }
}
