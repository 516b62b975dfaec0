//! image_to_tensor: `image.cu`.

use super::compiled_modules::{Unit, file};
use super::strided::Strided;
use super::type_names::{bytes_of, name_of};
use super::{THREADS, blocks, stream_of};
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::module::argument::Argument;
use crate::cuda::module::function::Function;
use crate::cuda::module::launch::Launch;
use crate::device::DeviceKind;
use crate::dtype::{DType, Element};
use crate::error::{Incompatibility, IncompatibilityKind};
use crate::kernel::{ArgumentError, Failure, Kernel, KernelContext, Operand, Untyped, UntypedMut};
use half::{bf16, f16};
use std::sync::OnceLock;

register_kernel!(for T in [f32, f16, bf16] => image_to_tensor(T::DTYPE));

fn image_to_tensor(dtype: DType) -> Kernel {
    let kernel = Kernel::new("image_to_tensor")
        .on(DeviceKind::Cuda)
        .attribute("dtype", [dtype]);
    kernel.factory(move |context: &KernelContext<'_>| -> Result<_, Failure> {
        check_attributes(context)?;
        let gpu = Gpu::from_device(context.device())?;
        let scale: f64 = context.attribute("scale")?;
        let unit = unit(gpu, dtype, 1)?;
        let images = Images {
            gpu,
            dtype,
            scale: scale as f32,
            pixels: unit.function("pixels")?,
            resized: unit.function("resized")?,
            planes: Default::default(),
        };
        Ok(
            move |image: Untyped<'_>, mean: Untyped<'_>, std: Untyped<'_>, out: UntypedMut<'_>| {
                images.launch(&image, &mean, &std, &out)
            },
        )
    })
}

/// Rejects what the kernels don't do.
fn check_attributes(context: &KernelContext<'_>) -> Result<(), Failure> {
    if context.attribute::<Option<Vec<i64>>>("crop")?.is_some() {
        return Err("crop isn't supported on cuda; slice the image, which is zero-copy".into());
    }
    if context.attribute("flip")? {
        return Err("flip isn't supported on cuda; reverse the columns of the result".into());
    }
    let resize: String = context.attribute("resize")?;
    if resize != "bilinear" {
        return Err(format!(
            "resize={resize:?} isn't supported on cuda; use \"bilinear\", or a tensor on the CPU"
        )
        .into());
    }
    Ok(())
}

fn unit(gpu: Gpu, dtype: DType, channels: usize) -> Result<Unit, CudaError> {
    let macros = [
        ("RESULT", name_of(dtype)),
        ("CHANNELS", &*channels.to_string()),
    ];
    let name = format!("image_{}x{channels}", name_of(dtype));
    Unit::new(gpu, &file!("image.cu"), name, &macros)
}

struct Images {
    gpu: Gpu,
    dtype: DType,
    scale: f32,
    pixels: Function,
    resized: Function,
    /// For images of that many channels, once there was one.
    planes: [OnceLock<Function>; MOST_CHANNELS + 1],
}

/// The most channels for which there is a kernel of its own.
const MOST_CHANNELS: usize = 4;

impl Images {
    fn launch(
        &self,
        image: &Operand<'_>,
        mean: &Operand<'_>,
        std: &Operand<'_>,
        out: &Operand<'_>,
    ) -> Result<(), Failure> {
        for (name, operand) in [("mean", mean), ("std", std)] {
            if !operand.layout().is_contiguous() {
                let strides = format!("strides {:?}", operand.layout().strides());
                let error =
                    Incompatibility::new(IncompatibilityKind::Layout, strides, "contiguous")
                        .with_reason(format!("{name} doesn't lie side by side"))
                        .with_remedy("copy it first");
                return Err(ArgumentError::new(name, error).into());
            }
        }
        if out.layout().is_empty() {
            return Ok(());
        }
        let rank = image.shape().len();
        let of_image = &image.shape()[rank - 3..];
        let of_out = &out.shape()[rank - 3..];
        let is_resized = of_image[..2] != of_out[1..];
        let [x, y] = [image, out].map(|operand| operand.layout().strides());
        // Along width, height, and what is before them: of out, and of the images.
        let mut dims = vec![
            (of_out[2], [y[rank - 1], x[rank - 2]]),
            (of_out[1], [y[rank - 2], x[rank - 3]]),
        ];
        dims.extend(
            (0..rank - 3)
                .rev()
                .map(|axis| (image.shape()[axis], [y[axis], x[axis]])),
        );
        let dims = dims
            .iter()
            .map(|(size, strides)| (*size as i64, strides.map(|s| s as i64)));
        let dims: Vec<_> = dims.collect();

        let pointers = [image, mean, std, out].map(|operand| Argument::from(operand.data_ptr()));
        let strides = [x[rank - 1], y[rank - 3]].map(|stride| Argument::from(stride as i64));
        let scale = Argument::from(self.scale);
        let count = of_out[1]
            * of_out[2]
            * dims[2..]
                .iter()
                .map(|dim| dim.0 as usize)
                .product::<usize>();
        let pixels = match is_resized {
            // Two dimensions are what the kernel asks for, whatever they are.
            true => Strided::apart(&dims[..2], dims[2..].iter().copied())?,
            false => Strided::collect(dims.iter().copied())?,
        };
        let channels = of_image[2];
        if !is_resized && let Some(images) = self.planes_of(image, out, &dims, channels)? {
            return Ok(self.launch_planes(pointers, strides[1], scale, &images, channels)?);
        }
        let mut arguments = pointers.to_vec();
        arguments.extend([
            Argument::from_ref(&pixels),
            Argument::from(count as u64),
            Argument::from(channels as u32),
            strides[0],
            strides[1],
            scale,
        ]);
        let function = match is_resized {
            true => &self.resized,
            false => &self.pixels,
        };
        if is_resized {
            arguments.extend(
                of_image[..2]
                    .iter()
                    .map(|size| Argument::from(*size as u32)),
            );
        }
        let launch = Launch::new([blocks(count, THREADS), 1, 1], [THREADS as u32, 1, 1]);
        // SAFETY: the frame checked shapes and types, and settled the order in which the memory is
        // used; the kernels touch the elements alone.
        Ok(unsafe { function.launch(&stream_of(self.gpu), launch, &arguments) }?)
    }

    /// Returns the images as runs of bytes that become planes, where they are such and aligned.
    fn planes_of(
        &self,
        image: &Operand<'_>,
        out: &Operand<'_>,
        dims: &[(i64, [i64; 2])],
        channels: usize,
    ) -> Result<Option<Planes>, CudaError> {
        if ![1, 3, 4].contains(&channels) {
            return Ok(None);
        }
        let (width, height) = (dims[0], dims[1]);
        let bytes = bytes_of(self.dtype);
        let pack = 16 / bytes;
        let word = 1 << ((pack * channels) | 16).trailing_zeros();
        let images = Strided::collect(dims[2..].iter().copied())?;
        let rank = image.shape().len();
        let plane = out.layout().strides()[rank - 3] as i64;
        let pixels = width.0 * height.0;
        let is_multiple = |number: i64, of: usize| number % of as i64 == 0;
        let channel_stride = image.layout().strides()[rank - 1];
        let is_dense = (channel_stride == 1 || channels == 1)
            && (width.1 == [1, channels as i64] || width.0 == 1)
            && (height.1 == [width.0, width.0 * channels as i64] || height.0 == 1);
        let fits = is_dense
            && is_multiple(pixels, pack)
            && pixels < i64::from(u32::MAX)
            && images.count() < u32::MAX as usize
            && is_multiple(plane, pack)
            && images.strides[0]
                .iter()
                .all(|stride| is_multiple(*stride, pack))
            && images.strides[1]
                .iter()
                .all(|stride| is_multiple(*stride, word))
            && out.data_ptr().addr().is_multiple_of(16)
            && image.data_ptr().addr().is_multiple_of(word);
        Ok(fits.then_some(Planes {
            images,
            pixels: pixels as usize,
        }))
    }

    fn launch_planes(
        &self,
        pointers: [Argument<'_>; 4],
        plane: Argument<'_>,
        scale: Argument<'_>,
        planes: &Planes,
        channels: usize,
    ) -> Result<(), CudaError> {
        let function = match self.planes[channels].get() {
            Some(function) => function,
            None => {
                let function = unit(self.gpu, self.dtype, channels)?.function("planes")?;
                self.planes[channels].get_or_init(|| function)
            }
        };
        let count = planes.images.count();
        let [image, mean, std, out] = pointers;
        let arguments = [
            image,
            mean,
            std,
            out,
            Argument::from_ref(&planes.images),
            Argument::from(count as u32),
            Argument::from(planes.pixels as u32),
            plane,
            scale,
        ];
        let packs = count * planes.pixels / (16 / bytes_of(self.dtype));
        let launch = Launch::new([blocks(packs, THREADS), 1, 1], [THREADS as u32, 1, 1]);
        // SAFETY: the arguments have the types and order of `planes` in kernels/README.md, whose
        // alignment was checked, and the frame keeps the operands' memory in this stream's order.
        unsafe { function.launch(&stream_of(self.gpu), launch, &arguments) }
    }
}

/// Images whose pixels lie side by side.
struct Planes {
    images: Strided<2>,
    pixels: usize,
}
