//! Deflated members of archives, whose size and checksum are checked.

use super::bulk;
use super::error::FileError;
use super::format::Format;
use crate::storage::Storage;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress, inflate_flags};
use miniz_oxide::inflate::{TINFLStatus, decompress_slice_iter_to_slice};

/// A compressed member of an archive.
#[derive(Debug, Clone)]
pub(super) struct Deflated {
    /// The compressed bytes.
    pub(super) bytes: Storage,
    /// How many bytes they become.
    pub(super) size: usize,
    /// Where among them the elements begin.
    pub(super) skip: usize,
    /// The checksum of all of them.
    pub(super) crc: u32,
}

/// The most bytes that deflate makes of one.
const LARGEST_RATIO: usize = 1032;

/// Returns the bytes that a member becomes, of which there must be as many as the archive says,
/// with the checksum that it says.
pub(super) fn inflate_exactly(name: &str, member: &Deflated) -> Result<Storage, FileError> {
    let from = bulk::bytes(&member.bytes);
    check_ratio(name, from.len(), member.size)?;
    let mut inflated = bulk::zeroed(member.size)?;
    let mut view = inflated.view_mut::<u8>()?;
    let to = view.as_mut_slice().unwrap_or_default();
    let made = decompress_slice_iter_to_slice(to, std::iter::once(from), false, true);
    match made {
        Ok(made) if made == member.size => {}
        other => {
            let found = match other {
                Ok(made) => format!("{made} bytes"),
                Err(status) => describe(status),
            };
            let expected = format!("{} bytes of deflated data in {name:?}", member.size);
            return Err(FileError::malformed(Format::Npz, expected, found));
        }
    }
    let found = crc32fast::hash(to);
    if found != member.crc {
        return Err(FileError::Checksum {
            name: name.to_owned(),
            expected: member.crc,
            found,
        });
    }
    Ok(inflated.storage().clone())
}

/// Returns the first bytes that a member becomes, at most `most`.
pub(super) fn inflate_start(from: &[u8], most: usize) -> Result<Vec<u8>, FileError> {
    let mut to = bulk::with_capacity(most)?;
    to.resize(most, 0);
    let mut state = DecompressorOxide::new();
    let flags = inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let (_, _, made) = decompress(&mut state, from, &mut to, 0, flags);
    to.truncate(made);
    Ok(to)
}

/// Refuses a member that says that it becomes more bytes than deflate can make of it, before memory
/// is allocated.
pub(super) fn check_ratio(name: &str, compressed: usize, size: usize) -> Result<(), FileError> {
    let most = compressed.saturating_mul(LARGEST_RATIO);
    if size <= most {
        return Ok(());
    }
    let expected = format!("at most {most} bytes from {compressed} deflated ones in {name:?}");
    let found = format!("a size of {size} bytes");
    Err(FileError::malformed(Format::Npz, expected, found))
}

fn describe(status: TINFLStatus) -> String {
    match status {
        TINFLStatus::HasMoreOutput => "more bytes".to_owned(),
        TINFLStatus::FailedCannotMakeProgress | TINFLStatus::NeedsMoreInput => {
            "deflated data that ends early".to_owned()
        }
        _ => "bytes that aren't deflated data".to_owned(),
    }
}
