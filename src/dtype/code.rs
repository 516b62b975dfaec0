//! [`TypeCode`]: the kinds of numbers, and how wide they can be.

/// What kind of number the elements are. The values are DLPack's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
#[non_exhaustive]
pub enum TypeCode {
    /// Signed integer, two's complement.
    Int = 0,
    /// Unsigned integer.
    UInt = 1,
    /// IEEE 754 binary floating point.
    Float = 2,
    /// A handle whose meaning producer and consumer agree on.
    Handle = 3,
    /// The upper half of an IEEE 754 single.
    BFloat = 4,
    /// Two floating-point numbers: real and imaginary part.
    Complex = 5,
    /// A byte that is 0 or 1.
    Bool = 6,
    /// 8 bits: 3 of exponent, 4 of mantissa, with infinities.
    Float8E3M4 = 7,
    /// 8 bits: 4 of exponent, 3 of mantissa, with infinities.
    Float8E4M3 = 8,
    /// 8 bits: 4 of exponent, biased by 11, 3 of mantissa; no infinities, no negative zero.
    Float8E4M3B11Fnuz = 9,
    /// 8 bits: 4 of exponent, 3 of mantissa; no infinities.
    Float8E4M3Fn = 10,
    /// 8 bits: 4 of exponent, 3 of mantissa; no infinities, no negative zero.
    Float8E4M3Fnuz = 11,
    /// 8 bits: 5 of exponent, 2 of mantissa, with infinities.
    Float8E5M2 = 12,
    /// 8 bits: 5 of exponent, 2 of mantissa; no infinities, no negative zero.
    Float8E5M2Fnuz = 13,
    /// 8 bits of exponent: powers of two, for scales.
    Float8E8M0Fnu = 14,
    /// 6 bits: 2 of exponent, 3 of mantissa; finite only.
    Float6E2M3Fn = 15,
    /// 6 bits: 3 of exponent, 2 of mantissa; finite only.
    Float6E3M2Fn = 16,
    /// 4 bits: 2 of exponent, 1 of mantissa; finite only.
    Float4E2M1Fn = 17,
}

impl TypeCode {
    /// All codes, in the order of their values.
    pub const ALL: [Self; 18] = [
        Self::Int,
        Self::UInt,
        Self::Float,
        Self::Handle,
        Self::BFloat,
        Self::Complex,
        Self::Bool,
        Self::Float8E3M4,
        Self::Float8E4M3,
        Self::Float8E4M3B11Fnuz,
        Self::Float8E4M3Fn,
        Self::Float8E4M3Fnuz,
        Self::Float8E5M2,
        Self::Float8E5M2Fnuz,
        Self::Float8E8M0Fnu,
        Self::Float6E2M3Fn,
        Self::Float6E3M2Fn,
        Self::Float4E2M1Fn,
    ];

    /// Returns the valid widths of this code, in bits.
    pub const fn widths(self) -> &'static [u8] {
        match self {
            Self::Int | Self::UInt => &[1, 2, 4, 8, 16, 32, 64],
            Self::Float => &[16, 32, 64],
            Self::Handle => &[8, 16, 32, 64],
            Self::BFloat => &[16],
            Self::Complex => &[32, 64, 128],
            Self::Bool
            | Self::Float8E3M4
            | Self::Float8E4M3
            | Self::Float8E4M3B11Fnuz
            | Self::Float8E4M3Fn
            | Self::Float8E4M3Fnuz
            | Self::Float8E5M2
            | Self::Float8E5M2Fnuz
            | Self::Float8E8M0Fnu => &[8],
            Self::Float6E2M3Fn | Self::Float6E3M2Fn => &[6],
            Self::Float4E2M1Fn => &[4],
        }
    }

    /// Returns whether the width is among [`widths`](Self::widths): asked of every import, so
    /// looked up.
    #[inline]
    pub(super) const fn allows(self, bits: u8) -> bool {
        (bits as usize) < CODES.len() && CODES[bits as usize] >> self as u32 & 1 != 0
    }
}

/// The codes that numbers of each width have, a bit each.
const CODES: [u32; 129] = {
    let mut all = [0; 129];
    let mut code = 0;
    while code < TypeCode::ALL.len() {
        let widths = TypeCode::ALL[code].widths();
        let mut i = 0;
        while i < widths.len() {
            all[widths[i] as usize] |= 1 << code;
            i += 1;
        }
        code += 1;
    }
    all
};
