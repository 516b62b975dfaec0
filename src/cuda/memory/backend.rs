//! Backend of kernel calls on GPUs: memory for results, and stream order.

use crate::cuda::driver::gpu::Gpu;
use crate::cuda::driver::is_present;
use crate::cuda::memory::Memory;
use crate::cuda::memory::array::empty;
use crate::cuda::memory::pinned::managed;
use crate::cuda::stream::Stream;
use crate::cuda::stream::deferred::release_after;
use crate::cuda::stream::last_writer::Use;
use crate::device::{Device, DeviceKind};
use crate::dtype::DType;
use crate::kernel::Failure;
use crate::kernel::backend::{Backend, Body, Uses};
use crate::storage::Storage;
use crate::tensor::Tensor;
use smallvec::SmallVec;

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
    let mut unordered = SmallVec::<[(&Storage, bool); 2]>::new();
    for (storage, is_written) in uses.iter() {
        match storage.sync_owner::<Memory>() {
            Some(memory) => {
                let what = if *is_written { Use::Write } else { Use::Read };
                memory.use_on(&stream, what)?;
            }
            None if storage.device() != Device::CPU => unordered.push((storage, *is_written)),
            None => {}
        }
    }
    let outcome = body();
    // Also where it failed, as some of its work may be under way.
    let kept = keep(&unordered, &stream);
    outcome.and(kept)
}

/// Has what uses others' memory next come after a kernel's work: its release, and what the CPU, or
/// another stream, does with managed memory and with results.
fn keep(unordered: &[(&Storage, bool)], stream: &Stream) -> Result<(), Failure> {
    // What a graph uses, its user keeps.
    if unordered.is_empty() || stream.is_capturing()? {
        return Ok(());
    }
    let is_awaited = |(storage, is_written): &(&Storage, bool)| {
        *is_written || storage.device().kind() == DeviceKind::CudaManaged
    };
    let waited = match unordered.iter().any(is_awaited) {
        true => Some(stream.synchronize()),
        false => None,
    };
    if !matches!(waited, Some(Ok(()))) {
        let storages = unordered.iter().map(|(storage, _)| (*storage).clone());
        release_after(stream, storages.collect::<Vec<_>>())?;
    }
    Ok(waited.unwrap_or(Ok(()))?)
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
