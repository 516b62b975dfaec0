//! [`inspect`]: a read-only walk through TensorFlow's structs, from a `TF_Tensor` to the elements.
//!
//! ```text
//!  TF_Tensor ─▶ interface { vtable, Tensor { TensorShape, ── buffer ─▶ } }
//!                                                                     │
//!  TensorBuffer { vtable, references, data ─▶ elements } ◀────────────┘
//! ```
//!
//! The structs are C++, and in no header for users. Their layout is the same from 2.12 to 2.22,
//! which were compared; other versions are refused.

use super::dtype::DataType;
use super::error::TensorFlowError;
use super::library::Version;
use super::tensor::TfTensor;
use std::fmt;

/// The first and the last version whose structs are known.
const KNOWN: [Version; 2] = [
    Version {
        major: 2,
        minor: 12,
    },
    Version {
        major: 2,
        minor: 22,
    },
];

/// Offsets in bytes. Those of `Tensor` count from its beginning.
mod offset {
    /// Of the `Tensor`, in the interface, behind the vtable.
    pub(super) const TENSOR: usize = 8;
    /// Of the element type's code, a byte.
    pub(super) const DTYPE: usize = 13;
    /// Of the number of dimensions, a byte.
    pub(super) const RANK: usize = 14;
    /// Of the shape's representation, a byte.
    pub(super) const TAG: usize = 15;
    /// Of the number of elements.
    pub(super) const ELEMENTS: usize = 16;
    /// Of the pointer to the buffer.
    pub(super) const BUFFER: usize = 24;
    /// Of the reference count, in the buffer.
    pub(super) const REFERENCES: usize = 8;
    /// Of the pointer to the elements, in the buffer.
    pub(super) const DATA: usize = 16;
}

/// How a `TensorShape` stores its sizes, in 12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShapeRepresentation {
    /// Up to 6 sizes below 65535, 16 bits each.
    Rep16,
    /// Up to 3 sizes below 4294967295, 32 bits each.
    Rep32,
    /// A pointer to a vector of 64-bit sizes.
    OutOfLine,
}

/// What the structs of a tensor hold. It prints as a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// The address of the `TF_Tensor`, one pointer.
    pub tf_tensor: usize,
    /// The address of the interface.
    pub interface: usize,
    /// The address of the `Tensor`, inside the interface.
    pub tensor: usize,
    /// The element type.
    pub data_type: DataType,
    /// How the shape is stored.
    pub representation: ShapeRepresentation,
    /// The shape.
    pub shape: Vec<i64>,
    /// The number of elements.
    pub elements: i64,
    /// The address of the `TensorBuffer`; 0 if there is none.
    pub buffer: usize,
    /// The buffer's reference count.
    pub references: i64,
    /// The address of the elements.
    pub data: usize,
}

/// Reads the structs of a tensor.
///
/// # Errors
///
/// When the version is unknown, or the structs contradict TensorFlow's functions, so that the
/// layout must have changed.
///
/// # Safety
///
/// The library is an unmodified release of TensorFlow, for this machine: its structs are those of
/// its version.
pub unsafe fn inspect(tensor: &TfTensor) -> Result<Inspection, TensorFlowError> {
    check_version(tensor.tensorflow().version(), size_of::<usize>())?;
    let tf_tensor = tensor.as_raw().addr();
    // SAFETY: a `TF_Tensor` is a pointer to an interface, in which the `Tensor` is at this offset;
    // these structs live as long as the tensor. The version is known, and the library is a release,
    // a precondition of this function.
    let inspection = unsafe {
        let interface: *const u8 = read(tensor.as_raw().cast_const().cast(), 0);
        let place = interface.add(offset::TENSOR);
        let buffer: *const u8 = read(place, offset::BUFFER);
        let representation = match read::<u8>(place, offset::TAG) {
            0 => ShapeRepresentation::Rep16,
            1 => ShapeRepresentation::Rep32,
            2 => ShapeRepresentation::OutOfLine,
            tag => return Err(differs("a tag of 0, 1 or 2", format!("tag {tag}"))),
        };
        let rank = read::<u8>(place, offset::RANK).into();
        Inspection {
            tf_tensor,
            interface: interface.addr(),
            tensor: place.addr(),
            data_type: DataType::from_code(read::<u8>(place, offset::DTYPE).into()),
            representation,
            shape: sizes(place, representation, rank, &tensor.shape())?,
            elements: read(place, offset::ELEMENTS),
            buffer: buffer.addr(),
            references: if buffer.is_null() {
                0
            } else {
                read(buffer, offset::REFERENCES)
            },
            data: if buffer.is_null() {
                0
            } else {
                read(buffer, offset::DATA)
            },
        }
    };
    check_agreement(&inspection, tensor)?;
    Ok(inspection)
}

/// Reads the sizes. Those out of line are read only if the rank is the one that TensorFlow says.
///
/// # Safety
///
/// The place is a `TensorShape` of this representation and rank.
unsafe fn sizes(
    place: *const u8,
    representation: ShapeRepresentation,
    rank: usize,
    expected: &[usize],
) -> Result<Vec<i64>, TensorFlowError> {
    if rank != expected.len() {
        return Err(differs(
            &format!("rank {}", expected.len()),
            format!("rank {rank}"),
        ));
    }
    let most = match representation {
        ShapeRepresentation::Rep16 => 6,
        ShapeRepresentation::Rep32 => 3,
        ShapeRepresentation::OutOfLine => 254,
    };
    if rank > most {
        return Err(differs(
            &format!("rank {most} or less"),
            format!("rank {rank}"),
        ));
    }
    // SAFETY: the place has as many sizes of this width as the rank says. Those out of line are a
    // vector that stores up to 4 inside of itself, behind a word whose lowest bit says that it
    // doesn't, and others behind a pointer.
    let size = |axis: usize| unsafe {
        match representation {
            ShapeRepresentation::Rep16 => read::<u16>(place, 2 * axis).into(),
            ShapeRepresentation::Rep32 => read::<u32>(place, 4 * axis).into(),
            ShapeRepresentation::OutOfLine => {
                let vector: *const u8 = read(place, 0);
                let is_allocated = read::<usize>(vector, 0) & 1 == 1;
                let first = if is_allocated {
                    read(vector, 8)
                } else {
                    vector.add(8)
                };
                read(first, 8 * axis)
            }
        }
    };
    Ok((0..rank).map(size).collect())
}

/// Reads a value at an offset.
///
/// # Safety
///
/// There is one.
unsafe fn read<T: Copy>(from: *const u8, offset: usize) -> T {
    // SAFETY: there is a value at the offset, a precondition of this function.
    unsafe { from.add(offset).cast::<T>().read_unaligned() }
}

/// Returns whether a version's C++ was compared.
pub(crate) fn is_known(version: Version) -> bool {
    let [first, last] = KNOWN;
    (first..=last).contains(&version)
}

fn check_version(version: Version, word: usize) -> Result<(), TensorFlowError> {
    if is_known(version) && word == 8 {
        return Ok(());
    }
    let found = format!("{version} on a {}-bit machine", 8 * word);
    Err(TensorFlowError::UnknownStructs { found })
}

/// Compares what the structs hold with what TensorFlow's functions say.
fn check_agreement(inspection: &Inspection, tensor: &TfTensor) -> Result<(), TensorFlowError> {
    let shape: Vec<_> = tensor.shape().into_iter().map(|size| size as i64).collect();
    let elements = shape.iter().product::<i64>();
    let data = tensor.data_ptr().addr();
    let found = (
        inspection.data_type,
        &inspection.shape,
        inspection.elements,
        inspection.data,
    );
    let wanted = (tensor.data_type(), &shape, elements, data);
    if found == wanted {
        return Ok(());
    }
    Err(differs(&format!("{wanted:?}"), format!("{found:?}")))
}

#[cold]
fn differs(wanted: &str, found: String) -> TensorFlowError {
    TensorFlowError::StructsDiffer {
        wanted: wanted.to_owned(),
        found,
    }
}

impl fmt::Display for Inspection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = |address: usize| format!("{address:#x}");
        let data_type = format!("{} ({})", self.data_type.code(), self.data_type);
        let rows = [
            ("TF_Tensor", "", address(self.tf_tensor)),
            ("interface", "TF_Tensor + 0", address(self.interface)),
            ("Tensor", "interface + 8", address(self.tensor)),
            ("shape", "Tensor + 0", format!("{:?}", self.shape)),
            ("dtype", "Tensor + 13", data_type),
            ("rank", "Tensor + 14", self.shape.len().to_string()),
            (
                "representation",
                "Tensor + 15",
                format!("{:?}", self.representation),
            ),
            ("elements", "Tensor + 16", self.elements.to_string()),
            ("TensorBuffer", "Tensor + 24", address(self.buffer)),
            (
                "references",
                "TensorBuffer + 8",
                self.references.to_string(),
            ),
            ("data", "TensorBuffer + 16", address(self.data)),
        ];
        writeln!(f, "{:<15} {:<18} value", "field", "place")?;
        for (field, place, value) in rows {
            writeln!(f, "{field:<15} {place:<18} {value}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_versions_are_refused() {
        let check = |minor, word| check_version(Version { major: 2, minor }, word);
        assert_eq!(check(12, 8), Ok(()));
        assert_eq!(check(22, 8), Ok(()));
        for (minor, word, found) in [
            (23, 8, "2.23 on a 64-bit machine"),
            (11, 8, "2.11 on a 64-bit machine"),
            (21, 4, "2.21 on a 32-bit machine"),
        ] {
            let text = check(minor, word).unwrap_err().to_string();
            let wanted = "expected TensorFlow 2.12 to 2.22 on a 64-bit machine";
            assert_eq!(
                text,
                format!("{wanted}, whose structs are known, found {found}")
            );
        }
    }

    #[test]
    fn changed_structs_are_reported() {
        assert_eq!(
            differs("rank 2", "rank 3".to_owned()).to_string(),
            "expected rank 2 in TensorFlow's structs, found rank 3; their layout has changed"
        );
    }
}
