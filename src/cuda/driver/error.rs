//! [`CudaError`]: the error type of everything in `cuda`.

mod fields;

use crate::device::Device;
use crate::error::{Error, Incompatibility};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Errors of GPUs, their driver and NVIDIA's libraries.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CudaError {
    /// NVIDIA's driver isn't installed.
    #[error("there is no CUDA driver here: libcuda.so.1 was not found; install NVIDIA's driver")]
    NoDriver,
    /// The driver is too old.
    #[error("expected CUDA driver 12.0 or newer, found {}.{}; update NVIDIA's driver", .found / 1000, .found % 1000 / 10)]
    OldDriver {
        /// Its version, as the driver reports it: 11040 for 11.4.
        found: i32,
    },
    /// A library of the driver's name that isn't CUDA's driver, or lacks functions.
    #[error("the CUDA driver can't be used: {problem}; reinstall NVIDIA's driver, 12.0 or newer")]
    BadDriver {
        /// The problem.
        problem: String,
    },
    /// There is a driver, and no GPU that it can use.
    #[error("the CUDA driver finds no GPU")]
    NoGpu,
    /// There is no such GPU.
    #[error("there is no device cuda:{id}; there {} here", counted(*.count))]
    NoSuchGpu {
        /// The requested one.
        id: i32,
        /// How many there are.
        count: usize,
    },
    /// A device that isn't CUDA's.
    #[error("expected a CUDA device, got {device}")]
    NotCuda {
        /// The device.
        device: Device,
    },
    /// There is not enough memory on a device.
    #[error("there is not enough memory on {device} for {bytes} bytes")]
    OutOfMemory {
        /// The device.
        device: Device,
        /// The requested amount.
        bytes: usize,
    },
    /// Something that can't be part of a graph.
    #[error("{what} while a graph is captured")]
    Capturing {
        /// The operation that can't be captured.
        what: &'static str,
    },
    /// A stream is one of another GPU.
    #[error("expected a stream of {wanted}, where the memory is, got one of cuda:{found}")]
    WrongStream {
        /// The stream's GPU.
        found: i32,
        /// The GPU whose stream is needed.
        wanted: Device,
    },
    /// The default stream of another thread, which no other one can name.
    #[error(
        "the default stream of another thread can't be used on this one; wrap handle 2 on each, or make a stream"
    )]
    OtherThread,
    /// Memory that CUDA knows nothing of.
    #[error("address {address:#x} is in no memory that CUDA knows")]
    UnknownAddress {
        /// The address.
        address: usize,
    },
    /// A range of addresses that isn't inside one allocation.
    #[error("addresses {:#x} to {:#x} aren't inside one allocation: {}", .range.start, .range.end, of_allocation(.allocation))]
    OutOfAllocation {
        /// The range.
        range: Range<usize>,
        /// The allocation in which one end of it is, if the driver tells.
        allocation: Option<Range<usize>>,
    },
    /// A copy into memory that can't take it.
    #[error("{problem}")]
    Copy {
        /// Why not.
        problem: String,
    },
    /// NVRTC, which compiles kernels while the program runs, isn't there.
    #[error("NVRTC, which compiles CUDA C++, was not found {}", looked_for(.told.as_deref()))]
    NoCompiler {
        /// The configured path, if there is one.
        told: Option<PathBuf>,
    },
    /// A library that isn't NVRTC, or can't be loaded.
    #[error("{} can't be used as NVRTC: {problem}", .path.display())]
    BadCompiler {
        /// The path.
        path: PathBuf,
        /// The loader's message.
        problem: String,
    },
    /// NVRTC is too old.
    #[error("expected NVRTC 12.0 or newer, found {}.{} in {}", .found.0, .found.1, .path.display())]
    OldCompiler {
        /// The path.
        path: PathBuf,
        /// Its version.
        found: (i32, i32),
    },
    /// A GPU that NVRTC doesn't compile for any more.
    #[error("NVRTC supports sm_{oldest} and newer, and the GPU is sm_{found}; use an older NVRTC")]
    OldGpu {
        /// The GPU's, as a number.
        found: i32,
        /// The oldest one that NVRTC knows.
        oldest: i32,
    },
    /// There is something wrong with a source, or its options.
    #[error("{name} can't be compiled:\n{log}")]
    Compile {
        /// The source's name.
        name: String,
        /// NVRTC's log, with the source lines that it names.
        log: String,
    },
    /// NVRTC failed otherwise.
    #[error("{function} failed with {name}")]
    Compiler {
        /// NVRTC's function.
        function: &'static str,
        /// The returned code.
        code: i32,
        /// The answer's name.
        name: String,
    },
    /// cuBLASLt isn't where it was said to be.
    #[error("cuBLASLt, which multiplies matrices, was not found in {}", .told.display())]
    NoBlas {
        /// The configured path.
        told: PathBuf,
    },
    /// A library that isn't cuBLASLt, or can't be loaded.
    #[error(
        "{} can't be used as cuBLASLt: {problem}; with DLBRIDGE_CUBLASLT=none matrices are multiplied without it",
        .path.display()
    )]
    BadBlas {
        /// The path.
        path: PathBuf,
        /// The loader's message.
        problem: String,
    },
    /// cuBLASLt is too old.
    #[error(
        "expected cuBLASLt 12.0 or newer, found {}.{} in {}; with DLBRIDGE_CUBLASLT=none matrices are multiplied \
        without it", .found / 10_000, .found % 10_000 / 100, .path.display()
    )]
    OldBlas {
        /// The path.
        path: PathBuf,
        /// Its version, as the driver reports it: 120401 for 12.4.1.
        found: usize,
    },
    /// cuBLASLt failed.
    #[error("{function} failed with {name}")]
    Blas {
        /// cuBLASLt's function.
        function: &'static str,
        /// The returned code.
        code: i32,
        /// The answer's name.
        name: String,
    },
    /// A text that C can't be given.
    #[error("the {what} contains a NUL character; remove it")]
    Nul {
        /// The text: the source, an option, a name.
        what: &'static str,
    },
    /// Machine code that can't be loaded.
    #[error("the kernels can't be loaded: {problem}")]
    Image {
        /// Why not, as far as that is known: what the driver's compiler says.
        problem: String,
    },
    /// There is no such kernel in a module.
    #[error(
        "there is no kernel {name:?} in the module; one of C++ must be `extern \"C\"`, or be named when it is compiled"
    )]
    NoFunction {
        /// The name.
        name: String,
    },
    /// A launch that can't be.
    #[error("kernel {kernel}: {problem}")]
    Launch {
        /// The kernel's name.
        kernel: String,
        /// What was expected, what was found, and how to fix it.
        problem: Box<Incompatibility>,
    },
    /// An invalid shape, dtype or access.
    #[error(transparent)]
    Tensor(#[from] Error),
    /// The driver refused, or the GPU failed.
    #[error("{function} failed with {name}: {description}")]
    Driver {
        /// The driver's function.
        function: &'static str,
        /// The returned code.
        code: u32,
        /// The answer's name.
        name: String,
        /// The driver's description.
        description: String,
    },
}

impl CudaError {
    /// Returns the driver's answer, where this is one.
    pub fn code(&self) -> Option<u32> {
        match self {
            Self::Driver { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// Returns whether a tensor isn't where it can be exchanged or used: its device isn't there, or
    /// not the one that is needed. All other errors are failures of a GPU, its driver, or one of
    /// NVIDIA's libraries.
    #[cfg(feature = "python")]
    pub(crate) fn is_about_exchange(&self) -> bool {
        matches!(
            self,
            Self::NoDriver
                | Self::NoGpu
                | Self::NoSuchGpu { .. }
                | Self::NotCuda { .. }
                | Self::WrongStream { .. }
                | Self::UnknownAddress { .. }
                | Self::OutOfAllocation { .. }
                | Self::Copy { .. }
                | Self::Tensor(_)
        )
    }

    /// Returns whether the GPU can't be used any more in this process: a sticky error of the
    /// driver.
    pub(in crate::cuda) fn is_final(&self) -> bool {
        use cudarc::driver::sys::CUresult as Answer;
        const FINAL: [Answer; 16] = [
            Answer::CUDA_ERROR_DEINITIALIZED,
            Answer::CUDA_ERROR_CONTEXT_IS_DESTROYED,
            Answer::CUDA_ERROR_ILLEGAL_ADDRESS,
            Answer::CUDA_ERROR_LAUNCH_FAILED,
            Answer::CUDA_ERROR_LAUNCH_TIMEOUT,
            Answer::CUDA_ERROR_HARDWARE_STACK_ERROR,
            Answer::CUDA_ERROR_ECC_UNCORRECTABLE,
            Answer::CUDA_ERROR_ASSERT,
            Answer::CUDA_ERROR_ILLEGAL_INSTRUCTION,
            Answer::CUDA_ERROR_MISALIGNED_ADDRESS,
            Answer::CUDA_ERROR_INVALID_ADDRESS_SPACE,
            Answer::CUDA_ERROR_INVALID_PC,
            Answer::CUDA_ERROR_EXTERNAL_DEVICE,
            Answer::CUDA_ERROR_NVLINK_UNCORRECTABLE,
            Answer::CUDA_ERROR_CONTAINED,
            Answer::CUDA_ERROR_MPS_CLIENT_TERMINATED,
        ];
        let code = self.code();
        FINAL.iter().any(|answer| code == Some(*answer as u32))
    }
}

fn looked_for(told: Option<&Path>) -> String {
    match told {
        Some(told) => format!("in {}", told.display()),
        None => "in this process, in LD_LIBRARY_PATH, CUDA_PATH or CUDA_HOME, among Python's packages (where \
            nvidia-cuda-nvrtc has it), or in /usr/local/cuda; DLBRIDGE_NVRTC can say where it is"
            .to_owned(),
    }
}

fn of_allocation(allocation: &Option<Range<usize>>) -> String {
    match allocation {
        Some(Range { start, end }) => format!("the driver has one from {start:#x} to {end:#x}"),
        None => "the driver knows its end as another one's, or not at all".to_owned(),
    }
}

fn counted(count: usize) -> String {
    match count {
        1 => "is one".to_owned(),
        count => format!("are {count}"),
    }
}
