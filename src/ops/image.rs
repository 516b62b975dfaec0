//! `image_to_tensor`: images cropped, resized, flipped, normalised and transposed for a network.

mod area;
mod bilinear;
mod images;
pub(super) mod nv12;
mod options;
mod resize;
mod whole;
mod writer;
mod yuv;

pub use options::{ImageOptions, Resize};
pub use yuv::YuvStandard;

use super::number::Float;
use crate::dtype::DType;
use crate::kernel::ArgumentError;
use crate::kernel::Attribute;
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
use crate::kernel::ElementType;
use crate::kernel::Failure;
use crate::kernel::GlobalOp;
use crate::kernel::IntoOperand;
use crate::kernel::Kernel;
use crate::kernel::KernelContext;
use crate::kernel::Op;
use crate::kernel::ShapeContext;
use crate::tensor::Tensor;
use crate::view::View;
use crate::view::ViewMut;
use half::{bf16, f16};
use images::{Crop, Images};
use options::SCALE;
use writer::Writer;

register_op!(
    Op::new("image_to_tensor")
        .doc(
            "Images of bytes, [..., height, width, channels], as floats, [..., channels, height, width]: the \
             rectangle crop=(top, left, height, width) if it is given, resized to a height or a width that is given, \
             mirrored if flip is true; out = (scale * value - mean) / std, with a mean and a deviation for each \
             channel. resize is \"bilinear\", between four pixels, or \"area\", the mean of the pixels that \
             a pixel of the result covers, wholly or in part."
        )
        .input("image", DType::U8)
        .input("mean", DType::F32)
        .input("std", DType::F32)
        .output("out", ElementType::Attribute("dtype".into()))
        .attribute("dtype", AttributeKind::DType, Some(DType::F32.into()))
        .attribute("height", AttributeKind::Int, Some(0.into()))
        .attribute("width", AttributeKind::Int, Some(0.into()))
        .attribute("scale", AttributeKind::Float, Some(SCALE.into()))
        .attribute("crop", AttributeKind::OptionalInts, Some(Attribute::OptionalInts(None)))
        .attribute("flip", AttributeKind::Bool, Some(false.into()))
        .attribute("resize", AttributeKind::Text, Some(Resize::Bilinear.name().into()))
        .shapes(|question| Ok(vec![shape(question)?]))
);
register_kernel!(
    for T in [f32, f16, bf16] =>
    Kernel::new("image_to_tensor")
        .fills_results()
        .releases_gil_from(1 << 14)
        .factory(|context: &KernelContext<'_>| {
        let settings = Settings {
            scale: context.attribute("scale")?,
            crop: context.attribute("crop")?,
            flips: context.attribute("flip")?,
            resize: Resize::from_name(&context.attribute::<String>("resize")?)?,
        };
        Ok(move |
            image: View<'_, u8>,
            mean: View<'_, f32>,
            std: View<'_, f32>,
            out: ViewMut<'_, T>,
        | kernel(&settings, image, [mean, std], out))
    })
);

/// Attributes of a call.
struct Settings {
    scale: f32,
    crop: Option<Vec<i64>>,
    flips: bool,
    resize: Resize,
}

impl Crop {
    /// Returns the rectangle of an image that is read.
    fn new(crop: Option<&[i64]>, [height, width]: [usize; 2]) -> Result<Self, Failure> {
        let Some(crop) = crop else {
            return Ok(Self {
                first: [0, 0],
                size: [height, width],
            });
        };
        let sizes: Result<Vec<usize>, _> = crop.iter().map(|size| usize::try_from(*size)).collect();
        let Ok([top, left, rows, columns]) = sizes.as_deref() else {
            let crop = Attribute::Ints(crop.to_vec());
            let wanted = "(top, left, height, width)";
            return Err(ArgumentError::value("crop", crop.to_string(), wanted).into());
        };
        let is_within = |begin: &usize, len: &usize, size| {
            begin.checked_add(*len).is_some_and(|end| end <= size)
        };
        if !is_within(top, rows, height) || !is_within(left, columns, width) {
            let crop = Attribute::Ints(crop.to_vec());
            let reason = format!(
                "crop={crop} is out of bounds for an image of height {height} and width {width}"
            );
            let wanted = format!("a rectangle within height {height} and width {width}");
            let error = ArgumentError::value("crop", crop.to_string(), &wanted);
            return Err(error.with_reason(reason).into());
        }
        Ok(Self {
            first: [*top, *left],
            size: [*rows, *columns],
        })
    }
}

/// Returns the shape of the result.
fn shape(question: &ShapeContext<'_>) -> Result<Vec<usize>, Failure> {
    let image = question.shape("image");
    let [batch @ .., height, width, channels] = image else {
        let error = ArgumentError::shape("image", image, "[..., height, width, channels]");
        let reason = format!("an image has height, width and channels, not shape {image:?}");
        return Err(error.with_reason(reason).into());
    };
    for name in ["mean", "std"] {
        let shape = question.shape(name);
        if shape != [*channels] {
            let problem = format!("{name} has shape {shape:?}, and the image {channels} channels");
            let error = ArgumentError::shape(name, shape, &format!("[{channels}]"));
            return Err(error.with_reason(problem).into());
        }
    }
    Resize::from_name(&question.attribute::<String>("resize")?)?;
    let crop: Option<Vec<i64>> = question.attribute("crop")?;
    let [rows, columns] = Crop::new(crop.as_deref(), [*height, *width])?.size;
    let asked = |name, size: usize| -> Result<usize, Failure> {
        let asked: usize = question.attribute(name)?;
        Ok(if asked == 0 { size } else { asked })
    };
    let sizes = [*channels, asked("height", rows)?, asked("width", columns)?];
    let shape = [batch, &sizes].concat();
    if (image.contains(&0) || rows == 0 || columns == 0) && !shape.contains(&0) {
        let image = [batch, &[rows, columns, *channels]].concat();
        let error = ArgumentError::shape("image", &image, "pixels");
        let reason = format!("an image of shape {image:?} has nothing to resize");
        return Err(error.with_reason(reason).into());
    }
    Ok(shape)
}

fn kernel<T: Float<Wide = f32>>(
    settings: &Settings,
    image: View<'_, u8>,
    normal: [View<'_, f32>; 2],
    mut out: ViewMut<'_, T>,
) -> Result<(), Failure> {
    if out.is_empty() {
        return Ok(());
    }
    let outer = image.rank() - 3;
    let size = [image.shape()[outer], image.shape()[outer + 1]];
    let crop = Crop::new(settings.crop.as_deref(), size)?;
    let mut images = Images::new(&image, crop, &mut out);
    if !settings.flips {
        images.merge_rows();
    }
    let writer = Writer::new(&images, T::DTYPE, settings.scale, normal);
    match settings.resize {
        _ if images.size == images.wanted => whole::convert(&images, &writer, settings.flips),
        Resize::Bilinear => resize::bilinear(&images, &writer, settings.flips),
        Resize::Area => resize::area(&images, &writer, settings.flips),
    }
    Ok(())
}

/// Returns images of bytes, `[..., height, width, channels]`, as floats, `[..., channels, height,
/// width]`: cropped, resized and mirrored as the options say, then `(scale * value - mean) / std`,
/// with a mean and a deviation for each channel.
///
/// ```
/// use dlbridge::ops::{ImageOptions, Resize, image_to_tensor};
/// use dlbridge::{DType, Tensor};
///
/// let photo = Tensor::zeros(&[480, 640, 3], DType::U8)?;
/// let mean = Tensor::from([0.485_f32, 0.456, 0.406]);
/// let std = Tensor::from([0.229_f32, 0.224, 0.225]);
/// let options = ImageOptions {
///     crop: Some([0, 80, 480, 480]),
///     height: 224,
///     width: 224,
///     resize: Resize::Area,
///     ..ImageOptions::default()
/// };
/// assert_eq!(image_to_tensor(&photo, &mean, &std, options)?.shape(), [3, 224, 224]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// When `image` isn't an image, there are not as many means and deviations as channels, `crop` is
/// out of bounds, there is no such element type, or the image is on a GPU and the options ask for
/// what is on the CPU alone: `crop`, `flip` and [`Resize::Area`].
pub fn image_to_tensor<'a>(
    image: impl IntoOperand<'a>,
    mean: impl IntoOperand<'a>,
    std: impl IntoOperand<'a>,
    options: ImageOptions,
) -> Result<Tensor, CallError> {
    static OP: GlobalOp = GlobalOp::new("image_to_tensor");
    // What is too large is too large as the largest number, too.
    let size = |size: usize| i64::try_from(size).unwrap_or(i64::MAX);
    let call = OP.get()?.call().input(image).input(mean).input(std);
    call.attribute("dtype", options.dtype)
        .attribute("height", size(options.height))
        .attribute("width", size(options.width))
        .attribute("scale", options.scale)
        .attribute("crop", options.crop.map(|crop| crop.map(size).to_vec()))
        .attribute("flip", options.flip)
        .attribute("resize", options.resize.name())
        .make()
}
