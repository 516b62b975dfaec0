//! Compilation: what reaches the compiler, and what becomes of its results.

use crate::compiler::{
    NOTHING_ELSE, compiler_calls, compiler_folder, journal, with_compiler, with_compiler_in_each,
};
use crate::double::{driver_folder, in_child, live};
use dlbridge::cuda::{CudaError, Gpu, Image, ImageKind, Source};
use std::fs;
use std::path::Path;

fn compile(source: &Source) -> Result<Image, CudaError> {
    source.compile_for_architecture((9, 0))
}

/// The options that the compiler was given last.
fn options() -> String {
    let journal = journal();
    let line = journal
        .lines()
        .rev()
        .find_map(|line| line.strip_prefix("nvrtcCompileProgram "));
    line.unwrap().to_owned()
}

#[test]
fn options_arrive_in_their_order() {
    with_compiler("compile::options_arrive_in_their_order", &[], || {
        let source = Source::new("int x;");
        let image = compile(&source).unwrap();
        assert_eq!(options(), "--gpu-architecture=sm_90 --std=c++17");
        assert_eq!(image.kind(), ImageKind::Cubin);
        assert!(image.bytes().ends_with(b"sm_90 --std=c++17\nint x;\n"));
        assert!(!image.is_cached() && image.log().is_empty());
        compile(&source.clone().option("-DT=float").option("--use_fast_math")).unwrap();
        assert_eq!(
            options(),
            "--gpu-architecture=sm_90 --std=c++17 -DT=float --use_fast_math"
        );
        compile(&source.clone().option("-std=c++20")).unwrap();
        assert_eq!(options(), "--gpu-architecture=sm_90 -std=c++20");
        let named = source.option("--gpu-architecture=compute_80");
        let image = compile(&named).unwrap();
        assert_eq!(options(), "--std=c++17 --gpu-architecture=compute_80");
        assert_eq!(image.kind(), ImageKind::Ptx);
        assert!(image.bytes().starts_with(b".version"));
        let (made, gone) = ("nvrtcCreateProgram", "nvrtcDestroyProgram");
        assert_eq!((compiler_calls(made), compiler_calls(gone)), (4, 4));
    });
}

#[test]
fn gpus_unknown_to_the_compiler_get_a_compatible_architecture() {
    let test = "compile::gpus_unknown_to_the_compiler_get_a_compatible_architecture";
    let environment = [("LIBNVRTC_DOUBLE_ARCHITECTURES", "75,80,90")];
    with_compiler(test, &environment, || {
        let source = Source::new("int x;");
        let image = source.compile_for_architecture((12, 1)).unwrap();
        assert_eq!(
            (image.kind(), options().as_str()),
            (ImageKind::Ptx, "--gpu-architecture=compute_90 --std=c++17")
        );
        let image = source.compile_for_architecture((8, 9)).unwrap();
        assert_eq!(
            (image.kind(), options().as_str()),
            (ImageKind::Ptx, "--gpu-architecture=compute_80 --std=c++17")
        );
        let error = source.compile_for_architecture((7, 0)).unwrap_err();
        assert_eq!(
            error,
            CudaError::OldGpu {
                found: 70,
                oldest: 75
            }
        );
        assert_eq!(
            error.to_string(),
            "NVRTC supports sm_75 and newer, and the GPU is sm_70; use an older NVRTC"
        );
    });
}

#[test]
fn own_headers_and_those_of_cuda_are_found() {
    let root = tempfile::tempdir().unwrap();
    let toolkit = root.path().display().to_string();
    fs::create_dir(root.path().join("include")).unwrap();
    fs::write(root.path().join("include/cuda_fp16.h"), "").unwrap();
    let test = "compile::own_headers_and_those_of_cuda_are_found";
    with_compiler(test, &[("CUDA_PATH", &toolkit)], || {
        let source = Source::new("#include \"own.h\"").header("own.h", "int own;");
        let image = compile(&source).unwrap();
        assert!(image.bytes().ends_with(b"#include \"own.h\"\nint own;\n"));
        let toolkit = std::env::var_os("CUDA_PATH").unwrap();
        let folder = Path::new(&toolkit).canonicalize().unwrap().join("include");
        let expected = format!(
            "--gpu-architecture=sm_90 --std=c++17 --include-path={}",
            folder.display()
        );
        assert_eq!(options(), expected);
    });
}

#[test]
fn compile_errors_show_their_line() {
    with_compiler("compile::compile_errors_show_their_line", &[], || {
        let text = "int x;\n    #error here it is\nint y;";
        let error = compile(&Source::new(text).name("axpy.cu")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "axpy.cu can't be compiled:\n\
             axpy.cu(2): error: #error directive: here it is\n        #error here it is"
        );
        let source = Source::new("#include \"own.h\"").header("own.h", "\n#error there");
        let CudaError::Compile { name, log } = compile(&source).unwrap_err() else {
            panic!("it is wrong");
        };
        let expected = "own.h(2): error: #error directive: there\n    #error there";
        assert_eq!((name.as_str(), log.as_str()), ("kernel.cu", expected));
        let error = compile(&Source::new("").option("--bogus")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "kernel.cu can't be compiled:\nnvrtc: error: unrecognized option --bogus found"
        );
        let warned = compile(&Source::new("#warning careful").name("w.cu")).unwrap();
        assert_eq!(
            warned.log(),
            "w.cu(1): warning: #warning directive: careful"
        );
        // Nothing of what is wrong is kept.
        assert_eq!(
            compile(&Source::new("").option("--bogus")).unwrap_err(),
            error
        );
        for (what, source) in [
            ("source", Source::new("a\0b")),
            ("name", Source::new("").name("a\0")),
            ("option", Source::new("").option("\0")),
            ("header", Source::new("").header("a", "\0")),
            ("kernel's name", Source::new("").kernel("\0")),
        ] {
            assert_eq!(compile(&source).unwrap_err(), CudaError::Nul { what });
        }
        let (made, gone) = ("nvrtcCreateProgram", "nvrtcDestroyProgram");
        assert_eq!(compiler_calls(made), compiler_calls(gone));
    });
}

#[test]
fn cpp_kernel_names_are_mangled() {
    let folders = [driver_folder(), compiler_folder()];
    // In a child process neither is known, nor needed.
    let folders = std::env::join_paths(folders).unwrap();
    let test = "compile::cpp_kernel_names_are_mangled";
    let environment = [&NOTHING_ELSE[..], &[("DLBRIDGE_CACHE", "")]].concat();
    in_child(test, Path::new(&folders), &environment, || {
        let source = Source::new("").kernel("fill<float>").kernel("n::f");
        let image = compile(&source).unwrap();
        let names: Vec<_> = image.names().collect();
        assert_eq!(names, [("fill<float>", "_Zfillfloat"), ("n::f", "_Znf")]);
        let module = source.compile_for(Gpu::new(0).unwrap()).unwrap();
        assert_eq!(
            module.function("fill<float>").unwrap().name(),
            "fill<float>"
        );
        let journal = crate::double::journal();
        assert!(journal.contains("name: \"_Zfillfloat\""), "{journal}");
        drop(module);
        assert_eq!(live("modules"), 0);
    });
}

#[test]
fn failed_compilation_names_the_cause() {
    let test = "compile::failed_compilation_names_the_cause";
    let functions = [
        "nvrtcVersion",
        "nvrtcGetNumSupportedArchs",
        "nvrtcGetSupportedArchs",
        "nvrtcCreateProgram",
        "nvrtcAddNameExpression",
        "nvrtcCompileProgram",
        "nvrtcGetProgramLogSize",
        "nvrtcGetProgramLog",
        "nvrtcGetLoweredName",
        "nvrtcGetCUBINSize",
        "nvrtcGetCUBIN",
    ];
    let each = |function| ["1", "11", "99"].map(|code| format!("{function}={code}"));
    let failing: Vec<String> = functions.iter().flat_map(each).collect();
    let environments: Vec<_> = failing
        .iter()
        .map(|failing| [("LIBNVRTC_DOUBLE_FAIL", failing.as_str())])
        .collect();
    with_compiler_in_each(test, environments.iter().map(|one| &one[..]), || {
        let failing = std::env::var("LIBNVRTC_DOUBLE_FAIL").unwrap();
        let (name, number) = failing.split_once('=').unwrap();
        let error = compile(&Source::new("").kernel("f")).unwrap_err();
        let text = error.to_string();
        let CudaError::Compiler { function, code, .. } = error else {
            panic!("{failing}: {error}");
        };
        assert_eq!((function, code.to_string().as_str()), (name, number));
        let beginning = format!("{name} failed with NVRTC_ERROR");
        assert!(text.starts_with(&beginning), "{text}");
        let (made, gone) = ("nvrtcCreateProgram", "nvrtcDestroyProgram");
        let made = compiler_calls(made) - usize::from(name == made);
        assert_eq!(made, compiler_calls(gone), "{failing}");
    });
}
