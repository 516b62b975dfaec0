//! [`Gpu`]: a device and its primary context, which it shares with frameworks.

use super::release_hook::drain_deferred;
use crate::cuda::driver::answer::{ask, call};
use crate::cuda::driver::capture_mode::relax_capture_mode;
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::event::Events;
use crate::cuda::driver::limits::Limits;
use crate::cuda::driver::pool::Pool;
use crate::cuda::driver::start::count;
use crate::device::{Device, DeviceKind};
use cudarc::driver::sys;
use std::ffi::CStr;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};
use sys::CUdevice_attribute as Attribute;

/// An NVIDIA GPU.
///
/// Its context is the primary one, as it is for every framework: memory and streams are shared. It
/// is kept until the program ends.
#[derive(Clone, Copy)]
pub struct Gpu(&'static Facts);

/// Properties of a GPU.
pub(in crate::cuda) struct Facts {
    id: i32,
    device: sys::CUdevice,
    context: Context,
    capability: (i32, i32),
    processors: i32,
    pub(in crate::cuda) limits: Limits,
    pub(in crate::cuda) events: Events,
    pub(in crate::cuda) pool: Pool,
}

/// The driver's handle of a context.
#[derive(Clone, Copy)]
struct Context(sys::CUcontext);

// SAFETY: a handle, which the driver takes on any thread.
unsafe impl Send for Context {}
// SAFETY: a shared reference only copies the handle.
unsafe impl Sync for Context {}

impl Gpu {
    /// Returns the GPU of this number.
    ///
    /// # Errors
    ///
    /// Fails if there is no driver, or no such GPU, or it can't be used.
    pub fn new(id: i32) -> Result<Self, CudaError> {
        static GPUS: OnceLock<Vec<Place>> = OnceLock::new();
        let count = count()?;
        let gpus = GPUS.get_or_init(|| (0..count).map(|_| Place::default()).collect());
        let place = usize::try_from(id).ok().and_then(|id| gpus.get(id));
        let place = place.ok_or(CudaError::NoSuchGpu { id, count })?;
        place.gpu(id)
    }

    /// Returns the GPU that a device is, or that its memory is pinned for or shared with.
    ///
    /// # Errors
    ///
    /// Fails if it isn't a GPU; see also [`new`](Self::new).
    pub fn from_device(device: Device) -> Result<Self, CudaError> {
        match device.kind() {
            DeviceKind::Cuda | DeviceKind::CudaHost | DeviceKind::CudaManaged => {
                Self::new(device.id())
            }
            _ => Err(CudaError::NotCuda { device }),
        }
    }

    /// Returns the device ordinal.
    pub fn id(self) -> i32 {
        self.0.id
    }

    /// Returns the device, as tensors say where they are.
    pub fn device(self) -> Device {
        Device::cuda(self.0.id)
    }

    /// Returns whether a context is the GPU's primary one.
    #[cfg(feature = "cudarc")]
    pub(in crate::cuda) fn has_context(self, context: sys::CUcontext) -> bool {
        self.0.context.0 == context
    }

    /// Returns the device name.
    ///
    /// # Errors
    ///
    /// Fails if the driver does.
    pub fn name(self) -> Result<String, CudaError> {
        let mut name = [0; 256];
        // SAFETY: the driver writes at most as many characters, the last one 0.
        unsafe {
            call!(cuDeviceGetName(
                name.as_mut_ptr(),
                name.len() as i32,
                self.0.device
            ))?;
            Ok(CStr::from_ptr(name.as_ptr()).to_string_lossy().into())
        }
    }

    /// Returns the compute capability: (9, 0) for `sm_90`.
    pub fn compute_capability(self) -> (i32, i32) {
        self.0.capability
    }

    /// Returns how many multiprocessors it has.
    pub fn multiprocessors(self) -> usize {
        self.0.processors as usize
    }

    /// Returns how many bytes of memory are free, and how many there are.
    ///
    /// # Errors
    ///
    /// Fails if the driver does.
    pub fn memory(self) -> Result<(usize, usize), CudaError> {
        let (mut free, mut all) = (0, 0);
        let _context = self.enter()?;
        // SAFETY: the context is current.
        unsafe { call!(cuMemGetInfo_v2(&mut free, &mut all)) }?;
        Ok((free, all))
    }

    /// Blocks until all work on the GPU is done, on all streams.
    ///
    /// # Errors
    ///
    /// Fails if work failed, or a graph is captured.
    pub fn synchronize(self) -> Result<(), CudaError> {
        self.wait_for_all()?;
        drain_deferred();
        Ok(())
    }

    /// Waits for all work like [`synchronize`](Self::synchronize), without running foreign code.
    pub(crate) fn wait_for_all(self) -> Result<(), CudaError> {
        let _context = self.enter()?;
        let _relaxed = relax_capture_mode();
        // SAFETY: the context is current.
        unsafe { call!(cuCtxSynchronize()) }
    }

    /// Returns the pool's unused memory to the driver.
    ///
    /// # Errors
    ///
    /// Fails if the driver does.
    pub fn trim(self) -> Result<(), CudaError> {
        drain_deferred();
        let _relaxed = relax_capture_mode();
        self.facts().pool.trim()
    }

    /// Makes the GPU's primary context current on this thread, until the guard is dropped. One that
    /// is dropped before a later one of the thread may end that, too.
    ///
    /// # Errors
    ///
    /// Fails if the driver does.
    #[inline]
    pub fn enter(self) -> Result<ContextGuard, CudaError> {
        let mut current = ptr::null_mut();
        // SAFETY: the driver was started, or there would be no GPU.
        unsafe { call!(cuCtxGetCurrent(&mut current)) }?;
        let pushed = current != self.0.context.0;
        if pushed {
            // SAFETY: a context that is kept.
            unsafe { call!(cuCtxPushCurrent_v2(self.0.context.0)) }?;
        }
        Ok(ContextGuard {
            pushed,
            _thread: PhantomData,
        })
    }

    /// Returns the driver's handle of its context.
    pub(in crate::cuda) fn context(self) -> sys::CUcontext {
        self.0.context.0
    }

    #[inline]
    pub(in crate::cuda) fn facts(self) -> &'static Facts {
        self.0
    }
}

impl PartialEq for Gpu {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.0.id == other.0.id
    }
}

impl Eq for Gpu {}

impl fmt::Debug for Gpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Gpu({})", self.id())
    }
}

/// A GPU's context is current, until this is dropped; then the one is that was before.
#[must_use = "when it is dropped, the context that was current before is so again"]
#[derive(Debug)]
pub struct ContextGuard {
    pushed: bool,
    /// Contexts are current on threads: this mustn't leave its own.
    _thread: PhantomData<*const ()>,
}

impl Drop for ContextGuard {
    #[inline]
    fn drop(&mut self) {
        if self.pushed {
            let mut popped = ptr::null_mut();
            // A failure can't be reported from here.
            // SAFETY: it takes a context off the stack of this thread, to which this guard, which
            // stays on its thread, has added one.
            let _ = unsafe { ask!(cuCtxPopCurrent_v2(&mut popped)) };
        }
    }
}

/// Facts of a GPU, after its first use. A failure isn't kept: memory may be there next time.
#[derive(Default)]
struct Place {
    gpu: OnceLock<&'static Facts>,
    opening: Mutex<()>,
}

impl Place {
    fn gpu(&self, id: i32) -> Result<Gpu, CudaError> {
        if let Some(facts) = self.gpu.get() {
            return Ok(Gpu(facts));
        }
        let _alone = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(facts) = self.gpu.get() {
            return Ok(Gpu(facts));
        }
        let relaxed = relax_capture_mode();
        let facts = Box::leak(Box::new(open(id)?));
        drop(relaxed);
        Ok(Gpu(self.gpu.get_or_init(|| facts)))
    }
}

fn open(id: i32) -> Result<Facts, CudaError> {
    let mut device = 0;
    // SAFETY: the driver was started.
    unsafe { call!(cuDeviceGet(&mut device, id)) }?;
    let ask = |attribute| {
        let mut value = 0;
        // SAFETY: the driver was started and gave this device; it writes one integer.
        unsafe { call!(cuDeviceGetAttribute(&mut value, attribute, device)) }.map(|()| value)
    };
    let capability = (
        ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
        ask(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
    );
    let processors = ask(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?;
    let limits = Limits::ask(ask)?;
    let has_pools = ask(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED)? != 0;
    let pool = if has_pools {
        Pool::new(id)?
    } else {
        Pool::none()
    };
    let mut context = ptr::null_mut();
    // SAFETY: the driver was started and gave this device. The context is never released.
    unsafe { call!(cuDevicePrimaryCtxRetain(&mut context, device)) }?;
    Ok(Facts {
        id,
        device,
        context: Context(context),
        capability,
        processors,
        limits,
        events: Events::default(),
        pool,
    })
}
