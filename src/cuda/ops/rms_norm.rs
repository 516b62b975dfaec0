//! rms_norm: `rms_norm.cu`.

use super::compiled_modules::{Unit, file};
use super::groups::Groups;
use super::rows::{Held, Lines, MOST};
use super::stream_of;
use super::type_names::{bytes_of, name_of};
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::module::argument::Argument;
use crate::cuda::module::function::Function;
use crate::device::DeviceKind;
use crate::dtype::{DType, Element};
use crate::kernel::{DeviceSource, DeviceTarget, Failure, Kernel, KernelContext, Operand, Untyped};
use half::{bf16, f16};

register_kernel!(for T in [f32, f64, f16, bf16] => rms_norm(T::DTYPE));

fn rms_norm(dtype: DType) -> Kernel {
    let kernel = Kernel::new("rms_norm")
        .on(DeviceKind::Cuda)
        .types("T", &[dtype]);
    kernel.factory(move |context: &KernelContext<'_>| -> Result<_, Failure> {
        let gpu = Gpu::from_device(context.device())?;
        let norm = Norm {
            gpu,
            eps: context.attribute("eps")?,
            single: Kernels::new(gpu, dtype, 1)?,
            packed: Kernels::new(gpu, dtype, 16 / bytes_of(dtype))?,
        };
        Ok(
            move |x: DeviceSource<'_>, weight: Untyped<'_>, out: DeviceTarget<'_>| {
                norm.launch(&x, &weight, &out)
            },
        )
    })
}

struct Norm {
    gpu: Gpu,
    eps: f64,
    single: Kernels,
    packed: Kernels,
}

/// The kernels, by how many elements they load at once.
struct Kernels {
    pack: usize,
    held: Held,
    looped: Function,
}

impl Kernels {
    fn new(gpu: Gpu, dtype: DType, pack: usize) -> Result<Self, CudaError> {
        let macros = [("TYPE", name_of(dtype)), ("PACK", &*pack.to_string())];
        let name = format!("rms_norm_{}x{pack}", name_of(dtype));
        let unit = Unit::new(gpu, &file!("rms_norm.cu"), name, &macros)?;
        Ok(Self {
            pack,
            held: Held::of(&unit)?,
            looped: unit.function("looped")?,
        })
    }
}

impl Norm {
    fn launch(
        &self,
        x: &Operand<'_>,
        weight: &Operand<'_>,
        out: &Operand<'_>,
    ) -> Result<(), Failure> {
        let last = x.shape().len() - 1;
        let lines = Lines::of(x, out, last)?;
        if lines.rows == 0 || lines.length == 0 {
            return Ok(());
        }
        if lines.rows > u32::MAX as usize / 2 {
            return Err("there are more lines than the kernels count".into());
        }
        let weight_stride = weight.layout().strides()[0] as i64;
        let pack = self.packed.pack;
        let is_packed = weight_stride == 1 && lines.are_packed(&[x, weight, out], pack);
        let kernels = if is_packed {
            &self.packed
        } else {
            &self.single
        };
        let (function, groups) = match kernels.held.choose(lines.length, kernels.pack) {
            Some(held) => held,
            None => (&kernels.looped, Groups::alone(MOST)),
        };
        let arguments = [
            Argument::from(x.data_ptr()),
            Argument::from(weight.data_ptr()),
            Argument::from(out.data_ptr()),
            Argument::from_ref(&lines.kept),
            Argument::from(lines.rows as u32),
            Argument::from(lines.length as u64),
            Argument::from(lines.x_stride),
            Argument::from(weight_stride),
            Argument::from(lines.out_stride),
            Argument::from(self.eps),
        ];
        let launch = groups.launch(lines.rows);
        // SAFETY: the frame checked shapes and types, and settled the order in which the memory is
        // used; the kernels touch the elements alone.
        Ok(unsafe { function.launch(&stream_of(self.gpu), launch, &arguments) }?)
    }
}
