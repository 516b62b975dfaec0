//! Conversions that dlpark has, too, with both crates, by turns in one process: the least time of
//! many rounds, and the ratio. Prints markdown; `./dev bench crates` runs it.
//!
//! What dlpark exports and dlbridge takes is a managed tensor or a handle of it, whichever the
//! crate gives; both are dropped within the time.

mod timing;

use candle_core::{Device, Tensor as CandleTensor};
use dlbridge::Tensor;
use dlbridge::crates::safetensors::{Contents, tensors};
use dlpark::TryFromDlpack;
use dlpark::allocation::{dynamic, fixed};
use dlpark::ffi::DLManagedTensorVersioned;
use dlpark::interop::safetensors::{DlpackView, SafeTensorFile};
use dlpark::versioned::Dlpack;
use image::{ImageBuffer, Rgb, RgbImage};
use ndarray::{Array2, ArrayViewD};
use std::fmt::Debug;
use std::hint::black_box;
use timing::compare;

const SHAPE: [usize; 2] = [8, 8];

type Initialized = dynamic::Initialized<DLManagedTensorVersioned>;

fn array() -> Array2<f32> {
    Array2::from_shape_fn(SHAPE, |(row, column)| (row + column) as f32)
}

/// What dlpark exports of something that it has a conversion of.
fn export<T>(value: T) -> Dlpack
where
    Initialized: TryFrom<Box<T>, Error: Debug>,
{
    let initialized = Initialized::try_from(Box::new(value)).unwrap();
    // SAFETY: the conversion set all that the value has, which is the context.
    unsafe { initialized.finish() }
}

/// What dlpark exports of an image, whose rank is in the type.
fn export_image(image: RgbImage) -> Dlpack {
    let initialized =
        fixed::Initialized::<DLManagedTensorVersioned, 3>::try_from(Box::new(image)).unwrap();
    // SAFETY: the conversion set all that the image has, which is the context.
    unsafe { initialized.finish() }
}

fn image() -> RgbImage {
    RgbImage::from_fn(8, 8, |x, y| Rgb([x as u8, y as u8, 0]))
}

fn candle() -> CandleTensor {
    CandleTensor::arange(0_f32, 64.0, &Device::Cpu)
        .and_then(|tensor| tensor.reshape((8, 8)))
        .unwrap()
}

/// A file of 16 tensors.
fn file() -> Vec<u8> {
    let tensor = Tensor::try_from(array()).unwrap();
    let contents = (0..16).map(|at| (format!("w{at}"), Contents::try_from(&tensor).unwrap()));
    safetensors::serialize(contents, None).unwrap()
}

fn main() {
    println!("| conversion | dlbridge | dlpark | dlbridge / dlpark |");
    println!("|---|---:|---:|---:|");
    ndarrays();
    images();
    candles();
    files();
}

fn ndarrays() {
    compare(
        "`ndarray`: array to managed tensor",
        array,
        |array| Tensor::try_from(array).unwrap().into_dlpack(),
        export,
    );
    let (tensor, managed) = (Tensor::try_from(array()).unwrap(), export(array()));
    compare(
        "`ndarray`: view of a tensor",
        || (),
        |()| {
            ArrayViewD::<f32>::try_from(black_box(&tensor))
                .unwrap()
                .as_ptr()
        },
        // SAFETY: the managed tensor is valid, and no code writes to it.
        |()| {
            unsafe { ArrayViewD::<f32>::try_from_dlpack(black_box(&managed), ()) }
                .unwrap()
                .as_ptr()
        },
    );
}

fn images() {
    compare(
        "`image`: image to managed tensor",
        image,
        |image| Tensor::try_from(image).unwrap().into_dlpack(),
        export_image,
    );
    let (tensor, managed) = (Tensor::try_from(image()).unwrap(), export_image(image()));
    compare(
        "`image`: view of a tensor",
        || (),
        |()| {
            let view = ImageBuffer::<Rgb<u8>, &[u8]>::try_from(black_box(&tensor)).unwrap();
            view.as_raw().as_ptr()
        },
        |()| {
            // SAFETY: the managed tensor is valid, and no code writes to it.
            let view =
                unsafe { ImageBuffer::<Rgb<u8>, &[u8]>::try_from_dlpack(black_box(&managed), ()) };
            view.unwrap().as_raw().as_ptr()
        },
    );
}

fn candles() {
    compare(
        "`candle-core`: tensor of candle's to managed tensor",
        candle,
        |tensor| Tensor::try_from(tensor).unwrap().into_dlpack(),
        export,
    );
    compare(
        "`candle-core`: array to tensor of candle's",
        array,
        |array| CandleTensor::try_from(Tensor::try_from(array).unwrap()).unwrap(),
        // SAFETY: the managed tensor is valid, and no code writes to it.
        |array| unsafe { CandleTensor::try_from_dlpack(&export(array), ()) }.unwrap(),
    );
}

fn files() {
    compare(
        "`safetensors`: the 16 tensors of a file's bytes",
        file,
        |file| tensors(file).unwrap().len(),
        |file| {
            let file = SafeTensorFile::from_bytes(file).unwrap();
            let tensors: Vec<_> = file
                .names()
                .iter()
                .map(|name| file.tensor(name).unwrap())
                .collect();
            tensors.len()
        },
    );
    let (tensor, managed) = (Tensor::try_from(array()).unwrap(), export(array()));
    compare(
        "`safetensors`: contents of a tensor, to be written",
        || (),
        |()| {
            let contents = Contents::try_from(black_box(&tensor)).unwrap();
            safetensors::View::data_len(&contents)
        },
        |()| {
            // SAFETY: the managed tensor is valid, and no code writes to it.
            let view = unsafe { DlpackView::from_dlpack(black_box(&managed)) }.unwrap();
            safetensors::View::data_len(&view)
        },
    );
}
