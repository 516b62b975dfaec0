//! Backend of kernel calls on GPUs: memory for results, and stream order.

use crate::cuda::driver::gpu::Gpu;
use crate::cuda::driver::is_present;
use crate::cuda::memory::Memory;
use crate::cuda::memory::array::empty;
use crate::cuda::memory::pinned::managed;
use crate::cuda::stream::Stream;
use crate::cuda::stream::last_writer::Use;
use crate::device::{Device, DeviceKind};
use crate::dtype::DType;
use crate::kernel::Failure;
use crate::kernel::backend::{Backend, Body, Uses};
use crate::tensor::Tensor;

inventory::submit! {
    Backend { kind: DeviceKind::Cuda, make: Some(make), run }
}

inventory::submit! {
    Backend { kind: DeviceKind::CudaManaged, make: Some(make), run }
}

inventory::submit! {
    Backend { kind: DeviceKind::Cpu, make: None, run: run_on_host }
}

fn make(shape: &[usize], dtype: DType, device: Device) -> Result<Tensor, Failure> {
    let gpu = Gpu::from_device(device)?;
    Ok(match device.kind() {
        DeviceKind::Cuda => empty(shape, dtype, &Stream::current(gpu))?,
        _ => managed(shape, dtype, gpu)?,
    })
}

/// Runs a kernel with the GPU's context current, on whose current stream the memory may be used.
fn run(device: Device, uses: Uses<'_>, body: &mut Body<'_>) -> Result<(), Failure> {
    if !is_present() {
        // Then nothing of this is CUDA's, and there is no order to keep.
        return body();
    }
    let is_of_cuda =
        |device: &Device| matches!(device.kind(), DeviceKind::Cuda | DeviceKind::CudaManaged);
    let mut devices =
        std::iter::once(device).chain(uses.iter().map(|(storage, _)| storage.device()));
    let Some(device) = devices.find(is_of_cuda) else {
        // Nothing but numbers of the host's.
        return body();
    };
    let gpu = Gpu::from_device(device)?;
    let stream = Stream::current(gpu);
    let _context = gpu.enter()?;
    let mut others_look = false;
    for (storage, is_written) in uses.iter() {
        match storage.sync_owner::<Memory>() {
            Some(memory) => {
                let what = if *is_written { Use::Write } else { Use::Read };
                memory.use_on(&stream, what)?;
            }
            None => others_look |= storage.device().kind() == DeviceKind::CudaManaged,
        }
    }
    body()?;
    // The CPU's accesses to foreign managed memory don't wait for the kernel.
    if others_look && !stream.is_capturing()? {
        stream.synchronize()?;
    }
    Ok(())
}

/// Runs a kernel of the CPU's once no GPU uses the memory.
fn run_on_host(_: Device, uses: Uses<'_>, body: &mut Body<'_>) -> Result<(), Failure> {
    for (storage, _) in uses.iter() {
        if let Some(memory) = storage.sync_owner::<Memory>() {
            memory.settle()?;
        }
    }
    body()
}
