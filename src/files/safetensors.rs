//! safetensors: a header in JSON, and the bytes of the tensors one after another.
//!
//! ```text
//!  u64: size of the header │ header, spaces to a multiple of 8 │ all tensors, without gaps
//! ```

mod dtype;
mod header;
mod json;
mod write;

use super::bulk;
use super::error::FileError;
use super::format::Format;
use super::stored::{Content, Encoding, Found, Stored, checked_shape, checked_size, part};
use crate::storage::Storage;
use header::{Entry, LARGEST_HEADER, PREFIX};

pub(super) use write::write;

const FORMAT: Format = Format::Safetensors;

/// Reads the descriptions of the tensors.
pub(super) fn read(storage: &Storage) -> Result<Found, FileError> {
    let bytes = bulk::bytes(storage);
    let size = bytes.first_chunk::<PREFIX>().ok_or_else(|| {
        FileError::truncated(FORMAT, "the size of the header", PREFIX as u64, bytes.len())
    })?;
    let size = u64::from_le_bytes(*size);
    if size > LARGEST_HEADER {
        let expected = format!("a header of at most {LARGEST_HEADER} bytes");
        return Err(FileError::malformed(FORMAT, expected, format!("{size}")));
    }
    let start = PREFIX + size as usize;
    let text = bytes
        .get(PREFIX..start)
        .ok_or_else(|| FileError::truncated(FORMAT, "the header", start as u64, bytes.len()))?;
    let text = str::from_utf8(text)
        .map_err(|error| FileError::malformed(FORMAT, "a header in UTF-8", error.to_string()))?;
    let header = header::parse(text)?;
    let data = storage.slice(start..bytes.len());
    check_ranges(&header.entries, data.nbytes())?;
    let stored = header
        .entries
        .into_iter()
        .map(|entry| describe(entry, &data));
    Ok(Found {
        stored: stored.collect::<Result<_, _>>()?,
        metadata: header.metadata,
    })
}

/// Checks that the tensors are one after another, without overlaps and gaps, and fill the file.
/// They are in the order of their ranges.
fn check_ranges(entries: &[Entry], found: usize) -> Result<(), FileError> {
    let mut end = 0;
    for (i, entry) in entries.iter().enumerate() {
        let range = &entry.range;
        if range.start < end {
            return Err(FileError::Overlap {
                format: FORMAT,
                first: entries[i - 1].name.clone(),
                second: entry.name.clone(),
            });
        }
        if range.start > end || range.end < range.start {
            let expected = format!("{:?} to begin at byte {end} of the data", entry.name);
            let found = format!("data_offsets [{}, {}]", range.start, range.end);
            return Err(FileError::malformed(FORMAT, expected, found));
        }
        end = range.end;
    }
    let found = found as u64;
    if found < end {
        let what = "the data of the tensors".to_owned();
        return Err(FileError::Truncated {
            format: FORMAT,
            what,
            needed: end,
            found,
        });
    }
    if found > end {
        let expected = format!("{end} bytes of tensors");
        return Err(FileError::malformed(
            FORMAT,
            expected,
            format!("{found} bytes"),
        ));
    }
    Ok(())
}

fn describe(entry: Entry, data: &Storage) -> Result<Stored, FileError> {
    let Entry { name, .. } = entry;
    let Some(dtype) = dtype::from_name(&entry.dtype) else {
        return Err(FileError::UnsupportedType {
            format: FORMAT,
            name,
            found: entry.dtype,
        });
    };
    let shape = checked_shape(&name, dtype, entry.shape)?;
    let range = entry.range.start as usize..entry.range.end as usize;
    checked_size(&name, dtype, &shape, false, range.len())?;
    let bytes = part(data, range).ok_or_else(|| {
        FileError::truncated(
            FORMAT,
            "the data of the tensors",
            entry.range.end,
            data.nbytes(),
        )
    })?;
    Ok(Stored {
        name,
        dtype,
        shape,
        content: Content::Bytes(bytes),
        encoding: Encoding::default(),
    })
}
