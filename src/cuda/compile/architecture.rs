//! [`Architecture`]: the target of a compilation, a real or a virtual GPU architecture.

use super::nvrtc::Nvrtc;
use crate::cuda::driver::error::CudaError;

/// The version of a GPU's instructions, as a number: 90 for `sm_90`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Architecture {
    /// The GPU's own.
    Own(i32),
    /// An older one, from which the driver compiles.
    Virtual(i32),
}

impl Architecture {
    pub(super) fn choose(version: (i32, i32), nvrtc: &Nvrtc) -> Result<Self, CudaError> {
        let (major, minor) = version;
        let wanted = major.saturating_mul(10).saturating_add(minor);
        let supported = nvrtc.architectures()?;
        Self::among(wanted, &supported).ok_or(CudaError::OldGpu {
            found: wanted,
            oldest: supported.into_iter().min().unwrap_or(0),
        })
    }

    fn among(wanted: i32, supported: &[i32]) -> Option<Self> {
        let newest = supported
            .iter()
            .copied()
            .filter(|known| *known <= wanted)
            .max()?;
        Some(match newest == wanted {
            true => Self::Own(wanted),
            false => Self::Virtual(newest),
        })
    }

    pub(super) fn option(self) -> String {
        match self {
            Self::Own(number) => format!("--gpu-architecture=sm_{number}"),
            Self::Virtual(number) => format!("--gpu-architecture=compute_{number}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Architecture;

    #[test]
    fn architecture_is_exact_or_the_newest_compatible() {
        let choose = |wanted| Architecture::among(wanted, &[75, 80, 90, 120]);
        assert_eq!(choose(80), Some(Architecture::Own(80)));
        assert_eq!(choose(89), Some(Architecture::Virtual(80)));
        assert_eq!(choose(100), Some(Architecture::Virtual(90)));
        assert_eq!(choose(133), Some(Architecture::Virtual(120)));
        assert_eq!(choose(70), None);
        assert_eq!(Architecture::Own(90).option(), "--gpu-architecture=sm_90");
        assert_eq!(
            Architecture::Virtual(90).option(),
            "--gpu-architecture=compute_90"
        );
    }
}
