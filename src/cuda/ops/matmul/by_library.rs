//! Matrix products by cuBLASLt, with copies of operands that have no unit stride.

use super::matrix::Matrix;
use crate::cuda::blas::{Blas, Numbers, Problem};
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::memory::array::empty;
use crate::cuda::ops::copy::Copies;
use crate::cuda::ops::stream_of;
use crate::cuda::stream::Stream;
use crate::kernel::Operand;
use crate::tensor::Tensor;

/// The library on a GPU, and what copies matrices that it doesn't take.
pub(super) struct ByLibrary {
    gpu: Gpu,
    blas: &'static Blas,
    numbers: Numbers,
    copies: Copies,
}

impl ByLibrary {
    pub(super) fn new(gpu: Gpu, blas: &'static Blas, numbers: Numbers) -> Self {
        Self {
            gpu,
            blas,
            numbers,
            copies: Copies::new(gpu),
        }
    }

    /// Multiplies `a` and `b` on the current stream; `false` where that can't be done in this way.
    ///
    /// # Safety
    ///
    /// The operands are matrices of these numbers and of sizes that can be multiplied, with
    /// elements and at least one product for each result. They are there on the GPU, whose context
    /// is current, and theirs to read and write who use the current stream.
    pub(super) unsafe fn launch(
        &self,
        a: &Operand<'_>,
        b: &Operand<'_>,
        out: &Operand<'_>,
    ) -> Result<bool, CudaError> {
        let stream = stream_of(self.gpu);
        let operands = [a, b, out];
        let mut matrices = operands.map(Matrix::of);
        if !matrices.iter().all(Matrix::is_counted) {
            return Ok(false);
        }
        let is_copied = matrices.map(|matrix| matrix.stored().is_none());
        // While a graph is captured nothing can be allocated.
        if is_copied.contains(&true) && stream.is_capturing()? {
            return Ok(false);
        }
        let mut copies = [None, None, None];
        for place in (0..3).filter(|place| is_copied[*place]) {
            let mut copy = match scratch(operands[place], &stream) {
                Err(CudaError::OutOfMemory { .. }) => return Ok(false),
                copy => copy?,
            };
            matrices[place] = Matrix::of(&Operand::read(&copy));
            if place < 2 {
                self.copies
                    .launch(operands[place], &Operand::write(&mut copy)?)?;
            }
            copies[place] = Some(copy);
        }
        // SAFETY: the frame ordered the operands' memory on this stream, by this function's
        // contract; copies were just allocated, and are released in that order.
        let is_done = unsafe { self.multiply(&stream, matrices) }?;
        if let (true, [_, _, Some(copy)]) = (is_done, &copies) {
            self.copies.launch(&Operand::read(copy), out)?;
        }
        Ok(is_done)
    }

    /// # Safety
    ///
    /// The matrices are on the stream's GPU, readable and (the last one) writable in the stream's
    /// order.
    unsafe fn multiply(
        &self,
        stream: &Stream,
        [a, b, out]: [Matrix; 3],
    ) -> Result<bool, CudaError> {
        let stored = [a, b, out].map(|matrix| matrix.stored());
        let [Some(stored_a), Some(stored_b), Some(stored_out)] = stored else {
            return Ok(false);
        };
        // Results lie by columns: where those are rows, the transposed product is computed.
        if stored_out.is_transposed {
            let transposed = [b.transposed(), a.transposed(), out.transposed()];
            // SAFETY: the same matrices, whose memory is valid by this function's contract. The
            // result is column-major now, so this recurses once.
            return unsafe { self.multiply(stream, transposed) };
        }
        let problem = Problem {
            numbers: self.numbers,
            rows: a.sizes[0] as u64,
            columns: b.sizes[1] as u64,
            inner: a.sizes[1] as u64,
            a: stored_a,
            b: stored_b,
            out: stored_out,
        };
        // SAFETY: the problem was derived from these matrices' sizes and strides; their memory is
        // valid by this function's contract.
        unsafe { self.blas.multiply(stream, &problem, [a.at, b.at, out.at]) }
    }
}

/// Returns room for a copy of a matrix, row by row.
fn scratch(like: &Operand<'_>, stream: &Stream) -> Result<Tensor, CudaError> {
    empty(like.shape(), like.dtype(), stream)
}
