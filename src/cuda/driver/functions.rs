//! Function table of the driver, declared with integer results.
//!
//! `cudarc` declares them with `CUresult` as the result, which is a Rust enum: a code that it
//! doesn't list, as a newer driver may return, would be undefined behaviour. So would an unknown
//! value that the driver writes through a pointer to an enum. Here all that C returns or writes is
//! an integer. Enums of `cudarc` are only passed to C, and its handles and structs are plain data.

use crate::cuda::driver::library::functions;
use cudarc::driver::sys;
use libloading::Library;
use std::ffi::{c_char, c_int, c_uchar, c_uint, c_void};
use sys::{
    CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUfunction,
    CUfunction_attribute, CUgraph, CUgraphNode, CUjit_option, CUmemPool_attribute, CUmemPoolProps,
    CUmemoryPool, CUmodule, CUpointer_attribute, CUstream,
};

type Text = *const c_char;

functions! {
    cuCtxGetCurrent(*mut CUcontext) -> c_int;
    cuCtxPopCurrent_v2(*mut CUcontext) -> c_int;
    cuCtxPushCurrent_v2(CUcontext) -> c_int;
    cuCtxSynchronize() -> c_int;
    cuDeviceGet(*mut CUdevice, c_int) -> c_int;
    cuDeviceGetAttribute(*mut c_int, CUdevice_attribute, CUdevice) -> c_int;
    cuDeviceGetCount(*mut c_int) -> c_int;
    cuDeviceGetName(*mut c_char, c_int, CUdevice) -> c_int;
    cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice) -> c_int;
    cuEventCreate(*mut CUevent, c_uint) -> c_int;
    cuEventDestroy_v2(CUevent) -> c_int;
    cuEventQuery(CUevent) -> c_int;
    cuEventRecord(CUevent, CUstream) -> c_int;
    cuFuncGetAttribute(*mut c_int, CUfunction_attribute, CUfunction) -> c_int;
    cuFuncSetAttribute(CUfunction, CUfunction_attribute, c_int) -> c_int;
    cuGetErrorName(c_int, *mut Text) -> c_int;
    cuGetErrorString(c_int, *mut Text) -> c_int;
    cuInit(c_uint) -> c_int;
    cuLaunchKernel(
        CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void, *mut *mut c_void
    ) -> c_int;
    cuMemAllocFromPoolAsync(*mut CUdeviceptr, usize, CUmemoryPool, CUstream) -> c_int;
    cuMemAllocManaged(*mut CUdeviceptr, usize, c_uint) -> c_int;
    cuMemAlloc_v2(*mut CUdeviceptr, usize) -> c_int;
    cuMemFreeAsync(CUdeviceptr, CUstream) -> c_int;
    cuMemFreeHost(*mut c_void) -> c_int;
    cuMemFree_v2(CUdeviceptr) -> c_int;
    cuMemGetInfo_v2(*mut usize, *mut usize) -> c_int;
    cuMemHostAlloc(*mut *mut c_void, usize, c_uint) -> c_int;
    cuMemPoolDestroy(CUmemoryPool) -> c_int;
    cuMemPoolCreate(*mut CUmemoryPool, *const CUmemPoolProps) -> c_int;
    cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, *mut c_void) -> c_int;
    cuMemPoolTrimTo(CUmemoryPool, usize) -> c_int;
    cuMemcpy2DAsync_v2(*const sys::CUDA_MEMCPY2D, CUstream) -> c_int;
    cuMemcpyAsync(CUdeviceptr, CUdeviceptr, usize, CUstream) -> c_int;
    cuMemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, usize, CUstream) -> c_int;
    cuMemsetD8Async(CUdeviceptr, c_uchar, usize, CUstream) -> c_int;
    cuModuleGetFunction(*mut CUfunction, CUmodule, Text) -> c_int;
    cuModuleLoadDataEx(*mut CUmodule, *const c_void, c_uint, *mut CUjit_option, *mut *mut c_void) -> c_int;
    cuModuleUnload(CUmodule) -> c_int;
    cuPointerGetAttributes(c_uint, *mut CUpointer_attribute, *mut *mut c_void, CUdeviceptr) -> c_int;
    cuStreamCreate(*mut CUstream, c_uint) -> c_int;
    cuStreamDestroy_v2(CUstream) -> c_int;
    cuStreamGetCaptureInfo_v2(CUstream, *mut c_int, *mut u64, *mut CUgraph, *mut *const CUgraphNode, *mut usize) -> c_int;
    cuStreamIsCapturing(CUstream, *mut c_int) -> c_int;
    cuStreamQuery(CUstream) -> c_int;
    cuStreamSynchronize(CUstream) -> c_int;
    cuStreamWaitEvent(CUstream, CUevent, c_uint) -> c_int;
    cuThreadExchangeStreamCaptureMode(*mut c_int) -> c_int;
}

/// Functions that drivers before 12.4 haven't got.
pub(super) mod newer {
    use crate::cuda::driver::library::functions;
    use cudarc::driver::sys::CUfunction;
    use std::ffi::c_int;

    functions! {
        cuFuncGetParamInfo(CUfunction, usize, *mut usize, *mut usize) -> c_int;
    }
}

/// `cuDriverGetVersion`, which every driver has: what an older one lacks is only looked up after it
/// was asked.
pub(super) mod first {
    use crate::cuda::driver::library::functions;
    use std::ffi::c_int;

    functions! {
        cuDriverGetVersion(*mut c_int) -> c_int;
    }
}

/// Returns the driver's library, loaded for good; `None` where there is none.
pub(super) fn library() -> Option<&'static Library> {
    let names = ["libcuda.so.1", "libcuda.so", "nvcuda.dll"];
    // SAFETY: the driver's library may be loaded at any time: its initialisers need nothing of the
    // program.
    let mut found = names
        .into_iter()
        .filter_map(|name| unsafe { Library::new(name) }.ok());
    found.next().map(|library| &*Box::leak(Box::new(library)))
}
