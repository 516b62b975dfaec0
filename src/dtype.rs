//! Element types: every one that DLPack 1.3 knows, by name, by code, and as Rust types.
//!
//! ```
//! use dlbridge::DType;
//!
//! let dtype: DType = "bfloat16".parse()?;
//! assert_eq!(dtype, DType::BF16);
//! assert_eq!(dtype.item_bits(), 16);
//! assert_eq!(DType::F4_E2M1FN.packed_bytes(3), Some(2)); // 12 bits
//! assert_eq!(DType::F32.with_lanes(4)?.to_string(), "float32x4");
//! # Ok::<(), dlbridge::Error>(())
//! ```

mod code;
mod element;
mod error;
mod minifloat;
mod name;
#[cfg(feature = "kernels")]
mod promote;
mod scalar;
mod small_float;
mod validate;

pub use code::TypeCode;
pub use element::Element;
pub(crate) use element::find_invalid_bool;
pub use error::DTypeError;
pub use minifloat::{
    F8E3M4, F8E4M3, F8E4M3B11Fnuz, F8E4M3Fn, F8E4M3Fnuz, F8E5M2, F8E5M2Fnuz, F8E8M0Fnu,
};
pub use scalar::Scalar;
pub(crate) use scalar::{read_small_bits, write_bits, write_small_bits};
#[cfg(feature = "kernels")]
pub(crate) use small_float::{Codec, e8m0_to_f32, f32_to_e8m0, integer_to_odd};
pub(crate) use small_float::{bf16_to_f32, f16_to_f32, f32_to_bf16, f32_to_f16, round_to_odd};

/// The type of an element: a kind of number, its width in bits, and how many make one element.
///
/// Every value of this type is one that DLPack 1.3 gives a meaning to.
///
/// # Examples
///
/// ```
/// use dlbridge::DType;
///
/// assert_eq!(DType::of::<f32>(), DType::F32);
/// assert_eq!("float32".parse::<DType>()?, DType::F32);
/// assert_eq!(DType::F32.to_string(), "float32");
/// # Ok::<(), dlbridge::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DType {
    code: TypeCode,
    bits: u8,
    lanes: u16,
}

#[cfg(any(feature = "python", feature = "kernels"))]
impl DType {
    /// Returns all of it in one number, which isn't 0, to be compared in one step.
    #[inline]
    pub(crate) const fn number(self) -> u32 {
        let [low, high] = self.lanes.to_ne_bytes();
        u32::from_ne_bytes([low, high, self.bits, self.code as u8])
    }

    /// Returns the element type of a number.
    #[cfg(any(feature = "kernels", feature = "python"))]
    #[inline]
    pub(crate) const fn from_number(number: u32) -> Self {
        let [low, high, bits, code] = number.to_ne_bytes();
        Self {
            code: TypeCode::ALL[code as usize],
            bits,
            lanes: u16::from_ne_bytes([low, high]),
        }
    }
}

macro_rules! dtypes {
    ($($name:ident = $code:ident, $bits:literal;)*) => {
        impl DType {
            $(
                #[doc = concat!("`TypeCode::", stringify!($code), "`, ", stringify!($bits), " bits wide.")]
                pub const $name: Self = Self { code: TypeCode::$code, bits: $bits, lanes: 1 };
            )*

            /// Every element type of one lane, in the order of codes and widths.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];
        }
    };
}

dtypes! {
    I1 = Int, 1;
    I2 = Int, 2;
    I4 = Int, 4;
    I8 = Int, 8;
    I16 = Int, 16;
    I32 = Int, 32;
    I64 = Int, 64;
    U1 = UInt, 1;
    U2 = UInt, 2;
    U4 = UInt, 4;
    U8 = UInt, 8;
    U16 = UInt, 16;
    U32 = UInt, 32;
    U64 = UInt, 64;
    F16 = Float, 16;
    F32 = Float, 32;
    F64 = Float, 64;
    HANDLE8 = Handle, 8;
    HANDLE16 = Handle, 16;
    HANDLE32 = Handle, 32;
    HANDLE64 = Handle, 64;
    BF16 = BFloat, 16;
    C32 = Complex, 32;
    C64 = Complex, 64;
    C128 = Complex, 128;
    BOOL = Bool, 8;
    F8_E3M4 = Float8E3M4, 8;
    F8_E4M3 = Float8E4M3, 8;
    F8_E4M3B11FNUZ = Float8E4M3B11Fnuz, 8;
    F8_E4M3FN = Float8E4M3Fn, 8;
    F8_E4M3FNUZ = Float8E4M3Fnuz, 8;
    F8_E5M2 = Float8E5M2, 8;
    F8_E5M2FNUZ = Float8E5M2Fnuz, 8;
    F8_E8M0FNU = Float8E8M0Fnu, 8;
    F6_E2M3FN = Float6E2M3Fn, 6;
    F6_E3M2FN = Float6E3M2Fn, 6;
    F4_E2M1FN = Float4E2M1Fn, 4;
}

impl DType {
    /// Returns the type code.
    pub const fn code(self) -> TypeCode {
        self.code
    }

    /// Returns the width of one lane, in bits.
    pub const fn bits(self) -> u8 {
        self.bits
    }

    /// Returns the number of lanes of an element; 1 except for vector types.
    pub const fn lanes(self) -> u16 {
        self.lanes
    }

    /// Returns the width of one element, all lanes together, in bits.
    pub const fn item_bits(self) -> usize {
        self.bits as usize * self.lanes as usize
    }

    /// Returns the itemsize in bytes; `None` if it isn't a whole number of them.
    pub const fn item_bytes(self) -> Option<usize> {
        if self.is_sub_byte() {
            None
        } else {
            Some(self.item_bits() / 8)
        }
    }

    /// Returns whether packed elements share bytes.
    pub const fn is_sub_byte(self) -> bool {
        !self.item_bits().is_multiple_of(8)
    }

    /// Returns the number of bytes of `count` packed elements; `None` on overflow.
    pub const fn packed_bytes(self, count: usize) -> Option<usize> {
        match count.checked_mul(self.item_bits()) {
            Some(bits) => Some(bits.div_ceil(8)),
            None => None,
        }
    }

    /// Returns how far apart elements are in memory, in bits, packed or each padded to whole bytes.
    #[inline]
    pub(crate) const fn step_bits(self, padded: bool) -> usize {
        if padded {
            self.item_bits().next_multiple_of(8)
        } else {
            self.item_bits()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_own_value_and_its_constants() {
        for (value, code) in TypeCode::ALL.into_iter().enumerate() {
            assert_eq!(code as usize, value);
            let widths: Vec<u8> = DType::ALL
                .iter()
                .filter(|dtype| dtype.code() == code)
                .map(|dtype| dtype.bits())
                .collect();
            assert_eq!(widths, code.widths(), "{code:?}");
        }
    }

    #[test]
    fn sub_byte_sizes_are_exact() {
        assert_eq!(DType::U1.packed_bytes(9), Some(2));
        assert_eq!(DType::F6_E3M2FN.packed_bytes(4), Some(3));
        assert_eq!(DType::F6_E3M2FN.packed_bytes(5), Some(4));
        assert_eq!(DType::I4.packed_bytes(0), Some(0));
        assert_eq!(DType::F64.packed_bytes(usize::MAX), None);
        assert_eq!(DType::I4.item_bytes(), None);
        assert_eq!(DType::I4.with_lanes(2).unwrap().item_bytes(), Some(1));
        assert_eq!(DType::C128.item_bytes(), Some(16));
        assert_eq!(DType::F6_E3M2FN.step_bits(true), 8);
        assert_eq!(DType::F6_E3M2FN.step_bits(false), 6);
    }
}
