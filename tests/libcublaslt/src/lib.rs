//! A `libcublasLt.so.13` that multiplies on the CPU: see the README.
#![allow(non_snake_case, reason = "the names are those of the library")]

mod algorithm;
pub mod control;
mod driver;
mod objects;
mod product;
mod state;

use algorithm::{Algorithm, Proposal};
use objects::{Layout, Object, Operation};
use state::{Outcome, State};
use std::env;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// `CUBLAS_STATUS_*`
mod status {
    use std::ffi::c_int;
    pub(crate) const NOT_INITIALIZED: c_int = 1;
    pub(crate) const INVALID_VALUE: c_int = 7;
    pub(crate) const EXECUTION_FAILED: c_int = 13;
    pub(crate) const NOT_SUPPORTED: c_int = 15;
}

/// A handle of one of the library's objects: its number, which is never given out again.
type Handle = *mut c_void;

/// # Safety
///
/// NULL, or a place for the answer.
unsafe fn give<T>(to: *mut T, value: T) -> Outcome {
    if to.is_null() {
        return Err(status::INVALID_VALUE);
    }
    // SAFETY: `to` is writable, by this function's contract.
    unsafe { to.write(value) };
    Ok(())
}

/// # Safety
///
/// NULL, or the number of bytes.
unsafe fn bytes(at: *const c_void, count: usize) -> Vec<u8> {
    match at.is_null() {
        true => Vec::new(),
        // SAFETY: `at` points to `count` bytes, by this function's contract.
        false => unsafe { std::slice::from_raw_parts(at.cast::<u8>(), count) }.to_vec(),
    }
}

/// Defines functions of the library's, with the names and arguments that its header gives them.
macro_rules! api {
    ($(fn $name:ident($state:ident, $($argument:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        #[doc = concat!("NVIDIA's `", stringify!($name), "`.")]
        ///
        /// # Safety
        ///
        /// What NVIDIA's documentation of the function asks for.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            let call = || -> Outcome {
                let $state = &mut *State::lock();
                $state.enter(stringify!($name))?;
                // SAFETY: the arguments are as NVIDIA's documentation of the function requires.
                unsafe { $body }
            };
            call().err().unwrap_or(0)
        }
    )*};
}

api! {
    fn cublasLtCreate(state, handle: *mut Handle) {
        driver::load_kernel()?;
        give(handle, state.add(Object::Library))
    }

    fn cublasLtMatmulDescCreate(state, descriptor: *mut Handle, compute: c_int, scale: c_int) {
        let operation = Operation { compute, scale, transposes: [0; 2] };
        give(descriptor, state.add(Object::Operation(operation)))
    }

    fn cublasLtMatmulDescSetAttribute(state, descriptor: Handle, attribute: c_int, value: *const c_void, count: usize) {
        state.operation(descriptor)?;
        let set = state.change(descriptor).set(attribute, &bytes(value, count));
        state.noted(set)
    }

    fn cublasLtMatrixLayoutCreate(state, layout: *mut Handle, element: c_int, rows: u64, columns: u64, leading: i64) {
        let new = state.noted(Layout::new(element, rows, columns, leading))?;
        give(layout, state.add(Object::Layout(new)))
    }

    fn cublasLtMatmulPreferenceCreate(state, preference: *mut Handle) {
        give(preference, state.add(Object::Preference(Default::default())))
    }

    fn cublasLtMatmulPreferenceSetAttribute(state, preference: Handle, attribute: c_int, value: *const c_void, count: usize) {
        state.preference(preference)?;
        let set = state.change(preference).set(attribute, &bytes(value, count));
        state.noted(set)
    }

    fn cublasLtMatmulAlgoGetHeuristic(
        state,
        handle: Handle,
        operation: Handle,
        a: Handle,
        b: Handle,
        c: Handle,
        d: Handle,
        preference: Handle,
        wanted: c_int,
        proposals: *mut Proposal,
        count: *mut c_int,
    ) {
        state.library(handle)?;
        if wanted < 1 {
            return Err(status::INVALID_VALUE);
        }
        let product = state.product(operation, [a, b, c, d])?;
        let preference = state.preference(preference)?;
        let refusal = state.refusal;
        state.journal(format!("asked: {product} with {preference}"));
        match refusal {
            control::BY_ANSWER => return Err(status::NOT_SUPPORTED),
            control::AS_INVALID => return Err(status::INVALID_VALUE),
            _ => {}
        }
        let proposal = Proposal::choose(&preference, state.workspace, refusal == control::BY_STATE);
        give(proposals, proposal)?;
        give(count, c_int::from(refusal != control::BY_COUNT))
    }

    fn cublasLtMatmul(
        state,
        handle: Handle,
        operation: Handle,
        alpha: *const c_void,
        a: *const c_void,
        a_layout: Handle,
        b: *const c_void,
        b_layout: Handle,
        beta: *const c_void,
        c: *const c_void,
        c_layout: Handle,
        d: *mut c_void,
        d_layout: Handle,
        algorithm: *const Algorithm,
        workspace: *mut c_void,
        workspace_bytes: usize,
        stream: *mut c_void,
    ) {
        state.library(handle)?;
        let product = state.product(operation, [a_layout, b_layout, c_layout, d_layout])?;
        if algorithm.is_null() {
            return Err(status::INVALID_VALUE);
        }
        let factors = [alpha, beta].map(|factor| product.factor(factor));
        let fits = (*algorithm).check([a, b, c, d], workspace, workspace_bytes);
        state.noted(fits)?;
        if factors != [1.0, 0.0] || c != d.cast_const() {
            state.mistake(format!("factors {factors:?} of a product, into {d:?} after {c:?}"));
        }
        state.journal(format!("multiplied: {product} with {workspace_bytes} bytes"));
        driver::launch(&product, [a, b, d], (workspace, workspace_bytes), stream)
    }
}

/// Defines the functions that end an object of a kind.
macro_rules! ends {
    ($($name:ident of $kind:ident;)*) => {$(
        #[doc = concat!("NVIDIA's `", stringify!($name), "`.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(handle: Handle) -> c_int {
            let mut state = State::lock();
            let found = state.enter(stringify!($name)).and_then(|()| state.$kind(handle));
            found.map(|_| state.remove(handle)).err().unwrap_or(0)
        }
    )*};
}

ends! {
    cublasLtMatmulDescDestroy of operation;
    cublasLtMatrixLayoutDestroy of layout;
    cublasLtMatmulPreferenceDestroy of preference;
}

/// NVIDIA's `cublasLtGetVersion`.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtGetVersion() -> usize {
    let version = env::var("LIBCUBLASLT_DOUBLE_VERSION").ok();
    version
        .and_then(|version| version.parse().ok())
        .unwrap_or(130_200)
}

/// NVIDIA's `cublasLtGetStatusName`.
#[unsafe(no_mangle)]
pub extern "C" fn cublasLtGetStatusName(code: c_int) -> *const c_char {
    let name = match code {
        0 => c"CUBLAS_STATUS_SUCCESS",
        status::NOT_INITIALIZED => c"CUBLAS_STATUS_NOT_INITIALIZED",
        status::INVALID_VALUE => c"CUBLAS_STATUS_INVALID_VALUE",
        status::EXECUTION_FAILED => c"CUBLAS_STATUS_EXECUTION_FAILED",
        14 => c"CUBLAS_STATUS_INTERNAL_ERROR",
        status::NOT_SUPPORTED => c"CUBLAS_STATUS_NOT_SUPPORTED",
        _ => return ptr::null(),
    };
    name.as_ptr()
}
