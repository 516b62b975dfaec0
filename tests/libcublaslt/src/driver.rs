//! The kernel that multiplies, on the double of the driver.

use crate::product::{BYTES, Product};
use crate::state::Outcome;
use crate::status;
use libloading::Library;
use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::sync::{Mutex, OnceLock, PoisonError};

const NAME: &str = "cublasLtDoubleProduct";
/// What the workspace is filled with.
const USED: u8 = 0x77;

/// `CUDA_ERROR_NOT_FOUND`, for whatever isn't there.
type Answer = Result<(), c_int>;

/// Calls one of the driver's functions, of the given types.
macro_rules! driver {
    ($name:literal($($argument:expr => $type:ty),* $(,)?)) => {{
        // SAFETY: the driver's function of this name has these arguments, and the library stays.
        let function = unsafe {
            library()?.get::<unsafe extern "C" fn($($type),*) -> c_int>($name.as_bytes())
        };
        let function = function.map_err(|_| status::NOT_INITIALIZED)?;
        // SAFETY: who calls this vouches for the arguments.
        match unsafe { function($($argument),*) } {
            0 => Ok(()),
            _ => Err(status::EXECUTION_FAILED),
        }
    }};
}

fn library() -> Result<&'static Library, c_int> {
    static DRIVER: OnceLock<Option<Library>> = OnceLock::new();
    // SAFETY: the double runs nothing when it is loaded.
    let driver = DRIVER.get_or_init(|| unsafe { Library::new("libcuda.so.1") }.ok());
    driver.as_ref().ok_or(status::NOT_INITIALIZED)
}

/// The kernel in each context.
static KERNELS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());

fn context() -> Result<usize, c_int> {
    let mut context: *mut c_void = ptr::null_mut();
    driver!("cuCtxGetCurrent"(&mut context => *mut *mut c_void))?;
    match context.is_null() {
        true => Err(status::NOT_INITIALIZED),
        false => Ok(context.addr()),
    }
}

/// Loads the kernel into the current context.
pub(crate) fn load_kernel() -> Outcome {
    let context = context()?;
    let mut kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
    if kernels.iter().any(|(known, _)| *known == context) {
        return Ok(());
    }
    let ptx = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry {NAME}(\n\
         .param .u64 a,\n.param .u64 b,\n.param .u64 d,\n.param .u64 workspace,\n.param .u64 bytes,\n\
         .param .align 8 .b8 product[{BYTES}]\n) {{ ret; }}\n"
    );
    let (ptx, name) = (text(ptx)?, text(NAME.to_owned())?);
    let signature = text(format!("r r w rw v v{BYTES}"))?;
    let (mut module, mut function): (*mut c_void, *mut c_void) = (ptr::null_mut(), ptr::null_mut());
    driver!("cudaDoubleRegisterKernel"(
        name.as_ptr() => *const c_char,
        signature.as_ptr() => *const c_char,
        run => unsafe extern "C" fn(*const Launch, *mut c_void) -> c_int,
        ptr::null_mut() => *mut c_void,
    ))?;
    driver!("cuModuleLoadData"(&mut module => *mut *mut c_void, ptx.as_ptr() => *const c_char))?;
    driver!("cuModuleGetFunction"(
        &mut function => *mut *mut c_void,
        module => *mut c_void,
        name.as_ptr() => *const c_char,
    ))?;
    kernels.push((context, function.addr()));
    Ok(())
}

fn text(text: String) -> Result<CString, c_int> {
    CString::new(text).map_err(|_| status::INVALID_VALUE)
}

/// Has a stream run it.
pub(crate) fn launch(
    product: &Product,
    places: [*const c_void; 3],
    (workspace, bytes): (*mut c_void, usize),
    stream: *mut c_void,
) -> Answer {
    let context = context()?;
    let function = {
        let kernels = KERNELS.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kernels.iter().find(|(known, _)| *known == context);
        known.map(|(_, function)| *function)
    };
    let function = ptr::without_provenance_mut(function.ok_or(status::NOT_INITIALIZED)?);
    let [a, b, d] = places;
    let mut arguments = [
        (&raw const a).cast::<c_void>(),
        (&raw const b).cast(),
        (&raw const d).cast(),
        (&raw const workspace).cast(),
        (&raw const bytes).cast(),
        (&raw const *product).cast(),
    ];
    driver!("cuLaunchKernel"(
        function => *mut c_void,
        1 => c_uint, 1 => c_uint, 1 => c_uint,
        1 => c_uint, 1 => c_uint, 1 => c_uint,
        0 => c_uint,
        stream => *mut c_void,
        arguments.as_mut_ptr() => *mut *const c_void,
        ptr::null_mut() => *mut c_void,
    ))
}

/// A launch, as the driver's double shows it.
#[repr(C)]
struct Launch {
    name: *const c_char,
    grid: [c_uint; 3],
    block: [c_uint; 3],
    shared: c_uint,
    arguments: *const *const c_void,
    count: usize,
    stream: *mut c_void,
}

unsafe extern "C" fn run(launch: *const Launch, _: *mut c_void) -> c_int {
    // SAFETY: the driver's double passes a launch with these arguments, whose memory is open.
    unsafe {
        let arguments = (*launch).arguments;
        let address = |place: usize| (*arguments.add(place)).cast::<*mut c_void>().read();
        let bytes = (*arguments.add(4)).cast::<usize>().read();
        let product = (*arguments.add(5)).cast::<Product>().read();
        product.run(address(0), address(1), address(2));
        if bytes > 0 {
            address(3).cast::<u8>().write_bytes(USED, bytes);
        }
    }
    0
}
