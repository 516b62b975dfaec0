//! Inputs of the fuzz targets: fields of descriptors, element types, addresses.
//!
//! Bytes become numbers that are small, at a limit, or anything, so that all three come up often.

use dlbridge::dlpack::{DLDataType, DLDataTypeCode};
use dlbridge::error::LayoutError;
use dlbridge::files::{Format, SaveOptions, TensorFile};
use dlbridge::layout::{Layout, MAX_RANK};
use dlbridge::{DType, dtype::TypeCode};
use libfuzzer_sys::arbitrary::{Arbitrary, Result, Unstructured};
use std::ptr::{null, without_provenance};

/// A number: mostly a small one, else one near a power of two, or any.
#[derive(Debug, Clone, Copy)]
pub struct Number(pub i64);

impl<'a> Arbitrary<'a> for Number {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self(match u.int_in_range(0..=15_u8)? {
            0..=8 => i64::from(u.int_in_range(0..=4_u8)?),
            9..=11 => i64::from(i8::arbitrary(u)?),
            12 => i64::from(i16::arbitrary(u)?),
            13 => {
                let power = 1_i64 << u.int_in_range(0..=63)?;
                let number = power.wrapping_add(u.int_in_range(-2..=2)?);
                if bool::arbitrary(u)? {
                    number.wrapping_neg()
                } else {
                    number
                }
            }
            _ => i64::arbitrary(u)?,
        }))
    }
}

/// Several numbers, as many as a rank says.
pub fn numbers(u: &mut Unstructured<'_>, rank: usize) -> Result<Vec<i64>> {
    // Of many sizes most are 1: all others would multiply to too many elements.
    let number = |u: &mut Unstructured<'_>| {
        if rank > 10 && u.int_in_range(0..=9)? > 0 {
            Ok(1)
        } else {
            Number::arbitrary(u).map(|number| number.0)
        }
    };
    (0..rank).map(|_| number(u)).collect()
}

/// Rank, shape and strides as a C descriptor has them.
#[derive(Debug, Clone)]
pub struct Fields {
    /// The rank, allowed or not.
    pub ndim: i32,
    /// The sizes; as many as an allowed rank says. `None` stands for NULL.
    pub shape: Option<Vec<i64>>,
    /// The strides, likewise.
    pub strides: Option<Vec<i64>>,
}

impl<'a> Arbitrary<'a> for Fields {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let ndim = match u.int_in_range(0..=31_u8)? {
            0 => i32::arbitrary(u)?,
            1 => i32::from(u8::arbitrary(u)?) + 1,
            2 | 3 => u.int_in_range(0..=20)?,
            _ => u.int_in_range(0..=6)?,
        };
        let mut array = || {
            let rank = match usize::try_from(ndim) {
                Ok(rank) if rank <= MAX_RANK => rank,
                // Nothing is to be read.
                _ => 0,
            };
            let is_null = u.int_in_range(0..=15_u8)? == 0;
            (!is_null).then(|| numbers(u, rank)).transpose()
        };
        Ok(Self {
            ndim,
            shape: array()?,
            strides: array()?,
        })
    }
}

impl Fields {
    /// The pointer that stands for an array: NULL, the array, or, for a rank that is not allowed,
    /// an address that must not be followed.
    pub fn pointer(&self, array: &Option<Vec<i64>>) -> *const i64 {
        match array {
            None => null(),
            Some(array) if array.len() as i64 == i64::from(self.ndim) => array.as_ptr(),
            Some(_) => without_provenance(align_of::<i64>()),
        }
    }

    /// Has the layout validated.
    pub fn layout(&self) -> std::result::Result<Layout, LayoutError> {
        let (shape, strides) = (self.pointer(&self.shape), self.pointer(&self.strides));
        // SAFETY: each pointer is NULL or to as many numbers as an allowed rank says.
        unsafe { Layout::from_c(self.ndim, shape, strides) }
    }
}

/// An element type, and whether it is padded.
#[derive(Debug, Clone, Copy)]
pub struct Storage {
    /// The element type.
    pub dtype: DType,
    /// Whether each is padded to whole bytes; not every type can be.
    pub padded: bool,
}

impl<'a> Arbitrary<'a> for Storage {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let dtype = *u.choose(DType::ALL)?;
        let lanes = match u.int_in_range(0..=15_u8)? {
            0 => u16::arbitrary(u)?.max(1),
            1..=3 => u.int_in_range(1..=4)?,
            _ => 1,
        };
        Ok(Self {
            dtype: dtype.with_lanes(lanes).expect("there are lanes"),
            padded: bool::arbitrary(u)?,
        })
    }
}

impl Storage {
    /// Padded only where that is possible.
    pub fn possible(self) -> Self {
        let can_be_padded = self.dtype.is_sub_byte() && self.dtype.lanes() == 1;
        Self {
            padded: self.padded && can_be_padded,
            ..self
        }
    }
}

/// A raw element type: mostly one that exists.
pub fn raw_dtype(u: &mut Unstructured<'_>) -> Result<DLDataType> {
    if u.int_in_range(0..=7_u8)? > 0 {
        return Ok(Storage::arbitrary(u)?.dtype.into());
    }
    let code = u.int_in_range(0..=TypeCode::ALL.len() as u8 + 1)?;
    Ok(DLDataType {
        code: DLDataTypeCode(code),
        bits: u8::arbitrary(u)?,
        lanes: u16::arbitrary(u)?,
    })
}

/// Tensors of more bytes than this aren't read: a message may have one value for all elements.
const MOST_BYTES: usize = 1 << 20;

/// Reads bytes as a file; the tensors that it has are inside of the bytes or copies, and come back
/// from a file that is written of them.
pub fn read_and_write(format: Format, data: &[u8]) {
    let Ok(file) = TensorFile::from_bytes(data, format) else {
        return;
    };
    for stored in file.iter().filter(|stored| stored.nbytes() <= MOST_BYTES) {
        let Ok(tensor) = stored.tensor(1) else {
            continue;
        };
        assert_eq!(tensor.shape(), stored.shape());
        assert_eq!(tensor.is_copied(), stored.copy_reason(1).is_some());
        // Every byte is read.
        let aligned = stored.tensor(64).expect("it was read before");
        assert!(tensor.is_empty() || aligned.data_ptr().addr().is_multiple_of(64));
        let bytes = |tensor: &dlbridge::Tensor| {
            let bytes = tensor.contiguous().unwrap().as_bytes().unwrap();
            let bytes = bytes.to_vec::<u8>().unwrap();
            // A list of truth values has only two, where memory has any byte for the second.
            match tensor.dtype() {
                DType::BOOL => bytes.into_iter().map(|byte| (byte != 0).into()).collect(),
                _ => bytes,
            }
        };
        let options = SaveOptions::new(format);
        let Ok(written) = options.to_bytes(&[(stored.name(), &tensor)]) else {
            continue;
        };
        let back = TensorFile::from_bytes(written, format).expect("it was written");
        let back = back
            .iter()
            .next()
            .expect("one was written")
            .tensor(1)
            .expect("it was written");
        assert_eq!(
            (back.shape(), back.dtype()),
            (tensor.shape(), tensor.dtype())
        );
        assert_eq!(bytes(&back), bytes(&aligned));
    }
}
