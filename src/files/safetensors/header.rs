//! The header: its entries, in the order of their bytes.

use super::json::Json;
use crate::files::error::FileError;
use crate::files::format::Format;
use std::collections::HashSet;
use std::ops::Range;

const FORMAT: Format = Format::Safetensors;

/// The size of the number before the header.
pub(super) const PREFIX: usize = 8;
/// The largest header that the format's own library reads.
pub(super) const LARGEST_HEADER: u64 = 100_000_000;
/// The name under which the header has the metadata.
pub(super) const METADATA: &str = "__metadata__";

/// What the header says.
pub(super) struct Header {
    pub(super) metadata: Option<Vec<(String, String)>>,
    pub(super) entries: Vec<Entry>,
}

/// What the header says about a tensor.
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) dtype: String,
    pub(super) shape: Vec<i64>,
    pub(super) range: Range<u64>,
}

/// Reads a header.
pub(super) fn parse(text: &str) -> Result<Header, FileError> {
    let mut header = Header {
        metadata: None,
        entries: Vec::new(),
    };
    let mut names = HashSet::new();
    let mut json = Json::new(text);
    json.object(|json, name| {
        if !names.insert(name.clone()) {
            return Err(duplicate(name));
        }
        if name == METADATA {
            header.metadata = match json.null() {
                true => None,
                false => Some(metadata(json)?),
            };
        } else {
            header.entries.push(entry(json, name)?);
        }
        Ok(())
    })?;
    json.end()?;
    let order = |entry: &Entry| (entry.range.start, entry.range.end);
    header.entries.sort_by_key(order);
    Ok(header)
}

fn duplicate(name: String) -> FileError {
    FileError::Duplicate {
        format: FORMAT,
        name,
    }
}

fn metadata(json: &mut Json<'_>) -> Result<Vec<(String, String)>, FileError> {
    let mut metadata: Vec<(String, String)> = Vec::new();
    let mut names = HashSet::new();
    json.object(|json, name| {
        if !names.insert(name.clone()) {
            let expected = "metadata of which each name comes once";
            return Err(FileError::malformed(
                FORMAT,
                expected,
                format!("{name:?} twice"),
            ));
        }
        metadata.push((name, json.string()?));
        Ok(())
    })?;
    Ok(metadata)
}

fn entry(json: &mut Json<'_>, name: String) -> Result<Entry, FileError> {
    let (mut dtype, mut shape, mut offsets) = (None, None, None);
    json.object(|json, field| {
        let is_new = match field.as_str() {
            "dtype" => dtype.replace(json.string()?).is_none(),
            "shape" => shape.replace(integers(json)?).is_none(),
            "data_offsets" => offsets.replace(integers(json)?).is_none(),
            _ => {
                json.skip()?;
                true
            }
        };
        match is_new {
            true => Ok(()),
            false => Err(json.unexpected(&format!("{field:?} of {name:?} once, before the end"))),
        }
    })?;
    let missing = |what| json.unexpected(&format!("{what:?} of {name:?}, before the end"));
    let dtype = dtype.ok_or_else(|| missing("dtype"))?;
    let shape = shape.ok_or_else(|| missing("shape"))?;
    let offsets = offsets.ok_or_else(|| missing("data_offsets"))?;
    let offset = |i: usize| {
        offsets
            .get(i)
            .and_then(|offset| u64::try_from(*offset).ok())
    };
    let (Some(start), Some(end), None) = (offset(0), offset(1), offsets.get(2)) else {
        let expected = format!("two data_offsets of {name:?}, not negative");
        return Err(FileError::malformed(
            FORMAT,
            expected,
            format!("{offsets:?}"),
        ));
    };
    Ok(Entry {
        name,
        dtype,
        shape,
        range: start..end,
    })
}

fn integers(json: &mut Json<'_>) -> Result<Vec<i64>, FileError> {
    let mut integers = Vec::new();
    json.array(|json| {
        integers.push(json.integer()?);
        Ok(())
    })?;
    Ok(integers)
}
