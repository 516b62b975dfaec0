//! Attributes of a call, of the kinds that the op declares.

use super::abi::{self, ARRAY, Array, Attributes, Bytes, SCALAR, STRING, Scalar};
use crate::dtype::DType;
use crate::kernel::{Attribute, AttributeKind, Op};
use smallvec::SmallVec;
use std::ffi::c_void;

/// The name of the attribute that says which inputs are given.
const GIVEN: &[u8] = b"_given";

/// The attributes of a call.
#[derive(Default)]
pub(super) struct Values {
    /// In the op's order.
    pub(super) attributes: SmallVec<[Attribute; 4]>,
    /// A bit for each input that is given, if the call says so.
    pub(super) given: Option<u64>,
}

impl Values {
    /// Reads the attributes of a call.
    ///
    /// # Safety
    ///
    /// The list is one of XLA's.
    pub(super) unsafe fn read(&mut self, op: &Op, list: &Attributes) -> Result<(), String> {
        if list.struct_size < size_of::<Attributes>() {
            return Err("XLA's attributes have too few fields".to_owned());
        }
        let count = list.count as usize;
        // SAFETY: there are as many names, kinds and values, and each value is of its kind.
        let name = |at: usize| unsafe { bytes(&**list.names.add(at)) };
        // SAFETY: each value is of the kind at the same place.
        let value = |at: usize| unsafe { value(*list.kinds.add(at), *list.values.add(at)) };
        let mut used = 0;
        for (wanted, kind, default) in op.attributes() {
            let Some(at) = (0..count).find(|at| name(*at) == wanted.as_bytes()) else {
                let missing = || format!("expected an attribute {wanted:?}");
                self.attributes.push(default.cloned().ok_or_else(missing)?);
                continue;
            };
            used += 1;
            let found = value(at).map_err(|problem| format!("attribute {wanted:?}: {problem}"))?;
            let converted = convert(&found, kind);
            let wrong = || format!("expected {kind} for attribute {wanted:?}, got {found}");
            self.attributes.push(converted.ok_or_else(wrong)?);
        }
        if used == count {
            return Ok(());
        }
        for at in 0..count {
            let name = name(at);
            if name == GIVEN {
                let Ok(Attribute::Int(bits)) = value(at) else {
                    return Err("expected a number for attribute \"_given\"".to_owned());
                };
                self.given = Some(bits as u64);
            } else if !op.attributes().any(|(known, ..)| known.as_bytes() == name) {
                let name = String::from_utf8_lossy(name);
                return Err(format!("there is no attribute {name:?}"));
            }
        }
        Ok(())
    }
}

fn convert(found: &Attribute, kind: AttributeKind) -> Option<Attribute> {
    if let Attribute::Text(text) = found
        && text == "None"
    {
        match kind {
            AttributeKind::OptionalInt => return Some(Attribute::OptionalInt(None)),
            AttributeKind::OptionalInts => return Some(Attribute::OptionalInts(None)),
            AttributeKind::OptionalDType => return Some(Attribute::OptionalDType(None)),
            _ => {}
        }
    }
    found.converted(kind)
}

/// # Safety
///
/// The string is one of XLA's.
unsafe fn bytes<'a>(of: &Bytes) -> &'a [u8] {
    match of.count {
        0 => &[],
        // SAFETY: there are as many bytes.
        count => unsafe { std::slice::from_raw_parts(of.first, count) },
    }
}

/// Returns a value as the plainest kind of attribute.
///
/// # Safety
///
/// The value is one of XLA's, of this kind.
unsafe fn value(kind: i32, value: *const c_void) -> Result<Attribute, String> {
    match kind {
        SCALAR => {
            // SAFETY: the value is a scalar.
            let scalar = unsafe { &*value.cast::<Scalar>() };
            // SAFETY: a scalar has one value.
            unsafe { number(abi::dtype(scalar.dtype)?, scalar.value) }
        }
        ARRAY => {
            // SAFETY: the value is an array.
            let array = unsafe { &*value.cast::<Array>() };
            let dtype = abi::dtype(array.dtype)?;
            let each = dtype.item_bytes().unwrap_or(1);
            let int = |at: usize| {
                // SAFETY: there are as many values, one after the other.
                match unsafe { number(dtype, array.data.add(at * each)) }? {
                    Attribute::Int(int) => Ok(int),
                    other => Err(format!("expected whole numbers, got {other}")),
                }
            };
            let ints: Result<_, String> = (0..array.count).map(int).collect();
            Ok(Attribute::Ints(ints?))
        }
        STRING => {
            // SAFETY: the value is a string.
            let text = unsafe { bytes(&*value.cast::<Bytes>()) };
            let text = std::str::from_utf8(text).map_err(|error| error.to_string())?;
            Ok(Attribute::Text(text.to_owned()))
        }
        kind => Err(format!(
            "expected a number, a list or a text, got XLA's {kind}"
        )),
    }
}

/// Returns a number.
///
/// # Safety
///
/// There is a value of this dtype.
unsafe fn number(dtype: DType, at: *const u8) -> Result<Attribute, String> {
    macro_rules! read {
        ($Type:ty) => {
            // SAFETY: there is a value of this dtype, as this function requires.
            unsafe { at.cast::<$Type>().read_unaligned() }
        };
    }
    Ok(match dtype {
        DType::BOOL => Attribute::Bool(read!(u8) != 0),
        DType::I8 => Attribute::Int(read!(i8).into()),
        DType::I16 => Attribute::Int(read!(i16).into()),
        DType::I32 => Attribute::Int(read!(i32).into()),
        DType::I64 => Attribute::Int(read!(i64)),
        DType::U8 => Attribute::Int(read!(u8).into()),
        DType::U16 => Attribute::Int(read!(u16).into()),
        DType::U32 => Attribute::Int(read!(u32).into()),
        DType::U64 => {
            let value = i64::try_from(read!(u64));
            Attribute::Int(value.map_err(|error| error.to_string())?)
        }
        DType::F32 => Attribute::Float(read!(f32).into()),
        DType::F64 => Attribute::Float(read!(f64)),
        other => return Err(format!("expected a number, got {other}")),
    })
}
