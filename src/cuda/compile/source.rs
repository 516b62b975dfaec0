//! [`Source`]: kernels in CUDA C++, with their headers and options.

/// Kernels in CUDA C++, and how they are to be compiled.
///
/// ```no_run
/// use dlbridge::cuda::{Gpu, Source};
///
/// let source = r#"
///     template <class T> __global__ void fill(size_t count, T value, T* y) {
///         size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
///         if (i < count) y[i] = value;
///     }
/// "#;
/// let source = Source::new(source).name("fill.cu").kernel("fill<float>");
/// let module = source.compile_for(Gpu::new(0)?)?;
/// let kernel = module.function("fill<float>")?;
/// # Ok::<(), dlbridge::cuda::CudaError>(())
/// ```
#[derive(Debug, Clone)]
#[must_use = "it is compiled by `compile_for`"]
pub struct Source {
    pub(super) text: String,
    pub(super) name: String,
    pub(super) options: Vec<String>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) kernels: Vec<String>,
}

impl Source {
    /// Creates a source of this text. CUDA's headers (`cuda_fp16.h`, `cuda_bf16.h`, `cuda_fp8.h`)
    /// can be included, where they are installed; a kernel is found by its name if it is `extern
    /// "C"`, or named by [`kernel`](Self::kernel).
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            name: "kernel.cu".to_owned(),
            options: Vec::new(),
            headers: Vec::new(),
            kernels: Vec::new(),
        }
    }

    /// Sets the name of the source in messages. If it is a path, quoted includes are looked up
    /// beside it, and the image is not cached.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Adds an option for NVRTC, such as `-DT=float`, `--use_fast_math` or
    /// `--include-path=kernels`.
    pub fn option(mut self, option: impl Into<String>) -> Self {
        self.options.push(option.into());
        self
    }

    /// Adds a header in memory, which the source can include by this name.
    pub fn header(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.headers.push((name.into(), text.into()));
        self
    }

    /// Requests a kernel that isn't `extern "C"` by its C++ name: `"fill<float>"`,
    /// `"images::flip"`. A template is instantiated by that. The module has a function of this
    /// name.
    pub fn kernel(mut self, name: impl Into<String>) -> Self {
        self.kernels.push(name.into());
        self
    }
}
