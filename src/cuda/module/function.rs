//! [`Function`]: a kernel of a module, with its attributes.

use crate::cuda::driver::answer::{Answer, ask, call};
use crate::cuda::driver::capture_mode::relax_capture_mode;
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::driver::param_info;
use crate::cuda::module::{Module, refusal};
use crate::error::Incompatibility;
use cudarc::driver::sys;
use std::ffi::CString;
use std::fmt;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use sys::CUfunction_attribute_enum as Attribute;

/// As much shared memory a block can have without its kernel being allowed that, all in all.
const ALWAYS_SHARED: u32 = 48 << 10;

/// Guards changes of a kernel's limit of shared memory: handles to it may be on several threads.
static LIMITS: Mutex<()> = Mutex::new(());

/// A kernel, which can be launched. Its module is kept.
#[derive(Clone)]
pub struct Function(Arc<Facts>);

struct Facts {
    module: Module,
    raw: Raw,
    name: String,
    registers: u32,
    max_threads: u32,
    static_shared: u32,
    parameters: Option<Box<[usize]>>,
}

/// The driver's handle of a function.
#[derive(Clone, Copy)]
struct Raw(sys::CUfunction);

// SAFETY: a handle, which the driver takes on any thread.
unsafe impl Send for Raw {}
// SAFETY: a shared reference only copies the handle.
unsafe impl Sync for Raw {}

impl Module {
    /// Returns a kernel of the module. In C++ it must be `extern "C"`, or be requested by its
    /// mangled name, unless it was named when it was compiled.
    ///
    /// # Errors
    ///
    /// Fails if there is none of that name, or the driver fails.
    pub fn function(&self, name: &str) -> Result<Function, CudaError> {
        let known = self.0.names.iter().find(|(known, _)| known == name);
        let none = || CudaError::NoFunction {
            name: name.to_owned(),
        };
        let symbol = match known {
            Some((_, symbol)) => symbol.clone(),
            None => CString::new(name).map_err(|_| none())?,
        };
        let _context = self.gpu().enter()?;
        let mut raw = ptr::null_mut();
        // The driver may load code only now.
        let _relaxed = relax_capture_mode();
        // SAFETY: the context is current, the module there, and the name a string of C.
        let answer = unsafe { ask!(cuModuleGetFunction(&mut raw, self.0.raw.0, symbol.as_ptr())) };
        if answer.is(sys::CUresult::CUDA_ERROR_NOT_FOUND) {
            return Err(none());
        }
        answer.checked()?;
        Function::new(self.clone(), raw, name)
    }
}

impl Function {
    /// Creates a function that a module has, whose context is current. What is requested here, the
    /// driver must load the function for; so that isn't left to the first launch.
    pub(in crate::cuda) fn new(
        module: Module,
        raw: sys::CUfunction,
        name: &str,
    ) -> Result<Self, CudaError> {
        let ask = |attribute| ask(raw, attribute);
        let parameters = parameters(raw)?;
        Ok(Self(Arc::new(Facts {
            raw: Raw(raw),
            name: name.to_owned(),
            registers: ask(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)?,
            max_threads: ask(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            static_shared: ask(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES)?,
            parameters,
            module,
        })))
    }

    /// Returns the name by which it was looked up in the module.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the module that it is in.
    #[inline]
    pub fn module(&self) -> &Module {
        &self.0.module
    }

    /// Returns the GPU that it is loaded on.
    #[inline]
    pub fn gpu(&self) -> Gpu {
        self.0.module.gpu()
    }

    #[inline]
    pub(in crate::cuda) fn raw(&self) -> sys::CUfunction {
        self.0.raw.0
    }

    /// Returns how many registers each of its threads takes.
    pub fn registers(&self) -> u32 {
        self.0.registers
    }

    /// Returns how many threads a block of it can have.
    #[inline]
    pub fn max_threads(&self) -> u32 {
        self.0.max_threads
    }

    /// Returns how many bytes of shared memory it declares itself.
    pub fn static_shared(&self) -> u32 {
        self.0.static_shared
    }

    /// Returns the sizes of its parameters in bytes, where the driver tells them (12.4 and newer).
    #[inline]
    pub fn parameters(&self) -> Option<&[usize]> {
        self.0.parameters.as_deref()
    }

    /// Returns how many bytes of shared memory a launch of it can ask for.
    ///
    /// # Errors
    ///
    /// Fails if the driver does.
    pub fn max_dynamic_shared(&self) -> Result<u32, CudaError> {
        let _context = self.gpu().enter()?;
        ask(
            self.raw(),
            Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
        )
    }

    /// Lets launches of it use up to `bytes` bytes of shared memory, here and through every other
    /// handle to it. More than 48 KiB, including what it declares itself, must be allowed in this
    /// way.
    ///
    /// # Errors
    ///
    /// Fails if the GPU hasn't as much for a block, or the driver fails.
    pub fn set_max_dynamic_shared(&self, bytes: u32) -> Result<(), CudaError> {
        let _alone = LIMITS.lock().unwrap_or_else(PoisonError::into_inner);
        self.limit_dynamic_shared(bytes)
    }

    /// Lets launches of it use at least `bytes` bytes of shared memory, as
    /// [`set_max_dynamic_shared`](Self::set_max_dynamic_shared) does. A limit that is larger stays,
    /// as another thread may be about to launch.
    ///
    /// # Errors
    ///
    /// Fails if the GPU hasn't as much for a block, or the driver fails.
    pub fn allow_dynamic_shared(&self, bytes: u32) -> Result<(), CudaError> {
        if bytes.saturating_add(self.static_shared()) <= ALWAYS_SHARED {
            return Ok(());
        }
        let left = (self.gpu().facts().limits.shared).saturating_sub(self.static_shared());
        if bytes > left {
            return Err(self.refused(refusal::shared_of_gpu(bytes, left)));
        }
        let _alone = LIMITS.lock().unwrap_or_else(PoisonError::into_inner);
        let most = self.max_dynamic_shared()?;
        // An unset limit may not count the memory that the kernel declares; so it is set.
        if most >= bytes && most > ALWAYS_SHARED {
            return Ok(());
        }
        self.limit_dynamic_shared(bytes.max(most))
    }

    #[cold]
    pub(super) fn refused(&self, problem: Incompatibility) -> CudaError {
        CudaError::Launch {
            kernel: self.name().to_owned(),
            problem: Box::new(problem),
        }
    }

    /// Sets the limit; the caller holds [`LIMITS`].
    fn limit_dynamic_shared(&self, bytes: u32) -> Result<(), CudaError> {
        let _context = self.gpu().enter()?;
        let attribute = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let value = i32::try_from(bytes).unwrap_or(i32::MAX);
        // SAFETY: the function is there, and its context current.
        unsafe { call!(cuFuncSetAttribute(self.raw(), attribute, value)) }
    }
}

impl fmt::Debug for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Function({} on {})", self.name(), self.gpu().device())
    }
}

/// Returns an attribute of a function whose context is current.
fn ask(raw: sys::CUfunction, attribute: Attribute) -> Result<u32, CudaError> {
    let mut value = 0;
    // SAFETY: the caller's function, which is there.
    unsafe { call!(cuFuncGetAttribute(&mut value, attribute, raw)) }?;
    Ok(value.unsigned_abs())
}

/// Returns the sizes of a function's parameters; `None` where the driver doesn't tell them: before
/// 12.4, or of this function.
fn parameters(raw: sys::CUfunction) -> Result<Option<Box<[usize]>>, CudaError> {
    let Some(param_info) = param_info() else {
        return Ok(None);
    };
    let mut sizes = Vec::new();
    loop {
        let (mut offset, mut size) = (0, 0);
        // SAFETY: the function is one of a module that is loaded, and its context current; the
        // driver writes two integers.
        let answer = unsafe { param_info(raw, sizes.len(), &mut offset, &mut size) };
        let answer = Answer::new("cuFuncGetParamInfo", answer);
        if answer.is(sys::CUresult::CUDA_ERROR_INVALID_VALUE) {
            return Ok(Some(sizes.into()));
        }
        if answer.is(sys::CUresult::CUDA_ERROR_NOT_SUPPORTED) {
            return Ok(None);
        }
        answer.checked()?;
        sizes.push(size);
    }
}
