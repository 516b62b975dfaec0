//! `nv12_to_rgb`: frames of video decoders, as pixels of red, green and blue.

use super::yuv::{BITS, Matrix, YuvStandard};
use crate::compute::pixels::interleave;
use crate::compute::threads::for_each_range;
use crate::compute::{STREAM_FROM, fence, gather, scatter, stream, vectorize};
use crate::dtype::DType;
use crate::kernel::ArgumentError;
use crate::kernel::AttributeKind;
use crate::kernel::CallError;
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

/// The least number of pixels that are worth a thread.
const GRAIN: usize = 1 << 14;

register_op!(
    Op::new("nv12_to_rgb")
        .doc(
            "Frames in NV12, as video decoders write them, as pixels of red, green and blue, [..., height, width, 3]. \
             y is [..., height, width]; uv has the colours of each two by two pixels, [..., height / 2, width / 2, 2] \
             or [..., height / 2, width], so that of one buffer it is what follows the first height rows. standard is \
             \"bt601\" or \"bt709\"; full_range says that y and uv go from 0 to 255, and not from 16 to 235 and 240. \
             Coefficients are rounded to multiples of 2**-16, results to the nearest integer, halves up."
        )
        .input("y", DType::U8)
        .input("uv", DType::U8)
        .output("out", DType::U8)
        .attribute("standard", AttributeKind::Text, Some(YuvStandard::Bt601.name().into()))
        .attribute("full_range", AttributeKind::Bool, Some(false.into()))
        .shapes(|question| Ok(vec![shape(question)?]))
        .sizes("y[..., h, w] -> out[..., h, w, 3]")
);
register_kernel!(
    Kernel::new("nv12_to_rgb")
        .fills_results()
        .releases_gil_from(1 << 14)
        .factory(|context: &KernelContext<'_>| {
            let standard = YuvStandard::from_name(&context.attribute::<String>("standard")?)?;
            let matrix = Matrix::new(standard, context.attribute("full_range")?);
            Ok(
                move |y: View<'_, u8>, uv: View<'_, u8>, out: ViewMut<'_, u8>| {
                    convert(&matrix, &y, &uv, out);
                },
            )
        })
);

/// Returns the shape of the result.
fn shape(question: &ShapeContext<'_>) -> Result<Vec<usize>, Failure> {
    YuvStandard::from_name(&question.attribute::<String>("standard")?)?;
    let (y, uv) = (question.shape("y"), question.shape("uv"));
    let [batch @ .., height, width] = y else {
        return Err(ArgumentError::shape("y", y, "[..., height, width]").into());
    };
    if height % 2 != 0 || width % 2 != 0 {
        let reason = format!(
            "expected an even height and width, as two by two pixels share a colour, got y of shape {y:?}"
        );
        let error = ArgumentError::shape("y", y, "an even height and width");
        return Err(error.with_reason(reason).into());
    }
    let pairs = [batch, &[height / 2, width / 2, 2]].concat();
    let rows = [batch, &[height / 2, *width]].concat();
    if uv != pairs && uv != rows {
        let reason =
            format!("expected uv of shape {pairs:?} or {rows:?} for y of shape {y:?}, got {uv:?}");
        let error = ArgumentError::shape("uv", uv, &format!("{pairs:?} or {rows:?}"));
        return Err(error.with_reason(reason).into());
    }
    Ok([y, &[3]].concat())
}

/// How many pixels are converted at once. Even.
const BLOCK: usize = 512;

/// Memory for the pixels of a block.
struct Room {
    y: [u8; BLOCK],
    uv: [u8; BLOCK],
    /// What colours add to red, green and blue, rounding and black level included.
    added: [[i32; BLOCK]; 3],
    planes: [[u8; BLOCK]; 3],
    pixels: [u8; 3 * BLOCK],
}

/// A tensor's address and distances: of rows, columns and channels, and of the dimensions before.
struct Frames {
    first: *mut u8,
    row: isize,
    column: isize,
    channel: isize,
    batch: Vec<(usize, isize)>,
}

// SAFETY: the address is a number to threads; `convert` gives each of them rows of its own.
unsafe impl Sync for Frames {}

impl Frames {
    /// Takes the strides of the dimensions from `rank` on as those of rows, columns and channels.
    fn new(first: *mut u8, shape: &[usize], strides: &[isize], rank: usize) -> Self {
        let outer = shape[..rank].iter().zip(strides);
        Self {
            first,
            row: strides[rank],
            column: strides[rank + 1],
            channel: strides.get(rank + 2).copied().unwrap_or(0),
            batch: outer.map(|(size, stride)| (*size, *stride)).collect(),
        }
    }

    /// Returns the address of a pixel.
    fn at(&self, mut frame: usize, row: usize, column: usize) -> *mut u8 {
        let mut offset = self.row * row as isize + self.column * column as isize;
        for (size, stride) in self.batch.iter().rev() {
            offset += stride * (frame % size) as isize;
            frame /= size;
        }
        self.first.wrapping_offset(offset)
    }
}

fn convert(matrix: &Matrix, y: &View<'_, u8>, uv: &View<'_, u8>, out: ViewMut<'_, u8>) {
    if out.is_empty() {
        return;
    }
    let outer = y.rank() - 2;
    let [height, width] = [y.shape()[outer], y.shape()[outer + 1]];
    let streams = out.len() >= STREAM_FROM;
    let luma = Frames::new(y.as_ptr().cast_mut(), y.shape(), y.strides(), outer);
    let mut colours = Frames::new(uv.as_ptr().cast_mut(), uv.shape(), uv.strides(), outer);
    if uv.rank() == outer + 2 {
        colours.channel = colours.column;
        colours.column *= 2;
    }
    let rgb = Frames::new(out.as_ptr().cast_mut(), out.shape(), out.strides(), outer);
    let frames: usize = y.shape()[..outer].iter().product();
    let blocks = width.div_ceil(BLOCK);
    let least = GRAIN.div_ceil(2 * BLOCK.min(width));
    for_each_range(frames * (height / 2) * blocks, least, |range| {
        let mut room = Room {
            y: [0; BLOCK],
            uv: [0; BLOCK],
            added: [[0; BLOCK]; 3],
            planes: [[0; BLOCK]; 3],
            pixels: [0; 3 * BLOCK],
        };
        for index in range {
            let (index, column) = (index / blocks, index % blocks * BLOCK);
            let (frame, pair) = (index / (height / 2), index % (height / 2));
            let len = BLOCK.min(width - column);
            // SAFETY: the frame, both rows and the columns are within the sizes, so the strides
            // lead to bytes that are there, and those of the result no other thread has.
            unsafe {
                let from = colours.at(frame, pair, column / 2);
                let (strides, tile) = match colours.column == 2 && colours.channel == 1 {
                    true => ((0, 1), (1, len)),
                    false => ((colours.column, colours.channel), (len / 2, 2)),
                };
                gather(1, from, strides, tile, room.uv.as_mut_ptr());
                room.add_colours(matrix, len);
                for row in [2 * pair, 2 * pair + 1] {
                    let from = luma.at(frame, row, column);
                    gather(1, from, (0, luma.column), (1, len), room.y.as_mut_ptr());
                    room.convert(matrix, len);
                    let to = rgb.at(frame, row, column);
                    let is_adjacent = rgb.channel == 1 && rgb.column == 3;
                    match is_adjacent {
                        true if streams => stream(room.pixels.as_ptr(), to, 3 * len),
                        true => to.copy_from_nonoverlapping(room.pixels.as_ptr(), 3 * len),
                        false => {
                            let strides = (rgb.column, rgb.channel);
                            scatter(1, room.pixels.as_ptr(), strides, (len, 3), to);
                        }
                    }
                }
            }
        }
        if streams {
            fence();
        }
    });
}

impl Room {
    /// Calculates what the colours add to each of the pixels.
    fn add_colours(&mut self, matrix: &Matrix, len: usize) {
        let (uv, added) = (&self.uv[..len], self.added.each_mut());
        vectorize(|| add_colours(matrix, uv, added.map(|added| &mut added[..len])));
    }

    /// Converts a row of the pixels.
    fn convert(&mut self, matrix: &Matrix, len: usize) {
        let y = &self.y[..len];
        for (plane, added) in self.planes.iter_mut().zip(&self.added) {
            vectorize(|| plane_of(matrix.y, y, &added[..len], &mut plane[..len]));
        }
        let planes = self.planes.each_ref().map(|plane| &plane[..len]);
        interleave(planes, &mut self.pixels[..3 * len]);
    }
}

#[inline(always)]
fn add_colours(matrix: &Matrix, uv: &[u8], [red, green, blue]: [&mut [i32]; 3]) {
    let constant = (1 << (BITS - 1)) - matrix.y * matrix.black;
    let pairs = uv.chunks_exact(2).zip(red.chunks_exact_mut(2));
    let pairs = pairs.zip(green.chunks_exact_mut(2).zip(blue.chunks_exact_mut(2)));
    for ((uv, red), (green, blue)) in pairs {
        let [u, v] = [uv[0], uv[1]].map(|byte| i32::from(byte) - 128);
        red.fill(matrix.v_to_red * v + constant);
        green.fill(matrix.u_to_green * u + matrix.v_to_green * v + constant);
        blue.fill(matrix.u_to_blue * u + constant);
    }
}

#[inline(always)]
fn plane_of(factor: i32, y: &[u8], added: &[i32], plane: &mut [u8]) {
    for ((to, y), added) in plane.iter_mut().zip(y).zip(added) {
        let value = (factor * i32::from(*y) + added) >> BITS;
        *to = value.clamp(0, 255) as u8;
    }
}

/// Returns frames in NV12 as pixels of red, green and blue, `[..., height, width, 3]`.
///
/// `y` is `[..., height, width]`. `uv` has the colours of each two by two pixels: `[..., height /
/// 2, width / 2, 2]` or `[..., height / 2, width]`. `full_range` says that `y` and `uv` go from 0
/// to 255, and not from 16 to 235 and 240. Coefficients are rounded to multiples of `2**-16`,
/// results to the nearest integer, halves up.
///
/// ```
/// use dlbridge::ops::{YuvStandard, nv12_to_rgb};
/// use dlbridge::{DType, Tensor};
///
/// // One buffer: the rows of y, then half as many rows of uv.
/// let frame = Tensor::full(&[1080 * 3 / 2, 1920], 128_u8)?;
/// let (y, uv) = (frame.slice(0, ..1080)?, frame.slice(0, 1080..)?);
/// let rgb = nv12_to_rgb(&y, &uv, YuvStandard::Bt709, false)?;
/// assert_eq!(rgb.shape(), [1080, 1920, 3]);
/// assert_eq!(rgb.to_vec::<u8>()?[..3], [130; 3]); // (128 - 16) * 255 / 219
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// When height or width is odd, or `uv` has another shape.
pub fn nv12_to_rgb<'a>(
    y: impl IntoOperand<'a>,
    uv: impl IntoOperand<'a>,
    standard: YuvStandard,
    full_range: bool,
) -> Result<Tensor, CallError> {
    static OP: GlobalOp = GlobalOp::new("nv12_to_rgb");
    let call = OP.get()?.call().input(y).input(uv);
    call.attribute("standard", standard.name())
        .attribute("full_range", full_range)
        .make()
}
