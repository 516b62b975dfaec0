//! Start of the driver, and the number of GPUs.

use super::answer::{ask, call};
use super::driver;
use super::error::CudaError;
use cudarc::driver::sys::CUresult;
use std::sync::OnceLock;

/// Returns how many GPUs there are.
///
/// # Errors
///
/// Fails if there is no driver, or none that will do.
pub fn count() -> Result<usize, CudaError> {
    static COUNT: OnceLock<Result<usize, CudaError>> = OnceLock::new();
    COUNT.get_or_init(start).clone()
}

/// Starts the driver.
fn start() -> Result<usize, CudaError> {
    driver()?;
    // SAFETY: the driver was looked up.
    let answer = unsafe { ask!(cuInit(0)) };
    if answer.is(CUresult::CUDA_ERROR_NO_DEVICE) {
        return Err(CudaError::NoGpu);
    }
    answer.checked()?;
    let mut count = 0;
    // SAFETY: the driver was started, and writes one integer.
    unsafe { call!(cuDeviceGetCount(&mut count)) }?;
    match usize::try_from(count) {
        Ok(0) | Err(_) => Err(CudaError::NoGpu),
        Ok(count) => Ok(count),
    }
}
