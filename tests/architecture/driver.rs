use super::{code, root, rust_files};
use std::path::{Path, PathBuf};

/// Functions of `cudarc` return Rust enums, for which a code that isn't listed would be undefined
/// behaviour.
#[test]
fn drivers_functions_are_called_by_the_table_with_integers_alone() {
    let files = rust_files(&root().join("src"));
    let of_cuda = |path: &&PathBuf| {
        path.components().any(|part| {
            Path::new(part.as_os_str())
                .file_stem()
                .is_some_and(|name| name == "cuda")
        })
    };
    assert!(files.iter().filter(of_cuda).count() > 50);
    for path in &files {
        let code = code(path);
        let shown = path.display();
        let called = calls_through(&code, "sys::cu");
        assert!(
            called.is_empty(),
            "{shown} calls sys::cu{called:?}: use `call!` or `ask!` of src/cuda/driver.rs"
        );
        for wrapper in [
            "cudarc::driver::result",
            "cudarc::driver::safe",
            "CudaContext",
            "CudaStream",
            "DriverError",
            "sys::is_culib",
            "sys::culib",
        ] {
            // What is between tensors and objects of `cudarc`'s can't do without them.
            let is_between = path.ends_with("memory/slices.rs");
            assert!(
                is_between || !code.contains(wrapper),
                "{shown} uses {wrapper}"
            );
        }
        assert!(
            !code.contains("transmute") || !of_cuda(&path),
            "{shown} transmutes"
        );
        // What C writes through a pointer is an integer, too.
        let tables = code.split("functions! {").skip(1);
        for table in tables.chain(code.split("$then! {").skip(1)) {
            let table = table.split('}').next().unwrap();
            for written in [
                "*mut CUresult",
                "*mut sys::CUresult",
                "CUstreamCaptureStatus",
                "CUstreamCaptureMode",
                "CUmemorytype",
            ] {
                assert!(
                    !table.contains(written),
                    "{shown}: C would write a Rust enum: {written}"
                );
            }
            for answer in table.split("-> ").skip(1) {
                let answer = answer.split(';').next().unwrap();
                assert!(
                    ["c_int", "usize", "Text"].contains(&answer),
                    "{shown}: C would return {answer}"
                );
            }
        }
    }
}

/// The rest of the names of functions that are called through a prefix.
fn calls_through<'a>(code: &'a str, prefix: &str) -> Vec<&'a str> {
    let after = code
        .match_indices(prefix)
        .map(|(at, _)| &code[at + prefix.len()..]);
    let names = after.map(|rest| {
        let end = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        rest.split_at(end)
    });
    names
        .filter(|(_, then)| then.starts_with('('))
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn calls_of_the_driver_are_detected() {
    let code =
        "sys::cuInit(0); sys::CUresult::CUDA_SUCCESS; ask!(cuInit(0)); sys::cuStreamQuery(s)";
    assert_eq!(calls_through(code, "sys::cu"), ["Init", "StreamQuery"]);
}
