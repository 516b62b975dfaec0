//! The fields of errors: [`Incompatibility`] of [`Error`].

use super::{DTypeError, DeviceError, Error, Incompatibility, IncompatibilityKind, LayoutError};
use IncompatibilityKind as Kind;

impl Error {
    /// Returns what was expected and what was found, as data. Its text is that of the error.
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::Tensor;
    /// use dlbridge::error::IncompatibilityKind;
    ///
    /// let doubles = Tensor::from([1.0_f64, 2.0]);
    /// let error = doubles.view::<f32>().unwrap_err().incompatibility();
    /// assert_eq!(error.kind, IncompatibilityKind::DType);
    /// assert_eq!(error.found.as_deref(), Some("float64"));
    /// assert_eq!(error.wanted.as_deref(), Some("float32"));
    /// ```
    #[cold]
    pub fn incompatibility(&self) -> Incompatibility {
        match self {
            Self::DType(error) => of_dtype(error),
            Self::Device(error) => of_device(error),
            Self::Layout(error) => of_layout(error),
            Self::Incompatible(error) => (**error).clone(),
            _ => of_memory(self),
        }
    }
}

fn of_dtype(error: &DTypeError) -> Incompatibility {
    let fields = match error {
        DTypeError::Code { code } => {
            Incompatibility::new(Kind::DType, format!("code {code}"), "a code of DLPack 1.3")
        }
        DTypeError::Width { code, bits } => Incompatibility::new(
            Kind::DType,
            format!("{bits} bits"),
            format!("one of {:?}", code.widths()),
        ),
        DTypeError::NoLanes => Incompatibility::new(Kind::DType, "0 lanes", "1 lane or more"),
        DTypeError::Name { name } => {
            Incompatibility::new(Kind::Name, name.clone(), "the name of an element type")
        }
        DTypeError::NotRepresentable { value, dtype } => {
            Incompatibility::new(Kind::Value, value.clone(), dtype.to_string())
        }
    };
    let remedy = match error {
        DTypeError::Name { .. } => Some("names are like \"float32\", \"int4\", \"float8_e4m3fn\""),
        _ => None,
    };
    fields.with_text(error.to_string(), remedy)
}

fn of_device(error: &DeviceError) -> Incompatibility {
    let fields = match error {
        DeviceError::Kind { value } => Incompatibility::new(
            Kind::Device,
            format!("device type {value}"),
            "a device type of DLPack 1.3",
        ),
        DeviceError::NegativeId { id, .. } => {
            Incompatibility::new(Kind::Device, id.to_string(), "0 or more")
        }
        DeviceError::Name { name } => {
            Incompatibility::new(Kind::Name, name.clone(), "the name of a device")
        }
    };
    let remedy = match error {
        DeviceError::Name { .. } => Some("names are like \"cpu\" and \"cuda:1\""),
        _ => None,
    };
    fields.with_text(error.to_string(), remedy)
}

fn of_layout(error: &LayoutError) -> Incompatibility {
    let (fields, remedy) = match error {
        LayoutError::ReshapeNeedsCopy {
            from, strides, to, ..
        } => (
            Incompatibility::new(
                Kind::Layout,
                format!("shape {from:?}, strides {strides:?}"),
                format!("shape {to:?}"),
            ),
            Some("copy it first"),
        ),
        LayoutError::NotCastable { from, to, .. } => (
            Incompatibility::new(Kind::Layout, from.to_string(), to.to_string()),
            None,
        ),
        LayoutError::ElementCount {
            expected, found, ..
        } => (
            Incompatibility::new(Kind::Shape, found.to_string(), expected.to_string()),
            None,
        ),
        LayoutError::NoSuchAxis { axis, rank } => (
            Incompatibility::new(Kind::Rank, axis.to_string(), format!("below {rank}")),
            None,
        ),
        LayoutError::IndexOutOfBounds { index, size, .. } => (
            Incompatibility::new(Kind::Shape, index.to_string(), format!("below {size}")),
            None,
        ),
        LayoutError::RankMismatch { expected, shape } => (
            Incompatibility::new(Kind::Rank, shape.len().to_string(), expected.to_string()),
            None,
        ),
        LayoutError::NotArranged {
            expected,
            shape,
            strides,
        } => (
            Incompatibility::new(
                Kind::Layout,
                format!("shape {shape:?}, strides {strides:?}"),
                *expected,
            ),
            Some("copy the tensor first"),
        ),
        LayoutError::NegativeRank { rank } => (
            Incompatibility::new(Kind::Rank, rank.to_string(), "0 or more"),
            None,
        ),
        LayoutError::RankTooLarge { rank } => (
            Incompatibility::new(
                Kind::Rank,
                rank.to_string(),
                format!("at most {}", crate::layout::MAX_RANK),
            ),
            None,
        ),
        LayoutError::TooFar
        | LayoutError::ExtentTooLarge { .. }
        | LayoutError::StrideCount { .. }
        | LayoutError::AddressOverflow { .. }
        | LayoutError::InsideByte { .. } => (
            Incompatibility::from_reason(Kind::Layout, String::new()),
            None,
        ),
        LayoutError::Pattern {
            found,
            wanted,
            is_rank,
            ..
        } => {
            let kind = if *is_rank { Kind::Rank } else { Kind::Shape };
            let found = format!("{found:?}");
            (Incompatibility::new(kind, found, wanted.clone()), None)
        }
        LayoutError::CannotPad { dtype } => (
            Incompatibility::new(
                Kind::Padding,
                dtype.to_string(),
                "a sub-byte type of one lane",
            ),
            None,
        ),
        _ => (
            Incompatibility::from_reason(Kind::Shape, String::new()),
            None,
        ),
    };
    fields.with_text(error.to_string(), remedy)
}

/// Describes a tensor whose memory can't be used as requested.
fn of_memory(error: &Error) -> Incompatibility {
    let layout =
        |shape: &[usize], strides: &[isize]| format!("shape {shape:?}, strides {strides:?}");
    let copy = Some("copy the tensor first");
    let (fields, remedy) = match error {
        Error::DTypeMismatch { found, wanted } => (
            Incompatibility::new(Kind::DType, found.to_string(), wanted.to_string()),
            Some("cast them first"),
        ),
        Error::NotOnHost { device } => (
            Incompatibility::new(Kind::Device, device.to_string(), "cpu"),
            Some("copy the tensor to the host first"),
        ),
        Error::InUse { device, .. } => (
            Incompatibility::new(Kind::Device, device.to_string(), "memory that isn't in use"),
            None,
        ),
        Error::Misaligned { address, alignment } => (
            Incompatibility::new(
                Kind::Alignment,
                format!("{address:#x}"),
                format!("a multiple of {alignment}"),
            ),
            copy,
        ),
        Error::ReadOnly => (
            Incompatibility::new(Kind::ReadOnly, "read-only", "writable"),
            Some("copy it to get one that can be written"),
        ),
        Error::Shared { with } => (
            Incompatibility::new(Kind::Alias, format!("shared {with}"), "memory of its own"),
            None,
        ),
        Error::SelfOverlap { shape, strides } => (
            Incompatibility::new(Kind::Overlap, layout(shape, strides), "elements apart"),
            copy,
        ),
        Error::Interleaved { shape, strides } => (
            Incompatibility::new(
                Kind::Overlap,
                layout(shape, strides),
                "dimensions that aren't interleaved",
            ),
            copy,
        ),
        Error::NotContiguous { shape, strides } => (
            Incompatibility::new(
                Kind::Layout,
                layout(shape, strides),
                "row-major without gaps",
            ),
            copy,
        ),
        Error::HasGaps => (
            Incompatibility::new(Kind::Layout, "memory with gaps", "memory without gaps"),
            Some("make a copy of those elements, and a tensor of its storage"),
        ),
        Error::InvalidValue { value, dtype } => (
            Incompatibility::new(Kind::Value, format!("{value:#04x}"), dtype.to_string()),
            None,
        ),
        Error::OutOfMemory { bytes } => (
            Incompatibility::new(Kind::Memory, "too little memory", format!("{bytes} bytes")),
            None,
        ),
        Error::NotScalar { elements } => (
            Incompatibility::new(Kind::Shape, format!("{elements} elements"), "1 element"),
            None,
        ),
        Error::ShapeMismatch { left, right } => (
            Incompatibility::new(Kind::Shape, format!("{left:?}"), format!("{right:?}")),
            None,
        ),
        // `incompatibility` has described these.
        Error::DType(_) | Error::Device(_) | Error::Layout(_) | Error::Incompatible(_) => (
            Incompatibility::from_reason(Kind::Exchange, String::new()),
            None,
        ),
    };
    fields.with_text(error.to_string(), remedy)
}
