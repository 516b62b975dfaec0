//! The fields of errors: [`Incompatibility`] of [`CudaError`].

use super::CudaError;
use crate::error::{Incompatibility, IncompatibilityKind as Kind};

#[cfg(test)]
mod tests;

const WITHOUT_BLAS: &str = "with DLBRIDGE_CUBLASLT=none matrices are multiplied without it";

impl CudaError {
    /// Returns what was expected and what was found, as data. Its text is that of the error.
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::cuda::CudaError;
    ///
    /// let error = CudaError::OldDriver { found: 11_040 }.incompatibility();
    /// assert_eq!(error.found.as_deref(), Some("CUDA driver 11.4"));
    /// assert_eq!(error.wanted.as_deref(), Some("CUDA driver 12.0 or newer"));
    /// assert_eq!(error.remedy.as_deref(), Some("update NVIDIA's driver"));
    /// ```
    #[cold]
    pub fn incompatibility(&self) -> Incompatibility {
        match self {
            Self::Tensor(error) => error.incompatibility(),
            Self::Launch { kernel, problem } => {
                let reason = format!("kernel {kernel}: {}", problem.reason());
                (**problem).clone().with_reason(reason)
            }
            _ => {
                let fields = of_device(self).or_else(|| of_library(self));
                let fields = fields.unwrap_or_else(|| {
                    Incompatibility::from_reason(Kind::Exchange, self.to_string())
                });
                fields.with_text(self.to_string(), remedy(self))
            }
        }
    }
}

/// Returns the fields of errors about the driver, GPUs and their memory.
fn of_device(error: &CudaError) -> Option<Incompatibility> {
    let device = |found: String, wanted: String| Incompatibility::new(Kind::Device, found, wanted);
    Some(match error {
        CudaError::NoDriver => Incompatibility::new(Kind::Device, "no driver", "a CUDA driver"),
        CudaError::OldDriver { found } => device(
            format!("CUDA driver {}.{}", found / 1000, found % 1000 / 10),
            "CUDA driver 12.0 or newer".to_owned(),
        ),
        CudaError::BadDriver { problem } => device(problem.clone(), "a CUDA driver".to_owned()),
        CudaError::NoGpu => Incompatibility::new(Kind::Device, "no GPU", "a GPU"),
        CudaError::NoSuchGpu { id, count } => {
            device(format!("cuda:{id}"), format!("one of {count} devices"))
        }
        CudaError::NotCuda { device: found } => {
            device(found.to_string(), "a CUDA device".to_owned())
        }
        CudaError::OutOfMemory { device, bytes } => {
            Incompatibility::from_reason(Kind::Memory, error.to_string())
                .with_wanted(format!("{bytes} bytes on {device}"))
        }
        CudaError::WrongStream { found, wanted } => device(
            format!("a stream of cuda:{found}"),
            format!("a stream of {wanted}"),
        ),
        CudaError::OtherThread => device(
            "the default stream of another thread".to_owned(),
            "a stream that this thread can name".to_owned(),
        ),
        CudaError::UnknownAddress { address } => device(
            format!("address {address:#x}"),
            "an address in memory of CUDA".to_owned(),
        ),
        CudaError::OutOfAllocation { range, .. } => device(
            format!("addresses {:#x} to {:#x}", range.start, range.end),
            "addresses inside one allocation".to_owned(),
        ),
        CudaError::Copy { problem } => Incompatibility::from_reason(Kind::Device, problem.clone()),
        _ => return None,
    })
}

/// Returns the fields of errors about NVRTC, cuBLASLt and compiled kernels.
fn of_library(error: &CudaError) -> Option<Incompatibility> {
    let library =
        |found: String, wanted: &'static str| Incompatibility::new(Kind::Exchange, found, wanted);
    Some(match error {
        CudaError::OldCompiler { found, .. } => library(
            format!("NVRTC {}.{}", found.0, found.1),
            "NVRTC 12.0 or newer",
        ),
        CudaError::OldGpu { found, oldest } => Incompatibility::new(
            Kind::Device,
            format!("sm_{found}"),
            format!("sm_{oldest} or newer"),
        ),
        CudaError::OldBlas { found, .. } => library(
            format!("cuBLASLt {}.{}", found / 10_000, found % 10_000 / 100),
            "cuBLASLt 12.0 or newer",
        ),
        CudaError::BadCompiler { path, .. } => library(path.display().to_string(), "NVRTC"),
        CudaError::BadBlas { path, .. } => library(path.display().to_string(), "cuBLASLt"),
        CudaError::NoCompiler { .. } => {
            Incompatibility::from_reason(Kind::Exchange, error.to_string()).with_wanted("NVRTC")
        }
        CudaError::NoBlas { .. } => {
            Incompatibility::from_reason(Kind::Exchange, error.to_string()).with_wanted("cuBLASLt")
        }
        CudaError::Compile { .. } | CudaError::Image { .. } => {
            Incompatibility::from_reason(Kind::Kernel, error.to_string())
        }
        CudaError::NoFunction { name } => {
            Incompatibility::new(Kind::Kernel, name.clone(), "a kernel of the module")
        }
        CudaError::Nul { what } => {
            Incompatibility::new(Kind::Value, "a NUL character", format!("a {what} without"))
        }
        _ => return None,
    })
}

/// Returns the remedy with which the error's text ends.
fn remedy(error: &CudaError) -> Option<&'static str> {
    match error {
        CudaError::NoDriver => Some("install NVIDIA's driver"),
        CudaError::OldDriver { .. } => Some("update NVIDIA's driver"),
        CudaError::OtherThread => Some("wrap handle 2 on each, or make a stream"),
        CudaError::BadDriver { .. } => Some("reinstall NVIDIA's driver, 12.0 or newer"),
        CudaError::NoCompiler { told: None } => Some("DLBRIDGE_NVRTC can say where it is"),
        CudaError::OldGpu { .. } => Some("use an older NVRTC"),
        CudaError::BadBlas { .. } | CudaError::OldBlas { .. } => Some(WITHOUT_BLAS),
        CudaError::Nul { .. } => Some("remove it"),
        CudaError::NoFunction { .. } => {
            Some("one of C++ must be `extern \"C\"`, or be named when it is compiled")
        }
        _ => None,
    }
}
