//! Options of `image_to_tensor`.

use crate::dtype::DType;
use crate::kernel::ArgumentError;
use crate::kernel::Failure;
use std::fmt;

/// Has bytes be numbers from 0 to 1.
pub(super) const SCALE: f64 = 1.0 / 255.0;

/// Options of [`image_to_tensor`](super::image_to_tensor). By default elements are `float32`,
/// images keep their size, and values are from 0 to 1 before mean and deviation.
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
    /// The rectangle that is read, of all images: top, left, height and width.
    pub crop: Option<[usize; 4]>,
    /// Whether rows are mirrored, so that the last column becomes the first one.
    pub flip: bool,
    /// How images are resized.
    pub resize: Resize,
}

impl Default for ImageOptions {
    fn default() -> Self {
        Self {
            dtype: DType::F32,
            height: 0,
            width: 0,
            scale: SCALE,
            crop: None,
            flip: false,
            resize: Resize::Bilinear,
        }
    }
}

/// How images are resized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Resize {
    /// Between the four nearest pixels, whose centres are at a half, as PyTorch's
    /// `interpolate(mode="bilinear", align_corners=False)`.
    #[default]
    Bilinear,
    /// The mean of the pixels that a pixel of the result covers, wholly or in part, each with the
    /// same weight, as PyTorch's `interpolate(mode="area")`. Sums are exact. It differs from
    /// OpenCV's `INTER_AREA`, which weighs a pixel by the part that is covered, where the sizes
    /// don't divide.
    Area,
}

impl Resize {
    /// Returns the name, as in the op's attribute.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bilinear => "bilinear",
            Self::Area => "area",
        }
    }

    pub(super) fn from_name(name: &str) -> Result<Self, Failure> {
        let mut all = [Self::Bilinear, Self::Area].into_iter();
        all.find(|resize| resize.name() == name).ok_or_else(|| {
            let found = format!("{name:?}");
            ArgumentError::value("resize", found, "\"bilinear\" or \"area\"").into()
        })
    }
}

impl fmt::Display for Resize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
