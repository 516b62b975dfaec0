//! matmul: floats by cuBLASLt where it is found, everything else by `matmul.cu`.
//!
//! Both add floats of 16 bits up in f32, and round once. Of f32 the library's sums are in f32, as
//! on the CPU, and those of the kernel in f64. Vectors, batches and results of other dtypes have
//! no kernel here.

mod by_library;
mod matrix;
mod tiles;

use crate::cuda::blas::{Blas, Numbers};
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::device::DeviceKind;
use crate::dtype::{DType, Element};
use crate::kernel::{Failure, Kernel, KernelContext, Operand, Ranked, Untyped, UntypedMut};
use by_library::ByLibrary;
use half::{bf16, f16};
use matrix::Matrix;
use tiles::Tiles;

register_kernel!(
    for T in [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] => matmul(T::DTYPE)
);

fn matmul(dtype: DType) -> Kernel {
    let kernel = Kernel::new("matmul")
        .on(DeviceKind::Cuda)
        .types("T", &[dtype])
        .attribute("dtype", [None, Some(dtype)]);
    kernel.factory(move |context: &KernelContext<'_>| -> Result<_, Failure> {
        let products = Products::new(Gpu::from_device(context.device())?, dtype)?;
        Ok(
            move |a: Ranked<Untyped<'_>, 2>,
                  b: Ranked<Untyped<'_>, 2>,
                  out: Ranked<UntypedMut<'_>, 2>| {
                products.launch(&a.0, &b.0, &out.0)
            },
        )
    })
}

/// Matrix multiplication for one element type.
struct Products {
    /// What is found when the first product is made is used for all, so that their roundings are
    /// the same.
    by_library: Option<ByLibrary>,
    tiles: Tiles,
}

impl Products {
    fn new(gpu: Gpu, dtype: DType) -> Result<Self, CudaError> {
        let by_library = match Numbers::of(dtype) {
            Some(numbers) => Blas::of(gpu)?.map(|blas| ByLibrary::new(gpu, blas, numbers)),
            None => None,
        };
        Ok(Self {
            by_library,
            tiles: Tiles::new(gpu, dtype),
        })
    }

    fn launch(&self, a: &Operand<'_>, b: &Operand<'_>, out: &Operand<'_>) -> Result<(), CudaError> {
        if out.layout().is_empty() {
            return Ok(());
        }
        let has_products = !a.layout().is_empty();
        // SAFETY: the frame checked shapes and types, and settled the order in which the memory is
        // used; elements alone are touched.
        unsafe {
            if let Some(by_library) = self.by_library.as_ref().filter(|_| has_products)
                && by_library.launch(a, b, out)?
            {
                return Ok(());
            }
            let [a, b, out] = [a, b, out].map(Matrix::of);
            self.tiles.launch(a, b, out)
        }
    }
}
