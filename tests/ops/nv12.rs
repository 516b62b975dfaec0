//! Frames in NV12 as pixels, compared with the standards' equations.

use crate::cases::cases;
use crate::given::{lie, list};
use crate::oracle::{List, indices};
use dlbridge::ops::{YuvStandard, nv12_to_rgb};
use dlbridge::testing::OpTest;
use dlbridge::{DType, Tensor};
use proptest::prelude::*;

/// A pixel by the equations, before rounding, with coefficients in some precision.
fn exact(
    [y, u, v]: [u8; 3],
    standard: YuvStandard,
    full_range: bool,
    rounded: impl Fn(f64) -> f64,
) -> [f64; 3] {
    let (red, blue) = match standard {
        YuvStandard::Bt601 => (0.299, 0.114),
        _ => (0.2126, 0.0722),
    };
    let green = 1.0 - red - blue;
    let (black, of_y, of_uv) = match full_range {
        true => (0.0, 1.0, 1.0),
        false => (16.0, 255.0 / 219.0, 255.0 / 224.0),
    };
    let y = rounded(of_y) * (f64::from(y) - black);
    let [u, v] = [u, v].map(|byte| f64::from(byte) - 128.0);
    [
        y + rounded(of_uv * 2.0 * (1.0 - red)) * v,
        y + rounded(-of_uv * 2.0 * (1.0 - blue) * blue / green) * u
            + rounded(-of_uv * 2.0 * (1.0 - red) * red / green) * v,
        y + rounded(of_uv * 2.0 * (1.0 - blue)) * u,
    ]
}

fn fixed(coefficient: f64) -> f64 {
    (coefficient * 65536.0).round() / 65536.0
}

fn byte(value: f64) -> u8 {
    (value + 0.5).floor().clamp(0.0, 255.0) as u8
}

fn pixel(yuv: [u8; 3], standard: YuvStandard, full_range: bool) -> [u8; 3] {
    exact(yuv, standard, full_range, fixed).map(byte)
}

const WAYS: [(YuvStandard, bool); 4] = [
    (YuvStandard::Bt601, false),
    (YuvStandard::Bt601, true),
    (YuvStandard::Bt709, false),
    (YuvStandard::Bt709, true),
];

/// The pixels of a frame, with `uv` as `[..., height / 2, width / 2, 2]`.
fn expected(y: &List<u8>, uv: &List<u8>, standard: YuvStandard, full_range: bool) -> Vec<u8> {
    let one = |index: &Vec<usize>| {
        let (batch, &[row, column]) = index.split_last_chunk().unwrap();
        let [u, v] = [0, 1].map(|at| uv.at(&[batch, &[row / 2, column / 2, at]].concat()));
        pixel([y.at(index), u, v], standard, full_range)
    };
    indices(&y.shape).iter().flat_map(one).collect()
}

fn frames() -> impl Strategy<Value = (List<u8>, List<u8>)> {
    let batch = prop::collection::vec(0..3_usize, 0..=2);
    (batch, 0..4_usize, 0..12_usize).prop_flat_map(|(batch, rows, columns)| {
        let y = [&batch[..], &[2 * rows, 2 * columns]].concat();
        (list(y), list([&batch[..], &[rows, columns, 2]].concat()))
    })
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn any_frame_equals_the_equations(
        (y, uv) in frames(),
        way in prop::sample::select(WAYS.to_vec()),
        lies in [lie(), lie()],
    ) {
        let (standard, full_range) = way;
        let expected = expected(&y, &uv, standard, full_range);
        let found = nv12_to_rgb(&lies[0].tensor(&y), &lies[1].tensor(&uv), standard, full_range);
        let found = found.unwrap();
        prop_assert_eq!(found.shape(), &[&y.shape[..], &[3]].concat()[..]);
        prop_assert_eq!(found.to_vec::<u8>().unwrap(), expected);
    }
}

#[test]
fn every_y_with_many_colours_equals_the_equations() {
    // Two rows for each colour, of which one is of all y.
    let colours: Vec<[u8; 2]> = (0..=255_u8)
        .step_by(5)
        .flat_map(|u| (0..=255).step_by(51).map(move |v| [u, v]))
        .collect();
    let rows = colours.len();
    let y: Vec<u8> = (0..2 * rows).flat_map(|_| 0..=255).collect();
    let uv: Vec<u8> = colours.iter().flat_map(|uv| uv.repeat(128)).collect();
    let y = Tensor::from_vec(y, &[2 * rows, 256]).unwrap();
    let uv = Tensor::from_vec(uv, &[rows, 256]).unwrap();
    for (standard, full_range) in WAYS {
        let rgb = nv12_to_rgb(&y, &uv, standard, full_range).unwrap();
        let rgb = rgb.to_vec::<u8>().unwrap();
        for (at, found) in rgb.chunks_exact(3).enumerate() {
            let [u, v] = colours[at / 512];
            let yuv = [(at % 256) as u8, u, v];
            assert_eq!(
                found,
                pixel(yuv, standard, full_range),
                "{standard} {yuv:?}"
            );
            // Of unrounded coefficients the pixel differs near a half only.
            for (found, exact) in found.iter().zip(exact(yuv, standard, full_range, |x| x)) {
                let distance = (f64::from(*found) - exact.clamp(0.0, 255.0)).abs();
                assert!(
                    distance <= 0.504,
                    "{standard} {yuv:?}: {found}, not {exact}"
                );
            }
        }
    }
}

#[test]
fn known_colours_have_their_pixels() {
    let rgb = |yuv, standard, full_range| pixel(yuv, standard, full_range);
    for (standard, _) in WAYS {
        assert_eq!(rgb([16, 128, 128], standard, false), [0, 0, 0]);
        assert_eq!(rgb([235, 128, 128], standard, false), [255, 255, 255]);
        assert_eq!(rgb([77, 128, 128], standard, true), [77, 77, 77]);
    }
    // The primary colours, as the standards encode them in limited range.
    assert_eq!(rgb([81, 90, 240], YuvStandard::Bt601, false), [254, 0, 0]);
    assert_eq!(rgb([63, 102, 240], YuvStandard::Bt709, false), [255, 1, 0]);
}

#[test]
fn nv12_equals_the_equations_in_every_arrangement() {
    for shape in [&[2, 4, 6][..], &[2, 34], &[66, 1060], &[0, 4, 4]] {
        let (batch, &[height, width]) = shape.split_last_chunk().unwrap();
        let bytes = |shape: Vec<usize>, factor: usize| List {
            elements: (0..shape.iter().product())
                .map(|at: usize| (at * factor) as u8)
                .collect(),
            shape,
        };
        let y = bytes(shape.to_vec(), 41);
        let uv = bytes([batch, &[height / 2, width / 2, 2]].concat(), 57);
        let expected = expected(&y, &uv, YuvStandard::Bt709, false);
        let expected = Tensor::from_vec(expected, &[shape, &[3]].concat()).unwrap();
        let rows = [batch, &[height / 2, width]].concat();
        for of_uv in [&uv.shape, &rows] {
            OpTest::new("nv12_to_rgb")
                .attribute("standard", "bt709")
                .input(&Tensor::from_slice(&y.elements, shape).unwrap())
                .input(&Tensor::from_slice(&uv.elements, of_uv).unwrap())
                .expect(&expected);
        }
    }
}

#[test]
fn nv12_rejects_other_shapes() {
    let text = |y: &[usize], uv: &[usize]| {
        let [y, uv] = [y, uv].map(|shape| Tensor::zeros(shape, DType::U8).unwrap());
        let made = nv12_to_rgb(&y, &uv, YuvStandard::Bt601, false);
        made.unwrap_err().to_string()
    };
    assert_eq!(
        text(&[4], &[2]),
        "nv12_to_rgb: expected [..., height, width] for y, got [4]"
    );
    assert_eq!(
        text(&[4, 3], &[2, 3]),
        "nv12_to_rgb: expected an even height and width, as two by two pixels share a colour, got y of shape [4, 3]"
    );
    assert_eq!(
        text(&[4, 6], &[4, 6]),
        "nv12_to_rgb: expected uv of shape [2, 3, 2] or [2, 6] for y of shape [4, 6], got [4, 6]"
    );
    let y = Tensor::zeros(&[2, 2], DType::U8).unwrap();
    let uv = Tensor::zeros(&[1, 2], DType::U8).unwrap();
    let op = dlbridge::kernel::Registry::global()
        .op("nv12_to_rgb")
        .unwrap();
    let call = op
        .call()
        .input(&y)
        .input(&uv)
        .attribute("standard", "bt2020");
    assert_eq!(
        call.make().unwrap_err().to_string(),
        r#"nv12_to_rgb: expected "bt601" or "bt709" for standard, got "bt2020""#
    );
}
