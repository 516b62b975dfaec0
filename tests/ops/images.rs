//! Images as tensors, compared with the definition of what lies between pixels.

use crate::cases::cases;
use crate::given::{lie, list};
use crate::number::Float;
use crate::oracle::{List, indices};
use dlbridge::kernel::Registry;
use dlbridge::ops::{ImageOptions, image_to_tensor};
use dlbridge::{DType, Tensor};
use half::{bf16, f16};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

/// A few images, means and deviations of as many channels.
#[derive(Debug, Clone)]
struct Images {
    pixels: List<u8>,
    mean: Vec<f32>,
    std: Vec<f32>,
}

fn images() -> impl Strategy<Value = Images> {
    let batch = prop::collection::vec(0..3_usize, 0..=2);
    (batch, [1..7_usize, 1..7_usize, 0..4_usize]).prop_flat_map(|(batch, sizes)| {
        let shape = [&batch[..], &sizes].concat();
        let channels = sizes[2];
        let mean = prop::collection::vec(-1.0..1.0_f32, channels);
        let std = prop::collection::vec(0.25..2.0_f32, channels);
        (list(shape), mean, std).prop_map(|(pixels, mean, std)| Images { pixels, mean, std })
    })
}

impl Images {
    /// What lies so far down and to the right from the middle of the first pixel.
    fn between(&self, batch: &[usize], place: [f64; 2], channel: usize) -> f64 {
        let sizes = &self.pixels.shape[batch.len()..];
        // Nothing changes beyond the edges.
        let [y, x] = [0, 1].map(|axis| place[axis].clamp(0.0, (sizes[axis] - 1) as f64));
        let mut value = 0.0;
        for row in 0..sizes[0] {
            for column in 0..sizes[1] {
                let weight = |distance: f64| (1.0 - distance.abs()).max(0.0);
                let index = [batch, &[row, column, channel]].concat();
                let pixel = f64::from(self.pixels.at(&index));
                value += weight(y - row as f64) * weight(x - column as f64) * pixel;
            }
        }
        value
    }

    /// All elements of the result.
    fn expected(&self, shape: &[usize], scale: f64) -> Vec<f64> {
        let rank = shape.len();
        let sizes = &self.pixels.shape[rank - 3..];
        let element = |index: &Vec<usize>| {
            let (batch, place) = index.split_at(rank - 3);
            let place_along = |axis: usize| {
                let (size, wanted) = (sizes[axis] as f64, shape[rank - 2 + axis] as f64);
                (place[1 + axis] as f64 + 0.5) * size / wanted - 0.5
            };
            let channel = place[0];
            let value = self.between(batch, [place_along(0), place_along(1)], channel);
            let [mean, std] = [&self.mean, &self.std].map(|all| f64::from(all[channel]));
            (scale * value - mean) / std
        };
        indices(shape).iter().map(element).collect()
    }
}

fn check<T: Float>(made: &Tensor, expected: &[f64]) -> TestCaseResult {
    for (found, exact) in made.to_vec::<T>().unwrap().iter().zip(expected) {
        // What cancels out leaves the rounding of what was there before.
        let allowed = exact.abs() * 2.0 * T::ROUNDING + 3e-5;
        let found = found.to_f64();
        prop_assert!(
            (found - exact).abs() <= allowed,
            "{} instead of {}",
            found,
            exact
        );
    }
    prop_assert_eq!(made.len(), expected.len());
    Ok(())
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn any_image_in_any_size(
        images in images(),
        [height, width] in [0..9_usize, 0..9_usize],
        dtype in prop::sample::select(vec![DType::F32, DType::F16, DType::BF16]),
        scale in prop::sample::select(vec![1.0 / 255.0, 0.01]),
        lies in [lie(), lie(), lie()],
    ) {
        let image = lies[0].tensor(&images.pixels);
        let line = |numbers: &[f32]| List { shape: vec![numbers.len()], elements: numbers.to_vec() };
        let mean = lies[1].tensor(&line(&images.mean));
        let std = lies[2].tensor(&line(&images.std));
        let options = ImageOptions { dtype, height, width, scale, ..ImageOptions::default() };
        let made = image_to_tensor(&image, &mean, &std, options).unwrap();
        let (batch, sizes) = images.pixels.shape.split_at(images.pixels.shape.len() - 3);
        let asked = |asked: usize, size: usize| if asked == 0 { size } else { asked };
        let sizes = [sizes[2], asked(height, sizes[0]), asked(width, sizes[1])];
        let shape = [batch, &sizes].concat();
        prop_assert_eq!(made.shape(), &shape[..]);
        prop_assert_eq!(made.dtype(), dtype);
        let expected = images.expected(&shape, scale);
        match dtype {
            DType::F16 => check::<f16>(&made, &expected)?,
            DType::BF16 => check::<bf16>(&made, &expected)?,
            _ => check::<f32>(&made, &expected)?,
        }
    }
}

fn made(image: &Tensor, options: ImageOptions) -> Result<Tensor, String> {
    let channels = image.shape().last().copied().unwrap_or(0);
    let mean = Tensor::full(&[channels], 0.5_f32).unwrap();
    let std = Tensor::full(&[channels], 0.25_f32).unwrap();
    image_to_tensor(image, &mean, &std, options).map_err(|error| error.to_string())
}

#[test]
fn pixels_become_planes() {
    let image = Tensor::from([[[0_u8, 51, 255], [102, 153, 204]]]);
    let tensor = made(&image, ImageOptions::default()).unwrap();
    assert_eq!(tensor.shape(), [3, 1, 2]);
    let scale = 1.0_f32 / 255.0;
    let expected = [0, 102, 51, 153, 255, 204].map(|pixel| (scale * pixel as f32 - 0.5) / 0.25);
    assert_eq!(tensor.to_vec::<f32>().unwrap(), expected);
    let wider = ImageOptions {
        width: 4,
        scale: 1.0,
        ..ImageOptions::default()
    };
    let wide = made(&image.slice(2, ..1).unwrap(), wider).unwrap();
    assert_eq!(wide.shape(), [1, 1, 4]);
    let expected = [0.0, 25.5, 76.5, 102.0].map(|value: f32| (value - 0.5) / 0.25);
    assert_eq!(wide.to_vec::<f32>().unwrap(), expected);
}

#[test]
fn image_op_rejects_other_tensors() {
    let default = ImageOptions::default;
    let pixels = |shape: &[usize]| Tensor::zeros(shape, DType::U8).unwrap();
    let text = |image: &Tensor, options| made(image, options).unwrap_err();
    assert_eq!(
        text(&pixels(&[4, 3]), default()),
        "image_to_tensor: an image has height, width and channels, not shape [4, 3]"
    );
    let higher = ImageOptions {
        height: 5,
        ..default()
    };
    assert_eq!(
        text(&pixels(&[0, 4, 3]), higher),
        "image_to_tensor: an image of shape [0, 4, 3] has nothing to resize"
    );
    for shape in [[0, 4, 3], [4, 0, 3], [4, 4, 0]] {
        assert!(made(&pixels(&shape), default()).unwrap().is_empty());
    }
    assert!(made(&pixels(&[0, 0, 4, 3]), higher).unwrap().is_empty());
    let image = pixels(&[2, 2, 3]);
    let [two, three] = [2, 3].map(|size| Tensor::ones(&[size], DType::F32).unwrap());
    let of_other = [(&two, &three, "mean"), (&three, &two, "std")];
    for (mean, std, name) in of_other {
        let error = image_to_tensor(&image, mean, std, default()).unwrap_err();
        let expected = format!("image_to_tensor: {name} has shape [2], and the image 3 channels");
        assert_eq!(error.to_string(), expected);
    }
    let floats = Tensor::ones(&[2, 2, 3], DType::F32).unwrap();
    let error = image_to_tensor(&floats, &three, &three, default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        r#"image_to_tensor: argument "image" has elements of float32, and uint8 is needed; cast it to uint8"#
    );
    let wide = ImageOptions {
        dtype: DType::F64,
        ..default()
    };
    let error = text(&image, wide);
    assert!(
        error.contains(r#"image_to_tensor (cpu, dtype="bfloat16"): "out" is of float64"#),
        "{error}"
    );
    let too_large = ImageOptions {
        width: usize::MAX,
        ..default()
    };
    assert!(text(&image, too_large).contains(r#"the result "out" can't be made: "#));
    let op = Registry::global().op("image_to_tensor").unwrap();
    let call = op.call().input(&image).input(&three).input(&three);
    let error = call.attribute("height", -1).make().unwrap_err();
    assert_eq!(error.to_string(), "image_to_tensor: height can't be -1");
}
