//! `DynamicImage`, whose kind of pixels is found out when the program runs.

use super::wrong_shape;
use crate::crates::TakeError;
use crate::dtype::DType;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::tensor::Tensor;
use ::image::DynamicImage;

/// Both conversions, by the kinds of pixels that there are.
macro_rules! kinds {
    ($($Kind:ident: $dtype:ident, $channels:literal;)*) => {
        /// The tensor owns the image's vector.
        impl TryFrom<DynamicImage> for Tensor {
            type Error = Error;

            /// # Errors
            ///
            /// When a later release of `image` has other pixels.
            fn try_from(image: DynamicImage) -> Result<Self, Error> {
                match image {
                    $(DynamicImage::$Kind(image) => image.try_into(),)*
                    _ => Err(Incompatibility::new(
                        IncompatibilityKind::DType,
                        format!("pixels of {:?}", image.color()),
                        "pixels of u8, u16 or f32",
                    )
                    .into()),
                }
            }
        }

        /// The image owns the tensor's vector, if the tensor is its only handle; its kind follows
        /// from the dtype and the number of channels.
        impl TryFrom<Tensor> for DynamicImage {
            type Error = TakeError;

            /// # Errors
            ///
            /// When there is no image of that dtype and shape; the elements don't lie one after
            /// another; or the memory isn't a vector, or is shared.
            fn try_from(tensor: Tensor) -> Result<Self, TakeError> {
                let channels = match *tensor.shape() {
                    [_, _] => 1,
                    [_, _, channels] => channels,
                    _ => 0,
                };
                match (tensor.dtype(), channels) {
                    $((DType::$dtype, $channels) => tensor.try_into().map(DynamicImage::$Kind),)*
                    (DType::U8 | DType::U16 | DType::F32, _) => {
                        let error = wrong_shape(tensor.layout(), "1 to 4");
                        Err(TakeError::new(tensor, error))
                    }
                    (found, _) => {
                        let (found, wanted) = (found.to_string(), "uint8, uint16 or float32");
                        let error = Incompatibility::new(IncompatibilityKind::DType, found, wanted);
                        Err(TakeError::new(tensor, error))
                    }
                }
            }
        }
    };
}

kinds! {
    ImageLuma8: U8, 1;
    ImageLumaA8: U8, 2;
    ImageRgb8: U8, 3;
    ImageRgba8: U8, 4;
    ImageLuma16: U16, 1;
    ImageLumaA16: U16, 2;
    ImageRgb16: U16, 3;
    ImageRgba16: U16, 4;
    ImageRgb32F: F32, 3;
    ImageRgba32F: F32, 4;
}
