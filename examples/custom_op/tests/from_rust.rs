//! The ops called from Rust, where nothing of Python is asked.

use custom_op as _; // which registers them
use dlbridge::Tensor;
use dlbridge::kernel::{CallError, Registry};
use dlbridge::testing::{OpTest, Tolerance};
use half::bf16;

#[test]
fn call_without_output_makes_a_tensor() -> Result<(), Box<dyn std::error::Error>> {
    let invert = Registry::global().op("image.invert")?;
    let x = Tensor::from([[0_u8, 1], [254, 255]]);
    assert_eq!(
        invert.call().input(&x).make()?.to_vec::<u8>()?,
        [255, 254, 1, 0]
    );
    Ok(())
}

#[test]
fn call_with_output_and_attributes_writes_it() -> Result<(), Box<dyn std::error::Error>> {
    let normalize = Registry::global().op("image.normalize")?;
    let (x, mut y) = (Tensor::from([1.0_f32, 3.0]), Tensor::from([0.0_f32, 0.0]));
    let call = normalize.call().input(&x).output(&mut y);
    call.attribute("mean", 2.0)
        .attribute("deviation", 0.25)
        .run()?;
    assert_eq!(y.to_vec::<f32>()?, [-4.0, 4.0]);
    let refused = normalize
        .call()
        .input(&x)
        .attribute("deviation", 0.0)
        .make();
    let message = refused.unwrap_err().to_string();
    assert!(
        message.contains("expected a positive number for deviation, got 0"),
        "{message}"
    );
    Ok(())
}

#[test]
fn label_selects_another_kernel() -> Result<(), CallError> {
    let normalize = Registry::global().op("image.normalize")?;
    let x = Tensor::from([f64::NAN]);
    normalize.call().input(&x).make()?;
    let refused = normalize.call().input(&x).label("strict").make();
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("expected a finite brightness for x, got NaN")
    );
    Ok(())
}

#[test]
fn op_with_two_results_returns_both() -> Result<(), Box<dyn std::error::Error>> {
    let results = Registry::global()
        .op("image.range")?
        .call()
        .input(&Tensor::from([3_u16, 1, 2]))
        .run()?;
    let numbers: Vec<_> = results
        .iter()
        .map(|result| result.to_vec::<u16>())
        .collect::<Result<_, _>>()?;
    assert_eq!(numbers, [[1], [3]]);
    Ok(())
}

#[test]
fn ops_equal_oracles_in_every_arrangement() -> Result<(), dlbridge::Error> {
    // Small ones are called in more ways, and large ones are split among threads.
    for shape in [[2, 3, 4], [70, 50, 20]] {
        let len = shape.iter().product();
        let bytes: Vec<u8> = (0..len).map(|at| (at * 7 % 256) as u8).collect();
        let inverted = bytes.iter().map(|byte| 255 - byte).collect();
        let x = Tensor::from_slice(&bytes, &shape)?;
        OpTest::new("image.invert")
            .input(&x)
            .expect(&Tensor::from_vec(inverted, &shape)?);

        let numbers: Vec<f32> = bytes.iter().map(|byte| f32::from(*byte)).collect();
        let normalized = numbers.iter().map(|x| (x - 128.0) / 3.0).collect();
        OpTest::new("image.normalize")
            .input(&Tensor::from_vec(numbers, &shape)?)
            .attribute("mean", 128.0)
            .attribute("deviation", 3.0)
            .within(Tolerance::ulp(1))
            .expect(&Tensor::from_vec(normalized, &shape)?);

        let (least, most) = (*bytes.iter().min().unwrap(), *bytes.iter().max().unwrap());
        OpTest::new("image.range")
            .input(&x)
            .expect_all(&[&Tensor::scalar(least), &Tensor::scalar(most)]);
    }
    Ok(())
}

#[test]
fn swiglu_and_its_gradient_equal_oracles_in_every_arrangement() -> Result<(), dlbridge::Error> {
    for shape in [[2, 3, 4], [70, 50, 20]] {
        let len = shape.iter().product();
        let numbers = |step: usize| (0..len).map(move |at| (at * step % 97) as f64 / 8.0 - 6.0);
        let (gate, up, dy) = (numbers(7), numbers(11), numbers(13));
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        let y = gate
            .clone()
            .zip(up.clone())
            .map(|(g, up)| g * sigmoid(g) * up);
        let slope = |g: f64| sigmoid(g) + g * sigmoid(g) * sigmoid(-g);
        let z = gate.clone().zip(up.clone()).zip(dy.clone());
        let z = z.map(|((g, up), dy)| slope(g) * up * dy);

        let f64s = |numbers: Vec<f64>| Tensor::from_vec(numbers, &shape);
        let (gate, up, dy) = (
            f64s(gate.collect())?,
            f64s(up.collect())?,
            f64s(dy.collect())?,
        );
        let (y, z) = (f64s(y.collect())?, f64s(z.collect())?);
        OpTest::new("nn.swiglu")
            .input(&gate)
            .input(&up)
            .within(Tolerance::ulp(8))
            .expect(&y);
        OpTest::new("nn.swiglu_backward")
            .input(&gate)
            .input(&up)
            .input(&dy)
            // The slope is 0 near -1.28, where its terms cancel out.
            .within(Tolerance::close(1e-13, 1e-14))
            .expect(&z);
    }
    Ok(())
}

#[test]
fn swiglu_of_16_bit_floats_is_calculated_with_32() -> Result<(), Box<dyn std::error::Error>> {
    let (gate, up) = ([-3.0_f32, 0.0, 1.5], [2.0_f32, 1.0, -0.25]);
    let of = |numbers: [f32; 3]| Tensor::from(numbers.map(bf16::from_f32));
    let swiglu = Registry::global().op("nn.swiglu")?;
    let y = swiglu.call().input(&of(gate)).input(&of(up)).make()?;
    let expected = gate
        .iter()
        .zip(up)
        .map(|(g, up)| g / (1.0 + (-g).exp()) * up);
    let expected: Vec<_> = expected.map(bf16::from_f32).collect();
    assert_eq!(y.to_vec::<bf16>()?, expected);
    Ok(())
}

#[test]
fn listing_names_the_origin() {
    let mut kernels = Registry::global().kernels();
    kernels.retain(|kernel| kernel.op.starts_with("image."));
    assert_eq!(kernels.len(), 4 + 3 + 3 + 4);
    assert!(
        kernels
            .iter()
            .all(|kernel| kernel.origin == "custom_op::image")
    );
}
