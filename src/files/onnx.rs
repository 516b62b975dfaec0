//! `TensorProto`, ONNX's message of one tensor.

mod dtype;
mod external;
mod message;

use super::bulk;
use super::error::FileError;
use super::format::Format;
use super::message::{Head, bytes_of, decode, encode, part, write_with_elements};
use super::replace::replace;
use super::source::Source;
use super::stored::{Found, Stored, checked_shape};
use super::writer::{Writer, packed_nbytes};
use crate::dtype::DType;
use crate::storage::Storage;
use crate::tensor::Tensor;
use dtype::{from_number, name_of, number_of};
use message::TensorProto;
use std::io::{Seek, Write};
use std::path::Path;

const FORMAT: Format = Format::OnnxProto;
/// The tag of the elements' bytes.
const RAW_DATA: u32 = 9;
/// The location of elements in another file.
const EXTERNAL: i32 = 1;

/// Reads the description of the tensor; `folder`: where files of external data are, and how they
/// are opened.
pub(super) fn read(
    storage: &Storage,
    name: &str,
    folder: Option<(&Path, Source)>,
) -> Result<Found, FileError> {
    let message: TensorProto = decode(FORMAT, storage)?;
    Ok(Found {
        stored: vec![describe(storage, &message, name, folder)?],
        metadata: None,
    })
}

fn describe(
    storage: &Storage,
    message: &TensorProto,
    name: &str,
    folder: Option<(&Path, Source)>,
) -> Result<Stored, FileError> {
    let name = match &message.name {
        Some(name) if !name.is_empty() => name,
        _ => name,
    };
    if message.segment.is_some() {
        return Err(FileError::Unsupported {
            format: FORMAT,
            what: format!("{name:?} is a segment of a tensor"),
            remedy: "write the whole tensor",
        });
    }
    let number = message.data_type.unwrap_or_default();
    let Some(dtype) = from_number(number) else {
        return Err(Head::unsupported(FORMAT, name, name_of(number)));
    };
    let head = Head {
        format: FORMAT,
        name,
        dtype,
        shape: checked_shape(name, dtype, message.dims.iter().copied())?,
    };
    if message.data_location == Some(EXTERNAL) {
        let bytes = external::open(name, &message.external_data, folder)?;
        return head.of_bytes(bytes, false);
    }
    if let Some(bytes) = &message.raw_data {
        return head.of_bytes(part(storage, bytes)?, false);
    }
    if dtype.bits() < 8 && !is_float6(dtype) {
        // Each integer has several elements, and is a byte of packed memory.
        let bytes = packed_integers(&head, &message.int32_data)?;
        return head.of_bytes(Storage::from_vec(bytes), false);
    }
    let values = values(&head, message)?;
    head.of_values(values, false)
}

fn is_float6(dtype: DType) -> bool {
    matches!(dtype, DType::F6_E2M3FN | DType::F6_E3M2FN)
}

fn packed_integers(head: &Head<'_>, values: &[i32]) -> Result<Vec<u8>, FileError> {
    let byte = |value: &i32| {
        u8::try_from(*value).map_err(|_| {
            let expected = format!("bytes of {} in {:?}", head.dtype, head.name);
            FileError::malformed(FORMAT, expected, value.to_string())
        })
    };
    let mut bytes = bulk::with_capacity(values.len())?;
    for value in values {
        bytes.push(byte(value)?);
    }
    Ok(bytes)
}

/// Returns the values of the field of the element type, as bytes.
fn values(head: &Head<'_>, message: &TensorProto) -> Result<Vec<u8>, FileError> {
    Ok(match head.dtype {
        DType::F32 => bytes_of(&message.float_data, f32::to_le_bytes)?,
        DType::F64 => bytes_of(&message.double_data, f64::to_le_bytes)?,
        DType::I64 => bytes_of(&message.int64_data, i64::to_le_bytes)?,
        DType::U64 => bytes_of(&message.uint64_data, u64::to_le_bytes)?,
        DType::U32 => {
            let mut bytes = bulk::with_capacity(message.uint64_data.len().saturating_mul(4))?;
            for value in &message.uint64_data {
                let value = u32::try_from(*value).map_err(|error| {
                    let expected = format!("values of uint32 in {:?}", head.name);
                    FileError::malformed(FORMAT, expected, error.to_string())
                })?;
                bytes.extend(value.to_le_bytes());
            }
            bytes
        }
        DType::C64 => head.pairs(bytes_of(&message.float_data, f32::to_le_bytes)?)?,
        DType::C128 => head.pairs(bytes_of(&message.double_data, f64::to_le_bytes)?)?,
        _ => head.integers(&message.int32_data)?,
    })
}

/// Writes a message, as `onnx.numpy_helper.from_array` makes it.
pub(super) fn write<W: Write + Seek>(
    to: &mut Writer<W>,
    (name, tensor): (&str, &Tensor),
) -> Result<(), FileError> {
    let message = head(name, tensor)?;
    let elements = (tensor, packed_nbytes(tensor));
    write_with_elements((FORMAT, to), &message, RAW_DATA, elements, |to, tensor| {
        to.elements(tensor)
    })
}

/// Saves a message whose elements are in another file, as `onnx.external_data_helper` does. Both
/// files are complete before the one with the elements is replaced, and then the message.
pub(super) fn save(
    path: &Path,
    location: &str,
    (name, tensor): (&str, &Tensor),
) -> Result<(), FileError> {
    let message = TensorProto {
        external_data: external::entries(location, packed_nbytes(tensor)),
        data_location: Some(EXTERNAL),
        ..head(name, tensor)?
    };
    let data = external::place(name, location, path)?;
    replace(path, |to| {
        to.bytes(&encode(&message)?)?;
        replace(&data, |to| to.elements(tensor))
    })
}

/// Returns the message without the elements.
fn head(name: &str, tensor: &Tensor) -> Result<TensorProto, FileError> {
    let dtype = tensor.dtype();
    let number = number_of(dtype).ok_or_else(|| FileError::unwritable(FORMAT, name, dtype))?;
    Ok(TensorProto {
        dims: tensor.shape().iter().map(|size| *size as i64).collect(),
        data_type: Some(number),
        name: (!name.is_empty()).then(|| name.to_owned()),
        ..TensorProto::default()
    })
}
