//! cast: `cast.cu`, and `copy.cu` from a type to itself.

use super::compiled_modules::{Unit, file};
use super::map::{Kernels, Place};
use super::strided::Strided;
use super::type_names::{bytes_of, name_of};
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::module::argument::Argument;
use crate::device::DeviceKind;
use crate::dtype::{DType, Element};
use crate::kernel::{Failure, Kernel, KernelContext, Untyped, UntypedMut};
use half::{bf16, f16};

/// The types from each of which to each of which there is a kernel.
macro_rules! kernels_between {
    ($($ty:ty),*) => {
        register_kernel!(for S in [$($ty),*] => cast(S::DTYPE, &[$(<$ty>::DTYPE),*]));
    };
}

kernels_between!(
    bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64
);

fn cast(from: DType, to: &[DType]) -> Kernel {
    let kernel = Kernel::new("cast")
        .on(DeviceKind::Cuda)
        .types("S", &[from])
        .attribute("dtype", to.iter().copied());
    kernel.factory(move |context: &KernelContext<'_>| -> Result<_, Failure> {
        let gpu = Gpu::from_device(context.device())?;
        let kernels = between(gpu, from, context.attribute("dtype")?)?;
        Ok(move |x: Untyped<'_>, out: UntypedMut<'_>| {
            let layout = Strided::of([&out, &x])?;
            let [x_at, out_at] = [x.data_ptr(), out.data_ptr()].map(Argument::from);
            // SAFETY: the frame checked shapes and types, and settled the order in which the memory
            // is used; the kernel touches the elements alone.
            unsafe {
                kernels.launch(gpu, [&*out, &*x].map(Place::of), layout, |layout, count| {
                    [x_at, out_at, layout, count]
                })
            }
        })
    })
}

fn between(gpu: Gpu, from: DType, to: DType) -> Result<Kernels, CudaError> {
    let bytes = bytes_of(from).max(bytes_of(to));
    if from == to {
        return Kernels::of(&super::copy::unit(gpu, bytes)?, bytes);
    }
    let name = format!("cast_{}_{}", name_of(from), name_of(to));
    let macros = [("SOURCE", name_of(from)), ("RESULT", name_of(to))];
    let unit = Unit::new(gpu, &file!("cast.cu"), name, &macros)?;
    Kernels::without_rows(&unit, bytes)
}
