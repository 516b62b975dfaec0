//! [`OpAttribute`]: values of ops' attributes.

use super::super::dtype::DataType;
use crate::dtype::DType;

/// The value of an attribute of an op.
///
/// # Examples
///
/// ```
/// use dlbridge::tensorflow::OpAttribute;
///
/// assert_eq!(OpAttribute::from(true), OpAttribute::Bool(true));
/// assert_eq!(OpAttribute::from("SAME"), OpAttribute::String(b"SAME".to_vec()));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum OpAttribute {
    /// A truth value.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A number.
    Float(f32),
    /// A string of bytes.
    String(Vec<u8>),
    /// An element type.
    Type(DataType),
    /// A shape; a negative size is unknown.
    Shape(Vec<i64>),
    /// A list of integers.
    Ints(Vec<i64>),
}

impl OpAttribute {
    /// Returns TensorFlow's code for the kind, and whether it is a list.
    pub(super) fn kind(&self) -> (i32, bool) {
        match self {
            Self::String(_) => (0, false),
            Self::Int(_) => (1, false),
            Self::Float(_) => (2, false),
            Self::Bool(_) => (3, false),
            Self::Type(_) => (4, false),
            Self::Shape(_) => (5, false),
            Self::Ints(_) => (1, true),
        }
    }
}

/// Returns the name of a kind of attribute.
pub(super) fn kind_name((code, is_list): (i32, bool)) -> String {
    const NAMES: [&str; 9] = [
        "string",
        "int",
        "float",
        "bool",
        "type",
        "shape",
        "tensor",
        "placeholder",
        "function",
    ];
    let name = NAMES.get(code as usize).copied().unwrap_or("another kind");
    if is_list {
        format!("list({name})")
    } else {
        name.to_owned()
    }
}

macro_rules! from {
    ($($ty:ty => |$value:ident| $make:expr;)*) => {
        $(
            impl From<$ty> for OpAttribute {
                fn from($value: $ty) -> Self {
                    $make
                }
            }
        )*
    };
}

from! {
    bool => |value| Self::Bool(value);
    i64 => |value| Self::Int(value);
    f32 => |value| Self::Float(value);
    &str => |value| Self::String(value.as_bytes().to_vec());
    DataType => |value| Self::Type(value);
    Vec<i64> => |value| Self::Ints(value);
}

impl TryFrom<DType> for OpAttribute {
    type Error = crate::error::Incompatibility;

    fn try_from(dtype: DType) -> Result<Self, Self::Error> {
        DataType::from_dtype(dtype).map(Self::Type)
    }
}
