//! Check that a source depends on no file of the user's: only then its image is cached on disk.
//!
//! NVRTC reports neither what it included nor where from. Rather than following `#include`s across
//! the disk, a source is cached only if each of them names a header that was given in memory, which
//! NVRTC takes first, or, in angle brackets, one of a list of CUDA's own, which change with CUDA.
//! Everything else is compiled in every process, so a changed header never gives old code.

/// Options that have NVRTC read further files or folders.
const READ_FILES: [&str; 7] = [
    "-I",
    "--include",
    "-include",
    "--pre-include",
    "-pre-include",
    "--options-file",
    "@",
];

/// Words by which a preprocessor directive, or `__has_include`, names a file.
const WORDS: [&str; 3] = ["include", "import", "embed"];

/// CUDA's headers for code on GPUs, without `.h` and the like.
const HEADERS_OF_CUDA: [&str; 38] = [
    "builtin_types",
    "cooperative_groups",
    "cuComplex",
    "cuda",
    "cuda_awbarrier",
    "cuda_awbarrier_primitives",
    "cuda_bf16",
    "cuda_device_runtime_api",
    "cuda_fp16",
    "cuda_fp4",
    "cuda_fp6",
    "cuda_fp8",
    "cuda_pipeline",
    "cuda_pipeline_primitives",
    "cuda_runtime",
    "cuda_runtime_api",
    "curand",
    "curand_kernel",
    "curand_mtgp32_kernel",
    "curand_philox4x32_x",
    "device_atomic_functions",
    "device_launch_parameters",
    "device_types",
    "driver_types",
    "host_defines",
    "library_types",
    "math_constants",
    "math_functions",
    "mma",
    "nvfunctional",
    "sm_60_atomic_functions",
    "surface_indirect_functions",
    "surface_types",
    "texture_indirect_functions",
    "texture_types",
    "vector_functions",
    "vector_types",
    "cudaTypedefs",
];

/// The folders of CUDA's headers.
const FOLDERS_OF_CUDA: [&str; 6] = ["cooperative_groups", "crt", "cub", "cuda", "nv", "thrust"];

/// Returns whether a header in angle brackets is CUDA's by its name. Others may be the user's, in a
/// folder where CUDA's are.
fn is_of_cuda(name: &str) -> bool {
    // A path may lead out of CUDA's folders.
    if name.contains("..") {
        return false;
    }
    match name.split_once('/') {
        Some((folder, _)) => FOLDERS_OF_CUDA.contains(&folder),
        None => {
            let name = name
                .strip_suffix(".h")
                .or(name.strip_suffix(".hpp"))
                .unwrap_or(name);
            HEADERS_OF_CUDA.contains(&name)
        }
    }
}

/// Returns whether these texts, compiled with these options of the user's, may read a file that
/// isn't CUDA's.
pub(super) fn may_read_files<'a>(
    texts: impl IntoIterator<Item = &'a str>,
    headers: &[(String, String)],
    options: &[String],
) -> bool {
    let reads = |option: &String| {
        let option = option.trim_start();
        // Precompiled headers have several options.
        option.contains("pch") || READ_FILES.iter().any(|name| option.starts_with(name))
    };
    let is_known = |name: &str| headers.iter().any(|(known, _)| known == name);
    options.iter().any(reads) || texts.into_iter().any(|text| names_file(text, &is_known))
}

/// Returns whether a directive of a text names a file that is neither known nor CUDA's, or can't be
/// read off the text.
fn names_file(text: &str, is_known: &impl Fn(&str) -> bool) -> bool {
    // Old standards of C++ have other spellings of `#` and `\`.
    if text.contains("??=") || text.contains("??/") {
        return true;
    }
    // A directive may go on in the next line, even within a word.
    let text = text.replace("\\\r\n", "").replace("\\\n", "");
    text.lines().any(|line| {
        // `%:` is another spelling of `#`, which a comment may precede or follow.
        let may_be_directive = ["#", "%:", "*/", "__has_"]
            .iter()
            .any(|sign| line.contains(sign));
        may_be_directive
            && WORDS
                .iter()
                .any(|word| line_names_file(line, word, is_known))
    })
}

fn line_names_file(line: &str, word: &str, is_known: &impl Fn(&str) -> bool) -> bool {
    let mut after = line.split(word);
    after.next();
    after.any(|rest| {
        let rest = rest.trim_start();
        let rest = rest.strip_prefix('(').unwrap_or(rest).trim_start();
        let (close, is_quoted) = match rest.chars().next() {
            Some('"') => ('"', true),
            Some('<') => ('>', false),
            _ => return true,
        };
        let Some((name, _)) = rest[1..].split_once(close) else {
            return true;
        };
        !is_known(name) && (is_quoted || !is_of_cuda(name))
    })
}

#[cfg(test)]
mod tests {
    use super::may_read_files;

    fn reads(text: &str, options: &[&str]) -> bool {
        let headers = [("own.h".to_owned(), String::new())];
        let options: Vec<_> = options.iter().map(|option| (*option).to_owned()).collect();
        may_read_files([text], &headers, &options)
    }

    #[test]
    fn headers_in_memory_or_of_cuda_are_not_disk_includes() {
        for text in [
            "",
            "int includes; // to include that",
            "#include \"own.h\"\n  #  include <own.h> // own",
            "#include <cuda_fp16.h>\r\n#include <cuda/std/type_traits>",
            "#include <cub/cub.cuh>\n#include <nv/target>\n#include <mma.h>",
            "#if __has_include(<cuda_fp8.h>)\n#define LONG \\\n  1\n#endif",
        ] {
            assert!(!reads(text, &["-DX=1", "--use_fast_math"]), "{text}");
        }
    }

    #[test]
    fn other_includes_are_disk_includes() {
        for text in [
            "#include \"other.h\"",
            "#include NAME",
            "#include_next <own.h>",
            "#include <x.h>",
            "#include <mylib/x.h>",
            "#include <cuda_x.h>",
            "#include <cuda/../x.h>",
            "#include </home/me/x.h>",
            "#include <../x.h>",
            "#include \"x.h",
            "#include",
            "# /* why */ include \"x.h\"",
            "/* why\n*/ # include \"x.h\"",
            "#/*\n*/ include \"x.h\"",
            "%:include \"x.h\"",
            "#inc\\\nlude \"x.h\"",
            "#inc\\\r\nlude \"x.h\"",
            "??=include \"x.h\"",
            "#inc??/\nlude \"x.h\"",
            "#include \"own.h\"\n#include \"x.h\"",
            "#if __has_include(\"x.h\")",
            "bool b = __has_include(NAME);",
            "#import \"x.h\"",
            "int x[] = {\n#embed \"x.bin\"\n};",
        ] {
            assert!(reads(text, &[]), "{text}");
        }
    }

    #[test]
    fn options_that_name_files_are_disk_includes() {
        for option in [
            "-I",
            "-Ifolder",
            "-I=folder",
            "--include-path=folder",
            "-include=x.h",
            "--pre-include=x.h",
            "--use-pch=x",
            "--pch-dir=x",
            "--options-file=x",
            "@x",
        ] {
            assert!(reads("", &[option]), "{option}");
        }
    }
}
