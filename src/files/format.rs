//! [`Format`]: the formats of files and messages, and how each is recognised.

use std::fmt;
use std::path::Path;

/// A format of files or messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// safetensors: named tensors behind a header in JSON.
    Safetensors,
    /// NumPy's `.npy`: one array.
    Npy,
    /// NumPy's `.npz`: a zip archive of `.npy` files.
    Npz,
    /// TensorFlow's message `TensorProto`: one tensor.
    #[cfg(feature = "proto")]
    TfProto,
    /// ONNX's message `TensorProto`: one tensor.
    #[cfg(feature = "proto")]
    OnnxProto,
}

impl Format {
    /// All formats.
    pub const ALL: &'static [Self] = &[
        Self::Safetensors,
        Self::Npy,
        Self::Npz,
        #[cfg(feature = "proto")]
        Self::TfProto,
        #[cfg(feature = "proto")]
        Self::OnnxProto,
    ];

    /// Returns the name, as it is parsed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Safetensors => "safetensors",
            Self::Npy => "npy",
            Self::Npz => "npz",
            #[cfg(feature = "proto")]
            Self::TfProto => "tf_proto",
            #[cfg(feature = "proto")]
            Self::OnnxProto => "onnx_proto",
        }
    }

    /// Checks whether the format holds exactly one tensor.
    pub const fn holds_one(self) -> bool {
        !matches!(self, Self::Safetensors | Self::Npz)
    }

    /// Checks whether elements may be in another file than the tensor's description.
    pub(super) const fn has_external_data(self) -> bool {
        #[cfg(feature = "proto")]
        return matches!(self, Self::OnnxProto);
        #[cfg(not(feature = "proto"))]
        false
    }

    /// Returns the format that a file's extension names; messages have none of their own.
    pub fn of_path(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        [Self::Safetensors, Self::Npy, Self::Npz]
            .into_iter()
            .find(|format| format.name() == extension)
    }

    /// Returns the format that the first bytes tell; messages of Protocol Buffers have no mark.
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Some(Self::Npy),
            [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => Some(Self::Npz),
            [_, _, _, _, _, 0, 0, 0, b'{', ..] => Some(Self::Safetensors),
            _ => None,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
