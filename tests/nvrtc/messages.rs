//! Error messages of incorrect kernels.

use crate::find::tests;
use dlbridge::cuda::{CudaError, Source};

tests!(
    a_mistake_is_shown_with_its_line,
    a_mistake_in_a_header_too,
    unknown_options_are_named,
    unknown_kernels_are_named,
    warnings_are_kept,
);

fn log(source: &Source) -> String {
    match source.compile_for_architecture((9, 0)).unwrap_err() {
        CudaError::Compile { log, .. } => log,
        error => panic!("{error}"),
    }
}

fn a_mistake_is_shown_with_its_line() {
    let text = "extern \"C\" __global__ void axpy(float a, const float* x, float* y) {\n    \
        int i = threadIdx.x;\n    y[i] = b * x[i] + y[i];\n    y[i] = missing(a);\n}";
    let source = Source::new(text).name("axpy.cu");
    let log = log(&source);
    let lines: Vec<&str> = log.lines().map(str::trim).collect();
    for (message, line) in [
        (
            "axpy.cu(3): error: identifier \"b\" is undefined",
            "y[i] = b * x[i] + y[i];",
        ),
        (
            "axpy.cu(4): error: identifier \"missing\" is undefined",
            "y[i] = missing(a);",
        ),
    ] {
        let place = lines.iter().position(|found| *found == message);
        let place = place.unwrap_or_else(|| panic!("{message} isn't in {log}"));
        assert_eq!(lines[place + 1], line, "{log}");
        assert_eq!(
            lines.iter().filter(|found| **found == line).count(),
            1,
            "{log}"
        );
    }
    let error = source
        .compile_for_architecture((9, 0))
        .unwrap_err()
        .to_string();
    assert_eq!(error, format!("axpy.cu can't be compiled:\n{log}"));
}

fn a_mistake_in_a_header_too() {
    let source = Source::new("#include \"own.h\"")
        .header("own.h", "__device__ int one;\n__device__ int two = three;");
    let log = log(&source);
    let lines: Vec<&str> = log.lines().map(str::trim).collect();
    assert_eq!(
        lines[0],
        "own.h(2): error: identifier \"three\" is undefined"
    );
    assert_eq!(lines[1], "__device__ int two = three;");
}

fn unknown_options_are_named() {
    let log = log(&Source::new("").option("--no-such-option"));
    assert!(log.contains("--no-such-option"), "{log}");
}

fn unknown_kernels_are_named() {
    let log = log(&Source::new("int x;").kernel("missing<float>"));
    assert!(log.contains("missing"), "{log}");
}

fn warnings_are_kept() {
    let source =
        Source::new("extern \"C\" __global__ void f() {\n  int unused;\n}").name("warned.cu");
    for is_cached in [false, true] {
        let image = source.compile_for_architecture((9, 0)).unwrap();
        assert_eq!(image.is_cached(), is_cached);
        assert!(
            image.log().starts_with("warned.cu(2): warning"),
            "{}",
            image.log()
        );
    }
}
