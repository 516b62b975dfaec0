//! The tiled kernel of `matmul.cu`, for any strides.

use super::matrix::Matrix;
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::module::argument::Argument;
use crate::cuda::module::function::Function;
use crate::cuda::module::launch::Launch;
use crate::cuda::ops::compiled_modules::{Unit, file};
use crate::cuda::ops::type_names::name_of;
use crate::cuda::ops::{THREADS, blocks, stream_of};
use crate::dtype::DType;
use std::sync::OnceLock;

/// How many rows and columns of results a block makes.
const SIDE: usize = 64;

/// The kernel for an element type, compiled when it is first needed.
pub(super) struct Tiles {
    gpu: Gpu,
    dtype: DType,
    function: OnceLock<Function>,
}

impl Tiles {
    pub(super) fn new(gpu: Gpu, dtype: DType) -> Self {
        Self {
            gpu,
            dtype,
            function: OnceLock::new(),
        }
    }

    fn function(&self) -> Result<&Function, CudaError> {
        if let Some(function) = self.function.get() {
            return Ok(function);
        }
        let element = name_of(self.dtype);
        let name = format!("matmul_{element}");
        let unit = Unit::new(self.gpu, &file!("matmul.cu"), name, &[("TYPE", element)])?;
        let function = unit.function("tiles")?;
        Ok(self.function.get_or_init(|| function))
    }

    /// # Safety
    ///
    /// The matrices are of this element type and of sizes that can be multiplied, there on the GPU,
    /// and theirs to read and write who use the current stream.
    pub(super) unsafe fn launch(&self, a: Matrix, b: Matrix, out: Matrix) -> Result<(), CudaError> {
        // Threads that are neighbours write along rows: where those are columns, the transposed
        // product is computed.
        let (a, b, out) = match out.is_by_columns() {
            true => (b.transposed(), a.transposed(), out.transposed()),
            false => (a, b, out),
        };
        let [rows, columns] = out.sizes;
        let mut arguments = [Argument::from(0_u64); 12];
        let sizes = [rows, columns, a.sizes[1]].map(|size| Argument::from(size as u64));
        let strides = [a, b, out].map(|matrix| matrix.strides.map(Argument::from));
        arguments[..3].copy_from_slice(&[a.at, b.at, out.at].map(Argument::from));
        arguments[3..6].copy_from_slice(&sizes);
        arguments[6..].copy_from_slice(strides.as_flattened());
        let tiles = rows.div_ceil(SIDE) * columns.div_ceil(SIDE);
        let launch = Launch::new([blocks(tiles, 1), 1, 1], [THREADS as u32, 1, 1]);
        // SAFETY: the arguments have the types and order of `tiles` in kernels/README.md; this
        // function's contract covers the matrices' sizes and memory.
        unsafe {
            self.function()?
                .launch(&stream_of(self.gpu), launch, &arguments)
        }
    }
}
