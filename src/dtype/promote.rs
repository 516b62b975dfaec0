//! Type promotion: the dtype of a calculation with two others.

use super::{DType, TypeCode};

impl DType {
    /// Returns the dtype to which numbers of both dtypes can be cast to calculate with them, as the
    /// [array API standard](https://data-apis.org/array-api/latest/API_specification/type_promotion.html)
    /// has it; `None` if there is none.
    ///
    /// Where the standard has no rule, it is PyTorch's: `bool` and any number give the number's
    /// dtype, an integer and a float give the float's, and `float16` with `bfloat16` gives
    /// `float32`. No rule is for `uint64` with a signed integer, and for two dtypes of which one
    /// is a float of 8 or fewer bits.
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::DType;
    ///
    /// assert_eq!(DType::F32.promote(DType::F64), Some(DType::F64));
    /// assert_eq!(DType::U8.promote(DType::I8), Some(DType::I16));
    /// assert_eq!(DType::I64.promote(DType::F32), Some(DType::F32));
    /// assert_eq!(DType::U64.promote(DType::I64), None);
    /// ```
    pub fn promote(self, other: Self) -> Option<Self> {
        use TypeCode::{BFloat, Bool, Complex, Float, Handle, Int, UInt};
        if self == other {
            return Some(self);
        }
        let (a, b) = (self.code, other.code);
        let is_number = |code| matches!(code, Int | UInt | Float | BFloat | Complex);
        let is_scalar = self.lanes == 1 && other.lanes == 1;
        if !is_scalar || a == Handle || b == Handle {
            return None;
        }
        let with = |code, bits| {
            let is = |dtype: &&Self| (dtype.code, dtype.bits, dtype.lanes) == (code, bits, 1);
            Self::ALL.iter().find(is).copied()
        };
        // The bits of the float that a complex number has two of, or that the float is one of;
        // bfloat16 with any other one needs those of float32.
        let float_bits = |dtype: Self| match dtype.code {
            Complex => dtype.bits / 2,
            BFloat => 32,
            _ => dtype.bits,
        };
        match (a, b) {
            (Bool, number) if is_number(number) => Some(other),
            (number, Bool) if is_number(number) => Some(self),
            (Int, Int) | (UInt, UInt) => with(a, self.bits.max(other.bits)),
            (Int, UInt) if self.bits > other.bits => Some(self),
            (UInt, Int) if other.bits > self.bits => Some(other),
            (Int, UInt) => with(Int, other.bits.checked_mul(2)?),
            (UInt, Int) => with(Int, self.bits.checked_mul(2)?),
            (Int | UInt, Float | BFloat | Complex) => Some(other),
            (Float | BFloat | Complex, Int | UInt) => Some(self),
            (Float | BFloat, Float | BFloat) => {
                with(Float, float_bits(self).max(float_bits(other)))
            }
            (Complex, Float | BFloat | Complex) | (Float | BFloat, Complex) => {
                let bits = float_bits(self).max(float_bits(other));
                with(Complex, bits.checked_mul(2)?)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The standard's tables, by rows: integers, floats and complex numbers, and both together.
    #[test]
    fn promote_equals_the_tables_of_the_standard() {
        let tables = [
            (
                "int8 int16 int32 int64 uint8 uint16 uint32 uint64",
                "int8 int16 int32 int64 int16 int32 int64 - \
                 int16 int16 int32 int64 int16 int32 int64 - \
                 int32 int32 int32 int64 int32 int32 int64 - \
                 int64 int64 int64 int64 int64 int64 int64 - \
                 int16 int16 int32 int64 uint8 uint16 uint32 uint64 \
                 int32 int32 int32 int64 uint16 uint16 uint32 uint64 \
                 int64 int64 int64 int64 uint32 uint32 uint32 uint64 \
                 - - - - uint64 uint64 uint64 uint64",
            ),
            (
                "float32 float64 complex64 complex128",
                "float32 float64 complex64 complex128 \
                 float64 float64 complex128 complex128 \
                 complex64 complex128 complex64 complex128 \
                 complex128 complex128 complex128 complex128",
            ),
            // Beyond the standard, as in PyTorch.
            (
                "bool int64 float16 bfloat16 float32 complex32",
                "bool int64 float16 bfloat16 float32 complex32 \
                 int64 int64 float16 bfloat16 float32 complex32 \
                 float16 float16 float16 float32 float32 complex32 \
                 bfloat16 bfloat16 float32 bfloat16 float32 complex64 \
                 float32 float32 float32 float32 float32 complex64 \
                 complex32 complex32 complex32 complex64 complex64 complex32",
            ),
            (
                "int4 uint4 int2",
                "int4 int8 int4 int8 uint4 int8 int4 int8 int2",
            ),
            (
                "float8_e4m3fn float32 float8_e5m2",
                "float8_e4m3fn - - - float32 - - - float8_e5m2",
            ),
        ];
        for (dtypes, table) in tables {
            let dtypes: Vec<DType> = dtypes
                .split(' ')
                .map(|name| name.parse().unwrap())
                .collect();
            let mut results = table.split_whitespace();
            for a in &dtypes {
                for b in &dtypes {
                    let expected = results.next().unwrap();
                    let found = a
                        .promote(*b)
                        .map_or("-".to_owned(), |dtype| dtype.to_string());
                    assert_eq!(found, expected, "{a} and {b}");
                }
            }
            assert_eq!(results.next(), None);
        }
    }

    #[test]
    fn promote_of_handles_and_vectors_is_none() {
        let vector = DType::F32.with_lanes(4).unwrap();
        assert_eq!(vector.promote(vector), Some(vector));
        assert_eq!(vector.promote(DType::F32), None);
        for dtype in DType::ALL {
            for other in DType::ALL {
                assert_eq!(dtype.promote(*other), other.promote(*dtype));
            }
        }
    }
}
