//! Errors of devices.

use super::DeviceKind;

/// Why a device is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DeviceError {
    /// A number that DLPack 1.3 gives to no kind of device.
    #[error("DLPack 1.3 has no device type {value}")]
    Kind {
        /// The number.
        value: u32,
    },
    /// A device number below 0.
    #[error("{} device {id}: device numbers are not negative", .kind.name())]
    NegativeId {
        /// The kind of device.
        kind: DeviceKind,
        /// The number.
        id: i32,
    },
    /// A name that no device has.
    #[error("no device is called {name:?}; names are like \"cpu\" and \"cuda:1\"")]
    Name {
        /// The name.
        name: String,
    },
}
