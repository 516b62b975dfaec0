//! A function of each of DLPack's function types. Each gives its arguments back, in its result or
//! through its pointers, just as its twin in `tests/c/header_calls.c` does.

use dlbridge_dlpack::*;
use std::ffi::{c_char, c_int, c_void};
use std::ptr;

/// A table of the functions here.
pub(crate) const FULL: DLPackExchangeAPI = DLPackExchangeAPI {
    managed_tensor_allocator: Some(allocate),
    managed_tensor_from_py_object_no_sync: Some(managed_from_object),
    managed_tensor_to_py_object_no_sync: Some(managed_to_object),
    dltensor_from_py_object_no_sync: Some(tensor_from_object),
    current_work_stream: Some(work_stream),
    ..EMPTY
};

pub(crate) const EMPTY: DLPackExchangeAPI = DLPackExchangeAPI {
    header: DLPackExchangeAPIHeader {
        version: VERSION,
        prev_api: ptr::null_mut(),
    },
    managed_tensor_allocator: None,
    managed_tensor_from_py_object_no_sync: None,
    managed_tensor_to_py_object_no_sync: None,
    dltensor_from_py_object_no_sync: None,
    current_work_stream: None,
};

pub(crate) const NO_TENSOR: DLTensor = DLTensor {
    data: ptr::null_mut(),
    device: DLDevice {
        device_type: DLDeviceType(0),
        device_id: 0,
    },
    ndim: 0,
    dtype: DLDataType {
        code: DLDataTypeCode(0),
        bits: 0,
        lanes: 0,
    },
    shape: ptr::null_mut(),
    strides: ptr::null_mut(),
    byte_offset: 0,
};

/// What the echo of `dltensor_from_py_object_no_sync` makes of an object.
pub(crate) fn tensor_of(py_object: *mut c_void) -> DLTensor {
    let numbers = py_object.cast::<i64>();
    DLTensor {
        data: py_object,
        device: DLDevice {
            device_type: DLDeviceType::TRN,
            device_id: -5,
        },
        ndim: 2,
        dtype: DLDataType {
            code: DLDataTypeCode::FLOAT4_E2M1FN,
            bits: 4,
            lanes: 515,
        },
        shape: numbers.wrapping_add(1),
        strides: numbers.wrapping_add(2),
        byte_offset: 0xfedc_ba98_7654_3210,
    }
}

unsafe extern "C" fn allocate(
    prototype: *mut DLTensor,
    out: *mut *mut DLManagedTensorVersioned,
    error_ctx: *mut c_void,
    set_error: Option<unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char)>,
) -> c_int {
    // SAFETY: the callers hand over pointers to what the types say, and the context that belongs
    // to their function.
    unsafe {
        if let Some(set_error) = set_error {
            set_error(error_ctx, c"BufferError".as_ptr(), c"no room".as_ptr());
        }
        *out = (*prototype).data.cast();
        (*prototype).ndim
    }
}

unsafe extern "C" fn managed_from_object(
    py_object: *mut c_void,
    out: *mut *mut DLManagedTensorVersioned,
) -> c_int {
    // SAFETY: the callers hand over a place for the result.
    unsafe { *out = py_object.cast() };
    -2
}

unsafe extern "C" fn managed_to_object(
    tensor: *mut DLManagedTensorVersioned,
    out_py_object: *mut *mut c_void,
) -> c_int {
    // SAFETY: the callers hand over a place for the result.
    unsafe { *out_py_object = tensor.cast() };
    -3
}

unsafe extern "C" fn tensor_from_object(py_object: *mut c_void, out: *mut DLTensor) -> c_int {
    // SAFETY: the callers hand over a place for the result.
    unsafe { *out = tensor_of(py_object) };
    -4
}

unsafe extern "C" fn work_stream(
    device_type: DLDeviceType,
    device_id: i32,
    out_current_stream: *mut *mut c_void,
) -> c_int {
    // SAFETY: the callers hand over a pointer to a pointer.
    unsafe { *out_current_stream = (*out_current_stream).wrapping_byte_add(1) };
    1000 * device_id + device_type.0 as c_int
}

/// The echo of both deleters.
pub(crate) unsafe extern "C" fn delete<A: Deletable>(this: *mut A) {
    // SAFETY: the callers hand over a managed tensor whose context is a place for a pointer to it.
    unsafe { *(*this).parts().manager_ctx.cast::<*mut A>() = this };
}

/// The fields that the test of a deleter changes.
pub(crate) struct Parts<'a, A> {
    pub(crate) manager_ctx: &'a mut *mut c_void,
    pub(crate) deleter: &'a mut Option<Deleter<A>>,
}

/// Both managed tensors, with access to those fields.
pub(crate) trait Deletable: Abi {
    fn parts(&mut self) -> Parts<'_, Self>;
}

macro_rules! deletable {
    ($($abi:ty),*) => {$(
        impl Deletable for $abi {
            fn parts(&mut self) -> Parts<'_, Self> {
                Parts {
                    manager_ctx: &mut self.manager_ctx,
                    deleter: &mut self.deleter,
                }
            }
        }
    )*};
}

deletable!(Legacy, Versioned);
