//! The driver: whether it is there, and what its answers mean.

use super::error::CudaError;
use cudarc::driver::result::DriverError;
use cudarc::driver::sys;
use std::sync::OnceLock;

/// The oldest driver that has all functions that are called here.
const OLDEST: i32 = 12_000;

/// Calls a function of the driver's, and makes an error of its answer that says which function it was.
///
/// The driver must have been looked up before: [`Gpu`](super::Gpu)s and what is made of them prove that.
macro_rules! call {
    ($function:ident($($argument:expr),* $(,)?)) => {
        $crate::cuda::driver::checked(
            stringify!($function),
            ::cudarc::driver::sys::$function($($argument),*),
        )
    };
}
pub(super) use call;

#[inline]
pub(super) fn checked(function: &'static str, answer: sys::CUresult) -> Result<(), CudaError> {
    match answer {
        sys::CUresult::CUDA_SUCCESS => Ok(()),
        answer => Err(failed(function, answer)),
    }
}

#[cold]
fn failed(function: &'static str, answer: sys::CUresult) -> CudaError {
    let error = DriverError(answer);
    let text = |text: Result<&std::ffi::CStr, DriverError>| {
        text.map_or_else(
            |_| "unknown".to_owned(),
            |text| text.to_string_lossy().into(),
        )
    };
    CudaError::Driver {
        function,
        code: answer as u32,
        // The function's name is its symbol's, of which people don't know the version.
        name: text(error.error_name()),
        description: text(error.error_string()),
    }
}

/// The driver's version, as it says it: 12040 for 12.4. It must have been looked up before.
pub(super) fn version() -> Result<i32, CudaError> {
    let mut version = 0;
    // SAFETY: the library is there, and this function may be called before the driver is started.
    unsafe { call!(cuDriverGetVersion(&mut version)) }?;
    Ok(version)
}

/// Of which CUDA the driver is, without the number behind the dot; `None` where there is no driver that says it.
pub(super) fn major() -> Option<i32> {
    let version = is_present().then(version)?;
    version.ok().map(|version| version / 1000)
}

/// How many GPUs there are.
///
/// # Errors
///
/// When there is no driver, or none that will do.
pub fn count() -> Result<usize, CudaError> {
    static COUNT: OnceLock<Result<usize, CudaError>> = OnceLock::new();
    COUNT.get_or_init(start).clone()
}

/// Whether there is a driver. It isn't started for that, which would rule out that the process forks.
#[inline]
pub fn is_present() -> bool {
    static IS_PRESENT: OnceLock<bool> = OnceLock::new();
    // SAFETY: the driver's library may be loaded any time, and runs no code that needs anything of us.
    *IS_PRESENT.get_or_init(|| unsafe { sys::is_culib_present() })
}

/// Starts the driver.
fn start() -> Result<usize, CudaError> {
    if !is_present() {
        return Err(CudaError::NoDriver);
    }
    let version = version()?;
    if version < OLDEST {
        return Err(CudaError::OldDriver { found: version });
    }
    // SAFETY: the library is there.
    match unsafe { sys::cuInit(0) } {
        sys::CUresult::CUDA_ERROR_NO_DEVICE => return Err(CudaError::NoGpu),
        answer => checked("cuInit", answer)?,
    }
    let mut count = 0;
    // SAFETY: the driver was started.
    unsafe { call!(cuDeviceGetCount(&mut count)) }?;
    match usize::try_from(count) {
        Ok(0) | Err(_) => Err(CudaError::NoGpu),
        Ok(count) => Ok(count),
    }
}
