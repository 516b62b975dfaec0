//! [`Plan`]: the algorithm and descriptors of a matrix product.

use super::descriptors::Descriptor;
use super::functions::{Lt, call};
use super::header::{self, Algorithm, Handle, Proposal};
use super::problem::{Numbers, Problem};
use crate::cuda::driver::error::CudaError;
use crate::cuda::stream::Stream;
use std::ffi::c_void;

/// An algorithm for a problem.
pub(super) struct Plan {
    numbers: Numbers,
    operation: Descriptor,
    a: Descriptor,
    b: Descriptor,
    out: Descriptor,
    algorithm: Algorithm,
    /// How many bytes it needs beside the matrices.
    pub(super) workspace: usize,
}

impl Plan {
    /// Returns the fastest algorithm, by what cuBLASLt knows, with a workspace of at most that many
    /// bytes. `None` if there is none.
    pub(super) fn ask(
        lt: &'static Lt,
        handle: Handle,
        problem: &Problem,
        most_workspace: u64,
    ) -> Result<Option<Self>, CudaError> {
        let Problem {
            rows,
            columns,
            inner,
            ..
        } = *problem;
        let mut operation = Descriptor::of_operation(lt, problem)?;
        let transposes = [
            (header::TRANSPOSE_A, problem.a),
            (header::TRANSPOSE_B, problem.b),
        ];
        for (attribute, stored) in transposes {
            if stored.is_transposed {
                operation.set(attribute, header::TRANSPOSED)?;
            }
        }
        let a = Descriptor::of_matrix(lt, problem, [rows, inner], problem.a)?;
        let b = Descriptor::of_matrix(lt, problem, [inner, columns], problem.b)?;
        let out = Descriptor::of_matrix(lt, problem, [rows, columns], problem.out)?;

        let mut wanted = Descriptor::of_preference(lt)?;
        wanted.set(header::MOST_WORKSPACE, most_workspace)?;
        // Sums of parts aren't rounded to the type of the result.
        wanted.set(header::REDUCTION_SCHEMES, header::IN_COMPUTE_TYPE)?;
        let alignments = [problem.a, problem.b, problem.out, problem.out];
        for (attribute, stored) in header::ALIGNMENTS.into_iter().zip(alignments) {
            wanted.set(attribute, stored.alignment)?;
        }

        let (mut proposal, mut count) = (Proposal::default(), 0);
        // SAFETY: all of these are there; it writes one proposal at most, and how many.
        let code = unsafe {
            (lt.functions().cublasLtMatmulAlgoGetHeuristic)(
                handle,
                operation.raw(),
                a.raw(),
                b.raw(),
                out.raw(),
                out.raw(),
                wanted.raw(),
                1,
                &mut proposal,
                &mut count,
            )
        };
        // Some versions call a product invalid that is only too large for them, or lies as they
        // have no algorithm for.
        if ![header::NOT_SUPPORTED, header::INVALID_VALUE].contains(&code) {
            lt.checked("cublasLtMatmulAlgoGetHeuristic", code)?;
        }
        let is_good = code == 0 && count > 0 && proposal.state == 0;
        Ok(is_good.then_some(Self {
            numbers: problem.numbers,
            operation,
            a,
            b,
            out,
            algorithm: proposal.algorithm,
            workspace: proposal.workspace,
        }))
    }

    /// Has a stream multiply matrices at these addresses.
    ///
    /// # Safety
    ///
    /// They are matrices as the problem said, there until the work was done, of which `out` is no
    /// other code's to use; the workspace is as large as it must be, and no other code's either.
    /// The stream is one of the handle's GPU.
    pub(super) unsafe fn run(
        &self,
        lt: &Lt,
        handle: Handle,
        stream: &Stream,
        [a, b, out]: [*const u8; 3],
        workspace: *mut c_void,
    ) -> Result<(), CudaError> {
        static IN_F32: [f32; 2] = [1.0, 0.0];
        static IN_F64: [f64; 2] = [1.0, 0.0];
        let [one, zero] = match self.numbers {
            Numbers::F64 => IN_F64.each_ref().map(|factor| (&raw const *factor).cast()),
            _ => IN_F32.each_ref().map(|factor| (&raw const *factor).cast()),
        };
        // SAFETY: the descriptors are there; the factors are of the type that the operation says;
        // the rest is the contract of this function. Where a factor is 0, nothing is read of C.
        unsafe {
            call!(
                lt,
                cublasLtMatmul(
                    handle,
                    self.operation.raw(),
                    one,
                    a.cast(),
                    self.a.raw(),
                    b.cast(),
                    self.b.raw(),
                    zero,
                    out.cast(),
                    self.out.raw(),
                    out.cast_mut().cast(),
                    self.out.raw(),
                    &self.algorithm,
                    workspace,
                    self.workspace,
                    stream.raw()?.cast()
                )
            )
        }
    }
}
