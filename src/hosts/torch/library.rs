//! [`Torch`]: the functions of the loaded PyTorch, and its numbers of dtypes and devices.

use super::exception::Exceptions;
use crate::dtype::DType;
use crate::hosts::lookup::{address, loaded, lookup_table};
use crate::hosts::{Host, HostError};
use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

/// A tensor, a library or a list of PyTorch's.
pub(super) type Handle = *mut c_void;
/// 0 for success.
pub(super) type Status = i32;
/// A function that the dispatcher calls, with a stack of arguments that it owns.
pub(super) type Boxed = unsafe extern "C-unwind" fn(*mut u64, u64, u64);

/// The build version that functions from 2.10 on are called for: what the stack's values look like.
const BUILD_VERSION: u64 = (2 << 56) | (10 << 48);

lookup_table! {
    /// Functions of the stable C shim. The optional ones are there from 2.10 on, or later.
    struct Functions;
    required {
        fn aoti_torch_library_init_fragment(*const c_char, *const c_char, u32, *mut Handle) -> Status;
        fn aoti_torch_library_init_impl(*const c_char, *const c_char, *const c_char, u32, *mut Handle) -> Status;
        fn aoti_torch_library_def(Handle, *const c_char) -> Status;
        fn aoti_torch_library_impl(Handle, *const c_char, Boxed) -> Status;
        fn aoti_torch_get_data_ptr(Handle, *mut *mut u8) -> Status;
        fn aoti_torch_get_dim(Handle, *mut i64) -> Status;
        fn aoti_torch_get_sizes(Handle, *mut *const i64) -> Status;
        fn aoti_torch_get_strides(Handle, *mut *const i64) -> Status;
        fn aoti_torch_get_dtype(Handle, *mut i32) -> Status;
        fn aoti_torch_get_device_type(Handle, *mut i32) -> Status;
        fn aoti_torch_empty_strided(i64, *const i64, *const i64, i32, i32, i32, *mut Handle) -> Status;
        fn aoti_torch_clone(Handle, *mut Handle) -> Status;
        fn aoti_torch_delete_tensor_object(Handle) -> Status;
        fn aoti_torch_device_type_cpu() -> i32;
    }
    optional {
        fn torch_library_impl(Handle, *const c_char, Boxed, u64) -> Status;
        fn torch_get_const_data_ptr(Handle, *mut *const u8) -> Status;
        fn torch_list_size(Handle, *mut usize) -> Status;
        fn torch_list_get_item(Handle, usize, *mut u64) -> Status;
        fn torch_delete_list(Handle) -> Status;
        fn torch_string_length(Handle, *mut usize) -> Status;
        fn torch_string_c_str(Handle, *mut *const c_char) -> Status;
        fn torch_delete_string(Handle) -> Status;
        fn torch_delete_stable_ivalue(*mut u64) -> Status;
    }
}

/// The names of PyTorch's library.
const LIBRARIES: [&str; 2] = ["libtorch_cpu.so", "libtorch_cpu.dylib"];

/// The loaded PyTorch.
pub(super) struct Torch {
    pub(super) functions: Functions,
    pub(super) exceptions: Exceptions,
    pub(super) cpu: i32,
    /// PyTorch's numbers of dtypes.
    dtypes: Vec<(i32, DType)>,
}

impl Torch {
    /// Returns the loaded PyTorch.
    pub(super) fn get() -> Result<&'static Self, HostError> {
        static TORCH: OnceLock<Torch> = OnceLock::new();
        if let Some(torch) = TORCH.get() {
            return Ok(torch);
        }
        let found = Self::find()?;
        Ok(TORCH.get_or_init(|| found))
    }

    fn find() -> Result<Self, HostError> {
        let library = LIBRARIES.into_iter().find_map(loaded);
        let library = library.ok_or_else(|| Host::Torch.not_loaded())?;
        // SAFETY: the signatures are those of PyTorch's stable shims, which keep them.
        let functions = unsafe { Functions::find(library, Host::Torch)? };
        // SAFETY: a function of the shim without arguments.
        let cpu = unsafe { (functions.aoti_torch_device_type_cpu)() };
        let mut dtypes = Vec::new();
        for (name, dtype) in DTYPES {
            if let Some(number) = address(library, &format!("aoti_torch_dtype_{name}")) {
                // SAFETY: the shim's functions of such names take nothing and return a number.
                let number = unsafe {
                    std::mem::transmute::<*mut c_void, unsafe extern "C" fn() -> i32>(number)()
                };
                dtypes.push((number, dtype));
            }
        }
        if !dtypes.iter().any(|(_, dtype)| *dtype == WITHOUT_FUNCTION.1) {
            dtypes.push(WITHOUT_FUNCTION);
        }
        Ok(Self {
            functions,
            exceptions: Exceptions::find()?,
            cpu,
            dtypes,
        })
    }

    /// Returns the dtype of a number of PyTorch's.
    #[inline]
    pub(super) fn dtype(&self, number: i32) -> Option<DType> {
        let mut known = self.dtypes.iter();
        known
            .find(|(known, _)| *known == number)
            .map(|(_, dtype)| *dtype)
    }

    /// Returns PyTorch's number of a dtype.
    #[inline]
    pub(super) fn number(&self, dtype: DType) -> Option<i32> {
        let mut known = self.dtypes.iter();
        known
            .find(|(_, known)| *known == dtype)
            .map(|(number, _)| *number)
    }

    /// Returns whether lists and texts can be arguments.
    pub(super) fn has_lists(&self) -> bool {
        self.functions.torch_list_size.is_some() && self.functions.torch_string_c_str.is_some()
    }

    /// Registers the function of an op for a dispatch key's library.
    ///
    /// # Safety
    ///
    /// The function takes the arguments of the op's schema.
    pub(super) unsafe fn implement(
        &self,
        library: Handle,
        name: *const c_char,
        function: Boxed,
    ) -> Status {
        // SAFETY: the library is one of PyTorch's, and the name ends with a zero.
        unsafe {
            match self.functions.torch_library_impl {
                Some(implement) => implement(library, name, function, BUILD_VERSION),
                None => (self.functions.aoti_torch_library_impl)(library, name, function),
            }
        }
    }
}

/// The dtype for which PyTorch 2.8 has no function in its shim, with its number: files that PyTorch
/// writes hold those of dtypes, which never change.
const WITHOUT_FUNCTION: (i32, DType) = (44, DType::F8_E8M0FNU);

/// The names of the shim's functions for dtypes. Releases may lack some.
const DTYPES: [(&str, DType); 21] = [
    ("float32", DType::F32),
    ("float64", DType::F64),
    ("float16", DType::F16),
    ("bfloat16", DType::BF16),
    ("int8", DType::I8),
    ("int16", DType::I16),
    ("int32", DType::I32),
    ("int64", DType::I64),
    ("uint8", DType::U8),
    ("uint16", DType::U16),
    ("uint32", DType::U32),
    ("uint64", DType::U64),
    ("bool", DType::BOOL),
    ("complex32", DType::C32),
    ("complex64", DType::C64),
    ("complex128", DType::C128),
    ("float8_e4m3fn", DType::F8_E4M3FN),
    ("float8_e5m2", DType::F8_E5M2),
    ("float8_e4m3fnuz", DType::F8_E4M3FNUZ),
    ("float8_e5m2fnuz", DType::F8_E5M2FNUZ),
    ("float8_e8m0fnu", DType::F8_E8M0FNU),
];
