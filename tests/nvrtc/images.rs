//! Compiled images of correct kernels.

use crate::find::tests;
use dlbridge::cuda::{CudaError, Image, ImageKind, Source};
use std::collections::BTreeSet;
use std::thread;

tests!(
    small_floats_for_each_architecture,
    newer_gpus_get_ptx,
    older_gpus_are_refused,
    templates_are_instantiated,
    options_have_their_effect,
    headers_can_be_given,
    what_was_compiled_is_kept,
    threads_compile_at_once,
);

/// Kernels with all of CUDA's small floats, and vectors of them.
const SMALL_FLOATS: &str = r#"
#include <cuda_fp16.h>
#include <cuda_bf16.h>
#include <cuda_fp8.h>

extern "C" __global__ void scale_half(size_t count, __half factor, const __half2* x, __half2* y) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) y[i] = __hmul2(__half2half2(factor), x[i]);
}

extern "C" __global__ void scale_bfloat(size_t count, float factor, const __nv_bfloat16* x, __nv_bfloat16* y) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) y[i] = __float2bfloat16(factor * __bfloat162float(x[i]));
}

extern "C" __global__ void narrow(size_t count, const float* x, __nv_fp8_e4m3* y, __nv_fp8_e5m2* z) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) {
        y[i] = __nv_fp8_e4m3(x[i]);
        z[i] = __nv_fp8_e5m2(x[i]);
    }
}
"#;

const AXPY: &str = r#"
template <class T> __global__ void axpy(size_t count, T factor, const T* x, T* y) {
    size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) y[i] = factor * x[i] + y[i];
}
"#;

fn contains(image: &Image, text: &str) -> bool {
    image
        .bytes()
        .windows(text.len())
        .any(|part| part == text.as_bytes())
}

fn small_floats_for_each_architecture() {
    let mut all = BTreeSet::new();
    for version in [(8, 0), (9, 0), (10, 0)] {
        let image = Source::new(SMALL_FLOATS)
            .name("small.cu")
            .compile_for_architecture(version)
            .unwrap();
        assert_eq!(image.kind(), ImageKind::Cubin);
        assert_eq!(image.log(), "");
        // ELF, for CUDA's machine.
        let bytes = image.bytes();
        assert_eq!(
            (&bytes[..4], &bytes[18..20]),
            (&b"\x7fELF"[..], &[190, 0][..])
        );
        for kernel in ["scale_half", "scale_bfloat", "narrow"] {
            assert!(contains(&image, kernel), "{kernel} for {version:?}");
        }
        assert!(
            all.insert(bytes.to_vec()),
            "{version:?} has code of its own"
        );
    }
}

fn newer_gpus_get_ptx() {
    let image = Source::new(AXPY).kernel("axpy<float>");
    let image = image.compile_for_architecture((99, 0)).unwrap();
    assert_eq!(image.kind(), ImageKind::Ptx);
    assert!(contains(&image, ".version") && contains(&image, ".target sm_"));
}

fn older_gpus_are_refused() {
    let error = Source::new(AXPY)
        .compile_for_architecture((3, 0))
        .unwrap_err();
    let CudaError::OldGpu { found: 30, oldest } = error else {
        panic!("{error}");
    };
    assert!(oldest >= 50);
}

fn templates_are_instantiated() {
    let source = Source::new(AXPY)
        .kernel("axpy<float>")
        .kernel("axpy<double>");
    let image = source.compile_for_architecture((9, 0)).unwrap();
    let names: Vec<_> = image.names().collect();
    assert_eq!(
        names,
        [
            ("axpy<float>", "_Z4axpyIfEvmT_PKS0_PS0_"),
            ("axpy<double>", "_Z4axpyIdEvmT_PKS0_PS0_")
        ]
    );
    assert!(names.iter().all(|(_, symbol)| contains(&image, symbol)));
}

fn options_have_their_effect() {
    let text = "static_assert(__cplusplus >= WANTED, \"\");\n\
        extern \"C\" __global__ void NAME(int* x) { *x = 1; }";
    let source = Source::new(text).option("-DNAME=named");
    let compile = |source: &Source| source.compile_for_architecture((8, 0));
    let image = compile(&source.clone().option("-DWANTED=201703L")).unwrap();
    assert!(contains(&image, "named"));
    let later = source.option("-DWANTED=202002L");
    assert!(compile(&later).is_err());
    let image = compile(&later.clone().option("--std=c++20")).unwrap();
    assert_eq!((image.kind(), image.log()), (ImageKind::Cubin, ""));
    let image = compile(&later.option("-std=c++20").option("-arch=compute_80")).unwrap();
    assert_eq!((image.kind(), image.log()), (ImageKind::Ptx, ""));
    assert!(contains(&image, ".target sm_80"));
}

fn headers_can_be_given() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("disk.h"), "#define DISK 2").unwrap();
    let source = |value: u32| {
        Source::new(
            "#include \"given.h\"\n#include <disk.h>\nstatic_assert(GIVEN + DISK == 5, \"\");",
        )
        .header("given.h", format!("#define GIVEN {value}"))
        .option(format!("--include-path={}", folder.path().display()))
    };
    source(3).compile_for_architecture((9, 0)).unwrap();
    assert!(source(4).compile_for_architecture((9, 0)).is_err());
}

fn what_was_compiled_is_kept() {
    let source = Source::new(SMALL_FLOATS).name("kept.cu");
    let first = source.compile_for_architecture((9, 0)).unwrap();
    let second = source.compile_for_architecture((9, 0)).unwrap();
    assert_eq!((first.is_cached(), second.is_cached()), (false, true));
    assert_eq!(first.bytes(), second.bytes());
}

fn threads_compile_at_once() {
    thread::scope(|scope| {
        for number in 0..8 {
            scope.spawn(move || {
                let text = format!(
                    "extern \"C\" __global__ void kernel{number}(int* x) {{ *x = {number}; }}"
                );
                let image = Source::new(text).compile_for_architecture((9, 0)).unwrap();
                assert!(contains(&image, &format!("kernel{number}")));
            });
        }
    });
}
