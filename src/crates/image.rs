//! The crate `image`: images as tensors of shape \[height, width, channels\].
//!
//! ```
//! use dlbridge::Tensor;
//! use image::{Rgb, RgbImage};
//!
//! let image = RgbImage::from_pixel(4, 2, Rgb([1, 2, 3]));
//! let tensor = Tensor::try_from(image)?; // the image's memory
//! assert_eq!(tensor.shape(), [2, 4, 3]);
//! let image = RgbImage::try_from(tensor)?; // the same memory again
//! assert_eq!(image.get_pixel(3, 1), &Rgb([1, 2, 3]));
//! # Ok::<(), dlbridge::Error>(())
//! ```

mod dynamic;

use super::TakeError;
use crate::dtype::Element;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::layout::LayoutRef;
use crate::tensor::Tensor;
use ::image::{ImageBuffer, Pixel};
use std::marker::PhantomData;
use std::ops::Deref;

/// The tensor owns the image's vector.
impl<P: Pixel<Subpixel: Element>> TryFrom<ImageBuffer<P, Vec<P::Subpixel>>> for Tensor {
    type Error = Error;

    /// # Errors
    ///
    /// When there are more elements than can be addressed.
    fn try_from(image: ImageBuffer<P, Vec<P::Subpixel>>) -> Result<Self, Error> {
        let channels = usize::from(P::CHANNEL_COUNT);
        let shape = [image.height() as usize, image.width() as usize, channels];
        // There may be more in the vector than the image has.
        Self::from_front(image.into_raw(), &shape, false)
    }
}

/// The image owns the tensor's vector, if the tensor is its only handle.
impl<P: Pixel<Subpixel: Element>> TryFrom<Tensor> for ImageBuffer<P, Vec<P::Subpixel>> {
    type Error = TakeError;

    /// # Errors
    ///
    /// When the shape isn't \[height, width, channels\], or \[height, width\] for one channel; the
    /// elements aren't the pixel's, or not one after another; or the memory isn't a vector of them,
    /// or is shared. An image of [`Pixels`] takes any memory.
    fn try_from(tensor: Tensor) -> Result<Self, TakeError> {
        let (width, height) = match size::<P>(tensor.layout()) {
            Ok(size) => size,
            Err(error) => return Err(TakeError::new(tensor, error)),
        };
        let (vec, _) = tensor.take_vec()?.into_whole()?;
        Ok(Self::from_raw(width, height, vec).expect("as many elements"))
    }
}

/// The image keeps the tensor, to be read.
impl<P: Pixel<Subpixel: Element>> TryFrom<Tensor> for ImageBuffer<P, Pixels<P::Subpixel>> {
    type Error = TakeError;

    /// # Errors
    ///
    /// The same as for an image with a vector, but the memory may be of any owner.
    fn try_from(tensor: Tensor) -> Result<Self, TakeError> {
        let checked = size::<P>(tensor.layout())
            .and_then(|size| tensor.host_slice::<P::Subpixel>().map(|_| size));
        match checked {
            Ok((width, height)) => {
                let pixels = Pixels(tensor, PhantomData);
                Ok(Self::from_raw(width, height, pixels).expect("as many elements"))
            }
            Err(error) => Err(TakeError::new(tensor, error)),
        }
    }
}

/// The tensor's elements, borrowed.
impl<'a, P: Pixel<Subpixel: Element>> TryFrom<&'a Tensor> for ImageBuffer<P, &'a [P::Subpixel]> {
    type Error = Error;

    /// # Errors
    ///
    /// The same as for [`Tensor::view`]; and when the shape isn't \[height, width, channels\], or
    /// \[height, width\] for one channel, or the elements don't lie one after another.
    fn try_from(tensor: &'a Tensor) -> Result<Self, Error> {
        let (width, height) = size::<P>(tensor.layout())?;
        let pixels = tensor.view()?.as_slice();
        let pixels = pixels.ok_or_else(|| not_contiguous(tensor.layout()))?;
        Ok(Self::from_raw(width, height, pixels).expect("as many elements"))
    }
}

/// The tensor's elements, borrowed to be written.
impl<'a, P: Pixel<Subpixel: Element>> TryFrom<&'a mut Tensor>
    for ImageBuffer<P, &'a mut [P::Subpixel]>
{
    type Error = Error;

    /// # Errors
    ///
    /// The same as for [`Tensor::view_mut`]; and when the shape isn't \[height, width, channels\],
    /// or \[height, width\] for one channel, or the elements don't lie one after another.
    fn try_from(tensor: &'a mut Tensor) -> Result<Self, Error> {
        let (width, height) = size::<P>(tensor.layout())?;
        if !tensor.layout().is_contiguous() {
            return Err(not_contiguous(tensor.layout()));
        }
        let view = tensor.view_mut::<P::Subpixel>()?;
        let (first, len) = (view.as_ptr().cast_mut(), view.len());
        // SAFETY: the view's elements lie one after another, and are borrowed mutably for `'a`; the
        // view, which could use them too, isn't used any more.
        let pixels = unsafe { std::slice::from_raw_parts_mut(first, len) };
        Ok(Self::from_raw(width, height, pixels).expect("as many elements"))
    }
}

/// A tensor as the memory of an image, to be read.
///
/// ```
/// use dlbridge::{Tensor, crates::image::Pixels};
/// use image::{ImageBuffer, Luma};
///
/// let tensor = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]); // not a vector, so no Vec to take
/// let image: ImageBuffer<Luma<f32>, Pixels<f32>> = tensor.try_into()?;
/// assert_eq!(image.get_pixel(0, 1).0, [3.0]);
/// let tensor = image.into_raw().into_tensor();
/// # assert_eq!(tensor.shape(), [2, 2]);
/// # Ok::<(), dlbridge::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Pixels<T>(Tensor, PhantomData<T>);

impl<T: Element> Pixels<T> {
    /// Returns the tensor.
    pub fn into_tensor(self) -> Tensor {
        self.0
    }
}

impl<T: Element> Deref for Pixels<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0.host_slice().expect("it was checked")
    }
}

/// Returns width and height of an image with such pixels.
fn size<P: Pixel>(layout: LayoutRef<'_>) -> Result<(u32, u32), Error> {
    let channels = usize::from(P::CHANNEL_COUNT);
    let (height, width) = match *layout.shape() {
        [height, width, found] if found == channels => (height, width),
        [height, width] if channels == 1 => (height, width),
        _ => return Err(wrong_shape(layout, &channels.to_string())),
    };
    match (u32::try_from(width), u32::try_from(height)) {
        (Ok(width), Ok(height)) => Ok((width, height)),
        _ => Err(wrong_shape(layout, &channels.to_string())),
    }
}

#[cold]
fn wrong_shape(layout: LayoutRef<'_>, channels: &str) -> Error {
    let found = format!("shape {:?}", layout.shape());
    let wanted = format!("shape [height, width, {channels}], of at most 2^32 - 1 pixels a side");
    Incompatibility::new(IncompatibilityKind::Shape, found, wanted).into()
}

#[cold]
fn not_contiguous(layout: LayoutRef<'_>) -> Error {
    Error::NotContiguous {
        shape: layout.shape().to_vec(),
        strides: layout.strides().to_vec(),
    }
}
