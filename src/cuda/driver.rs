//! The CUDA driver: lookup of its library and functions.

pub(super) mod answer;

pub(super) mod capture_mode;
pub(super) mod error;
pub(super) mod event;
pub(super) mod foreign_drops;
mod functions;
pub(super) mod gpu;
pub(super) mod library;
mod limits;
pub(super) mod pool;
pub(super) mod release_hook;
pub(super) mod start;

use crate::cuda::driver::error::CudaError;
use functions::{Functions, first, newer};
use libloading::Library;
use std::ffi::c_int;
use std::sync::OnceLock;

/// The oldest driver that has all functions that are called here.
const OLDEST: i32 = 12_000;

/// The oldest driver that tells a kernel's parameters.
const WITH_PARAMETERS: i32 = 12_040;

/// The loaded functions.
struct Driver {
    version: i32,
    functions: Functions,
    newer: Option<newer::Functions>,
}

static DRIVER: OnceLock<Result<Driver, CudaError>> = OnceLock::new();

/// Returns the driver's library, which isn't started by that.
fn library() -> Option<&'static Library> {
    static LIBRARY: OnceLock<Option<&'static Library>> = OnceLock::new();
    *LIBRARY.get_or_init(functions::library)
}

/// Returns the driver, with its functions looked up, and not started.
fn driver() -> Result<&'static Driver, CudaError> {
    DRIVER.get_or_init(look_up).as_ref().map_err(Clone::clone)
}

fn look_up() -> Result<Driver, CudaError> {
    let library = library().ok_or(CudaError::NoDriver)?;
    let bad = |problem: String| CudaError::BadDriver { problem };
    let lacks = |error: libloading::Error| bad(crate::cuda::driver::library::problem(&error));
    let mut version = 0;
    // SAFETY: it is CUDA's driver, by its name, whose header gives this type; the library stays
    // loaded. It may be called before the driver is started, and writes one integer.
    let answer = unsafe {
        let first = first::Functions::look_up(library).map_err(lacks)?;
        (first.cuDriverGetVersion)(&mut version)
    };
    if answer != 0 {
        return Err(bad(format!("cuDriverGetVersion failed with code {answer}")));
    }
    if version < OLDEST {
        return Err(CudaError::OldDriver { found: version });
    }
    // SAFETY: it is CUDA's driver, whose header gives these types, and stays loaded.
    let functions = unsafe { Functions::look_up(library) }.map_err(lacks)?;
    let newer = match version >= WITH_PARAMETERS {
        true => {
            // SAFETY: it is CUDA's driver, whose header gives this type, and stays loaded.
            let newer = unsafe { newer::Functions::look_up(library) };
            Some(newer.map_err(lacks)?)
        }
        false => None,
    };
    Ok(Driver {
        version,
        functions,
        newer,
    })
}

/// Returns the driver's functions. They must have been looked up before.
#[inline]
pub(super) fn functions() -> &'static Functions {
    match DRIVER.get() {
        Some(Ok(driver)) => &driver.functions,
        _ => unlooked(),
    }
}

#[cold]
fn unlooked() -> ! {
    panic!("the CUDA driver is called before it was looked up")
}

/// Returns a function that drivers before 12.4 haven't got.
pub(super) fn param_info() -> Option<ParamInfo> {
    let newer = driver().ok()?.newer.as_ref()?;
    Some(newer.cuFuncGetParamInfo)
}

/// The type of `cuFuncGetParamInfo`.
pub(super) type ParamInfo =
    unsafe extern "C" fn(cudarc::driver::sys::CUfunction, usize, *mut usize, *mut usize) -> c_int;

/// Returns the driver's version, as it says it: 12040 for 12.4.
pub(super) fn version() -> Result<i32, CudaError> {
    Ok(driver()?.version)
}

/// Returns the major CUDA version of the driver; `None` without a driver that reports it.
pub(super) fn major() -> Option<i32> {
    version().ok().map(|version| version / 1000)
}

/// Returns whether there is a driver. It isn't started for that, which would rule out that the
/// process forks.
#[inline]
pub fn is_present() -> bool {
    library().is_some()
}
