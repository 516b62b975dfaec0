//! Devices: every kind that DLPack 1.3 knows, by name and by number, and what they can do.
//!
//! ```
//! use dlbridge::{Device, DeviceKind};
//!
//! let device: Device = "cuda:1".parse()?;
//! assert_eq!(device, Device::new(DeviceKind::Cuda, 1));
//! assert!(device.has_addresses() && !device.is_host_accessible());
//! assert_eq!(Device::CPU.to_string(), "cpu");
//! # Ok::<(), dlbridge::Error>(())
//! ```

mod error;
mod kind;

pub use error::DeviceError;
pub use kind::DeviceKind;

use dlbridge_dlpack::{DLDevice, DLDeviceType};
use std::fmt;
use std::str::FromStr;

/// A device: its kind, and which one of them.
///
/// # Examples
///
/// ```
/// use dlbridge::{Device, DeviceKind};
///
/// let device = Device::new(DeviceKind::Cuda, 1);
/// assert_eq!((device.kind(), device.id()), (DeviceKind::Cuda, 1));
/// assert_eq!(device.to_string(), "cuda:1");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Device {
    kind: DeviceKind,
    id: i32,
}

impl Device {
    /// The CPU.
    pub const CPU: Self = Self::new(DeviceKind::Cpu, 0);

    /// Creates a device from its kind and number.
    pub const fn new(kind: DeviceKind, id: i32) -> Self {
        Self { kind, id }
    }

    /// Creates the NVIDIA GPU with this number.
    pub const fn cuda(id: i32) -> Self {
        Self::new(DeviceKind::Cuda, id)
    }

    /// Returns the kind.
    pub const fn kind(self) -> DeviceKind {
        self.kind
    }

    /// Returns its number among devices of the kind; 0 for host memory.
    pub const fn id(self) -> i32 {
        self.id
    }

    /// Returns whether data pointers are addresses: see [`DeviceKind::has_addresses`].
    #[inline]
    pub const fn has_addresses(self) -> bool {
        self.kind.has_addresses()
    }

    /// Returns whether the CPU can access the memory: see [`DeviceKind::is_host_accessible`].
    #[inline]
    pub const fn is_host_accessible(self) -> bool {
        self.kind.is_host_accessible()
    }

    /// Returns whether one address could be the same memory on both devices: what is managed,
    /// others may describe as CUDA's.
    #[cfg(any(feature = "python", feature = "kernels"))]
    pub(crate) fn may_share_memory_with(self, other: Self) -> bool {
        let is_managed = |device: Self| device.kind == DeviceKind::CudaManaged;
        self == other
            || self.is_host_accessible() && other.is_host_accessible()
            || is_managed(self)
            || is_managed(other)
    }
}

impl TryFrom<DLDevice> for Device {
    type Error = DeviceError;

    #[inline]
    fn try_from(raw: DLDevice) -> Result<Self, DeviceError> {
        let value = raw.device_type.0;
        let Some(kind) = DeviceKind::from_value(value) else {
            return Err(DeviceError::Kind { value });
        };
        if raw.device_id < 0 {
            return Err(DeviceError::NegativeId {
                kind,
                id: raw.device_id,
            });
        }
        Ok(Self::new(kind, raw.device_id))
    }
}

impl From<Device> for DLDevice {
    fn from(device: Device) -> Self {
        Self {
            device_type: DLDeviceType(device.kind as _),
            device_id: device.id,
        }
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::CPU {
            f.pad(self.kind.name())
        } else {
            f.pad(&format!("{}:{}", self.kind.name(), self.id))
        }
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Reads `"cuda:1"`; without a number it is number 0.
impl FromStr for Device {
    type Err = DeviceError;

    fn from_str(name: &str) -> Result<Self, DeviceError> {
        let unknown = || DeviceError::Name {
            name: name.to_owned(),
        };
        let (kind, id) = match name.split_once(':') {
            // A sign isn't a digit, though a number's parser accepts it.
            Some((kind, id)) if id.bytes().all(|byte| byte.is_ascii_digit()) => {
                (kind, id.parse().map_err(|_| unknown())?)
            }
            Some(_) => return Err(unknown()),
            None => (name, 0),
        };
        let kind = DeviceKind::ALL.iter().find(|known| known.name() == kind);
        Ok(Self::new(*kind.ok_or_else(unknown)?, id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_round_trips_through_c_and_its_name() {
        for kind in DeviceKind::ALL {
            for id in [0, 1, i32::MAX] {
                let device = Device::new(*kind, id);
                assert_eq!(Device::try_from(DLDevice::from(device)), Ok(device));
                assert_eq!(device.to_string().parse(), Ok(device));
            }
        }
        let taken = (0..1000)
            .filter(|value| DeviceKind::from_value(*value).is_some())
            .count();
        assert_eq!(taken, DeviceKind::ALL.len());
    }

    #[test]
    fn invalid_device_names_are_refused() {
        let raw = |value, device_id| DLDevice {
            device_type: DLDeviceType(value),
            device_id,
        };
        for value in [0, 5, 6, 19, u32::MAX] {
            assert_eq!(
                Device::try_from(raw(value, 0)),
                Err(DeviceError::Kind { value })
            );
        }
        assert_eq!(
            Device::try_from(raw(2, -1)),
            Err(DeviceError::NegativeId {
                kind: DeviceKind::Cuda,
                id: -1
            })
        );
        for name in [
            "",
            "cud",
            "cuda:",
            "cuda:-1",
            "cuda:+1",
            "cuda:9999999999",
            "cuda:1:2",
            "CPU",
        ] {
            let error = name.parse::<Device>().unwrap_err();
            assert_eq!(
                error,
                DeviceError::Name {
                    name: name.to_owned()
                }
            );
        }
    }

    #[test]
    fn host_accessible_kinds_have_addresses() {
        for kind in DeviceKind::ALL {
            assert!(kind.has_addresses() || !kind.is_host_accessible());
        }
    }
}
