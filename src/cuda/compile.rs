//! Compilation of CUDA C++ at run time by NVRTC, with a cache on disk.
//!
//! NVRTC is found as [`library::find`](crate::cuda::driver::library::find) says, and headers of
//! CUDA's beside it. What was compiled is kept on disk: see [`cache`].

mod architecture;
mod cache;
mod disk_includes;
mod find;
mod headers;
mod image;
mod key;
mod log;
mod nvrtc;
mod source;

use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::module::Module;
use architecture::Architecture;
use find::Library;
use nvrtc::Program;

pub use find::set_nvrtc_path;
pub use image::{Image, ImageKind};
pub use source::Source;

/// The version of C++, unless an option asks for another one.
const STANDARD: &str = "--std=c++17";

impl Source {
    /// Compiles for a GPU, and loads that.
    ///
    /// # Errors
    ///
    /// See [`compile_for_architecture`](Self::compile_for_architecture) and [`Module::load`].
    pub fn compile_for(&self, gpu: Gpu) -> Result<Module, CudaError> {
        self.compile_for_architecture(gpu.compute_capability())?
            .load(gpu)
    }

    /// Compiles for GPUs of a version: (9, 0) is what compilers call `sm_90`. It needs neither a
    /// GPU nor a driver.
    ///
    /// For a GPU that is newer than NVRTC, the image is PTX for the newest one that NVRTC knows. An
    /// option `--gpu-architecture` has the last word.
    ///
    /// # Errors
    ///
    /// Fails if NVRTC isn't found or too old, the version is too old for it, or there is something
    /// wrong with the source: that error has NVRTC's messages, and the lines that they are about.
    pub fn compile_for_architecture(&self, version: (i32, i32)) -> Result<Image, CudaError> {
        let library = find::library()?;
        let options = self.options(library);
        let place = self
            .key(library, version, &options)
            .and_then(cache::Place::of);
        if let Some(image) = place.as_ref().and_then(cache::Place::get) {
            return Ok(image);
        }
        let image = self.compile(library, version, options)?;
        if let Some(place) = place {
            place.put(&image);
        }
        Ok(image)
    }

    /// Returns all options but the architecture: ours, the user's, and where CUDA's headers are.
    fn options(&self, library: &Library) -> Vec<String> {
        let is_standard =
            |option: &String| option.starts_with("--std") || option.starts_with("-std");
        let standard = (!self.options.iter().any(is_standard)).then(|| STANDARD.to_owned());
        let headers = library.headers.iter();
        let headers = headers.map(|folder| format!("--include-path={}", folder.display()));
        standard
            .into_iter()
            .chain(self.options.iter().cloned())
            .chain(headers)
            .collect()
    }

    fn compile(
        &self,
        library: &Library,
        version: (i32, i32),
        mut options: Vec<String>,
    ) -> Result<Image, CudaError> {
        let nvrtc = library.load()?;
        let is_told = |option: &String| {
            ["--gpu-architecture", "-arch"]
                .iter()
                .any(|name| option.starts_with(name))
        };
        if !self.options.iter().any(is_told) {
            options.insert(0, Architecture::choose(version, nvrtc)?.option());
        }
        let program = Program::new(nvrtc, &self.text, &self.name, &self.headers)?;
        for kernel in &self.kernels {
            program.add_name(kernel)?;
        }
        let compiled = program.compile(&options);
        let log = program.log()?;
        if let Err(error) = compiled {
            return Err(self.failed(error, &log, library));
        }
        let names = self.kernels.iter();
        let names = names.map(|kernel| Ok((kernel.clone(), program.lowered_name(kernel)?)));
        let names = names.collect::<Result<_, CudaError>>()?;
        let (kind, code) = match program.cubin()? {
            cubin if cubin.is_empty() => (ImageKind::Ptx, program.ptx()?),
            cubin => (ImageKind::Cubin, cubin),
        };
        Ok(Image::new(kind, code, names, log))
    }

    /// Returns what NVRTC says is wrong, with the lines that it is about.
    fn failed(&self, error: CudaError, log: &str, library: &Library) -> CudaError {
        if log.trim().is_empty() {
            return error;
        }
        let own = (self.name.as_str(), self.text.as_str());
        let headers = self.headers.iter();
        let headers = headers.map(|(name, text)| (name.as_str(), text.as_str()));
        let texts: Vec<_> = [own].into_iter().chain(headers).collect();
        let mut log = log::with_lines(log, &texts);
        if library.headers.is_empty() && log.contains("open source file") {
            log.push_str(headers::MISSING);
        }
        CudaError::Compile {
            name: self.name.clone(),
            log,
        }
    }
}
