//! Sources of the kernels, and the modules that were compiled from them.

use crate::cuda::compile::Source;
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::module::Module;
use crate::cuda::module::function::Function;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// A file of kernels.
pub(super) struct File {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

macro_rules! file {
    ($name:literal) => {
        $crate::cuda::ops::compiled_modules::File {
            name: $name,
            text: include_str!(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/src/cuda/kernels/",
                $name
            )),
        }
    };
}
pub(super) use file;

/// Included headers.
const HEADERS: [File; 6] = [
    file!("common.cuh"),
    file!("group.cuh"),
    file!("map.cuh"),
    file!("reduce.cuh"),
    file!("softmax.cuh"),
    file!("types.cuh"),
];

/// The modules that were loaded: by GPU, and the name that their kernels' names begin with.
static LOADED: Mutex<Option<HashMap<(i32, String), Module>>> = Mutex::new(None);

/// Kernels that are compiled together.
pub(super) struct Unit {
    module: Module,
    name: String,
}

impl Unit {
    /// Returns the kernels of a file for a GPU, under a name, with macros that say for which types
    /// they are.
    pub(super) fn new(
        gpu: Gpu,
        file: &File,
        name: String,
        macros: &[(&str, &str)],
    ) -> Result<Self, CudaError> {
        let key = (gpu.id(), name);
        let loaded = || LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let known = loaded().get_or_insert_default().get(&key).cloned();
        let module = match known {
            Some(module) => module,
            None => {
                let mut source = Source::new(file.text).name(file.name);
                for header in &HEADERS {
                    source = source.header(header.name, header.text);
                }
                source = source.option(format!("-DNAME={}", key.1));
                for (name, value) in macros {
                    source = source.option(format!("-D{name}={value}"));
                }
                // Without the lock, as loading drops what is due, and an owner's drop may call an
                // op.
                let module = source.compile_for(gpu)?;
                let mut loaded = loaded();
                let modules = loaded.get_or_insert_default();
                modules.entry(key.clone()).or_insert(module).clone()
            }
        };
        Ok(Self {
            module,
            name: key.1,
        })
    }

    /// Returns the kernel whose name ends so.
    pub(super) fn function(&self, entry: &str) -> Result<Function, CudaError> {
        self.module.function(&format!("{}_{entry}", self.name))
    }
}
