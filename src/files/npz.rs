//! `.npz`: a [zip archive](https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT) of `.npy`
//! files, stored or deflated.

mod directory;
mod fields;
mod write;

use super::bulk;
use super::error::FileError;
use super::format::Format;
use super::inflate::{Deflated, check_ratio, inflate_start};
use super::npy;
use super::stored::{Content, Found, Stored, checked_size};
use crate::storage::Storage;
use directory::{Member, Method};
use fields::SUFFIX;

pub(super) use write::write;

const FORMAT: Format = Format::Npz;
/// How many bytes of a member are inflated to read its header, at first.
const HEADER: usize = 1024;

/// Reads the descriptions of the arrays.
pub(super) fn read(storage: &Storage) -> Result<Found, FileError> {
    let members = directory::read(bulk::bytes(storage))?;
    let stored = members.iter().map(|member| describe(storage, member));
    Ok(Found {
        stored: stored.collect::<Result<_, _>>()?,
        metadata: None,
    })
}

fn describe(storage: &Storage, member: &Member) -> Result<Stored, FileError> {
    let Some(name) = member.name.strip_suffix(SUFFIX) else {
        return Err(FileError::Unsupported {
            format: FORMAT,
            what: format!("the member {:?} isn't a .npy file", member.name),
            remedy: "remove it from the archive",
        });
    };
    let bytes = storage.slice(member.range.clone());
    match member.method {
        Method::Stored => {
            let head = npy::read_head(bulk::bytes(&bytes), name)?;
            let elements = bytes.slice(head.start..bytes.nbytes());
            head.stored(name, elements)
        }
        Method::Deflated => describe_deflated(name, bytes, member),
    }
}

fn describe_deflated(name: &str, bytes: Storage, member: &Member) -> Result<Stored, FileError> {
    check_ratio(name, bytes.nbytes(), member.size)?;
    let first = inflate_start(bulk::bytes(&bytes), member.size.min(HEADER))?;
    let head = match npy::read_head(&first, name) {
        // A header may be larger, up to all of the member and to what is read of any.
        Err(FileError::Truncated { needed, .. }) if needed <= member.size as u64 => {
            let first = inflate_start(bulk::bytes(&bytes), needed as usize)?;
            npy::read_head(&first, name)?
        }
        head => head?,
    };
    let elements = member.size.saturating_sub(head.start);
    checked_size(name, head.dtype, &head.shape, false, elements)?;
    Ok(Stored {
        name: name.to_owned(),
        dtype: head.dtype,
        shape: head.shape,
        content: Content::Deflated(Deflated {
            bytes,
            size: member.size,
            skip: head.start,
            crc: member.crc,
        }),
        encoding: head.encoding,
    })
}
