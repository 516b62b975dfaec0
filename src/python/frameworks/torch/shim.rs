//! PyTorch's stable C functions.
//!
//! What a tensor looks like, they say in a quarter of the time that the exchange table takes: each
//! of them is a few instructions, and counts no references. They are made for compiled models that
//! are to outlive the PyTorch that they were compiled with, and take the address of the C++ tensor,
//! which is in the Python object.
//!
//! Gain: by the exchange table, a call with three tensors takes 132% longer.

use super::alias::{Alias, Handle, Release};
use super::class::Torch;
use super::library::Library;
use crate::dlpack::DLTensor;
use crate::dtype::DType;
use crate::interchange::Usual;
use pyo3::Borrowed;
use pyo3::prelude::*;
use std::ffi::{c_int, c_void};
use std::ptr;

/// A question to a tensor; 0 where it was answered.
type Ask<T> = unsafe extern "C" fn(Handle, *mut T) -> c_int;
/// Another C++ tensor with the same storage, of this rank, sizes, strides and further offset; 0
/// where there is one.
type Reinterpret =
    unsafe extern "C" fn(Handle, i64, *const i64, *const i64, i64, *mut Handle) -> c_int;
/// The number that PyTorch has for an element type, or a kind of device.
type Number = unsafe extern "C" fn() -> c_int;

/// PyTorch has fewer element types than that.
const DTYPES: usize = 64;

/// The functions, and the numbers that they answer with.
#[derive(Debug)]
pub(super) struct Shim {
    data: Ask<*mut c_void>,
    sizes: Ask<*mut i64>,
    strides: Ask<*mut i64>,
    rank: Ask<i64>,
    dtype: Ask<c_int>,
    device: Ask<c_int>,
    reinterpret: Reinterpret,
    release: Release,
    dtypes: [Option<DType>; DTYPES],
    cpu: c_int,
}

impl Shim {
    /// Returns the functions of the PyTorch that is loaded; `None` where some are missing.
    ///
    /// # Errors
    ///
    /// As of looking for a library.
    pub(super) fn load(py: Python<'_>, torch: &Torch) -> PyResult<Option<Self>> {
        let Some(library) = Library::loaded(py, torch, "torch_cpu")? else {
            return Ok(None);
        };
        // Its sizes and strides are read as ours.
        if size_of::<i64>() != size_of::<isize>() {
            return Ok(None);
        }
        let get = |name: &str| library.function(&format!("aoti_torch_get_{name}"));
        let found = [
            get("data_ptr")?,
            get("sizes")?,
            get("strides")?,
            get("dim")?,
            get("dtype")?,
            get("device_type")?,
            library.function("aoti_torch_device_type_cpu")?,
            library.function("aoti_torch__reinterpret_tensor")?,
            library.function("aoti_torch_delete_tensor_object")?,
        ];
        let mut functions = [ptr::null_mut(); 9];
        for (function, found) in functions.iter_mut().zip(found) {
            match found {
                Some(found) => *function = found,
                None => return Ok(None),
            }
        }
        let mut dtypes = [None; DTYPES];
        for dtype in DType::ALL {
            let name = format!("aoti_torch_dtype_{dtype}");
            let Some(number) = library.function(&name)? else {
                continue;
            };
            // SAFETY: these functions have this signature, and can always be called.
            let number = unsafe { std::mem::transmute::<*mut c_void, Number>(number)() };
            let Some(place) = usize::try_from(number).ok().and_then(|i| dtypes.get_mut(i)) else {
                return Ok(None);
            };
            *place = Some(*dtype);
        }
        let [
            data,
            sizes,
            strides,
            rank,
            dtype,
            device,
            cpu,
            reinterpret,
            release,
        ] = functions;
        // SAFETY: the functions of these names have these signatures, in every version that has
        // them: that is what they are there for.
        unsafe {
            use std::mem::transmute;
            Ok(Some(Self {
                data: transmute::<*mut c_void, Ask<*mut c_void>>(data),
                sizes: transmute::<*mut c_void, Ask<*mut i64>>(sizes),
                strides: transmute::<*mut c_void, Ask<*mut i64>>(strides),
                rank: transmute::<*mut c_void, Ask<i64>>(rank),
                dtype: transmute::<*mut c_void, Ask<c_int>>(dtype),
                device: transmute::<*mut c_void, Ask<c_int>>(device),
                reinterpret: transmute::<*mut c_void, Reinterpret>(reinterpret),
                release: transmute::<*mut c_void, Release>(release),
                dtypes,
                cpu: transmute::<*mut c_void, Number>(cpu)(),
            }))
        }
    }

    /// Returns what a tensor on the host looks like, for as long as it stays as it is; `None` for
    /// others.
    ///
    /// # Safety
    ///
    /// The handle is the address of a C++ tensor, whose memory is its value.
    #[inline(always)]
    pub(super) unsafe fn describe(&self, handle: Handle) -> Option<Usual> {
        let (mut data, mut shape, mut strides) =
            (ptr::null_mut(), ptr::null_mut(), ptr::null_mut());
        let (mut rank, mut dtype, mut device) = (0, 0, 0);
        // SAFETY: the handle is the address of a C++ tensor, as callers see to; each function has
        // the signature of its name, and writes one answer, for which there is room.
        let failures = unsafe {
            (self.device)(handle, &mut device)
                | (self.dtype)(handle, &mut dtype)
                | (self.rank)(handle, &mut rank)
                | (self.sizes)(handle, &mut shape)
                | (self.strides)(handle, &mut strides)
        };
        if failures != 0 || device != self.cpu {
            return None;
        }
        let dtype = *self.dtypes.get(usize::try_from(dtype).ok()?)?;
        // SAFETY: the handle is the address of a C++ tensor, as callers see to, and there is room
        // for the answer. It comes last, since it alone has a side effect:
        // memory that is shared until it is written becomes the tensor's own.
        if unsafe { (self.data)(handle, &mut data) } != 0 {
            return None;
        }
        Some(Usual {
            first: data.cast(),
            dtype: dtype?,
            rank: i32::try_from(rank).ok()?.try_into().ok()?,
            sizes: shape.cast_const().cast(),
            strides: strides.cast_const().cast(),
            read_only: false,
        })
    }

    /// Another C++ tensor with the same storage, without elements to look at: making one of rank 0
    /// takes the least time.
    ///
    /// # Safety
    ///
    /// The handle is the address of a C++ tensor.
    #[inline(always)]
    pub(super) unsafe fn alias(&self, handle: Handle) -> Option<Alias> {
        let mut alias = ptr::null();
        // SAFETY: the handle is the address of a C++ tensor, as callers see to; rank 0 has no sizes
        // and strides, and there is room for the answer.
        let failure =
            unsafe { (self.reinterpret)(handle, 0, ptr::null(), ptr::null(), 0, &mut alias) };
        (failure == 0).then(|| Alias {
            handle: alias,
            release: self.release,
        })
    }

    /// Returns whether a tensor looks as PyTorch itself describes it.
    ///
    /// # Safety
    ///
    /// In the object, a plain tensor of PyTorch, the C++ tensor is that many bytes behind the
    /// start.
    pub(super) unsafe fn agrees(
        &self,
        object: Borrowed<'_, '_, PyAny>,
        tensor: usize,
        theirs: &DLTensor,
    ) -> bool {
        // SAFETY: the C++ tensor is that many bytes behind the object's start, by this function's
        // contract, so that is a handle; the sample is a plain tensor.
        let ours = unsafe { self.describe(object.as_ptr().byte_add(tensor).cast()) };
        let Some((ours, _)) = ours.map(|usual| usual.descriptor()) else {
            return false;
        };
        let numbers = |pointer: *const i64| {
            let rank = usize::try_from(ours.ndim).unwrap_or(0);
            // SAFETY: both arrays have `ndim` numbers: it is called after both ranks were equal.
            (0..rank).map(move |axis| unsafe { *pointer.add(axis) })
        };
        ours.ndim == theirs.ndim
            && ours.data == theirs.data
            && ours.dtype == theirs.dtype
            && ours.device == theirs.device
            && numbers(ours.shape).eq(numbers(theirs.shape))
            && numbers(ours.strides).eq(numbers(theirs.strides))
    }
}
