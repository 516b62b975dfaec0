//! `image_to_tensor` with crops, mirrored and resized, compared with its definition.

use dlbridge::ops::{ImageOptions, Resize, image_to_tensor};
use dlbridge::testing::{OpTest, Tolerance};
use dlbridge::{DType, Tensor};
use half::{bf16, f16};

/// Bytes of images, `[batch, height, width, channels]`, not in order.
struct Images {
    shape: [usize; 4],
    bytes: Vec<u8>,
}

impl Images {
    fn new(shape: [usize; 4]) -> Self {
        let byte = |at: usize| (at * 41 + at / 7 % 13) as u8;
        let bytes = (0..shape.iter().product()).map(byte).collect();
        Self { shape, bytes }
    }

    fn tensor(&self) -> Tensor {
        Tensor::from_slice(&self.bytes, &self.shape).unwrap()
    }

    fn at(&self, image: usize, [row, column]: [usize; 2], channel: usize) -> f64 {
        let [_, height, width, channels] = self.shape;
        self.bytes[((image * height + row) * width + column) * channels + channel].into()
    }
}

/// Which pixels are weighed how for a pixel of the result, along a dimension.
fn weights(size: usize, wanted: usize, at: usize, resize: Resize) -> Vec<(usize, f64)> {
    if resize == Resize::Area {
        let (begin, end) = (at * size / wanted, ((at + 1) * size).div_ceil(wanted));
        return (begin..end)
            .map(|place| (place, 1.0 / (end - begin) as f64))
            .collect();
    }
    let place =
        ((at as f64 + 0.5) * size as f64 / wanted as f64 - 0.5).clamp(0.0, (size - 1) as f64);
    let weight = |pixel: usize| (1.0 - (place - pixel as f64).abs()).max(0.0);
    (0..size)
        .map(|pixel| (pixel, weight(pixel)))
        .filter(|(_, weight)| *weight > 0.0)
        .collect()
}

const MEAN: [f32; 5] = [0.25, 0.5, 0.75, 0.125, 0.0];
const STD: [f32; 5] = [0.5, 0.25, 1.0, 2.0, 0.75];

/// The result, before its rounding, and its shape.
fn expected(images: &Images, options: ImageOptions) -> (Vec<f64>, [usize; 4]) {
    let [count, height, width, channels] = images.shape;
    let [top, left, rows, columns] = options.crop.unwrap_or([0, 0, height, width]);
    let or = |asked: usize, size: usize| if asked == 0 { size } else { asked };
    let shape = [
        count,
        channels,
        or(options.height, rows),
        or(options.width, columns),
    ];
    let all = |size, wanted| -> Vec<_> {
        let one = |at| weights(size, wanted, at, options.resize);
        (0..wanted).map(one).collect()
    };
    let (of_rows, of_columns) = (all(rows, shape[2]), all(columns, shape[3]));
    let element = |at: usize| {
        let (row, column) = (at / shape[3] % shape[2], at % shape[3]);
        let plane = at / (shape[3] * shape[2]);
        let (image, channel) = (plane / channels, plane % channels);
        let column = if options.flip {
            shape[3] - 1 - column
        } else {
            column
        };
        let mut value = 0.0;
        for (row, of_row) in &of_rows[row] {
            for (column, of_column) in &of_columns[column] {
                let pixel = images.at(image, [top + row, left + column], channel);
                value += of_row * of_column * pixel;
            }
        }
        let (mean, std) = (f64::from(MEAN[channel]), f64::from(STD[channel]));
        (value / 255.0 - mean) / std
    };
    ((0..shape.iter().product()).map(element).collect(), shape)
}

/// The numbers as elements of a type, rounded once.
fn rounded(numbers: &[f64], shape: &[usize], dtype: DType) -> Tensor {
    match dtype {
        DType::F16 => Tensor::from_vec(numbers.iter().map(|x| f16::from_f64(*x)).collect(), shape),
        DType::BF16 => {
            Tensor::from_vec(numbers.iter().map(|x| bf16::from_f64(*x)).collect(), shape)
        }
        _ => Tensor::from_vec(numbers.iter().map(|x| *x as f32).collect(), shape),
    }
    .unwrap()
}

fn check(images: &Images, options: ImageOptions) {
    let (numbers, shape) = expected(images, options);
    let channels = images.shape[3];
    let (absolute, relative) = match options.dtype {
        DType::F16 => (2e-5, 1.1e-3),
        DType::BF16 => (2e-5, 8.2e-3),
        _ => (1e-5, 1e-5),
    };
    let [mean, std] =
        [MEAN, STD].map(|all| Tensor::from_slice(&all[..channels], &[channels]).unwrap());
    OpTest::new("image_to_tensor")
        .attribute("dtype", options.dtype)
        .attribute("height", options.height as i64)
        .attribute("width", options.width as i64)
        .attribute(
            "crop",
            options
                .crop
                .map(|crop| crop.map(|size| size as i64).to_vec()),
        )
        .attribute("flip", options.flip)
        .attribute("resize", options.resize.name())
        .input(&images.tensor())
        .input(&mean)
        .input(&std)
        .within(Tolerance::close(absolute, relative))
        .expect(&rounded(&numbers, &shape, options.dtype));
}

const DTYPES: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

#[test]
fn images_of_any_channels_equal_the_definition_in_every_arrangement() {
    for channels in 1..=5 {
        let images = Images::new([2, 5, 19, channels]);
        for (at, dtype) in DTYPES.into_iter().enumerate() {
            for flip in [false, true] {
                let default = ImageOptions {
                    dtype,
                    flip,
                    ..ImageOptions::default()
                };
                check(&images, default);
                let crop = Some([1, 2, 3, 15 + at]);
                check(&images, ImageOptions { crop, ..default });
                for resize in [Resize::Bilinear, Resize::Area] {
                    let resized = ImageOptions {
                        height: 4,
                        width: 26,
                        resize,
                        ..default
                    };
                    check(&images, resized);
                    check(
                        &images,
                        ImageOptions {
                            width: 0,
                            height: 2,
                            crop,
                            ..resized
                        },
                    );
                    check(
                        &images,
                        ImageOptions {
                            height: 0,
                            width: 3,
                            ..resized
                        },
                    );
                }
            }
        }
    }
}

#[test]
fn large_images_equal_the_definition_on_several_threads() {
    let images = Images::new([2, 130, 100, 3]);
    for (at, dtype) in DTYPES.into_iter().enumerate() {
        let default = ImageOptions {
            dtype,
            flip: at == 1,
            ..ImageOptions::default()
        };
        check(&images, default);
        let (height, width) = [(65, 50), (170, 40), (140, 110)][at];
        for resize in [Resize::Bilinear, Resize::Area] {
            let resized = ImageOptions {
                height,
                width,
                resize,
                ..default
            };
            check(&images, resized);
        }
    }
}

fn made(image: &Tensor, options: ImageOptions) -> Result<Tensor, String> {
    let [mean, std] = [0.5_f32, 0.25].map(|value| Tensor::full(&[3], value).unwrap());
    image_to_tensor(image, &mean, &std, options).map_err(|error| error.to_string())
}

#[test]
fn images_keep_their_bits_where_their_size_stays() {
    let images = Images::new([1, 33, 1500, 3]);
    let tensor = made(&images.tensor(), ImageOptions::default()).unwrap();
    let scale = (1.0_f64 / 255.0) as f32;
    let expected = (0..images.bytes.len()).map(|at| {
        let (pixel, channel) = (at % (33 * 1500), at / (33 * 1500));
        (scale * f32::from(images.bytes[pixel * 3 + channel]) - 0.5) / 0.25
    });
    assert_eq!(
        tensor.to_vec::<f32>().unwrap(),
        expected.collect::<Vec<_>>()
    );
}

#[test]
fn crop_and_flip_equal_views_of_the_image() {
    let images = Images::new([2, 40, 50, 3]).tensor();
    let crop = Some([3, 5, 20, 31]);
    let view = images.slice(1, 3..23).unwrap().slice(2, 5..36).unwrap();
    let sized = ImageOptions {
        height: 9,
        width: 70,
        ..ImageOptions::default()
    };
    for options in [
        ImageOptions::default(),
        sized,
        ImageOptions {
            resize: Resize::Area,
            ..sized
        },
    ] {
        let cropped = made(&images, ImageOptions { crop, ..options }).unwrap();
        let expected = made(&view, options).unwrap();
        assert_eq!(
            cropped.to_vec::<f32>().unwrap(),
            expected.to_vec::<f32>().unwrap()
        );
        let flipped = made(
            &images,
            ImageOptions {
                crop,
                flip: true,
                ..options
            },
        )
        .unwrap();
        let mirrored = expected.step_by(3, -1).unwrap();
        assert_eq!(
            flipped.to_vec::<f32>().unwrap(),
            mirrored.to_vec::<f32>().unwrap()
        );
    }
}

#[test]
fn image_op_rejects_crops_and_filters_that_do_not_fit() {
    let image = Tensor::zeros(&[4, 6, 3], DType::U8).unwrap();
    let text = |crop, height| {
        made(
            &image,
            ImageOptions {
                crop: Some(crop),
                height,
                ..ImageOptions::default()
            },
        )
        .unwrap_err()
    };
    assert_eq!(
        text([1, 2, 4, 2], 0),
        "image_to_tensor: crop=(1,2,4,2,) is out of bounds for an image of height 4 and width 6"
    );
    assert_eq!(
        text([0, usize::MAX, 4, 2], 0),
        format!(
            "image_to_tensor: crop=(0,{},4,2,) is out of bounds for an image of height 4 and width 6",
            i64::MAX
        )
    );
    assert_eq!(
        text([1, 2, 0, 2], 5),
        "image_to_tensor: an image of shape [0, 2, 3] has nothing to resize"
    );
    let empty = ImageOptions {
        crop: Some([1, 2, 0, 2]),
        ..ImageOptions::default()
    };
    assert_eq!(made(&image, empty).unwrap().shape(), [3, 0, 2]);
    let op = dlbridge::kernel::Registry::global()
        .op("image_to_tensor")
        .unwrap();
    let ones = Tensor::ones(&[3], DType::F32).unwrap();
    let call = || op.call().input(&image).input(&ones).input(&ones);
    for crop in [vec![1, 2, 3], vec![0, 0, -1, 2]] {
        let error = call().attribute("crop", crop.clone()).make().unwrap_err();
        let expected = "image_to_tensor: expected (top, left, height, width) for crop, got (";
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    assert_eq!(
        call()
            .attribute("resize", "cubic")
            .make()
            .unwrap_err()
            .to_string(),
        r#"image_to_tensor: expected "bilinear" or "area" for resize, got "cubic""#
    );
}
