//! Validation of element types: from their parts, from DLPack's descriptor, and of values for them.

use super::error::DTypeError;
use super::scalar::Scalar;
use super::{DType, TypeCode};
use dlbridge_dlpack::{DLDataType, DLDataTypeCode};

impl DType {
    /// Creates a dtype from its parts.
    ///
    /// # Errors
    ///
    /// When no number of that kind is that wide, or there are no lanes.
    #[inline]
    pub const fn new(code: TypeCode, bits: u8, lanes: u16) -> Result<Self, DTypeError> {
        if !code.allows(bits) {
            return Err(DTypeError::Width { code, bits });
        }
        if lanes == 0 {
            return Err(DTypeError::NoLanes);
        }
        Ok(Self { code, bits, lanes })
    }

    /// Returns the same dtype with `lanes` lanes.
    ///
    /// # Errors
    ///
    /// When `lanes` is 0.
    pub const fn with_lanes(self, lanes: u16) -> Result<Self, DTypeError> {
        Self::new(self.code, self.bits, lanes)
    }

    /// Returns the bits that stand for a number in one lane.
    pub(crate) fn pattern_of(self, number: Scalar) -> Result<u128, DTypeError> {
        number
            .to_bits(self)
            .ok_or_else(|| DTypeError::NotRepresentable {
                value: number.to_string(),
                dtype: self,
            })
    }
}

impl TryFrom<DLDataType> for DType {
    type Error = DTypeError;

    #[inline]
    fn try_from(raw: DLDataType) -> Result<Self, DTypeError> {
        let Some(&code) = TypeCode::ALL.get(usize::from(raw.code.0)) else {
            return Err(DTypeError::Code { code: raw.code.0 });
        };
        Self::new(code, raw.bits, raw.lanes)
    }
}

impl From<DType> for DLDataType {
    fn from(dtype: DType) -> Self {
        Self {
            code: DLDataTypeCode(dtype.code as u8),
            bits: dtype.bits,
            lanes: dtype.lanes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c_struct_round_trips_or_is_refused() {
        let mut taken = 0;
        // All that could be taken, and under an interpreter few others.
        let largest = if cfg!(miri) { 20 } else { 255 };
        for code in 0..=largest {
            for bits in (0..=255).filter(|bits| *bits <= largest || bits % 32 == 0) {
                let code = DLDataTypeCode(code);
                for lanes in [0, 1, 2, 65535] {
                    let raw = DLDataType { code, bits, lanes };
                    if let Ok(dtype) = DType::try_from(raw) {
                        assert_eq!(DLDataType::from(dtype), raw);
                        taken += 1;
                    }
                }
            }
        }
        assert_eq!(taken, 3 * DType::ALL.len());
        let raw = |code, bits, lanes| DLDataType {
            code: DLDataTypeCode(code),
            bits,
            lanes,
        };
        assert_eq!(
            DType::try_from(raw(18, 8, 1)),
            Err(DTypeError::Code { code: 18 })
        );
        assert_eq!(
            DType::try_from(raw(2, 80, 1)),
            Err(DTypeError::Width {
                code: TypeCode::Float,
                bits: 80
            })
        );
        assert_eq!(DType::try_from(raw(2, 32, 0)), Err(DTypeError::NoLanes));
    }
}
