//! The types of the driver's functions, laid out as its header has them.

use crate::codes::{Code, Outcome};
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};

macro_rules! handles {
    ($($(#[$doc:meta])* $name:ident = $kind:literal $word:literal;)*) => {$(
        $(#[$doc])*
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name(pub usize);

        impl Handle for $name {
            const KIND: usize = $kind;
            const WORD: &'static str = $word;
            fn value(self) -> usize {
                self.0
            }
            fn of(id: u32) -> Self {
                $name($kind << 40 | (id as usize) << 4)
            }
        }
    )*};
}

/// A handle is its kind and a number that is never given twice, so a destroyed thing or one of
/// another kind is known.
pub(crate) trait Handle: Copy {
    const KIND: usize;
    const WORD: &'static str;
    fn value(self) -> usize;
    fn of(id: u32) -> Self;

    /// The number, if the handle is of this kind.
    fn id(self) -> Option<u32> {
        let value = self.value();
        let known = value >> 40 == Self::KIND && value & 15 == 0;
        u32::try_from((value & ((1 << 40) - 1)) >> 4)
            .ok()
            .filter(|_| known)
    }
}

handles! {
    /// `CUcontext`
    Context = 0x51 "context";
    /// `CUstream`; 0 and 1 are the legacy default stream, 2 is the thread's.
    Stream = 0x52 "stream";
    /// `CUevent`
    Event = 0x53 "event";
    /// `CUmodule`, and `CUlibrary`
    Module = 0x54 "module";
    /// `CUfunction`, and `CUkernel`
    Function = 0x55 "function";
    /// `CUmemoryPool`
    Pool = 0x56 "pool";
    /// `CUgraph`
    Graph = 0x57 "graph";
    /// `CUgraphExec`
    GraphExec = 0x58 "executable graph";
}

/// `CUdevice`
pub type Device = c_int;

/// `CUdeviceptr`
#[repr(transparent)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address(pub u64);

/// A pointer to memory that the driver reads or writes as the host's.
#[repr(transparent)]
#[derive(Clone, Copy, Debug)]
pub struct Host(pub *mut c_void);

// SAFETY: a pointer; what is done with it is ordered by the driver's rules on streams, which the
// caller keeps.
unsafe impl Send for Host {}

/// Where a function puts a result. Made by callers in C only, who promise that it is null or can be
/// written.
#[repr(transparent)]
#[derive(Debug)]
pub struct Out<T>(pub *mut T);

impl<T> Out<T> {
    pub(crate) fn give(&self, value: T) -> Outcome {
        self.check()?;
        // SAFETY: not null, and so writable by what the type promises. It may be unaligned in no
        // ABI of these types.
        unsafe { self.0.write(value) };
        Ok(())
    }

    /// For results that a caller may leave out.
    pub(crate) fn give_if_wanted(&self, value: T) {
        let _ = self.give(value);
    }

    pub(crate) fn check(&self) -> Outcome {
        if self.0.is_null() {
            Err(Code::ERROR_INVALID_VALUE)
        } else {
            Ok(())
        }
    }
}

/// A structure or a number that a function reads. Made by callers in C only, who promise that it is
/// null or readable.
#[repr(transparent)]
#[derive(Debug)]
pub struct In<T>(pub *const T);

impl<T: Copy> In<T> {
    pub(crate) fn read(&self) -> Outcome<T> {
        if self.0.is_null() {
            return Err(Code::ERROR_INVALID_VALUE);
        }
        // SAFETY: not null, and so readable by what the type promises.
        Ok(unsafe { self.0.read() })
    }
}

/// A string of C. Made by callers in C only, who promise that it is null or ends in NUL.
#[repr(transparent)]
#[derive(Debug)]
pub struct Text(pub *const c_char);

impl Text {
    pub(crate) fn read(&self) -> Outcome<String> {
        if self.0.is_null() {
            return Err(Code::ERROR_INVALID_VALUE);
        }
        // SAFETY: not null, and so a string that ends in NUL by what the type promises.
        Ok(unsafe { CStr::from_ptr(self.0) }
            .to_string_lossy()
            .into_owned())
    }
}

/// `CUhostFn`
pub type HostFunction = unsafe extern "C" fn(*mut c_void);
/// `CUstreamCallback`
pub type StreamCallback = unsafe extern "C" fn(Stream, c_int, *mut c_void);
/// `CUoccupancyB2DSize`
pub type SharedMemoryOfBlock = unsafe extern "C" fn(c_int) -> usize;

/// One side of a copy: `CU_MEMORYTYPE_HOST`, `_DEVICE`, (`_ARRAY`,) `_UNIFIED` say which of the
/// pointers counts.
pub const MEMORYTYPE_HOST: c_uint = 1;
/// See [`MEMORYTYPE_HOST`].
pub const MEMORYTYPE_DEVICE: c_uint = 2;
/// See [`MEMORYTYPE_HOST`].
pub const MEMORYTYPE_UNIFIED: c_uint = 4;

#[allow(missing_docs, reason = "the fields are those of the driver's header")]
pub mod structures {
    use super::{Address, Context, Stream, c_char, c_int, c_uint, c_void};

    /// `CUDA_MEMCPY2D`
    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub struct Copy2d {
        pub src_x: usize,
        pub src_y: usize,
        pub src_type: c_uint,
        pub src_host: *const c_void,
        pub src_device: Address,
        pub src_array: usize,
        pub src_pitch: usize,
        pub dst_x: usize,
        pub dst_y: usize,
        pub dst_type: c_uint,
        pub dst_host: *mut c_void,
        pub dst_device: Address,
        pub dst_array: usize,
        pub dst_pitch: usize,
        pub width: usize,
        pub height: usize,
    }

    /// One side of `CUDA_MEMCPY3D` and of `CUDA_MEMCPY3D_PEER`, which differ in the names of fields
    /// alone.
    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub struct Side3d {
        pub x: usize,
        pub y: usize,
        pub z: usize,
        pub lod: usize,
        pub memory_type: c_uint,
        pub host: *mut c_void,
        pub device: Address,
        pub array: usize,
        pub context: Context,
        pub pitch: usize,
        pub height: usize,
    }

    /// `CUDA_MEMCPY3D`, and `CUDA_MEMCPY3D_PEER`
    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub struct Copy3d {
        pub src: Side3d,
        pub dst: Side3d,
        pub width: usize,
        pub height: usize,
        pub depth: usize,
    }

    /// `CUmemLocation`
    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub struct Location {
        pub kind: c_int,
        pub id: c_int,
    }

    /// `CUmemPoolProps`
    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub struct PoolProps {
        pub alloc_type: c_int,
        pub handle_types: c_int,
        pub location: Location,
        pub security: *mut c_void,
        pub reserved: [u8; 64],
    }

    /// `CUmemAccessDesc`
    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub struct AccessDescription {
        pub location: Location,
        pub flags: c_int,
    }

    /// `CUlaunchConfig`
    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub struct LaunchConfig {
        pub grid: [c_uint; 3],
        pub block: [c_uint; 3],
        pub shared: c_uint,
        pub stream: Stream,
        pub attributes: *mut c_void,
        pub attribute_count: c_uint,
    }

    /// `CUDA_GRAPH_INSTANTIATE_PARAMS`
    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub struct InstantiateParams {
        pub flags: u64,
        pub upload_stream: Stream,
        pub error_node: usize,
        pub result: c_int,
    }

    /// `CUuuid`
    #[repr(C)]
    #[derive(Clone, Copy, Debug)]
    pub struct Uuid {
        pub bytes: [c_char; 16],
    }
}
