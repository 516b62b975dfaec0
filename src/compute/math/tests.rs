use super::Math;

/// Returns the distance in units of the last place of the exact result, of which none is less than
/// the least number.
fn ulp(found: f32, exact: f64) -> f64 {
    let nearest = exact as f32;
    if found == nearest || found.is_nan() && exact.is_nan() {
        return 0.0;
    }
    if !nearest.is_finite() || !found.is_finite() {
        return f64::INFINITY;
    }
    let below = f32::from_bits(nearest.abs().to_bits().saturating_sub(1));
    let unit = if below == 0.0 {
        f32::from_bits(1)
    } else {
        nearest.abs() - below
    };
    ((f64::from(found) - exact) / f64::from(unit)).abs()
}

/// Checks a function of `f32` for numbers of all magnitudes.
#[track_caller]
fn check(bound: f64, function: impl Fn(f32) -> f32, exact: impl Fn(f64) -> f64) {
    let step = if cfg!(miri) { 10_000_019 } else { 1_009 };
    let mut worst = (0.0, 0.0);
    for bits in (0..u32::MAX).step_by(step) {
        let x = f32::from_bits(bits);
        let distance = ulp(function(x), exact(f64::from(x)));
        if distance > worst.0 {
            worst = (distance, x);
        }
    }
    let (distance, x) = worst;
    println!("{distance} ulp off for {x:e}");
    assert!(
        distance <= bound,
        "{:e} for {x:e}, {distance} ulp off",
        function(x)
    );
}

/// Checks a function of `f64` against the library's, with one ulp for that.
#[track_caller]
fn check_f64(
    bound: u64,
    range: (f64, f64),
    function: impl Fn(f64) -> f64,
    exact: impl Fn(f64) -> f64,
) {
    let count = if cfg!(miri) { 100 } else { 100_000 };
    let mut worst = (0, 0.0);
    for at in 0..=count {
        let x = range.0 + (range.1 - range.0) * f64::from(at) / f64::from(count);
        let distance = function(x).to_bits().abs_diff(exact(x).to_bits());
        if distance > worst.0 {
            worst = (distance, x);
        }
    }
    let (distance, x) = worst;
    println!("{distance} ulp off for {x:e}");
    assert!(
        distance <= bound + 1,
        "{:e}, not {:e}, for {x:e}",
        function(x),
        exact(x)
    );
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn silu(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        -0.0
    } else {
        x * sigmoid(x)
    }
}

/// Returns P(X < x) of a normally distributed `X`: by its series of positive terms, or by the
/// continued fraction of the tail.
fn normal(x: f64) -> f64 {
    let a = x.abs();
    let density = (-0.5 * a * a).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let tail = if a < 3.0 {
        let (mut term, mut sum, mut odd) = (a, 0.0, 1.0);
        while term > 1e-20 {
            sum += term;
            odd += 2.0;
            term *= a * a / odd;
        }
        0.5 - density * sum
    } else if a > 60.0 {
        0.0
    } else {
        density / (1..200).rev().fold(a, |rest, at| a + f64::from(at) / rest)
    };
    match x {
        _ if x.is_nan() => x,
        _ if x < 0.0 => tail,
        _ => 1.0 - tail,
    }
}

fn gelu(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        -0.0
    } else {
        x * normal(x)
    }
}

fn gelu_tanh(x: f64) -> f64 {
    let twice = (8.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x);
    if x == f64::NEG_INFINITY {
        -0.0
    } else {
        x * sigmoid(twice)
    }
}

#[test]
fn exp_of_negative_is_within_two_ulp_or_zero() {
    // Not `min`: of a signalling NaN it is a NaN on some CPUs alone.
    let found = |x: f32| (if x > 0.0 { 0.0 } else { x }).exp_of_negative();
    let exact = |x: f64| if x < -87.0 { 0.0 } else { x.exp() };
    check(2.0, found, |x| exact(if x > 0.0 { 0.0 } else { x }));
    check_f64(2, (-707.0, 0.0), Math::exp_of_negative, f64::exp);
    for x in [-88.0, -1e9, f32::NEG_INFINITY] {
        assert_eq!(x.exp_of_negative(), 0.0);
        assert_eq!((10.0 * f64::from(x)).exp_of_negative(), 0.0);
    }
    assert_eq!(
        [0.0_f32.exp_of_negative(), (-0.0_f32).exp_of_negative()],
        [1.0, 1.0]
    );
    assert!(f32::NAN.exp_of_negative().is_nan() && f64::NAN.exp_of_negative().is_nan());
}

#[test]
fn exp_is_within_two_ulp() {
    check(2.0, Math::exp, f64::exp);
    check_f64(2, (-745.0, 710.0), Math::exp, f64::exp);
}

#[test]
fn log_is_within_one_ulp() {
    check(1.0, Math::log, f64::ln);
    check_f64(1, (1e-300, 1e-290), Math::log, f64::ln);
    check_f64(1, (0.3, 3.0), Math::log, f64::ln);
    check_f64(1, (1e10, 1e300), Math::log, f64::ln);
    check_f64(1, (0.0, 1e-309), Math::log, f64::ln);
}

#[test]
fn roots_are_rounded_well() {
    check(1.5, Math::rsqrt, |x| 1.0 / x.sqrt());
    check(0.5, Math::sqrt, f64::sqrt);
}

#[test]
fn tanh_is_within_four_ulp() {
    check(3.0, Math::tanh, f64::tanh);
    check_f64(3, (1e-310, 1e-5), Math::tanh, f64::tanh);
    check_f64(3, (0.0, 1.0), Math::tanh, f64::tanh);
    check_f64(3, (-30.0, 30.0), Math::tanh, f64::tanh);
}

#[test]
fn sigmoid_is_within_three_ulp() {
    check(3.0, Math::sigmoid, sigmoid);
    check_f64(3, (-700.0, 700.0), Math::sigmoid, sigmoid);
    check_f64(3, (-30.0, 30.0), Math::sigmoid, sigmoid);
}

#[test]
fn silu_is_within_four_ulp() {
    check(4.0, Math::silu, silu);
    check_f64(4, (-700.0, 30.0), Math::silu, silu);
}

#[test]
fn gelu_is_within_six_ulp() {
    check(6.0, Math::gelu, gelu);
    // Of 50 digits, rounded.
    for (x, exact) in [
        (-38.5, -5.4e-323),
        (-30.25, -7.891136864367313e-200),
        (-20.7, -3.5849333895708573e-94),
        (-10.3, -3.628757031294205e-24),
        (-6.1, -3.235088190398793e-09),
        (-4.9, -2.347998055292563e-06),
        (-3.7, -0.00039885901386633657),
        (-2.2, -0.030587584529696933),
        (-1.3, -0.12584062996129342),
        (-1.0, -0.15865525393145705),
        (-0.6, -0.16455187065004415),
        (-0.1, -0.0460172162722971),
        (-1e-05, -4.999960105771961e-06),
        (1e-05, 5.0000398942280396e-06),
        (0.1, 0.053982783727702904),
        (0.45, 0.303140150870436),
        (0.9, 0.7343458871879165),
        (1.7, 1.6242387133104768),
        (3.3, 3.2984047003301336),
        (5.5, 5.499999895557407),
        (8.1, 8.099999999999998),
        (12.0, 12.0),
    ] {
        let found: f64 = Math::gelu(x);
        let distance = found.to_bits().abs_diff(f64::to_bits(exact));
        assert!(
            distance <= 6,
            "{found:e}, not {exact:e}, for {x:e}, {distance} ulp off"
        );
    }
}

#[test]
fn gelu_tanh_is_within_six_ulp_from_minus_one() {
    // Not `max`, which makes a number of a NaN, but on some processors not of a signalling one.
    check(
        6.0,
        |x| Math::gelu_tanh(if x < -1.0 { -1.0 } else { x }),
        |x| gelu_tanh(if x < -1.0 { -1.0 } else { x }),
    );
    check(250.0, Math::gelu_tanh, gelu_tanh);
}

macro_rules! keeps_special_values {
    ($($name:ident: $ty:ident;)*) => {$(
        #[test]
        fn $name() {
            const INF: $ty = $ty::INFINITY;
            type Function = fn($ty) -> $ty;
            let cases: [(Function, [$ty; 4]); 9] = [
                // Of -inf, -0, 0 and inf.
                (Math::exp, [0.0, 1.0, 1.0, INF]),
                (Math::log, [$ty::NAN, -INF, -INF, INF]),
                (Math::sqrt, [$ty::NAN, -0.0, 0.0, INF]),
                (Math::rsqrt, [$ty::NAN, -INF, INF, 0.0]),
                (Math::tanh, [-1.0, -0.0, 0.0, 1.0]),
                (Math::sigmoid, [0.0, 0.5, 0.5, 1.0]),
                (Math::silu, [-0.0, -0.0, 0.0, INF]),
                (Math::gelu, [-0.0, -0.0, 0.0, INF]),
                (Math::gelu_tanh, [-0.0, -0.0, 0.0, INF]),
            ];
            for (at, (function, expected)) in cases.into_iter().enumerate() {
                for (x, expected) in [-INF, -0.0, 0.0, INF].into_iter().zip(expected) {
                    let found = function(x);
                    let is_same = found.to_bits() == expected.to_bits();
                    assert!(is_same || found.is_nan() && expected.is_nan(), "{at}: {found} for {x}");
                }
                assert!(function($ty::NAN).is_nan() && function(-$ty::NAN).is_nan(), "{at}");
            }
        }
    )*};
}

keeps_special_values! {
    functions_of_f32_keep_special_values: f32;
    functions_of_f64_keep_special_values: f64;
}
