//! Kinds of devices: every one that DLPack 1.3 defines.

macro_rules! device_kinds {
    ($($(#[$doc:meta])* $kind:ident = $value:literal, $name:literal;)*) => {
        /// A kind of device. The values are DLPack's.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(i32)]
        #[non_exhaustive]
        pub enum DeviceKind {
            $($(#[$doc])* $kind = $value,)*
        }

        impl DeviceKind {
            /// All kinds, in the order of their values.
            pub const ALL: &'static [Self] = &[$(Self::$kind),*];

            /// Returns the name, as in `"cuda_host"`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            #[inline]
            pub(super) const fn from_value(value: u32) -> Option<Self> {
                match value {
                    $($value => Some(Self::$kind),)*
                    _ => None,
                }
            }
        }
    };
}

device_kinds! {
    /// The CPU's own memory.
    Cpu = 1, "cpu";
    /// Memory of an NVIDIA GPU.
    Cuda = 2, "cuda";
    /// Host memory that is pinned for CUDA.
    CudaHost = 3, "cuda_host";
    /// OpenCL: memory objects, not addresses.
    OpenCl = 4, "opencl";
    /// Vulkan: buffers, not addresses.
    Vulkan = 7, "vulkan";
    /// Metal: buffers, not addresses.
    Metal = 8, "metal";
    /// A Verilog simulator.
    Vpi = 9, "vpi";
    /// Memory of an AMD GPU.
    Rocm = 10, "rocm";
    /// Host memory that is pinned for ROCm.
    RocmHost = 11, "rocm_host";
    /// For experiments.
    ExtDev = 12, "ext_dev";
    /// CUDA's unified memory.
    CudaManaged = 13, "cuda_managed";
    /// Unified shared memory of a oneAPI device.
    OneApi = 14, "oneapi";
    /// WebGPU: buffers, not addresses.
    WebGpu = 15, "webgpu";
    /// Qualcomm's Hexagon.
    Hexagon = 16, "hexagon";
    /// Microsoft's MAIA.
    Maia = 17, "maia";
    /// AWS Trainium.
    Trainium = 18, "trn";
}

impl DeviceKind {
    /// Returns whether a tensor's data pointer is an address there, which supports pointer
    /// arithmetic.
    ///
    /// Where this is false, or unknown, the pointer is a handle: it is passed on as it came, and
    /// so is the byte offset beside it.
    #[inline]
    pub const fn has_addresses(self) -> bool {
        matches!(
            self,
            Self::Cpu
                | Self::Cuda
                | Self::CudaHost
                | Self::Rocm
                | Self::RocmHost
                | Self::CudaManaged
                | Self::OneApi
        )
    }

    /// Returns whether the CPU can access the memory in this process.
    ///
    /// oneAPI has memory of which that is true and memory of which it isn't, and DLPack doesn't
    /// say which is meant: the answer is no.
    #[inline]
    pub const fn is_host_accessible(self) -> bool {
        matches!(
            self,
            Self::Cpu | Self::CudaHost | Self::RocmHost | Self::CudaManaged
        )
    }
}
