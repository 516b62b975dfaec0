//! dlbridge
pub mod device;
pub mod dtype;
pub mod error;
pub mod layout;
pub use device::{Device, DeviceKind};
pub use dtype::{DType, Element};
pub use error::Error;
