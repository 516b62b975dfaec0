//! Conversions from and to other crates, and the same with dlpark: interleaved rounds in one
//! process, of which the fastest counts, and the ratio of the times.

#[cfg(feature = "candle")]
use candle_core::{Device, Tensor as CandleTensor};
use dlbridge::Tensor;
use dlbridge::crates::image::Pixels;
use dlbridge::crates::safetensors::{Contents, tensors};
use dlpark::TryFromDlpack;
use dlpark::allocation::{dynamic, fixed};
use dlpark::ffi::DLManagedTensorVersioned;
use dlpark::interop::image::DlpackContainer;
use dlpark::interop::safetensors::{DlpackView, SafeTensorFile};
use dlpark::versioned::Dlpack;
use image::{ImageBuffer, Rgb, RgbImage};
use ndarray::{Array2, ArrayViewD, ArrayViewMutD};
use std::hint::black_box;
use std::time::{Duration, Instant};

type Abi = DLManagedTensorVersioned;

const ROUNDS: usize = 2_000;
/// So few that what was prepared for a round is still in the cache when its turn comes.
const CALLS: usize = 50;

/// Returns the time of one round of calls; what they return is dropped in it.
fn round<I, O>(prepare: &mut impl FnMut() -> I, call: &mut impl FnMut(I) -> O) -> Duration {
    let mut inputs = Vec::with_capacity(CALLS);
    inputs.extend((0..CALLS).map(|_| prepare()));
    let begin = Instant::now();
    for input in inputs.drain(..) {
        drop(black_box(call(input)));
    }
    begin.elapsed()
}

/// Prints a row: ours, theirs, the ratio, and whether ours takes at most as long.
fn compare<I, O, J, P>(
    name: &str,
    (mut prepare, mut ours): (impl FnMut() -> I, impl FnMut(I) -> O),
    (mut prepare_theirs, mut theirs): (impl FnMut() -> J, impl FnMut(J) -> P),
) {
    let (mut our, mut their) = (Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        our = our.min(round(&mut prepare, &mut ours));
        their = their.min(round(&mut prepare_theirs, &mut theirs));
    }
    let [our, their] = [our, their].map(|time| time.as_secs_f64() * 1e9 / CALLS as f64);
    let ratio = our / their;
    let met = if ratio <= 1.0 {
        "met".to_owned()
    } else {
        format!("**missed: {ratio:.2}**")
    };
    println!("| {name} | {our:.1} | {their:.1} | {ratio:.2} | {met} |");
}

fn array() -> Array2<f32> {
    Array2::zeros((20, 50))
}

fn picture() -> RgbImage {
    RgbImage::new(16, 20)
}

/// dlpark's managed tensor of an array.
fn dlpark_array(array: Array2<f32>) -> Dlpack {
    let initialized: dynamic::Initialized<Abi> = Box::new(array).try_into().unwrap();
    // SAFETY: the array holds the elements that the descriptor names.
    unsafe { initialized.finish() }
}

/// dlpark's managed tensor of an image.
fn dlpark_image(image: RgbImage) -> Dlpack {
    let initialized: fixed::Initialized<Abi, 3> = Box::new(image).try_into().unwrap();
    // SAFETY: the image holds the elements that the descriptor names.
    unsafe { initialized.finish() }
}

/// dlpark's managed tensor of a tensor of candle's.
#[cfg(feature = "candle")]
fn dlpark_candle(tensor: CandleTensor) -> Dlpack {
    let initialized: dynamic::Initialized<Abi> = Box::new(tensor).try_into().unwrap();
    // SAFETY: the tensor holds the elements that the descriptor names.
    unsafe { initialized.finish() }
}

fn main() {
    println!("| conversion | dlbridge ns | dlpark ns | ratio | at most dlpark's time |");
    println!("|---|---:|---:|---:|---|");
    arrays();
    images();
    #[cfg(feature = "candle")]
    candle();
    files();
}

fn arrays() {
    compare(
        "`Array2`, 1,000 f32, to a DLPack tensor, drop",
        (array, |array| Tensor::try_from(array).unwrap().to_dlpack()),
        (array, dlpark_array),
    );
    let transposed = || array().reversed_axes();
    compare(
        "transposed `Array2` to a DLPack tensor, drop",
        (transposed, |array| {
            Tensor::try_from(array).unwrap().to_dlpack()
        }),
        (transposed, dlpark_array),
    );
    let (tensor, managed) = (Tensor::try_from(array()).unwrap(), dlpark_array(array()));
    compare(
        "tensor to `ArrayViewD`",
        (
            || (),
            |()| ArrayViewD::<f32>::try_from(&tensor).unwrap().len(),
        ),
        (
            || (),
            |()| {
                // SAFETY: the elements are there, and nothing writes them.
                unsafe { ArrayViewD::<f32>::try_from_dlpack(&managed, ()) }
                    .unwrap()
                    .len()
            },
        ),
    );
    let (mut tensor, mut managed) = (tensor, managed);
    compare(
        "tensor to `ArrayViewMutD`",
        (
            || (),
            |()| ArrayViewMutD::<f32>::try_from(&mut tensor).unwrap().len(),
        ),
        (
            || (),
            |()| {
                // SAFETY: nothing else uses the elements.
                unsafe { ArrayViewMutD::<f32>::try_from_dlpack(&mut managed, ()) }
                    .unwrap()
                    .len()
            },
        ),
    );
}

fn images() {
    compare(
        "`RgbImage` of 16x20 to a DLPack tensor, drop",
        (picture, |image| {
            Tensor::try_from(image).unwrap().to_dlpack()
        }),
        (picture, dlpark_image),
    );
    let (tensor, managed) = (
        Tensor::try_from(picture()).unwrap(),
        dlpark_image(picture()),
    );
    compare(
        "tensor to a borrowed image",
        (
            || (),
            |()| {
                ImageBuffer::<Rgb<u8>, &[u8]>::try_from(&tensor)
                    .unwrap()
                    .dimensions()
            },
        ),
        (
            || (),
            |()| {
                // SAFETY: the elements are there, and nothing writes them.
                unsafe { ImageBuffer::<Rgb<u8>, &[u8]>::try_from_dlpack(&managed, ()) }
                    .unwrap()
                    .dimensions()
            },
        ),
    );
    compare(
        "tensor to an image that keeps it, drop",
        (
            || Tensor::try_from(picture()).unwrap(),
            |tensor| ImageBuffer::<Rgb<u8>, Pixels<u8>>::try_from(tensor).unwrap(),
        ),
        (
            || dlpark_image(picture()),
            |managed| {
                // SAFETY: the elements are there, and nothing writes them.
                unsafe {
                    ImageBuffer::<Rgb<u8>, DlpackContainer<Abi, u8>>::try_from_dlpack(managed, ())
                }
                .unwrap()
            },
        ),
    );
}

#[cfg(feature = "candle")]
fn candle() {
    let weight = CandleTensor::zeros((20, 50), candle_core::DType::F32, &Device::Cpu).unwrap();
    compare(
        "candle's tensor to a DLPack tensor, drop",
        (
            || weight.clone(),
            |weight| Tensor::try_from(weight).unwrap().to_dlpack(),
        ),
        (|| weight.clone(), dlpark_candle),
    );
    compare(
        "tensor of a vector, 1,000 f32, to candle's, drop; dlpark copies",
        (
            || Tensor::try_from(array()).unwrap(),
            |tensor| CandleTensor::try_from(tensor).unwrap(),
        ),
        (
            || dlpark_array(array()),
            |managed| {
                // SAFETY: the elements are there, and nothing writes them.
                unsafe { CandleTensor::try_from_dlpack(&managed, ()) }.unwrap()
            },
        ),
    );
}

fn files() {
    let weight = Tensor::from([[1.0_f32, 2.0], [3.0, 4.0]]);
    let names = ["a", "b", "c", "d"];
    let contents = names.map(|name| (name, Contents::try_from(&weight).unwrap()));
    let file = safetensors::serialize(contents, None).unwrap();
    compare(
        "safetensors bytes to 4 tensors, drop",
        (|| file.clone(), |file| tensors(file).unwrap()),
        (
            || file.clone(),
            |file| {
                let file = SafeTensorFile::from_bytes(file).unwrap();
                names.map(|name| file.tensor(name).unwrap())
            },
        ),
    );
    let managed = dlpark_array(array());
    let tensor = Tensor::try_from(array()).unwrap();
    compare(
        "tensor to safetensors' contents",
        (
            || (),
            |()| {
                let contents = Contents::try_from(&tensor).unwrap();
                safetensors::View::data_len(&contents)
            },
        ),
        (
            || (),
            |()| {
                // SAFETY: the elements are there, and nothing writes them.
                let contents = unsafe { DlpackView::from_dlpack(&managed) }.unwrap();
                safetensors::View::data_len(&contents)
            },
        ),
    );
}
