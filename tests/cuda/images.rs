//! `image_to_tensor` on GPUs: what its kernels don't do is an error, before anything is compiled.

use crate::double::on_double;
use dlbridge::cuda::{self, Gpu, Stream};
use dlbridge::ops::{ImageOptions, Resize, image_to_tensor, nv12_to_rgb};
use dlbridge::{DType, Tensor};

fn sent(tensor: &Tensor) -> Tensor {
    cuda::to_device(tensor, &Stream::current(Gpu::new(0).unwrap())).unwrap()
}

#[test]
fn image_options_of_the_cpu_are_errors_on_a_gpu() {
    on_double(
        "images::image_options_of_the_cpu_are_errors_on_a_gpu",
        || {
            let image = sent(&Tensor::zeros(&[4, 6, 3], DType::U8).unwrap());
            let ones = sent(&Tensor::ones(&[3], DType::F32).unwrap());
            let text = |options| {
                let made = image_to_tensor(&image, &ones, &ones, options);
                let error = made.unwrap_err();
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                format!("{error} {}", cause.unwrap_or_default())
            };
            let default = ImageOptions::default;
            for (options, expected) in [
                (
                    ImageOptions {
                        crop: Some([0, 0, 2, 2]),
                        ..default()
                    },
                    "crop isn't supported on cuda; slice the image, which is zero-copy",
                ),
                (
                    ImageOptions {
                        flip: true,
                        ..default()
                    },
                    "flip isn't supported on cuda; reverse the columns of the result",
                ),
                (
                    ImageOptions {
                        height: 2,
                        resize: Resize::Area,
                        ..default()
                    },
                    r#"resize="area" isn't supported on cuda; use "bilinear", or a tensor on the CPU"#,
                ),
            ] {
                let found = text(options);
                assert!(found.contains(expected), "{found}");
            }
            let y = sent(&Tensor::zeros(&[2, 2], DType::U8).unwrap());
            let uv = sent(&Tensor::zeros(&[1, 2], DType::U8).unwrap());
            let error = nv12_to_rgb(&y, &uv, Default::default(), false).unwrap_err();
            assert!(error.to_string().contains("cuda:0"), "{error}");
        },
    );
}
