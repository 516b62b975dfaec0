//! `TensorProto`, TensorFlow's message of one tensor.

mod message;

use super::bulk;
use super::error::FileError;
use super::format::Format;
use super::message::{Head, bytes_of, decode, encode, part, write_with_elements};
use super::stored::{Found, checked_shape};
use super::writer::{Writer, with_bytes};
use crate::dtype::{DType, Scalar, read_small_bits};
use crate::error::Error;
use crate::storage::Storage;
use crate::tensor::Tensor;
use crate::tensorflow_types::{code_of, dtype_of, name_of};
use message::{Dim, Shape, TensorProto};
use std::io::{Seek, Write};

const FORMAT: Format = Format::TfProto;
/// The tag of the elements' bytes.
const TENSOR_CONTENT: u32 = 4;

/// Reads the description of the tensor.
pub(super) fn read(storage: &Storage, name: &str) -> Result<Found, FileError> {
    let message: TensorProto = decode(FORMAT, storage)?;
    let Some(dtype) = dtype_of(message.dtype) else {
        let unnamed = || format!("number {}", message.dtype);
        let found = name_of(message.dtype).map_or_else(unnamed, str::to_owned);
        return Err(Head::unsupported(FORMAT, name, found));
    };
    let shape = message.tensor_shape.clone().unwrap_or_default();
    if shape.unknown_rank {
        let expected = format!("a shape of {name:?}");
        return Err(FileError::malformed(FORMAT, expected, "unknown_rank"));
    }
    let sizes = shape.dim.iter().map(|dim| dim.size);
    let head = Head {
        format: FORMAT,
        name,
        dtype,
        shape: checked_shape(name, dtype, sizes)?,
    };
    let stored = match message.tensor_content.is_empty() {
        false => head.of_bytes(part(storage, &message.tensor_content)?, true)?,
        true => {
            let values = values(&head, &message)?;
            head.of_values(values, true)?
        }
    };
    Ok(Found {
        stored: vec![stored],
        metadata: None,
    })
}

/// Returns the values of the field of the element type, as bytes.
fn values(head: &Head<'_>, message: &TensorProto) -> Result<Vec<u8>, FileError> {
    Ok(match head.dtype {
        DType::F32 => bytes_of(&message.float_val, f32::to_le_bytes)?,
        DType::F64 => bytes_of(&message.double_val, f64::to_le_bytes)?,
        DType::I64 => bytes_of(&message.int64_val, i64::to_le_bytes)?,
        DType::U32 => bytes_of(&message.uint32_val, u32::to_le_bytes)?,
        DType::U64 => bytes_of(&message.uint64_val, u64::to_le_bytes)?,
        DType::C64 => head.pairs(bytes_of(&message.scomplex_val, f32::to_le_bytes)?)?,
        DType::C128 => head.pairs(bytes_of(&message.dcomplex_val, f64::to_le_bytes)?)?,
        DType::BOOL => bulk::collect(message.bool_val.iter().map(|value| (*value).into()))?,
        DType::F16 | DType::BF16 => head.integers(&message.half_val)?,
        dtype if has_float8_val(dtype) => bulk::collect(message.float8_val.iter().copied())?,
        _ => head.integers(&message.int_val)?,
    })
}

fn has_float8_val(dtype: DType) -> bool {
    matches!(
        dtype,
        DType::F8_E5M2
            | DType::F8_E4M3FN
            | DType::F8_E4M3FNUZ
            | DType::F8_E4M3B11FNUZ
            | DType::F8_E5M2FNUZ
            | DType::F4_E2M1FN
    )
}

/// Writes a message, as `tf.make_tensor_proto` makes it.
pub(super) fn write<W: Write + Seek>(
    to: &mut Writer<W>,
    (name, tensor): (&str, &Tensor),
) -> Result<(), FileError> {
    let dtype = tensor.dtype();
    let number = code_of(dtype).ok_or_else(|| FileError::unwritable(FORMAT, name, dtype))?;
    let dim = tensor.shape().iter().map(|size| Dim { size: *size as i64 });
    let mut message = TensorProto {
        dtype: number,
        tensor_shape: Some(Shape {
            dim: dim.collect(),
            unknown_rank: false,
        }),
        ..TensorProto::default()
    };
    if tensor.len() > 1 && !lists_values(dtype) {
        let byte_each = dtype == DType::F4_E2M1FN;
        let nbytes = if byte_each {
            tensor.len()
        } else {
            tensor.nbytes()
        };
        let elements = (tensor, nbytes);
        return write_with_elements(
            (FORMAT, to),
            &message,
            TENSOR_CONTENT,
            elements,
            |to, tensor| match byte_each {
                true => to.bytes(&unpacked(tensor)?),
                false => to.elements(tensor),
            },
        );
    }
    list_values(&mut message, tensor)?;
    to.bytes(&encode(&message)?)
}

/// Checks whether TensorFlow writes values of this type in a list, however many there are.
fn lists_values(dtype: DType) -> bool {
    use DType as D;
    matches!(
        dtype,
        D::BOOL | D::C64 | D::C128 | D::U16 | D::I4 | D::U4 | D::I2 | D::U2
    )
}

/// Puts the elements into the field of their type.
fn list_values(message: &mut TensorProto, tensor: &Tensor) -> Result<(), FileError> {
    let dtype = tensor.dtype();
    if matches!(dtype, DType::I4 | DType::U4 | DType::I2 | DType::U2) {
        // An integer each, as numbers.
        let numbers = tensor.scalars()?.map(|number| match number {
            Scalar::Int(number) => number as i32,
            _ => unreachable!("elements of an integer type are integers"),
        });
        message.int_val = bulk::with_capacity(tensor.len())?;
        message.int_val.extend(numbers);
        return Ok(());
    }
    if dtype == DType::F4_E2M1FN {
        message.float8_val = unpacked(tensor)?;
        return Ok(());
    }
    with_bytes(tensor, |bytes| {
        match dtype {
            DType::F32 => message.float_val = numbers(bytes, f32::from_le_bytes)?,
            DType::F64 => message.double_val = numbers(bytes, f64::from_le_bytes)?,
            DType::I64 => message.int64_val = numbers(bytes, i64::from_le_bytes)?,
            DType::U32 => message.uint32_val = numbers(bytes, u32::from_le_bytes)?,
            DType::U64 => message.uint64_val = numbers(bytes, u64::from_le_bytes)?,
            DType::C64 => message.scomplex_val = numbers(bytes, f32::from_le_bytes)?,
            DType::C128 => message.dcomplex_val = numbers(bytes, f64::from_le_bytes)?,
            DType::BOOL => message.bool_val = bulk::collect(bytes.iter().map(|byte| *byte != 0))?,
            DType::F16 | DType::BF16 => {
                message.half_val = numbers(bytes, |x| u16::from_le_bytes(x).into())?;
            }
            DType::I8 => message.int_val = numbers(bytes, |x| i8::from_le_bytes(x).into())?,
            DType::I16 => message.int_val = numbers(bytes, |x| i16::from_le_bytes(x).into())?,
            DType::I32 => message.int_val = numbers(bytes, i32::from_le_bytes)?,
            DType::U8 => message.int_val = numbers(bytes, |x| u8::from_le_bytes(x).into())?,
            DType::U16 => message.int_val = numbers(bytes, |x| u16::from_le_bytes(x).into())?,
            _ => message.float8_val = bulk::collect(bytes.iter().copied())?,
        }
        Ok(())
    })
}

fn numbers<T, const N: usize>(bytes: &[u8], number: fn([u8; N]) -> T) -> Result<Vec<T>, Error> {
    let (numbers, _) = bytes.as_chunks::<N>();
    bulk::collect(numbers.iter().map(|bytes| number(*bytes)))
}

/// Returns sub-byte elements with a byte each.
fn unpacked(tensor: &Tensor) -> Result<Vec<u8>, FileError> {
    let bits = usize::from(tensor.dtype().bits());
    with_bytes(tensor, |bytes| {
        let elements = (0..tensor.len()).map(|i| read_small_bits(bytes, i * bits, bits));
        Ok(bulk::collect(elements)?)
    })
}
