//! [`Place`]: the kind of memory that a copy reads or writes.

use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::device::DeviceKind;
use crate::tensor::Tensor;

/// Location of a tensor, for copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Memory of the host that a GPU doesn't reach.
    Pageable,
    /// Memory of the host that GPUs reach.
    Pinned,
    /// Managed memory, which migrates to the GPU or CPU that uses it.
    Managed,
    /// A GPU's own, which others don't reach.
    Gpu(Gpu),
}

impl Place {
    pub(super) fn of(tensor: &Tensor) -> Result<Self, CudaError> {
        let device = tensor.device();
        match device.kind() {
            DeviceKind::Cpu => Ok(Self::Pageable),
            DeviceKind::CudaHost => Ok(Self::Pinned),
            DeviceKind::CudaManaged => Ok(Self::Managed),
            DeviceKind::Cuda => Ok(Self::Gpu(Gpu::from_device(device)?)),
            _ => Err(CudaError::NotCuda { device }),
        }
    }
}
