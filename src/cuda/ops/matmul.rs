//! matmul: `matmul.cu`.

mod matrix;
mod tiles;

use crate::cuda::error::CudaError;
use crate::cuda::gpu::Gpu;
use crate::device::DeviceKind;
use crate::dtype::{DType, Element};
use crate::kernel::{Construction, Failure, Kernel, Operand, Untyped, UntypedMut};
use half::{bf16, f16};
use matrix::Matrix;
use tiles::Tiles;

register_kernel!(
    for T in [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] => matmul(T::DTYPE)
);

fn matmul(dtype: DType) -> Kernel {
    let kernel = Kernel::of("matmul")
        .on(DeviceKind::Cuda)
        .types("T", &[dtype]);
    kernel.factory(move |context: &Construction<'_>| -> Result<_, Failure> {
        let products = Products::new(Gpu::of(context.device())?, dtype);
        Ok(
            move |a: Untyped<'_>, b: Untyped<'_>, out: UntypedMut<'_>| {
                products.launch(&a, &b, &out)
            },
        )
    })
}

/// What makes products of matrices of an element type.
struct Products {
    tiles: Tiles,
}

impl Products {
    fn new(gpu: Gpu, dtype: DType) -> Self {
        Self {
            tiles: Tiles::new(gpu, dtype),
        }
    }

    fn launch(&self, a: &Operand<'_>, b: &Operand<'_>, out: &Operand<'_>) -> Result<(), CudaError> {
        if out.layout().is_empty() {
            return Ok(());
        }
        let [a, b, out] = [a, b, out].map(Matrix::of);
        // SAFETY: the frame checked shapes and types, and settled the order in which the memory is used; the kernel
        // touches the elements alone.
        unsafe { self.tiles.launch(a, b, out) }
    }
}
