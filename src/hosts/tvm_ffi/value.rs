//! [`Value`]: an argument or a result of a packed function.

mod attribute;

use crate::dlpack::{DLDataTypeCode, DLDeviceType, DLTensor};
use crate::dtype::DType;
use crate::hosts::operands::{Described, describe_in_place};
use crate::hosts::repeats::{Description, numbers};
use smallvec::{Array, SmallVec};
use std::ffi::{CStr, c_char, c_void};
use std::ptr;

/// `TVMFFIAny`: a number, or a reference to an object.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct Value {
    kind: i32,
    /// The length of a small text; otherwise 0.
    small: u32,
    bits: u64,
}

/// `TVMFFIByteArray`: a text that is kept elsewhere.
#[repr(C)]
pub(super) struct Bytes {
    first: *const u8,
    len: usize,
}

// Kinds of values, of tvm-ffi's header.
const NONE: i32 = 0;
const INT: i32 = 1;
const BOOL: i32 = 2;
const FLOAT: i32 = 3;
const DATA_TYPE: i32 = 5;
const DL_TENSOR: i32 = 7;
const RAW_TEXT: i32 = 8;
const SMALL_TEXT: i32 = 11;
const FIRST_OBJECT: i32 = 64;
const TEXT: i32 = 65;
const SHAPE: i32 = 69;
const TENSOR: i32 = 70;
const ARRAY: i32 = 71;
const MAP: i32 = 72;
const LIST: i32 = 75;
const DICT: i32 = 76;

impl Bytes {
    pub(super) fn new(text: &str) -> Self {
        let (first, len) = (text.as_ptr(), text.len());
        Self { first, len }
    }

    /// Returns the text.
    ///
    /// # Safety
    ///
    /// The bytes are there.
    pub(super) unsafe fn text(&self) -> String {
        if self.len == 0 {
            return String::new();
        }
        // SAFETY: the bytes are there, as this function requires.
        let bytes = unsafe { std::slice::from_raw_parts(self.first, self.len) };
        String::from_utf8_lossy(bytes).into_owned()
    }
}

impl Value {
    pub(super) const NONE: Self = Self {
        kind: NONE,
        small: 0,
        bits: 0,
    };
    /// The bytes of the header of each object.
    pub(super) const HEADER: usize = 24;

    /// Returns a value that owns a tensor object.
    pub(super) fn from_tensor(handle: *mut c_void) -> Self {
        Self {
            kind: TENSOR,
            small: 0,
            bits: handle.expose_provenance() as u64,
        }
    }

    fn from_int(value: usize) -> Self {
        Self {
            kind: INT,
            small: 0,
            bits: value as u64,
        }
    }

    pub(super) fn is_none(&self) -> bool {
        self.kind == NONE
    }

    /// Returns whether it is an array or a list.
    pub(super) fn is_list(&self) -> bool {
        matches!(self.kind, ARRAY | LIST)
    }

    pub(super) fn is_tensor(&self) -> bool {
        matches!(self.kind, DL_TENSOR | TENSOR)
    }

    /// Returns the object, if it is one.
    pub(super) fn object(&self) -> Option<*mut c_void> {
        (self.kind >= FIRST_OBJECT).then(|| self.pointer())
    }

    fn pointer(&self) -> *mut c_void {
        ptr::with_exposed_provenance_mut(self.bits as usize)
    }

    /// Returns what is behind an object's header.
    fn behind_header<T>(&self) -> *const T {
        self.pointer().wrapping_byte_add(Self::HEADER).cast()
    }

    /// Returns the struct of a tensor; `None` for anything else.
    ///
    /// # Safety
    ///
    /// The value is valid.
    #[inline]
    unsafe fn tensor(&self) -> Option<&DLTensor> {
        let tensor: *const DLTensor = match self.kind {
            DL_TENSOR => self.pointer().cast_const().cast(),
            TENSOR => self.behind_header(),
            _ => return None,
        };
        // SAFETY: the value leads to a tensor's struct.
        Some(unsafe { &*tensor })
    }

    /// Appends what tells a tensor on the CPU apart from others. Returns whether it is one, and not
    /// of `bool`, whose bytes are looked at in each call.
    ///
    /// # Safety
    ///
    /// The value is valid.
    #[inline]
    pub(super) unsafe fn tell_apart(&self, call: &mut Description) -> bool {
        // SAFETY: the value is valid.
        let Some(tensor) = (unsafe { self.tensor() }) else {
            return false;
        };
        let dtype = tensor.dtype;
        let is_known = tensor.device.device_type == DLDeviceType::CPU
            && tensor.device.device_id == 0
            && dtype.code != DLDataTypeCode::BOOL;
        let rank = i64::from(tensor.ndim);
        // SAFETY: a tensor has as many sizes, and strides or NULL, as dimensions.
        let (sizes, strides) =
            unsafe { (numbers(tensor.shape, rank), numbers(tensor.strides, rank)) };
        let (true, Some(sizes)) = (is_known, sizes) else {
            return false;
        };
        let first = tensor.data.cast::<u8>();
        let first = first.wrapping_add(tensor.byte_offset as usize);
        let number = u32::from(dtype.code.0) | u32::from(dtype.bits) << 8;
        let number = number | u32::from(dtype.lanes) << 16;
        call.add_tensor(first, number, sizes, strides);
        true
    }

    /// Appends memory, layout and dtype of a tensor on the CPU.
    ///
    /// # Safety
    ///
    /// The value is valid.
    #[inline]
    pub(super) unsafe fn describe<A: Array<Item = Described>>(
        &self,
        list: &mut SmallVec<A>,
    ) -> Result<(), String> {
        // SAFETY: the value is valid.
        let tensor = unsafe { self.tensor() };
        let tensor =
            tensor.ok_or_else(|| format!("expected a tensor, got {}", self.kind_name()))?;
        if tensor.device.device_type != DLDeviceType::CPU {
            return Err("expected a tensor on the CPU".to_owned());
        }
        let first = tensor.data.cast::<u8>();
        let first = first.wrapping_add(tensor.byte_offset as usize);
        let dtype = DType::try_from(tensor.dtype).map_err(|error| error.to_string())?;
        let dims = (
            tensor.ndim,
            tensor.shape.cast_const(),
            tensor.strides.cast_const(),
        );
        // SAFETY: a tensor has as many sizes, and strides or none, as dimensions.
        let valid = unsafe { describe_in_place(list, first, dtype, dims) };
        valid.map_err(|error| error.to_string())
    }

    /// Returns a text.
    ///
    /// # Safety
    ///
    /// The value is valid.
    unsafe fn text(&self) -> Option<String> {
        let bytes = self.bits.to_ne_bytes();
        // SAFETY: each kind of text leads to its bytes.
        unsafe {
            match self.kind {
                SMALL_TEXT => {
                    let bytes = bytes.get(..self.small as usize)?;
                    Some(String::from_utf8_lossy(bytes).into_owned())
                }
                RAW_TEXT => {
                    let text = CStr::from_ptr(self.pointer().cast_const().cast::<c_char>());
                    Some(text.to_string_lossy().into_owned())
                }
                TEXT => Some((*self.behind_header::<Bytes>()).text()),
                _ => None,
            }
        }
    }

    fn kind_name(&self) -> String {
        let name = match self.kind {
            NONE => "None",
            INT => "an int",
            BOOL => "a bool",
            FLOAT => "a float",
            DATA_TYPE => "a dtype",
            RAW_TEXT | SMALL_TEXT | TEXT => "a str",
            SHAPE => "a shape",
            DL_TENSOR | TENSOR => "a tensor",
            ARRAY | LIST => "an array",
            MAP | DICT => "a map",
            kind => return format!("a value of tvm-ffi's type {kind}"),
        };
        name.to_owned()
    }
}
