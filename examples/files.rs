//! Tensors in files: written, mapped, and shared.
//!
//! `cargo run --features files --example files`

use dlbridge::files::{FileError, Format, OpenOptions, SaveOptions, TensorFile};
use dlbridge::{DType, Tensor};
use std::env::temp_dir;
use std::{fs, process};

fn main() -> Result<(), FileError> {
    let path = temp_dir().join(format!("dlbridge-example-{}.safetensors", process::id()));
    let result = run(&path);
    let _ = fs::remove_file(&path);
    result
}

fn run(path: &std::path::Path) -> Result<(), FileError> {
    // Write tensors straight from their memory, each at a multiple of 64 bytes.
    let weights = Tensor::from_vec((0..32).map(|i| i as f32).collect(), &[2, 16])?;
    let scale = Tensor::scalar(0.5_f32);
    SaveOptions::new(Format::Safetensors)
        .align(64)
        .metadata("made by", "an example")
        .save(path, &[("weights", &weights), ("scale", &scale)])?;

    // Map the file: only its header is read.
    // SAFETY: no program changes the file while its tensors are used.
    let file = unsafe { TensorFile::map(path) }?;
    for stored in file.iter() {
        println!("{}: {} {:?}", stored.name(), stored.dtype(), stored.shape());
    }
    let mapped = file.tensor("weights")?;
    assert_eq!(mapped.dtype(), DType::F32);
    assert!(mapped.is_read_only() && !mapped.is_copied());
    assert!(mapped.equals(&weights)?);

    // The tensors that couldn't share the file's memory are named.
    let loaded = file.load(64)?;
    assert!(loaded.copied.is_empty());

    // Or map it so that the tensors can be written, which doesn't change the file.
    // SAFETY: no program changes the file while its tensors are used.
    let private = unsafe { OpenOptions::new().copy_on_write(true).map(path) }?;
    assert!(!private.tensor("weights")?.is_read_only());
    Ok(())
}
