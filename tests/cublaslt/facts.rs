//! Facts of cuBLASLt, from Rust and from a C program that is compiled against the headers.

use crate::find::Place;
use crate::header::{self, Algorithm, Handle, Lent, Proposal, Raw, Stream, Text, with_functions};
use libtest_mimic::Failed;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;

type Facts = BTreeMap<String, String>;

pub(crate) fn compare(headers: &Place) -> Result<(), Failed> {
    let (c, rust) = (of_c(&headers.file)?, of_rust());
    let names = c.keys().chain(rust.keys());
    let differs = names.filter(|name| c.get(*name) != rust.get(*name));
    let lines = differs.map(|name| {
        let (c, rust) = (c.get(name), rust.get(name));
        format!("{name} is {c:?} in the headers, and {rust:?} here")
    });
    let lines: Vec<String> = lines.collect();
    match lines.is_empty() && c.len() > 30 {
        true => Ok(()),
        false => Err(format!("of {} facts:\n{}", c.len(), lines.join("\n")).into()),
    }
}

/// What a program prints, a name and a value a line.
fn of_c(header: &Path) -> Result<Facts, Failed> {
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("facts");
    let mut compiler = Command::new("cc");
    compiler
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["-std=gnu11", "-Wall", "-Wextra", "-Werror"])
        // Not -I: warnings inside headers that aren't ours are not errors.
        .arg("-isystem")
        .arg(header.with_file_name(""))
        // CUDA's own headers are in another package, but for the newest.
        .arg("-isystem")
        .arg(header.with_file_name("../../cuda_runtime/include"))
        // What only the package of NVIDIA's compiler has.
        .args(["-idirafter", "tests/c/cuda"])
        .arg("tests/c/cublaslt_facts.c")
        .arg("-o")
        .arg(&program);
    let compiled = compiler.output()?;
    if !compiled.status.success() {
        return Err(String::from_utf8_lossy(&compiled.stderr).as_ref().into());
    }
    let output = Command::new(&program).output()?;
    let text = String::from_utf8(output.stdout)?;
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    Ok(pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect())
}

/// The functions, with the sizes of their arguments and answers.
macro_rules! sizes {
    ($($function:ident($($argument:ty),*) -> $answer:ty;)*) => {
        [$((stringify!($function), {
            let sizes: &[usize] = &[$(size_of::<$argument>()),*];
            let sizes: String = sizes.iter().map(|size| format!("{size} ")).collect();
            format!("{sizes}-> {}", size_of::<$answer>())
        })),*]
    };
}

fn of_rust() -> Facts {
    let mut facts = Facts::new();
    let numbers = [
        ("CUBLAS_STATUS_INVALID_VALUE", header::INVALID_VALUE),
        ("CUBLAS_STATUS_NOT_SUPPORTED", header::NOT_SUPPORTED),
        ("CUBLAS_OP_T", header::TRANSPOSED),
        ("CUDA_R_16F", header::F16),
        ("CUDA_R_16BF", header::BF16),
        ("CUDA_R_32F", header::F32),
        ("CUDA_R_64F", header::F64),
        ("CUBLAS_COMPUTE_32F", header::IN_F32),
        ("CUBLAS_COMPUTE_64F", header::IN_F64),
        ("CUBLASLT_MATMUL_DESC_TRANSA", header::TRANSPOSE_A),
        ("CUBLASLT_MATMUL_DESC_TRANSB", header::TRANSPOSE_B),
        (
            "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES",
            header::MOST_WORKSPACE,
        ),
        (
            "CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK",
            header::REDUCTION_SCHEMES,
        ),
        (
            "CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE",
            header::IN_COMPUTE_TYPE as c_int,
        ),
    ];
    let mut add = |name: &str, value: String| facts.insert(name.to_owned(), value);
    for (name, number) in numbers {
        add(name, number.to_string());
    }
    for (letter, number) in ["A", "B", "C", "D"].iter().zip(header::ALIGNMENTS) {
        let name = format!("CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_{letter}_BYTES");
        add(&name, number.to_string());
    }
    let proposal = "cublasLtMatmulHeuristicResult_t";
    macro_rules! field {
        ($name:literal, $field:ident) => {
            let at = offset_of!(Proposal, $field);
            let bytes = size_of_val(&Proposal::default().$field);
            add(&format!("{proposal}.{}", $name), format!("{at} {bytes}"));
        };
    }
    field!("algo", algorithm);
    field!("workspaceSize", workspace);
    field!("state", state);
    field!("wavesCount", waves);
    field!("reserved", reserved);
    add(proposal, size_of::<Proposal>().to_string());
    for (name, sizes) in with_functions!(sizes) {
        add(name, sizes);
    }
    facts
}
