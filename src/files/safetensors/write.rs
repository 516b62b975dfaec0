//! Writing: the header, and the tensors one after another.

use super::dtype::name_of;
use super::header::{LARGEST_HEADER, METADATA, PREFIX};
use super::json::write_string;
use crate::dtype::DType;
use crate::error::Error;
use crate::files::error::FileError;
use crate::files::format::Format;
use crate::files::writer::{Writer, packed_nbytes};
use crate::tensor::Tensor;
use std::fmt::Write as _;
use std::io::{Seek, Write};

const FORMAT: Format = Format::Safetensors;
/// The error of more bytes than memory has addresses.
const TOO_LARGE: Error = Error::OutOfMemory { bytes: usize::MAX };

/// What positions are a multiple of, and the metadata.
type Layout<'a> = (usize, Option<&'a [(String, String)]>);

/// A tensor on its way to the file.
struct Planned<'a> {
    name: &'a str,
    tensor: &'a Tensor,
    /// The element type's place in the order, and its name.
    dtype: (usize, &'static str),
    shape: Vec<usize>,
    nbytes: usize,
}

/// Writes the tensors. Returns the names of those that couldn't be aligned.
pub(in crate::files) fn write<W: Write + Seek>(
    (align, metadata): Layout<'_>,
    to: &mut Writer<W>,
    tensors: &[(&str, &Tensor)],
) -> Result<Vec<String>, FileError> {
    let mut planned = tensors
        .iter()
        .map(|(name, tensor)| plan(name, tensor))
        .collect::<Result<Vec<_>, _>>()?;
    // The order of the format's own library: wide elements first, and names among elements of one
    // type. To align tensors, those come before that leave the next one aligned.
    planned.sort_by(|a, b| {
        let is_ragged = |planned: &Planned<'_>| !planned.nbytes.is_multiple_of(align);
        (is_ragged(a).cmp(&is_ragged(b)))
            .then(b.dtype.0.cmp(&a.dtype.0))
            .then(a.name.cmp(b.name))
    });
    let header = header((align, metadata), &planned)?;
    to.bytes(&(header.len() as u64).to_le_bytes())?;
    to.bytes(header.as_bytes())?;
    let mut unaligned = Vec::new();
    for planned in &planned {
        if planned.nbytes > 0 && !to.position().is_multiple_of(align as u64) {
            unaligned.push(planned.name.to_owned());
        }
        to.elements(planned.tensor)?;
    }
    Ok(unaligned)
}

fn plan<'a>(name: &'a str, tensor: &'a Tensor) -> Result<Planned<'a>, FileError> {
    let refused = |dtype, remedy| FileError::Unwritable {
        format: FORMAT,
        name: name.to_owned(),
        dtype,
        remedy,
    };
    if name == METADATA {
        return Err(FileError::bad_name(FORMAT, name));
    }
    let dtype = tensor.dtype();
    let mut shape = tensor.shape().to_vec();
    // Vector types are PyTorch's pairs of 4-bit numbers, which the format has as numbers of their
    // own.
    let one = DType::new(dtype.code(), dtype.bits(), 1).expect("it has a width of its code");
    let lanes = usize::from(dtype.lanes());
    match shape.last_mut() {
        _ if lanes == 1 => {}
        Some(last) => *last = last.checked_mul(lanes).ok_or(TOO_LARGE)?,
        None => return Err(refused(dtype, "make it one of rank 1")),
    }
    let Some(found) = name_of(one) else {
        return Err(refused(dtype, "cast it, or view it as integers"));
    };
    let bits = tensor.len() as u128 * dtype.item_bits() as u128;
    if !bits.is_multiple_of(8) {
        return Err(FileError::Unsupported {
            format: FORMAT,
            what: format!("expected whole bytes of {dtype} in {name:?}, got {bits} bits"),
            remedy: "append elements",
        });
    }
    Ok(Planned {
        name,
        tensor,
        dtype: found,
        shape,
        nbytes: packed_nbytes(tensor),
    })
}

fn header((align, metadata): Layout<'_>, tensors: &[Planned<'_>]) -> Result<String, FileError> {
    let mut header = String::from("{");
    if let Some(metadata) = metadata {
        write_string(&mut header, METADATA);
        header.push_str(":{");
        for (i, (name, text)) in metadata.iter().enumerate() {
            if i > 0 {
                header.push(',');
            }
            write_string(&mut header, name);
            header.push(':');
            write_string(&mut header, text);
        }
        header.push('}');
    }
    let mut start = 0_usize;
    for planned in tensors {
        if header.len() > 1 {
            header.push(',');
        }
        write_string(&mut header, planned.name);
        let sizes: Vec<String> = planned.shape.iter().map(usize::to_string).collect();
        let name = planned.dtype.1;
        let end = start.checked_add(planned.nbytes).ok_or(TOO_LARGE)?;
        write!(
            header,
            ":{{\"dtype\":\"{name}\",\"shape\":[{}],\"data_offsets\":[{start},{end}]}}",
            sizes.join(",")
        )
        .expect("a string takes any text");
        start = end;
    }
    header.push('}');
    let size = (PREFIX + header.len()).next_multiple_of(align.max(PREFIX)) - PREFIX;
    if size as u64 > LARGEST_HEADER {
        let expected = format!("names and metadata of at most {LARGEST_HEADER} bytes");
        let found = format!("{size}");
        return Err(FileError::malformed(FORMAT, expected, found));
    }
    header.extend(std::iter::repeat_n(' ', size - header.len()));
    Ok(header)
}
