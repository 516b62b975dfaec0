//! NVIDIA's own library: descriptors can be made without a GPU.

use crate::header::{self, Lent, Raw};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Debug;
use std::path::Path;
use std::ptr;

/// The library.
pub(crate) struct Blas(Library);

type Create1 = unsafe extern "C" fn(*mut Raw) -> c_int;
type Create3 = unsafe extern "C" fn(*mut Raw, c_int, c_int) -> c_int;
type Create5 = unsafe extern "C" fn(*mut Raw, c_int, u64, u64, i64) -> c_int;
type Set = unsafe extern "C" fn(Raw, c_int, Lent, usize) -> c_int;
type Get = unsafe extern "C" fn(Raw, c_int, *mut c_void, usize, *mut usize) -> c_int;
type Destroy = unsafe extern "C" fn(Raw) -> c_int;
type Check = fn(&Blas);

pub(crate) const CHECKS: &[(&str, Check)] = &[
    ("is_new_enough_and_names_its_answers", is_new_enough),
    ("operations_are_as_they_were_described", operations),
    ("layouts_are_as_they_were_described", layouts),
    ("preferences_are_as_they_were_described", preferences),
    ("without_a_gpu_there_is_no_handle", handle),
];

/// `CUBLAS_STATUS_INVALID_VALUE`
const INVALID: c_int = 7;

impl Blas {
    pub(crate) fn load(path: &Path) -> Self {
        // SAFETY: NVIDIA's library, whose beginning asks for nothing.
        Self(unsafe { Library::new(path) }.unwrap())
    }

    /// One of its functions.
    fn function<F: Copy>(&self, name: &str) -> F {
        // SAFETY: the callers name a type that the header gives.
        unsafe { *self.0.get::<F>(name.as_bytes()).unwrap() }
    }

    /// Sets an attribute, and reads it back.
    fn set<T: Copy + Default + PartialEq + Debug>(
        &self,
        kind: &str,
        raw: Raw,
        attribute: c_int,
        value: T,
    ) {
        let set: Set = self.function(&format!("{kind}SetAttribute"));
        let at = (&raw const value).cast();
        // SAFETY: the object is there, and a value of the size that it is told.
        let answer = unsafe { set(raw, attribute, at, size_of::<T>()) };
        assert_eq!(answer, 0, "attribute {attribute}");
        assert_eq!(self.get::<T>(kind, raw, attribute), value);
        // SAFETY: the object is valid, and the value is longer than the size that is passed.
        let answer = unsafe { set(raw, attribute, at, size_of::<T>() - 1) };
        assert_eq!(answer, INVALID, "attribute {attribute} of another size");
    }

    fn get<T: Copy + Default>(&self, kind: &str, raw: Raw, attribute: c_int) -> T {
        let get: Get = self.function(&format!("{kind}GetAttribute"));
        let (mut found, mut written) = (T::default(), 0);
        let at = (&raw mut found).cast();
        // SAFETY: the object is there, and room of the size that it is told.
        let answer = unsafe { get(raw, attribute, at, size_of::<T>(), &mut written) };
        assert_eq!((answer, written), (0, size_of::<T>()), "of {attribute}");
        found
    }

    fn destroy(&self, kind: &str, raw: Raw) {
        let destroy: Destroy = self.function(&format!("{kind}Destroy"));
        // SAFETY: it was made, and this is its end.
        assert_eq!(unsafe { destroy(raw) }, 0);
    }
}

fn is_new_enough(blas: &Blas) {
    let version: extern "C" fn() -> usize = blas.function("cublasLtGetVersion");
    let version = version();
    assert!((120_000..200_000).contains(&version), "{version}");
    let name: extern "C" fn(c_int) -> *const c_char = blas.function("cublasLtGetStatusName");
    // SAFETY: a string of C, which stays.
    let name = |code| unsafe { CStr::from_ptr(name(code)) }.to_str().unwrap();
    assert_eq!(name(header::NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
    assert_eq!(name(INVALID), "CUBLAS_STATUS_INVALID_VALUE");
}

fn operations(blas: &Blas) {
    let kind = "cublasLtMatmulDesc";
    for (compute, scale) in [(header::IN_F32, header::F32), (header::IN_F64, header::F64)] {
        let create: Create3 = blas.function("cublasLtMatmulDescCreate");
        let mut raw = ptr::null_mut();
        // SAFETY: it writes a handle.
        assert_eq!(unsafe { create(&mut raw, compute, scale) }, 0);
        // CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, CUBLASLT_MATMUL_DESC_SCALE_TYPE
        let found = [0, 1].map(|attribute| blas.get::<c_int>(kind, raw, attribute));
        assert_eq!(found, [compute, scale]);
        for attribute in [header::TRANSPOSE_A, header::TRANSPOSE_B] {
            assert_eq!(blas.get::<c_int>(kind, raw, attribute), 0, "not transposed");
            blas.set(kind, raw, attribute, header::TRANSPOSED);
        }
        blas.destroy(kind, raw);
    }
}

fn layouts(blas: &Blas) {
    let kind = "cublasLtMatrixLayout";
    for dtype in [header::F16, header::BF16, header::F32, header::F64] {
        let create: Create5 = blas.function("cublasLtMatrixLayoutCreate");
        let mut raw = ptr::null_mut();
        // SAFETY: it writes a handle.
        assert_eq!(unsafe { create(&mut raw, dtype, 3, 5, 7) }, 0);
        // CUBLASLT_MATRIX_LAYOUT_TYPE, and ORDER, which is that of columns
        let found = [0, 1].map(|attribute| blas.get::<c_int>(kind, raw, attribute));
        assert_eq!(found, [dtype, 0]);
        // CUBLASLT_MATRIX_LAYOUT_ROWS, COLS and LD
        let found = [2, 3, 4].map(|attribute| blas.get::<u64>(kind, raw, attribute));
        assert_eq!(found, [3, 5, 7]);
        blas.destroy(kind, raw);
    }
}

fn preferences(blas: &Blas) {
    let kind = "cublasLtMatmulPreference";
    let create: Create1 = blas.function("cublasLtMatmulPreferenceCreate");
    let mut raw = ptr::null_mut();
    // SAFETY: it writes a handle.
    assert_eq!(unsafe { create(&mut raw) }, 0);
    assert_eq!(blas.get::<u64>(kind, raw, header::MOST_WORKSPACE), 0);
    blas.set(kind, raw, header::MOST_WORKSPACE, 32_u64 << 20);
    let schemes = header::REDUCTION_SCHEMES;
    assert_eq!(blas.get::<u32>(kind, raw, schemes), 7, "all of them");
    blas.set(kind, raw, schemes, header::IN_COMPUTE_TYPE);
    for (attribute, alignment) in header::ALIGNMENTS.into_iter().zip([2_u32, 16, 64, 128]) {
        assert_eq!(blas.get::<u32>(kind, raw, attribute), 256);
        blas.set(kind, raw, attribute, alignment);
    }
    blas.destroy(kind, raw);
}

/// Where there is a GPU there is one, of course.
fn handle(blas: &Blas) {
    let create: Create1 = blas.function("cublasLtCreate");
    let mut raw = ptr::null_mut();
    // SAFETY: it writes a handle, if it can.
    match unsafe { create(&mut raw) } {
        0 => blas.destroy("cublasLt", raw),
        answer => assert!(raw.is_null(), "{answer}"),
    }
}
