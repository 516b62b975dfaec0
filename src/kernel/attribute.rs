//! Attributes: arguments of a call that aren't tensors.

use crate::dtype::DType;
use smallvec::{Array, SmallVec};
use std::fmt;

/// The value of an attribute.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Attribute {
    /// Yes or no.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// Some text.
    Text(String),
    /// An element type.
    DType(DType),
    /// Whole numbers, such as sizes.
    Ints(Vec<i64>),
    /// A whole number, or `None`: an axis, or all of them.
    OptionalInt(Option<i64>),
    /// Whole numbers, or `None`: axes, of which none and all are two things.
    OptionalInts(Option<Vec<i64>>),
    /// An element type, or `None`: that of a type variable.
    OptionalDType(Option<DType>),
}

/// Kind of an attribute's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AttributeKind {
    /// [`Attribute::Bool`].
    Bool,
    /// [`Attribute::Int`].
    Int,
    /// [`Attribute::Float`].
    Float,
    /// [`Attribute::Text`].
    Text,
    /// [`Attribute::DType`].
    DType,
    /// [`Attribute::Ints`].
    Ints,
    /// [`Attribute::OptionalInt`].
    OptionalInt,
    /// [`Attribute::OptionalInts`].
    OptionalInts,
    /// [`Attribute::OptionalDType`].
    OptionalDType,
}

impl AttributeKind {
    /// Returns the name, as in signatures.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bool => "bool",
            Self::Int => "int",
            Self::Float => "float",
            Self::Text => "str",
            Self::DType => "dtype",
            Self::Ints => "ints",
            Self::OptionalInt => "int | None",
            Self::OptionalInts => "ints | None",
            Self::OptionalDType => "dtype | None",
        }
    }
}

impl fmt::Display for AttributeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Attribute {
    /// Returns the value's kind.
    pub const fn kind(&self) -> AttributeKind {
        match self {
            Self::Bool(_) => AttributeKind::Bool,
            Self::Int(_) => AttributeKind::Int,
            Self::Float(_) => AttributeKind::Float,
            Self::Text(_) => AttributeKind::Text,
            Self::DType(_) => AttributeKind::DType,
            Self::Ints(_) => AttributeKind::Ints,
            Self::OptionalInt(_) => AttributeKind::OptionalInt,
            Self::OptionalInts(_) => AttributeKind::OptionalInts,
            Self::OptionalDType(_) => AttributeKind::OptionalDType,
        }
    }

    /// Returns the same value as one of another kind, where nothing is lost: a whole number as a
    /// number or as a list of one, a list as an optional one, the name of an element type as that
    /// type.
    pub fn converted(&self, kind: AttributeKind) -> Option<Self> {
        if self.kind() == kind {
            return Some(self.clone());
        }
        match (self, kind) {
            (Self::Int(int), AttributeKind::Float) => {
                let float = *int as f64;
                (float as i64 == *int && float.abs() < 9.1e18).then_some(Self::Float(float))
            }
            (Self::Int(int), AttributeKind::Ints) => Some(Self::Ints(vec![*int])),
            (Self::Int(int), AttributeKind::OptionalInt) => Some(Self::OptionalInt(Some(*int))),
            (Self::Int(int), AttributeKind::OptionalInts) => {
                Some(Self::OptionalInts(Some(vec![*int])))
            }
            (Self::Ints(ints), AttributeKind::OptionalInts) => {
                Some(Self::OptionalInts(Some(ints.clone())))
            }
            (Self::Text(name), AttributeKind::DType) => name.parse().ok().map(Self::DType),
            (Self::DType(dtype), AttributeKind::OptionalDType) => {
                Some(Self::OptionalDType(Some(*dtype)))
            }
            (Self::Text(name), AttributeKind::OptionalDType) => {
                name.parse().ok().map(Some).map(Self::OptionalDType)
            }
            _ => None,
        }
    }

    /// Appends numbers that distinguish this value from all others of its kind.
    pub(crate) fn key<A: Array<Item = u64>>(&self, key: &mut SmallVec<A>) {
        self.for_each_word(|word| key.push(word));
    }

    /// Calls a function with numbers that distinguish this value from all others of its kind.
    #[inline]
    pub(crate) fn for_each_word(&self, mut word: impl FnMut(u64)) {
        match self {
            Self::Bool(value) => word(u64::from(*value)),
            Self::Int(value) => word(*value as u64),
            Self::Float(value) => word(value.to_bits()),
            Self::DType(value) => word(u64::from(value.number())),
            Self::Text(text) => for_each_word_of_text(text, word),
            Self::Ints(values) => for_each_word_of_ints(values, word),
            Self::OptionalInt(None) => word(0),
            Self::OptionalInt(Some(value)) => {
                word(1);
                word(*value as u64);
            }
            Self::OptionalInts(None) => word(u64::MAX),
            Self::OptionalInts(Some(values)) => for_each_word_of_ints(values, word),
            Self::OptionalDType(None) => word(u64::MAX),
            Self::OptionalDType(Some(value)) => word(u64::from(value.number())),
        }
    }
}

/// The count and the values. No list has `u64::MAX` values, so that number stands for `None`.
fn for_each_word_of_ints(values: &[i64], mut word: impl FnMut(u64)) {
    word(values.len() as u64);
    values.iter().for_each(|value| word(*value as u64));
}

fn for_each_word_of_text(text: &str, mut word: impl FnMut(u64)) {
    word(text.len() as u64);
    for chunk in text.as_bytes().chunks(8) {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        word(u64::from_ne_bytes(bytes));
    }
}

/// Appends numbers that distinguish a text from all others.
pub(super) fn text_key<A: Array<Item = u64>>(text: &str, key: &mut SmallVec<A>) {
    for_each_word_of_text(text, |word| key.push(word));
}

impl fmt::Display for Attribute {
    /// Writes the value as Python does.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(true) => f.write_str("True"),
            Self::Bool(false) => f.write_str("False"),
            Self::Int(value) | Self::OptionalInt(Some(value)) => value.fmt(f),
            Self::Float(value) => write!(f, "{value:?}"),
            Self::Text(value) => write!(f, "{value:?}"),
            Self::DType(value) | Self::OptionalDType(Some(value)) => {
                write!(f, "{:?}", value.to_string())
            }
            Self::OptionalInt(None) | Self::OptionalInts(None) | Self::OptionalDType(None) => {
                f.write_str("None")
            }
            Self::Ints(values) | Self::OptionalInts(Some(values)) => {
                f.write_str("(")?;
                for value in values {
                    write!(f, "{value},")?;
                }
                f.write_str(")")
            }
        }
    }
}

/// A Rust type that an attribute's value can be had as.
pub trait AttributeValue: Sized {
    /// The kind of attribute.
    const KIND: AttributeKind;

    /// Returns the value; `None` where it doesn't fit the type.
    fn from_attribute(attribute: &Attribute) -> Option<Self>;
}

macro_rules! values {
    ($($ty:ty, $Kind:ident, $pattern:pat => $value:expr;)*) => {$(
        impl AttributeValue for $ty {
            const KIND: AttributeKind = AttributeKind::$Kind;

            fn from_attribute(attribute: &Attribute) -> Option<Self> {
                match attribute {
                    $pattern => $value,
                    _ => None,
                }
            }
        }
    )*};
}

values! {
    bool, Bool, Attribute::Bool(value) => Some(*value);
    i64, Int, Attribute::Int(value) => Some(*value);
    usize, Int, Attribute::Int(value) => usize::try_from(*value).ok();
    f64, Float, Attribute::Float(value) => Some(*value);
    f32, Float, Attribute::Float(value) => Some(*value as f32);
    String, Text, Attribute::Text(value) => Some(value.clone());
    DType, DType, Attribute::DType(value) => Some(*value);
    Vec<i64>, Ints, Attribute::Ints(values) => Some(values.clone());
    Option<i64>, OptionalInt, Attribute::OptionalInt(value) => Some(*value);
    Option<Vec<i64>>, OptionalInts, Attribute::OptionalInts(values) => Some(values.clone());
    Option<DType>, OptionalDType, Attribute::OptionalDType(value) => Some(*value);
}

macro_rules! from {
    ($($ty:ty => $Kind:ident($value:ident) $conversion:expr;)*) => {$(
        impl From<$ty> for Attribute {
            fn from($value: $ty) -> Self {
                Self::$Kind($conversion)
            }
        }
    )*};
}

from! {
    bool => Bool(value) value;
    i64 => Int(value) value;
    i32 => Int(value) value.into();
    f64 => Float(value) value;
    f32 => Float(value) value.into();
    &str => Text(value) value.to_owned();
    String => Text(value) value;
    DType => DType(value) value;
    Vec<i64> => Ints(values) values;
    &[i64] => Ints(values) values.to_vec();
    Option<i64> => OptionalInt(value) value;
    Option<Vec<i64>> => OptionalInts(values) values;
    Option<&[i64]> => OptionalInts(values) values.map(<[i64]>::to_vec);
    Option<DType> => OptionalDType(value) value;
}
