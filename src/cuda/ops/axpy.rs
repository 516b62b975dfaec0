//! axpy: `axpy.cu`.

use super::compiled_modules::{Unit, file};
use super::map::{Kernels, Place};
use super::strided::Strided;
use super::type_names::{bytes_of, name_of};
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::module::argument::Argument;
use crate::device::DeviceKind;
use crate::dtype::Element;
use crate::kernel::{Failure, Kernel, KernelContext, Parameter, Untyped, UntypedMut};
use half::{bf16, f16};

register_kernel!(
    for T in [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] => axpy::<T>()
);

fn axpy<T>() -> Kernel
where
    T: Element + for<'a> Parameter<Item<'a> = T>,
{
    let dtype = T::DTYPE;
    let kernel = Kernel::new("axpy")
        .on(DeviceKind::Cuda)
        .host_memory("alpha")
        .types("T", &[dtype]);
    kernel.factory(move |context: &KernelContext<'_>| -> Result<_, Failure> {
        let gpu = Gpu::from_device(context.device())?;
        let name = format!("axpy_{}", name_of(dtype));
        let unit = Unit::new(gpu, &file!("axpy.cu"), name, &[("TYPE", name_of(dtype))])?;
        let kernels = Kernels::of(&unit, bytes_of(dtype))?;
        Ok(move |alpha: T, x: Untyped<'_>, y: UntypedMut<'_>| {
            let layout = Strided::of([&y, &x])?;
            let alpha = Argument::from(alpha);
            let [x_at, y_at] = [x.data_ptr(), y.data_ptr()].map(Argument::from);
            // SAFETY: the frame checked shapes and types, and settled the order in which the memory
            // is used; the kernel touches the elements alone.
            unsafe {
                kernels.launch(gpu, [&*y, &*x].map(Place::of), layout, |layout, count| {
                    [alpha, x_at, y_at, layout, count]
                })
            }
        })
    })
}
