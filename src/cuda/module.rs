//! [`Module`]: machine code that is loaded on a GPU.

pub(super) mod argument;
mod bounds;
pub(super) mod call;
pub(super) mod function;
pub(super) mod launch;
mod refusal;
mod running_streams;
pub(super) mod signature;

use crate::cuda::driver::answer::call;
use crate::cuda::driver::capture_mode::relax_capture_mode;
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::driver::version;
use crate::cuda::stream::Stream;
use crate::cuda::stream::deferred::{self, Release};
use cudarc::driver::sys;
use running_streams::RunningStreams;
use std::ffi::{CStr, CString, c_void};
use std::fmt;
use std::ptr;
use std::sync::Arc;
use sys::CUjit_option as JitOption;

/// Machine code on a GPU, in which there are kernels.
///
/// It is unloaded when its last handle and its last [`Function`](crate::cuda::Function) are gone,
/// and the GPU is done with what they were launched for. Graphs with its kernels don't keep it: the
/// code that captured them must.
#[derive(Clone)]
pub struct Module(Arc<Loaded>);

/// A module, until its last handle goes.
struct Loaded {
    gpu: Gpu,
    raw: Raw,
    /// Names by which its user knows functions, and those that they have in it.
    names: Vec<(String, CString)>,
    uses: RunningStreams,
}

/// The driver's handle of a module.
#[derive(Clone, Copy)]
struct Raw(sys::CUmodule);

// SAFETY: a handle, which the driver takes on any thread.
unsafe impl Send for Raw {}
// SAFETY: a shared reference only copies the handle.
unsafe impl Sync for Raw {}

/// Size of the driver's compiler log.
const LOG_BYTES: usize = 16 << 10;

impl Module {
    /// Loads a cubin, a fat binary, or PTX, which the driver then compiles.
    ///
    /// ```no_run
    /// use dlbridge::cuda::{Gpu, Module};
    ///
    /// let module = Module::load(Gpu::new(0)?, &std::fs::read("kernels.cubin")?)?;
    /// let kernel = module.function("axpy")?;
    /// println!("{} registers", kernel.registers());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the image is damaged, none of its code is for this GPU, the PTX is wrong or newer
    /// than the driver, or the driver fails. What the driver's compiler says is part of the error.
    pub fn load(gpu: Gpu, image: &[u8]) -> Result<Self, CudaError> {
        Self::with_names(gpu, image, Vec::new())
    }

    /// Returns the same, with names by which its functions are found besides their own.
    pub(super) fn with_names(
        gpu: Gpu,
        image: &[u8],
        names: Vec<(String, CString)>,
    ) -> Result<Self, CudaError> {
        let image = bounds::terminated(image)?;
        deferred::drain();
        let _context = gpu.enter()?;
        let mut log = vec![0_u8; LOG_BYTES];
        let mut options = [
            JitOption::CU_JIT_ERROR_LOG_BUFFER,
            JitOption::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        ];
        // Numbers are passed in the place of pointers.
        let mut values: [*mut c_void; 2] = [
            log.as_mut_ptr().cast(),
            ptr::without_provenance_mut(log.len() - 1),
        ];
        let mut raw = ptr::null_mut();
        let relaxed = relax_capture_mode();
        // SAFETY: the context is current. The image was checked to be as long as it says, or ends
        // in NUL, and the log has room for what the options say, and a NUL behind it.
        let loaded = unsafe {
            call!(cuModuleLoadDataEx(
                &mut raw,
                image.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr()
            ))
        };
        drop(relaxed);
        if let Err(error) = loaded {
            let log = CStr::from_bytes_until_nul(&log).unwrap_or_default();
            return Err(refused(error, &log.to_string_lossy()));
        }
        Ok(Self(Arc::new(Loaded {
            gpu,
            raw: Raw(raw),
            names,
            uses: RunningStreams::none(),
        })))
    }

    /// Returns the GPU that it is loaded on.
    #[inline]
    pub fn gpu(&self) -> Gpu {
        self.0.gpu
    }

    /// Keeps the module loaded until a stream has finished the kernel that was just launched.
    #[inline]
    pub(super) fn note_launch(&self, stream: &Stream) {
        self.0.uses.note(stream);
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Module(on {})", self.gpu().device())
    }
}

/// Returns an error of the driver's, with what its compiler says.
fn refused(error: CudaError, log: &str) -> CudaError {
    use sys::CUresult as Answer;
    // What is wrong with images, and not with the GPU.
    const OF_IMAGES: [Answer; 8] = [
        Answer::CUDA_ERROR_INVALID_VALUE,
        Answer::CUDA_ERROR_INVALID_IMAGE,
        Answer::CUDA_ERROR_NO_BINARY_FOR_GPU,
        Answer::CUDA_ERROR_INVALID_PTX,
        Answer::CUDA_ERROR_INVALID_SOURCE,
        Answer::CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
        Answer::CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
        Answer::CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND,
    ];
    let is_of_image = OF_IMAGES
        .iter()
        .any(|answer| error.code() == Some(*answer as u32));
    let log = log.trim();
    match log.is_empty() && !is_of_image {
        true => error,
        false => {
            let version = version().map_or_else(
                |_| String::new(),
                |version| {
                    format!(
                        " (the driver is of CUDA {}.{})",
                        version / 1000,
                        version % 1000 / 10
                    )
                },
            );
            let log = if log.is_empty() {
                String::new()
            } else {
                format!("\n{log}")
            };
            CudaError::Image {
                problem: format!("{error}{version}{log}"),
            }
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        deferred::release(Box::new(Unload {
            gpu: self.gpu,
            raw: self.raw,
            uses: std::mem::replace(&mut self.uses, RunningStreams::none()),
        }));
    }
}

/// A module at its end.
struct Unload {
    gpu: Gpu,
    raw: Raw,
    uses: RunningStreams,
}

impl Release for Unload {
    fn try_release(&mut self) -> Result<bool, CudaError> {
        let _context = self.gpu.enter()?;
        if !self.uses.are_over()? {
            return Ok(false);
        }
        let _relaxed = relax_capture_mode();
        // SAFETY: it was loaded, no work runs its code any more, and this is its end.
        unsafe { call!(cuModuleUnload(self.raw.0)) }?;
        Ok(true)
    }
}
