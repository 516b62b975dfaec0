//! [`Image`]: compiled kernels, as a cubin or PTX.

use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::module::Module;
use std::ffi::CString;
use std::fmt;

/// Kernels as they were compiled, which can be loaded on a GPU, and stored.
#[derive(Clone, PartialEq, Eq)]
pub struct Image {
    kind: ImageKind,
    code: Vec<u8>,
    names: Vec<(String, CString)>,
    log: String,
    is_cached: bool,
}

/// Parts of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImageKind {
    /// Machine code for GPUs of one version, and newer ones of the same generation.
    Cubin,
    /// Text that the driver compiles for any GPU that is new enough.
    Ptx,
}

impl Image {
    pub(super) fn new(
        kind: ImageKind,
        code: Vec<u8>,
        names: Vec<(String, CString)>,
        log: String,
    ) -> Self {
        Self {
            kind,
            code,
            names,
            log,
            is_cached: false,
        }
    }

    /// Returns the same, as it came from disk.
    pub(super) fn into_cached(mut self) -> Self {
        self.is_cached = true;
        self
    }

    /// Returns what it consists of.
    pub fn kind(&self) -> ImageKind {
        self.kind
    }

    /// Returns what [`Module::load`] takes.
    pub fn bytes(&self) -> &[u8] {
        &self.code
    }

    /// Returns the names that kernels were given by [`Source::kernel`](super::Source::kernel), and
    /// those that they have in the image.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        let names = self.names.iter();
        names.map(|(name, symbol)| (name.as_str(), symbol.to_str().unwrap_or_default()))
    }

    pub(super) fn symbols(&self) -> &[(String, CString)] {
        &self.names
    }

    /// Returns what the compiler said: warnings.
    pub fn log(&self) -> &str {
        &self.log
    }

    /// Returns whether it was compiled earlier, and kept on disk.
    pub fn is_cached(&self) -> bool {
        self.is_cached
    }

    /// Loads it on a GPU.
    ///
    /// # Errors
    ///
    /// See [`Module::load`].
    pub fn load(&self, gpu: Gpu) -> Result<Module, CudaError> {
        Module::with_names(gpu, &self.code, self.names.clone())
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image({:?} of {} bytes)", self.kind, self.code.len())
    }
}
