//! [`Descriptor`]: an owned cuBLASLt descriptor of an operation, a matrix or a preference.

use super::functions::{Lt, call};
use super::header::Raw;
use super::problem::{Problem, Stored};
use crate::cuda::driver::error::CudaError;
use std::ffi::{c_int, c_void};
use std::ptr;

/// One of cuBLASLt's objects.
pub(super) struct Descriptor {
    lt: &'static Lt,
    kind: Kind,
    raw: Raw,
}

#[derive(Clone, Copy)]
enum Kind {
    Operation,
    Layout,
    Preference,
}

// SAFETY: it belongs to no thread, and is only read once it was made.
unsafe impl Send for Descriptor {}
// SAFETY: cuBLASLt only reads a descriptor that is in use, and it is changed through `&mut` alone.
unsafe impl Sync for Descriptor {}

impl Descriptor {
    /// Creates the descriptor of a product, with a problem's compute types.
    pub(super) fn of_operation(lt: &'static Lt, problem: &Problem) -> Result<Self, CudaError> {
        let (compute, scale) = problem.numbers.calculated_in();
        let mut raw = ptr::null_mut();
        // SAFETY: it writes a handle.
        unsafe { call!(lt, cublasLtMatmulDescCreate(&mut raw, compute, scale)) }?;
        Ok(Self {
            lt,
            kind: Kind::Operation,
            raw,
        })
    }

    /// Creates the descriptor of a matrix with these rows and columns, as stored.
    pub(super) fn of_matrix(
        lt: &'static Lt,
        problem: &Problem,
        [rows, columns]: [u64; 2],
        stored: Stored,
    ) -> Result<Self, CudaError> {
        let [rows, columns] = match stored.is_transposed {
            true => [columns, rows],
            false => [rows, columns],
        };
        let (dtype, leading) = (problem.numbers.code(), stored.leading);
        let mut raw = ptr::null_mut();
        // SAFETY: it writes a handle.
        unsafe {
            call!(
                lt,
                cublasLtMatrixLayoutCreate(&mut raw, dtype, rows, columns, leading)
            )
        }?;
        Ok(Self {
            lt,
            kind: Kind::Layout,
            raw,
        })
    }

    /// Creates the descriptor of the preferences for algorithms.
    pub(super) fn of_preference(lt: &'static Lt) -> Result<Self, CudaError> {
        let mut raw = ptr::null_mut();
        // SAFETY: it writes a handle.
        unsafe { call!(lt, cublasLtMatmulPreferenceCreate(&mut raw)) }?;
        Ok(Self {
            lt,
            kind: Kind::Preference,
            raw,
        })
    }

    /// Sets an attribute, to a number of the size that it has.
    pub(super) fn set<T: Copy>(&mut self, attribute: c_int, value: T) -> Result<(), CudaError> {
        let (at, bytes) = ((&raw const value).cast::<c_void>(), size_of::<T>());
        let raw = self.raw;
        // SAFETY: the object is there, and the value, which it copies, of the size that it is told.
        unsafe {
            match self.kind {
                Kind::Operation => call!(
                    self.lt,
                    cublasLtMatmulDescSetAttribute(raw, attribute, at, bytes)
                ),
                Kind::Preference => call!(
                    self.lt,
                    cublasLtMatmulPreferenceSetAttribute(raw, attribute, at, bytes)
                ),
                Kind::Layout => unreachable!("all of a layout is said when it is made"),
            }
        }
    }

    pub(super) fn raw(&self) -> Raw {
        self.raw
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        let functions = self.lt.functions();
        let destroy = match self.kind {
            Kind::Operation => functions.cublasLtMatmulDescDestroy,
            Kind::Layout => functions.cublasLtMatrixLayoutDestroy,
            Kind::Preference => functions.cublasLtMatmulPreferenceDestroy,
        };
        // SAFETY: it was made, and this is its end. A failure can't be reported from here.
        let _ = unsafe { destroy(self.raw) };
    }
}
