//! The header, in all three versions.

use super::literal::{Literal, Reader};
use crate::files::error::FileError;
use crate::files::format::Format;

const FORMAT: Format = Format::Npy;

const MAGIC: &[u8] = b"\x93NUMPY";
/// NumPy leaves room for a first dimension of this many digits, so that arrays can be appended to.
const ROOM: usize = 21;
/// What the position of the elements is a multiple of.
const ALIGN: usize = 64;
/// The largest header that is read: a hundred times the limit of NumPy, for which a larger one may
/// not be safe to parse.
const LARGEST_HEADER: u32 = 1_000_000;

/// What a header says.
pub(super) struct Fields {
    pub(super) descr: String,
    pub(super) fortran_order: bool,
    pub(super) shape: Vec<i64>,
}

/// Returns the text of the header, and where the elements begin.
pub(super) fn split(bytes: &[u8]) -> Result<(&str, usize), FileError> {
    let truncated =
        |what, needed: usize| FileError::truncated(FORMAT, what, needed as u64, bytes.len());
    if bytes.len() < MAGIC.len() + 2 {
        return Err(truncated("the version", MAGIC.len() + 2));
    }
    if !bytes.starts_with(MAGIC) {
        let found = format!("{:?}", String::from_utf8_lossy(&bytes[..MAGIC.len()]));
        return Err(FileError::malformed(
            FORMAT,
            "\"\\x93NUMPY\" at the beginning",
            found,
        ));
    }
    let version = (bytes[MAGIC.len()], bytes[MAGIC.len() + 1]);
    let after = &bytes[MAGIC.len() + 2..];
    let (size, prefix) = match version {
        (1, 0) => (
            after
                .first_chunk()
                .map(|size| u16::from_le_bytes(*size).into()),
            2,
        ),
        (2 | 3, 0) => (after.first_chunk().map(|size| u32::from_le_bytes(*size)), 4),
        (major, minor) => {
            let found = format!("version {major}.{minor}");
            return Err(FileError::malformed(
                FORMAT,
                "version 1.0, 2.0 or 3.0",
                found,
            ));
        }
    };
    let first = MAGIC.len() + 2 + prefix;
    let size: u32 = size.ok_or_else(|| truncated("the size of the header", first))?;
    if size > LARGEST_HEADER {
        let expected = format!("a header of at most {LARGEST_HEADER} bytes");
        return Err(FileError::malformed(FORMAT, expected, format!("{size}")));
    }
    let start = first + size as usize;
    let text = bytes.get(first..start);
    let text = text.ok_or_else(|| truncated("the header", start))?;
    // Before version 3 the header is in Latin-1, in which only names of fields have other letters:
    // they are not for tensors.
    let text = str::from_utf8(text).map_err(|error| {
        FileError::malformed(FORMAT, "a header in ASCII or UTF-8", error.to_string())
    })?;
    Ok((text, start))
}

/// Reads the text of a header.
pub(super) fn parse(text: &str) -> Result<Fields, FileError> {
    let (mut descr, mut fortran_order, mut shape) = (None, None, None);
    let mut reader = Reader::new(text);
    reader.dict(|reader, key| {
        let is_new = match key.as_str() {
            "descr" => descr.replace(reader.value()?).is_none(),
            "fortran_order" => fortran_order.replace(reader.value()?).is_none(),
            "shape" => shape.replace(reader.value()?).is_none(),
            _ => false,
        };
        match is_new {
            true => Ok(()),
            false => {
                let expected = "each of descr, fortran_order and shape once";
                Err(FileError::malformed(FORMAT, expected, format!("{key:?}")))
            }
        }
    })?;
    reader.end()?;
    let wrong = |expected: &str, found: Option<Literal>| {
        let found = found.map_or("nothing".to_owned(), |found| found.to_string());
        FileError::malformed(FORMAT, expected, found)
    };
    let descr = match descr {
        Some(Literal::Text(descr)) => descr,
        // Of arrays of structs it is a list.
        Some(Literal::Tuple(_) | Literal::List(_)) => "a struct".to_owned(),
        other => return Err(wrong("a text as descr", other)),
    };
    let fortran_order = match fortran_order {
        Some(Literal::Bool(order)) => order,
        other => return Err(wrong("True or False as fortran_order", other)),
    };
    let shape = match shape {
        Some(Literal::Tuple(sizes)) => sizes
            .into_iter()
            .map(|size| match size {
                Literal::Integer(size) => Ok(size),
                other => Err(wrong("an integer in shape", Some(other))),
            })
            .collect::<Result<_, _>>()?,
        other => return Err(wrong("a tuple as shape", other)),
    };
    Ok(Fields {
        descr,
        fortran_order,
        shape,
    })
}

/// Returns the header, in version 1, with all before it.
pub(super) fn write(descr: &str, fortran_order: bool, shape: &[usize], align: usize) -> Vec<u8> {
    let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
    let tuple = match &sizes[..] {
        [one] => format!("({one},)"),
        sizes => format!("({})", sizes.join(", ")),
    };
    let order = if fortran_order { "True" } else { "False" };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {tuple}, }}");
    let grows = if fortran_order {
        sizes.last()
    } else {
        sizes.first()
    };
    if let Some(size) = grows {
        text.extend(std::iter::repeat_n(' ', ROOM - size.len()));
    }
    let first = MAGIC.len() + 4;
    let align = align.max(ALIGN);
    // With the newline, and one multiple more where it would fit without spaces.
    let spaces = align - (first + text.len() + 1) % align;
    text.extend(std::iter::repeat_n(' ', spaces));
    text.push('\n');
    let size = u16::try_from(text.len()).expect("at most 255 dimensions of 20 digits");
    let mut bytes = MAGIC.to_vec();
    bytes.extend([1, 0]);
    bytes.extend(size.to_le_bytes());
    bytes.extend(text.bytes());
    bytes
}
