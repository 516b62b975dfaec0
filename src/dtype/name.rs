//! Names of element types, both ways: `"float32"`, `"float8_e4m3fn"`, `"int4"`, `"float32x4"`.

use super::error::DTypeError;
use super::{DType, TypeCode};
use std::fmt;
use std::str::FromStr;

impl DType {
    /// Returns the name without lanes, where it doesn't depend on the width.
    const fn fixed_name(self) -> Option<&'static str> {
        Some(match self.code() {
            TypeCode::Bool => "bool",
            TypeCode::BFloat => "bfloat16",
            TypeCode::Handle if self.bits() == 64 => "handle",
            TypeCode::Float8E3M4 => "float8_e3m4",
            TypeCode::Float8E4M3 => "float8_e4m3",
            TypeCode::Float8E4M3B11Fnuz => "float8_e4m3b11fnuz",
            TypeCode::Float8E4M3Fn => "float8_e4m3fn",
            TypeCode::Float8E4M3Fnuz => "float8_e4m3fnuz",
            TypeCode::Float8E5M2 => "float8_e5m2",
            TypeCode::Float8E5M2Fnuz => "float8_e5m2fnuz",
            TypeCode::Float8E8M0Fnu => "float8_e8m0fnu",
            TypeCode::Float6E2M3Fn => "float6_e2m3fn",
            TypeCode::Float6E3M2Fn => "float6_e3m2fn",
            TypeCode::Float4E2M1Fn => "float4_e2m1fn",
            _ => return None,
        })
    }

    /// Returns the name's stem, where the width follows it.
    const fn stem(self) -> &'static str {
        match self.code() {
            TypeCode::Int => "int",
            TypeCode::UInt => "uint",
            TypeCode::Complex => "complex",
            TypeCode::Handle => "handle",
            _ => "float",
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        // Collected first, so that the formatter's width and alignment apply to the whole.
        let mut name = match self.fixed_name() {
            Some(name) => name.to_owned(),
            None => format!("{}{}", self.stem(), self.bits()),
        };
        if self.lanes() != 1 {
            write!(name, "x{}", self.lanes())?;
        }
        f.pad(&name)
    }
}

impl fmt::Debug for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for DType {
    type Err = DTypeError;

    fn from_str(name: &str) -> Result<Self, DTypeError> {
        let unknown = || DTypeError::Name {
            name: name.to_owned(),
        };
        // "complex64" has an x of its own, so lanes are only looked for behind a whole name.
        if let Some(dtype) = one_lane(name) {
            return Ok(dtype);
        }
        let (stem, lanes) = name.rsplit_once('x').ok_or_else(unknown)?;
        // "x1", "x+2" and "x02" aren't names that `Display` writes.
        if lanes.starts_with(['0', '+']) || lanes == "1" {
            return Err(unknown());
        }
        let lanes = lanes.parse().map_err(|_| unknown())?;
        one_lane(stem).ok_or_else(unknown)?.with_lanes(lanes)
    }
}

fn one_lane(name: &str) -> Option<DType> {
    // The search takes as long as a small call of an op; comparing with a few names doesn't.
    Some(match name {
        "bool" => DType::BOOL,
        "int8" => DType::I8,
        "int32" => DType::I32,
        "int64" => DType::I64,
        "uint8" => DType::U8,
        "float16" => DType::F16,
        "bfloat16" => DType::BF16,
        "float32" => DType::F32,
        "float64" => DType::F64,
        _ => return search(name),
    })
}

/// Returns the element type of a name without lanes, whichever it is.
fn search(name: &str) -> Option<DType> {
    DType::ALL
        .iter()
        .copied()
        .find(|dtype| match dtype.fixed_name() {
            Some(fixed) => fixed == name,
            None => name
                .strip_prefix(dtype.stem())
                .is_some_and(|width| is_number(width, dtype.bits())),
        })
}

/// Returns whether this is how a number is written.
fn is_number(text: &str, number: u8) -> bool {
    text.starts_with(|first: char| first.is_ascii_digit() && first != '0')
        && text.parse() == Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_parses_back() {
        for dtype in DType::ALL {
            for lanes in [1, 2, 4, 65535] {
                let dtype = dtype.with_lanes(lanes).unwrap();
                assert_eq!(dtype.to_string().parse(), Ok(dtype));
            }
        }
    }

    #[test]
    fn names_equal_those_of_the_frameworks() {
        for (dtype, name) in [
            (DType::F32, "float32"),
            (DType::BF16, "bfloat16"),
            (DType::U1, "uint1"),
            (DType::I4, "int4"),
            (DType::C64, "complex64"),
            (DType::BOOL, "bool"),
            (DType::F8_E4M3FN, "float8_e4m3fn"),
            (DType::F4_E2M1FN, "float4_e2m1fn"),
            (DType::HANDLE64, "handle"),
        ] {
            assert_eq!(dtype.to_string(), name);
        }
        assert_eq!(format!("[{:>8}]", DType::I8), "[    int8]");
    }

    #[test]
    fn unknown_names_are_refused() {
        for name in [
            "",
            "float",
            "float31",
            "Float32",
            "float32x",
            "float32x0",
            "float32x1",
            "float32x02",
            "float32x+2",
            "float32x65536",
            "complex",
            "int08",
            " int8",
        ] {
            let error = name.parse::<DType>().unwrap_err();
            assert_eq!(
                error,
                DTypeError::Name {
                    name: name.to_owned()
                }
            );
        }
    }
}
