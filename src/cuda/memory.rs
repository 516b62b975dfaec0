//! [`Memory`]: the owner of memory on a GPU, released in stream order.

pub(super) mod array;
mod backend;
pub(super) mod copy;
pub(super) mod foreign;
pub(super) mod pinned;
pub(super) mod pointer;
mod reachable;
#[cfg(feature = "cudarc")]
pub(super) mod slices;
pub(super) mod tensor_uses;

use crate::cuda::driver::answer::call;
use crate::cuda::driver::capture_mode::relax_capture_mode;
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::foreign_drops::Foreign;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::memory::reachable::{Place, Reachable};
use crate::cuda::stream::Stream;
use crate::cuda::stream::deferred::{self, Release};
use crate::cuda::stream::last_writer::{Joined, StreamUses, Use};
use crate::device::Device;
use crate::storage::{Access, Storage, SyncOwner};
use cudarc::driver::sys;
use std::ptr;

/// What the driver answers where a GPU can't be waited for, as a stream of it is being captured.
const WHILE_CAPTURING: u32 = sys::CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED as u32;

/// The owner of memory on a GPU.
pub(super) struct Memory {
    /// `None` once it is being released.
    held: Option<Box<Held>>,
}

/// Memory that is still there.
pub(super) struct Held {
    uses: StreamUses,
    what: What,
}

/// How the memory is released.
enum What {
    /// In the order of a stream, to the pool that it is from.
    Pooled(sys::CUdeviceptr),
    /// Fails if no work uses it any more.
    Plain(sys::CUdeviceptr),
    /// As `Plain`, before any wait for it; `None` after a wait.
    Reachable(Option<Reachable>),
    /// By its producer, in the order of the producer's stream; or, if that stream is unknown,
    /// when the work is done.
    Foreign {
        storage: Option<Foreign<Storage>>,
        home: Option<Stream>,
    },
}

impl Memory {
    fn storage(data: *mut u8, bytes: usize, device: Device, access: Access, held: Held) -> Storage {
        let owner = Self {
            held: Some(Box::new(held)),
        };
        // SAFETY: the memory is there until it is released, which is in the owner's drop; the CPU
        // looks only at what it reaches.
        unsafe { Storage::from_sync_owner(data, bytes, device, access, owner) }
    }

    /// Returns storage of memory that was just allocated and is ready on every stream.
    pub(super) fn reachable(place: Place, bytes: usize, gpu: Gpu, device: Device) -> Storage {
        let data = place.data();
        let what = What::Reachable(Some(Reachable::new(gpu, place)));
        let uses = StreamUses::ready(gpu);
        Self::storage(data, bytes, device, Access::Exclusive, Held { uses, what })
    }

    /// Returns storage of foreign memory, kept in stream order.
    pub(super) fn foreign(mut storage: Storage, home: Option<Stream>, ready_on: Stream) -> Storage {
        let (data, bytes) = (storage.data_mut(), storage.nbytes());
        let device = storage.device();
        // The new storage doesn't know of other handles of this one.
        let access = match storage.access() {
            Access::Exclusive if !storage.is_exclusive() => Access::Shared,
            access => access,
        };
        let has_gaps = storage.has_gaps();
        let held = Held {
            uses: StreamUses::foreign(home.as_ref(), ready_on),
            what: What::Foreign {
                storage: Some(Foreign::new(storage)),
                home,
            },
        };
        Self::storage(data, bytes, device, access, held).with_gaps(has_gaps)
    }

    /// Makes a stream wait for all earlier uses of the memory that conflict with this one, and
    /// records it.
    pub(super) fn use_on(&self, stream: &Stream, what: Use) -> Result<(), CudaError> {
        match &self.held {
            Some(held) => held.uses.use_on(stream, what),
            None => Ok(()),
        }
    }

    /// Waits until the CPU may use the memory.
    pub(super) fn settle(&self) -> Result<(), CudaError> {
        match &self.held {
            Some(held) => held.uses.settle(),
            None => Ok(()),
        }
    }

    /// Returns the stream on which it was last written, if something can still be asked of it.
    pub(super) fn writer(&self) -> Option<Stream> {
        self.held.as_ref()?.uses.writer()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            deferred::release(held);
        }
    }
}

impl SyncOwner for Memory {
    fn settle(&self) -> Result<(), String> {
        Self::settle(self).map_err(|error| error.to_string())
    }
}

impl Release for Held {
    fn try_release(&mut self) -> Result<bool, CudaError> {
        let gpu = self.uses.gpu();
        // The handle of a default stream is that of the current context's.
        let _context = gpu.enter()?;
        if self.uses.is_capturing()? {
            return Ok(false);
        }
        let joined = self.uses.join()?;
        if let Joined::Untracked = joined {
            for gpu in self.uses.gpus() {
                match gpu.wait_for_all() {
                    Err(error) if error.code() == Some(WHILE_CAPTURING) => return Ok(false),
                    waited => waited?,
                }
            }
        }
        let joined = match joined {
            Joined::In(stream) => Some(stream),
            Joined::Nowhere | Joined::Untracked => None,
        };
        match &mut self.what {
            What::Pooled(address) => {
                let joined = joined.map(|stream| stream.brought_to(gpu)).transpose()?;
                let stream = joined.as_ref().map(Stream::raw).transpose()?;
                let stream = stream.unwrap_or(ptr::null_mut());
                // SAFETY: it was allocated, all work that uses it comes before, and this is its
                // end.
                unsafe { call!(cuMemFreeAsync(*address, stream)) }?;
            }
            What::Plain(address) => {
                let _relaxed = relax_capture_mode();
                joined.map_or(Ok(()), |stream| stream.synchronize())?;
                // SAFETY: it was allocated, no work uses it any more, and this is its end.
                unsafe { call!(cuMemFree_v2(*address)) }?;
            }
            What::Reachable(memory) => match joined {
                Some(stream) => deferred::release_after(&stream, memory.take())?,
                None => drop(memory.take()),
            },
            What::Foreign { storage, home } => match (joined, home) {
                (Some(stream), Some(home)) if home.can_be_awaited() => {
                    // What isn't in its graph it can't wait for.
                    if home != &stream && home.is_capturing()? {
                        return Ok(false);
                    }
                    home.wait_for(&stream)?;
                }
                (Some(stream), _) => deferred::release_after(&stream, storage.take())?,
                (None, _) => {}
            },
        }
        Ok(true)
    }
}

/// Returns memory on a stream's GPU that was not written yet, ready on that stream.
///
/// # Errors
///
/// Fails if there is not enough, or the stream is being captured.
pub(super) fn allocate(bytes: usize, stream: &Stream) -> Result<Storage, CudaError> {
    deferred::drain();
    let gpu = stream.gpu();
    let device = gpu.device();
    if bytes == 0 {
        return Ok(Storage::empty(device));
    }
    let _context = gpu.enter()?;
    if stream.is_capturing()? {
        return Err(CudaError::Capturing {
            what: "no memory can be allocated",
        });
    }
    let what = match place(gpu, bytes, stream) {
        Err(error) if error.code() == Some(sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY as u32) => {
            return Err(CudaError::OutOfMemory { device, bytes });
        }
        place => place?,
    };
    let (What::Pooled(address) | What::Plain(address)) = what else {
        unreachable!("what was just allocated is the GPU's own");
    };
    let held = Held {
        uses: StreamUses::new(stream.clone()),
        what,
    };
    Ok(Memory::storage(
        ptr::without_provenance_mut(address as usize),
        bytes,
        device,
        Access::Exclusive,
        held,
    ))
}

fn place(gpu: Gpu, bytes: usize, stream: &Stream) -> Result<What, CudaError> {
    let mut address = 0;
    // SAFETY: the caller entered the GPU; the stream is one of it.
    unsafe {
        if let Some(pool) = gpu.facts().pool.handle() {
            call!(cuMemAllocFromPoolAsync(
                &mut address,
                bytes,
                pool,
                stream.raw()?
            ))?;
            return Ok(What::Pooled(address));
        }
        let _relaxed = relax_capture_mode();
        call!(cuMemAlloc_v2(&mut address, bytes))?;
    }
    Ok(What::Plain(address))
}
