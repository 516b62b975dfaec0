//! Structs of XLA's FFI, as of version 0.1 and newer: fields were only added at their ends.
//!
//! Each starts with its size, which tells the fields that are there.

use crate::dtype::DType;
use std::ffi::{c_char, c_void};

/// The version that handlers ask for. XLA takes older ones than its own.
pub(super) const VERSION: (i32, i32) = (0, 1);

#[repr(C)]
pub(super) struct Extension {
    pub(super) struct_size: usize,
    pub(super) kind: i32,
    pub(super) next: *mut Extension,
}

/// The extension that asks a handler what it is.
pub(super) const METADATA: i32 = 1;

#[repr(C)]
pub(super) struct MetadataExtension {
    pub(super) base: Extension,
    pub(super) metadata: *mut Metadata,
}

#[repr(C)]
pub(super) struct Metadata {
    pub(super) struct_size: usize,
    pub(super) version: Version,
    pub(super) traits: u32,
}

#[repr(C)]
pub(super) struct Version {
    pub(super) struct_size: usize,
    pub(super) extensions: *mut Extension,
    pub(super) major: i32,
    pub(super) minor: i32,
}

#[repr(C)]
pub(super) struct Api {
    pub(super) struct_size: usize,
    pub(super) extensions: *mut Extension,
    pub(super) version: Version,
    pub(super) internal: *const c_void,
    pub(super) error_create: unsafe extern "C" fn(*mut NewError) -> *mut c_void,
}

#[repr(C)]
pub(super) struct NewError {
    pub(super) struct_size: usize,
    pub(super) extensions: *mut Extension,
    pub(super) message: *const c_char,
    pub(super) code: i32,
}

pub(super) const INVALID_ARGUMENT: i32 = 3;
pub(super) const INTERNAL: i32 = 13;

#[repr(C)]
pub(super) struct CallFrame {
    pub(super) struct_size: usize,
    pub(super) extensions: *mut Extension,
    pub(super) api: *const Api,
    pub(super) context: *mut c_void,
    pub(super) stage: i32,
    pub(super) arguments: Buffers,
    pub(super) results: Buffers,
    pub(super) attributes: Attributes,
}

/// The stage of a call.
pub(super) const EXECUTE: i32 = 3;

/// Arguments or results.
#[repr(C)]
pub(super) struct Buffers {
    pub(super) struct_size: usize,
    pub(super) extensions: *mut Extension,
    pub(super) count: i64,
    pub(super) kinds: *const i32,
    pub(super) buffers: *const *const Buffer,
}

/// The only kind of an argument, and of a result.
pub(super) const BUFFER: i32 = 1;

/// A tensor, row-major.
#[repr(C)]
pub(super) struct Buffer {
    pub(super) struct_size: usize,
    pub(super) extensions: *mut Extension,
    pub(super) dtype: i32,
    pub(super) data: *mut u8,
    pub(super) rank: i64,
    pub(super) sizes: *const i64,
}

/// Attributes, in order of their names.
#[repr(C)]
pub(super) struct Attributes {
    pub(super) struct_size: usize,
    pub(super) extensions: *mut Extension,
    pub(super) count: i64,
    pub(super) kinds: *const i32,
    pub(super) names: *const *const Bytes,
    pub(super) values: *const *const c_void,
}

pub(super) const ARRAY: i32 = 1;
pub(super) const SCALAR: i32 = 3;
pub(super) const STRING: i32 = 4;

/// A string: it needn't end with a zero.
#[repr(C)]
pub(super) struct Bytes {
    pub(super) first: *const u8,
    pub(super) count: usize,
}

#[repr(C)]
pub(super) struct Scalar {
    pub(super) dtype: i32,
    pub(super) value: *const u8,
}

#[repr(C)]
pub(super) struct Array {
    pub(super) dtype: i32,
    pub(super) count: usize,
    pub(super) data: *const u8,
}

/// XLA's numbers of dtypes with whole bytes.
const DTYPES: [(i32, DType); 23] = [
    (11, DType::F32),
    (12, DType::F64),
    (16, DType::BF16),
    (10, DType::F16),
    (4, DType::I32),
    (5, DType::I64),
    (1, DType::BOOL),
    (2, DType::I8),
    (3, DType::I16),
    (6, DType::U8),
    (7, DType::U16),
    (8, DType::U32),
    (9, DType::U64),
    (15, DType::C64),
    (18, DType::C128),
    (19, DType::F8_E5M2),
    (20, DType::F8_E4M3FN),
    (23, DType::F8_E4M3B11FNUZ),
    (24, DType::F8_E5M2FNUZ),
    (25, DType::F8_E4M3FNUZ),
    (28, DType::F8_E4M3),
    (29, DType::F8_E3M4),
    (33, DType::F8_E8M0FNU),
];

/// XLA's numbers of dtypes that are smaller than a byte.
const SMALL: [(i32, &str); 7] = [
    (30, "int1"),
    (26, "int2"),
    (21, "int4"),
    (31, "uint1"),
    (27, "uint2"),
    (22, "uint4"),
    (32, "float4_e2m1fn"),
];

/// Returns the dtype of a number of XLA's.
pub(super) fn dtype(number: i32) -> Result<DType, String> {
    if let Some((_, dtype)) = DTYPES.iter().find(|(known, _)| *known == number) {
        return Ok(*dtype);
    }
    Err(match SMALL.iter().find(|(known, _)| *known == number) {
        Some((_, name)) => {
            format!("expected elements of whole bytes, got {name}; cast it to int8 or float8")
        }
        None => format!("there is no dtype for XLA's {number}"),
    })
}
