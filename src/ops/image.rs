//! `image_to_tensor`: images resized, normalised and transposed for a network.

mod resize;

use super::number::Float;
use crate::dtype::DType;
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
use resize::{between, pairs, samples};
use std::borrow::Cow;

/// Has bytes be numbers from 0 to 1.
const SCALE: f64 = 1.0 / 255.0;

register_op!(
    Op::new("image_to_tensor")
        .doc(
            "Images of bytes, [..., height, width, channels], as floats, [..., channels, height, width]: resized \
             bilinearly where a height or a width is given, out = (scale * value - mean) / std, with a mean and \
             a deviation for each channel."
        )
        .input("image", DType::U8)
        .input("mean", DType::F32)
        .input("std", DType::F32)
        .output("out", ElementType::Attribute("dtype".into()))
        .attribute("dtype", AttributeKind::DType, Some(DType::F32.into()))
        .attribute("height", AttributeKind::Int, Some(0.into()))
        .attribute("width", AttributeKind::Int, Some(0.into()))
        .attribute("scale", AttributeKind::Float, Some(SCALE.into()))
        .shapes(|question| Ok(vec![shape(question)?]))
);
register_kernel!(
    for T in [f32, f16, bf16] =>
    Kernel::new("image_to_tensor").releases_gil_from(1 << 14).factory(|context: &KernelContext<'_>| {
        let scale = context.attribute("scale")?;
        Ok(move |
            image: View<'_, u8>,
            mean: View<'_, f32>,
            std: View<'_, f32>,
            out: ViewMut<'_, T>,
        | kernel(scale, image, mean, std, out))
    })
);

/// Returns the shape of the result.
fn shape(question: &ShapeContext<'_>) -> Result<Vec<usize>, Failure> {
    let image = question.shape("image");
    let [batch @ .., height, width, channels] = image else {
        return Err(format!("an image has height, width and channels, not shape {image:?}").into());
    };
    for name in ["mean", "std"] {
        let shape = question.shape(name);
        if shape != [*channels] {
            let problem = format!("{name} has shape {shape:?}, and the image {channels} channels");
            return Err(problem.into());
        }
    }
    let asked = |name, size: usize| -> Result<usize, Failure> {
        let asked: usize = question.attribute(name)?;
        Ok(if asked == 0 { size } else { asked })
    };
    let sizes = [
        *channels,
        asked("height", *height)?,
        asked("width", *width)?,
    ];
    let shape = [batch, &sizes].concat();
    if image.contains(&0) && !shape.contains(&0) {
        return Err(format!("an image of shape {image:?} has nothing to resize").into());
    }
    Ok(shape)
}

fn kernel<T: Float<Wide = f32>>(
    scale: f32,
    image: View<'_, u8>,
    mean: View<'_, f32>,
    std: View<'_, f32>,
    mut out: ViewMut<'_, T>,
) {
    if out.is_empty() {
        return;
    }
    let last = |shape: &[usize], back: usize| shape[shape.len() - back];
    let [height, width, channels] = [3, 2, 1].map(|back| last(image.shape(), back));
    let rows = samples(height, last(out.shape(), 2));
    let columns = samples(width, last(out.shape(), 1));
    let bytes = image
        .as_slice()
        .map_or_else(|| Cow::Owned(image.to_vec()), Cow::Borrowed);
    let mut results = out.iter_mut();
    for image in bytes.chunks_exact(height * width * channels) {
        for channel in 0..channels {
            let (mean, std) = (mean[[channel]], std[[channel]]);
            let value_at = |row: usize, column: usize| {
                f32::from(image[(row * width + column) * channels + channel])
            };
            for (row, column) in pairs(&rows, &columns) {
                let value = between(row, column, value_at);
                let result = results.next().expect("one for each pixel and channel");
                *result = T::narrow((scale * value - mean) / std);
            }
        }
    }
}

/// How [`image_to_tensor`] makes tensors of images: with the elements of floats, as large as the
/// images are, and with values from 0 to 1 before mean and deviation, unless it is told otherwise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImageOptions {
    /// The element type: `float32`, `float16` or `bfloat16`.
    pub dtype: DType,
    /// How many rows there are to be; 0 for as many as there are.
    pub height: usize,
    /// How many columns there are to be; 0 for as many as there are.
    pub width: usize,
    /// What bytes are multiplied by.
    pub scale: f64,
}

impl Default for ImageOptions {
    fn default() -> Self {
        Self {
            dtype: DType::F32,
            height: 0,
            width: 0,
            scale: SCALE,
        }
    }
}

/// Images of bytes, `[..., height, width, channels]`, as floats, `[..., channels, height, width]`,
/// of which a mean is subtracted, and which are divided by a deviation, one for each channel.
///
/// # Errors
///
/// When `image` isn't an image, there are not as many means and deviations as channels, or there is
/// no such element type.
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
        .make()
}
