//! The cache of compiled kernels: which compilations it serves, and which it doesn't.

use crate::compiler::{cache, child, compiler_calls, with_compiler, with_compiler_in_each};
use crate::double::is_child;
use dlbridge::cuda::{self, CudaError, Image, Source};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, SystemTime};

fn compile(source: &Source) -> Result<Image, CudaError> {
    source.compile_for_architecture((9, 0))
}

fn compilations() -> usize {
    compiler_calls("nvrtcCompileProgram")
}

/// Runs a child process, which must succeed.
fn run(child: &mut Command) {
    let output = child.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

/// The files that are kept.
fn files() -> Vec<PathBuf> {
    let files = fs::read_dir(cache()).into_iter().flatten();
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    files
}

#[test]
fn cached_kernel_in_another_process_needs_no_compiler() {
    let test = "cache::cached_kernel_in_another_process_needs_no_compiler";
    let body = || {
        let is_first = std::env::var("TEST_STEP").unwrap() == "first";
        let source = Source::new("#warning careful").kernel("f<int>");
        let image = compile(&source).unwrap();
        assert_eq!(image.is_cached(), !is_first);
        assert!(image.bytes().ends_with(b"--std=c++17\n#warning careful\n"));
        assert_eq!(
            image.log(),
            "kernel.cu(1): warning: #warning directive: careful"
        );
        assert_eq!(image.names().collect::<Vec<_>>(), [("f<int>", "_Zfint")]);
        // It isn't even loaded.
        let maps = fs::read_to_string("/proc/self/maps").unwrap();
        assert_eq!(maps.contains("libnvrtc"), is_first);
        let again = compile(&source).unwrap();
        assert!(again.is_cached() && again.bytes() == image.bytes());
        assert_eq!((compilations(), files().len()), (1, 1));
    };
    if is_child() {
        return body();
    }
    let root = tempfile::tempdir().unwrap();
    for step in ["first", "second"] {
        run(child(root.path(), test).env("TEST_STEP", step));
    }
}

#[test]
fn different_options_or_source_are_compiled() {
    with_compiler(
        "cache::different_options_or_source_are_compiled",
        &[],
        || {
            let source = || Source::new("int x;").header("h.h", "int h;");
            let others = [
                source(),
                Source::new("int x; ").header("h.h", "int h;"),
                source().name("other.cu"),
                source().option("-DA"),
                source().option("-DA").option("-DB"),
                source().option("-DA-DB"),
                source().option("-DB").option("-DA"),
                source().kernel("k"),
                source().header("g.h", ""),
                Source::new("int x;").header("h.h", "int g;"),
                Source::new("int x;").header("hh.h", "int h;"),
                Source::new("int x;"),
            ];
            for (place, other) in others.iter().enumerate() {
                assert!(!compile(other).unwrap().is_cached(), "{other:?}");
                assert_eq!(compilations(), place + 1);
            }
            assert!(
                !source()
                    .compile_for_architecture((8, 0))
                    .unwrap()
                    .is_cached()
            );
            for other in others {
                assert!(compile(&other).unwrap().is_cached(), "{other:?}");
            }
        },
    );
}

#[test]
fn sources_that_include_files_are_never_cached() {
    with_compiler(
        "cache::sources_that_include_files_are_never_cached",
        &[],
        || {
            let folder = cache().with_extension("include");
            fs::create_dir(&folder).unwrap();
            let put = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
            put("a.h", "#include \"b.h\"");
            put("b.h", "int b;");
            let in_folder = folder.join("x.cu").display().to_string();
            let with_folder = || Source::new("int x;").option(format!("-I{}", folder.display()));
            for (place, source) in [
                with_folder(),
                with_folder().header("c.h", "#include <a.h>"),
                Source::new("#include \"a.h\"").name(in_folder),
                Source::new("#include \"c.h\"").header("c.h", "#include NAME"),
            ]
            .iter()
            .enumerate()
            {
                for step in 1..=2 {
                    assert!(!compile(source).unwrap().is_cached(), "{source:?}");
                    assert_eq!(compilations(), 2 * place + step);
                    put("b.h", "int c;");
                }
            }
            assert_eq!(files(), [] as [PathBuf; 0]);
        },
    );
}

#[test]
fn sources_with_headers_in_memory_or_of_cuda_are_cached() {
    with_compiler(
        "cache::sources_with_headers_in_memory_or_of_cuda_are_cached",
        &[],
        || {
            let source = Source::new("#include \"c.h\"").header("c.h", "#include <cuda_fp16.h>");
            assert!(!compile(&source).unwrap().is_cached());
            assert!(compile(&source).unwrap().is_cached());
            let other = Source::new("#include \"c.h\"").header("c.h", "#include <cuda_bf16.h>");
            assert!(!compile(&other).unwrap().is_cached());
        },
    );
}

#[test]
fn another_compiler_compiles_again() {
    with_compiler("cache::another_compiler_compiles_again", &[], || {
        let source = Source::new("int x;");
        assert!(!compile(&source).unwrap().is_cached());
        let loader = std::env::var_os("LD_LIBRARY_PATH").unwrap();
        let file = cache().with_extension("so");
        let first = std::env::split_paths(&loader).next().unwrap();
        fs::copy(first.join("libnvrtc.so.13"), &file).unwrap();
        cuda::set_nvrtc_path(&file);
        assert!(!compile(&source).unwrap().is_cached());
        assert!(compile(&source).unwrap().is_cached());
        let later = SystemTime::now() + Duration::from_secs(60);
        File::open(&file).unwrap().set_modified(later).unwrap();
        assert!(!compile(&source).unwrap().is_cached());
        assert_eq!(compilations(), 3);
    });
}

#[test]
fn damaged_cache_entries_are_compiled_again() {
    with_compiler(
        "cache::damaged_cache_entries_are_compiled_again",
        &[],
        || {
            let source = Source::new("int x;");
            let whole = compile(&source).unwrap();
            let [file] = &files()[..] else {
                panic!("one file is kept");
            };
            let content = fs::read(file).unwrap();
            let mut flipped = content.clone();
            *flipped.last_mut().unwrap() ^= 1;
            let damaged = [
                &content[..content.len() - 1],
                &content[..20],
                b"",
                b"something else",
                &flipped,
            ];
            for (place, damaged) in damaged.into_iter().enumerate() {
                fs::write(file, damaged).unwrap();
                let image = compile(&source).unwrap();
                assert!(!image.is_cached() && image.bytes() == whole.bytes());
                assert_eq!(compilations(), place + 2);
                assert_eq!(fs::read(file).unwrap(), content);
                assert!(compile(&source).unwrap().is_cached());
            }
        },
    );
}

#[test]
fn missing_cache_folder_compiles_every_time() {
    let test = "cache::missing_cache_folder_compiles_every_time";
    // No cache is wanted; and folders that can't be made.
    let folders = ["", "/proc/nowhere/dlbridge", "/dev/null"];
    let environments = folders.map(|folder| [("DLBRIDGE_CACHE", folder)]);
    with_compiler_in_each(test, environments.iter().map(|one| &one[..]), || {
        for count in 1..3 {
            assert!(!compile(&Source::new("int x;")).unwrap().is_cached());
            assert_eq!(compilations(), count);
        }
        let home = std::env::var_os("HOME").unwrap();
        assert!(!Path::new(&home).exists());
    });
}

#[test]
fn cache_folder_follows_the_platform() {
    let test = "cache::cache_folder_follows_the_platform";
    let body = || {
        let folder = std::env::var_os("TEST_EXPECTED")
            .map(PathBuf::from)
            .unwrap();
        assert!(!folder.exists());
        assert!(!compile(&Source::new("int x;")).unwrap().is_cached());
        assert!(compile(&Source::new("int x;")).unwrap().is_cached());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(folder).unwrap();
    };
    if is_child() {
        return body();
    }
    let root = tempfile::tempdir().unwrap();
    let shared = root.path().join("shared").display().to_string();
    for (variable, folder) in [
        ("", "home/.cache/dlbridge"),
        (shared.as_str(), "shared/dlbridge"),
        ("relative", "home/.cache/dlbridge"),
    ] {
        let mut child = child(root.path(), test);
        child
            .env_remove("DLBRIDGE_CACHE")
            .env("XDG_CACHE_HOME", variable);
        run(child.env("TEST_EXPECTED", root.path().join(folder)));
    }
}

/// Sources of which several have the same text.
fn some() -> impl Iterator<Item = (usize, Source)> {
    (0..40).map(|number| (number % 20, Source::new(format!("int x{};", number % 20))))
}

fn compile_some() {
    for (number, source) in some() {
        let image = compile(&source).unwrap();
        let end = format!("--std=c++17\nint x{number};\n");
        assert!(image.bytes().ends_with(end.as_bytes()));
    }
}

#[test]
fn threads_share_the_cache() {
    with_compiler("cache::threads_share_the_cache", &[], || {
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(compile_some);
            }
        });
        assert_eq!(files().len(), 20);
        assert!((20..=160).contains(&compilations()));
        assert!(some().all(|(_, source)| compile(&source).unwrap().is_cached()));
    });
}

#[test]
fn processes_share_the_cache() {
    let test = "cache::processes_share_the_cache";
    if is_child() {
        return compile_some();
    }
    let root = tempfile::tempdir().unwrap();
    let children: Vec<_> = (0..8)
        .map(|_| {
            child(root.path(), test)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    assert_eq!(fs::read_dir(root.path().join("cache")).unwrap().count(), 20);
    let before = fs::read_to_string(root.path().join("journal")).unwrap();
    run(&mut child(root.path(), test));
    let after = fs::read_to_string(root.path().join("journal")).unwrap();
    assert_eq!(before, after, "all of it was there");
}
