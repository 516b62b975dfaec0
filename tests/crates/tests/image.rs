//! The crate `image`.
#![cfg(feature = "image")]

mod support;

use dlbridge::crates::image::Pixels;
use dlbridge::error::{Error, IncompatibilityKind as Kind};
use dlbridge::{DType, Tensor};
use image::{DynamicImage, GrayImage, ImageBuffer, Luma, Rgb, Rgb32FImage, RgbImage, Rgba};
use std::sync::atomic::Ordering;
use support::{counted, kind};

fn rgb() -> RgbImage {
    RgbImage::from_fn(4, 2, |x, y| Rgb([x as u8, y as u8, 9]))
}

#[test]
fn images_move_their_vector_both_ways() -> Result<(), Error> {
    let image = rgb();
    let first = image.as_raw().as_ptr();
    let mut tensor = Tensor::try_from(image)?;
    assert_eq!(
        (tensor.shape(), tensor.dtype()),
        (&[2, 4, 3][..], DType::U8)
    );
    assert_eq!(tensor.data_ptr(), first);
    tensor.view_mut::<u8>()?[[1, 3, 0]] = 77;
    let image = RgbImage::try_from(tensor)?;
    assert_eq!(image.as_raw().as_ptr(), first);
    assert_eq!(image.get_pixel(3, 1), &Rgb([77, 1, 9]));

    let deep = Tensor::try_from(ImageBuffer::<Rgba<u16>, Vec<u16>>::new(3, 5))?;
    assert_eq!((deep.shape(), deep.dtype()), (&[5, 3, 4][..], DType::U16));
    let float = Tensor::try_from(Rgb32FImage::new(3, 5))?;
    assert_eq!((float.shape(), float.dtype()), (&[5, 3, 3][..], DType::F32));
    let none = Tensor::try_from(GrayImage::new(0, 5))?;
    assert_eq!(none.shape(), [5, 0, 1]);
    assert_eq!(GrayImage::try_from(none)?.dimensions(), (0, 5));
    Ok(())
}

#[test]
fn spare_elements_of_an_image_stay_behind_the_tensor() -> Result<(), Error> {
    let image = GrayImage::from_raw(2, 2, vec![1, 2, 3, 4, 5, 6]).unwrap();
    let tensor = Tensor::try_from(image)?;
    assert_eq!(tensor.to_vec::<u8>()?, [1, 2, 3, 4]);
    assert_eq!(GrayImage::try_from(tensor)?.into_raw(), [1, 2, 3, 4]);
    Ok(())
}

#[test]
fn borrowed_images_read_and_write_the_tensor() -> Result<(), Error> {
    let mut tensor = Tensor::from_vec((0..8_u8).collect(), &[2, 4])?; // one channel
    let view: ImageBuffer<Luma<u8>, &[u8]> = (&tensor).try_into()?;
    assert_eq!(view.get_pixel(3, 1).0, [7]);
    assert_eq!(view.as_raw().as_ptr(), tensor.data_ptr());
    let mut view: ImageBuffer<Luma<u8>, &mut [u8]> = (&mut tensor).try_into()?;
    view.put_pixel(0, 0, Luma([200]));
    assert_eq!(tensor.view::<u8>()?[[0, 0]], 200);
    Ok(())
}

#[test]
fn pixels_keep_memory_of_any_owner() -> Result<(), Error> {
    let (tensor, drops) = counted(vec![1_u16; 6], &[1, 2, 3]);
    let first = tensor.data_ptr();
    let refused = ImageBuffer::<Rgb<u16>, Vec<u16>>::try_from(tensor).unwrap_err();
    let image: ImageBuffer<Rgb<u16>, Pixels<u16>> = refused.tensor.try_into()?;
    assert_eq!(image.as_raw().as_ptr().cast(), first);
    assert_eq!(drops.load(Ordering::Relaxed), 0);
    drop(image);
    assert_eq!(drops.load(Ordering::Relaxed), 1);
    Ok(())
}

#[test]
fn dynamic_images_follow_dtype_and_channels() -> Result<(), Error> {
    let tensor = Tensor::try_from(DynamicImage::ImageRgb8(rgb()))?;
    let DynamicImage::ImageRgb8(image) = DynamicImage::try_from(tensor)? else {
        panic!("another kind of image");
    };
    assert_eq!(image, rgb());
    let doubles = Tensor::from_vec(vec![0.0_f64; 4], &[2, 2])?;
    assert_eq!(
        kind(DynamicImage::try_from(doubles).unwrap_err()),
        Kind::DType
    );
    let five = Tensor::from_vec(vec![0_u8; 20], &[2, 2, 5])?;
    assert_eq!(kind(DynamicImage::try_from(five).unwrap_err()), Kind::Shape);
    Ok(())
}

#[test]
fn conversions_name_what_does_not_fit() -> Result<(), Error> {
    let tensor = || Tensor::try_from(rgb()).unwrap();
    let refused = |tensor: Tensor| kind(RgbImage::try_from(tensor).unwrap_err());
    assert_eq!(
        kind(Rgb32FImage::try_from(tensor()).unwrap_err()),
        Kind::DType
    );
    assert_eq!(
        kind(GrayImage::try_from(tensor()).unwrap_err()),
        Kind::Shape
    );
    let channels_first = tensor().permute(&[2, 0, 1])?;
    assert_eq!(refused(channels_first), Kind::Shape);
    let transposed = tensor().permute(&[1, 0, 2])?;
    assert_eq!(refused(transposed), Kind::Layout);
    let behind = tensor().slice(0, 1..2)?;
    assert_eq!(refused(behind), Kind::Layout);
    let shared = tensor();
    let other = shared.clone();
    assert_eq!(refused(shared), Kind::Alias);
    let columns = other.slice(1, 0..2)?;
    let view: Result<ImageBuffer<Rgb<u8>, &[u8]>, Error> = (&columns).try_into();
    assert_eq!(kind(view.unwrap_err()), Kind::Layout);
    Ok(())
}
