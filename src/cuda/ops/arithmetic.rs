//! add, sub, mul, div: `elementwise.cu`.

use super::compiled_modules::{Unit, file};
use super::map::{Kernels, Place};
use super::strided::Strided;
use super::type_names::{bytes_of, name_of};
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::module::argument::Argument;
use crate::device::DeviceKind;
use crate::dtype::{DType, Element};
use crate::kernel::{DeviceSource, DeviceTarget, Failure, Kernel, KernelContext};
use half::{bf16, f16};

register_kernel!(
    for T in [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] =>
    binary("add", "Add", T::DTYPE)
);
register_kernel!(
    for T in [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] =>
    binary("sub", "Sub", T::DTYPE)
);
register_kernel!(
    for T in [f32, f64, f16, bf16, i8, i16, i32, i64, u8, u16, u32, u64] =>
    binary("mul", "Mul", T::DTYPE)
);
register_kernel!(for T in [f32, f64, f16, bf16] => binary("div", "Div", T::DTYPE));

fn binary(op: &'static str, operation: &'static str, dtype: DType) -> Kernel {
    let kernel = Kernel::new(op).on(DeviceKind::Cuda).types("T", &[dtype]);
    kernel.factory(move |context: &KernelContext<'_>| -> Result<_, Failure> {
        let gpu = Gpu::from_device(context.device())?;
        let name = format!("{op}_{}", name_of(dtype));
        let macros = [("TYPE", name_of(dtype)), ("OPERATION", operation)];
        let unit = Unit::new(gpu, &file!("elementwise.cu"), name, &macros)?;
        let kernels = Kernels::of(&unit, bytes_of(dtype))?;
        Ok(
            move |a: DeviceSource<'_>, b: DeviceSource<'_>, out: DeviceTarget<'_>| {
                let layout = Strided::of([&out, &a, &b])?;
                let given = [&a, &b].map(|operand| Argument::from(operand.data_ptr()));
                let out_at = Argument::from(out.data_ptr());
                // SAFETY: the frame checked shapes and types, and settled the order in which the
                // memory is used; the kernel touches the elements alone.
                unsafe {
                    kernels.launch(
                        gpu,
                        [&*out, &*a, &*b].map(Place::of),
                        layout,
                        |layout, count| [given[0], given[1], out_at, layout, count],
                    )
                }
            },
        )
    })
}
