//! Calls through each of DLPack's function pointers: from Rust to C, and from C to Rust.

use crate::echoes::{Deletable, EMPTY, FULL, NO_TENSOR, delete, tensor_of};
use dlbridge_dlpack::*;
use libloading::Library;
use libtest_mimic::Failed;
use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::ptr;

/// Returns what was expected, if it is not so; like `EXPECT` in `tests/c/header_calls.c`.
macro_rules! expect {
    ($condition:expr) => {
        if !$condition {
            return Err(concat!("Rust expected ", stringify!($condition)).into());
        }
    };
}

/// `tests/c/header_calls.c`, loaded.
#[derive(Debug)]
pub(crate) struct Peer(Library);

/// A trial that calls both ways.
type Check = fn(&Peer) -> Result<(), Failed>;

/// One trial for each function pointer of the header.
pub(crate) const CHECKS: [(&str, Check); 7] = [
    ("DLManagedTensor.deleter", |peer| {
        deleter::<Legacy>(peer, "legacy")
    }),
    ("DLManagedTensorVersioned.deleter", |peer| {
        deleter::<Versioned>(peer, "versioned")
    }),
    ("DLPackExchangeAPI.managed_tensor_allocator", |peer| {
        peer.both_ways("call_managed_tensor_allocator", managed_tensor_allocator)
    }),
    (
        "DLPackExchangeAPI.managed_tensor_from_py_object_no_sync",
        |peer| {
            peer.both_ways(
                "call_managed_tensor_from_py_object_no_sync",
                managed_from_object,
            )
        },
    ),
    (
        "DLPackExchangeAPI.managed_tensor_to_py_object_no_sync",
        |peer| {
            peer.both_ways(
                "call_managed_tensor_to_py_object_no_sync",
                managed_to_object,
            )
        },
    ),
    (
        "DLPackExchangeAPI.dltensor_from_py_object_no_sync",
        |peer| peer.both_ways("call_dltensor_from_py_object_no_sync", tensor_from_object),
    ),
    ("DLPackExchangeAPI.current_work_stream", |peer| {
        peer.both_ways("call_current_work_stream", current_work_stream)
    }),
];

impl Peer {
    pub(crate) fn load(library: &Path) -> Result<Self, String> {
        // SAFETY: the library is C without initialisers, and made by this test.
        unsafe { Library::new(library) }
            .map(Self)
            .map_err(|error| format!("{}: {error}", library.display()))
    }

    /// C fills in `value`, with the function of that name.
    fn fill<T>(&self, function: &str, value: &mut T) -> Result<(), Failed> {
        // SAFETY: all `fill_` and `empty_` functions take a pointer to the struct that they are
        // called with here, write to it, and keep nothing.
        unsafe {
            let function = self.0.get::<unsafe extern "C" fn(*mut T)>(function)?;
            function(value);
        }
        Ok(())
    }

    /// C calls through `value`, with the function of that name.
    fn call<T>(&self, function: &str, value: &mut T) -> Result<(), Failed> {
        // SAFETY: all `call_` functions take a pointer to the struct that they are called with
        // here, and return NULL or a string that lives as long as the library.
        unsafe {
            let function = self
                .0
                .get::<unsafe extern "C" fn(*mut T) -> *const c_char>(function)?;
            let complaint = function(value);
            if complaint.is_null() {
                return Ok(());
            }
            Err(CStr::from_ptr(complaint)
                .to_string_lossy()
                .into_owned()
                .into())
        }
    }

    /// C calls through a `value` whose function pointer is `None`, and has to notice.
    fn call_none<T>(&self, function: &str, value: &mut T) -> Result<(), Failed> {
        match self.call(function, value) {
            Err(failed)
                if failed
                    .message()
                    .is_some_and(|text| text.ends_with("!= NULL")) =>
            {
                Ok(())
            }
            Err(failed) => Err(failed),
            Ok(()) => Err(format!("{function} did not see None as NULL").into()),
        }
    }

    /// Goes both ways through one function of the exchange table.
    fn both_ways(
        &self,
        c_caller: &str,
        rust_caller: fn(&DLPackExchangeAPI) -> Result<bool, Failed>,
    ) -> Result<(), Failed> {
        self.call(c_caller, &mut { FULL })?;
        self.call_none(c_caller, &mut { EMPTY })?;

        let mut table = EMPTY;
        self.fill("fill_exchange_api", &mut table)?;
        expect!(table.header.version.major == 21);
        expect!(table.header.version.minor == 22);
        expect!(ptr::eq(table.header.prev_api, &table.header));
        expect!(rust_caller(&table)?);
        self.fill("empty_exchange_api", &mut table)?;
        expect!(!rust_caller(&table)?);
        Ok(())
    }
}

/// Goes both ways through the deleter of one of the managed tensors.
fn deleter<A: Deletable>(peer: &Peer, abi: &str) -> Result<(), Failed> {
    let mut tensor = A::assemble(NO_TENSOR, Flags::empty(), ptr::null_mut(), delete);
    let call = format!("call_{abi}_deleter");
    peer.call(&call, &mut tensor)?;
    *tensor.parts().deleter = None;
    peer.call_none(&call, &mut tensor)?;

    let mut deleted: *mut A = ptr::null_mut();
    peer.fill(&format!("fill_{abi}_deleter"), &mut tensor)?;
    *tensor.parts().manager_ctx = (&raw mut deleted).cast();
    let Some(c_deleter) = *tensor.parts().deleter else {
        return Err("Rust did not see C's deleter".into());
    };
    let this = &raw mut tensor;
    // SAFETY: C's deleter writes the pointer to where the context points, which is still there.
    unsafe { c_deleter(this) };
    expect!(deleted == this);
    peer.fill(&format!("empty_{abi}_deleter"), &mut tensor)?;
    expect!(tensor.parts().deleter.is_none());
    Ok(())
}

// The functions below call one function of a table. They return whether it is there.

fn managed_tensor_allocator(table: &DLPackExchangeAPI) -> Result<bool, Failed> {
    /// Notes that an error was set, if it is the expected one.
    unsafe extern "C" fn set_error(
        error_ctx: *mut c_void,
        kind: *const c_char,
        message: *const c_char,
    ) {
        // SAFETY: C hands on the context it was given, and two string literals.
        unsafe {
            *error_ctx.cast::<bool>() =
                CStr::from_ptr(kind) == c"BufferError" && CStr::from_ptr(message) == c"no room";
        }
    }

    let Some(function) = table.managed_tensor_allocator else {
        return Ok(false);
    };
    let managed = ptr::dangling_mut::<Versioned>();
    let mut prototype = DLTensor {
        data: managed.cast(),
        ndim: -7,
        ..NO_TENSOR
    };
    let mut out = ptr::null_mut();
    let mut error_was_set = false;
    let error_ctx = (&raw mut error_was_set).cast();
    // SAFETY: the pointers are to what the types say, and the context is the one of `set_error`.
    let result = unsafe { function(&mut prototype, &mut out, error_ctx, Some(set_error)) };
    expect!(result == -7);
    expect!(out == managed);
    expect!(error_was_set);
    Ok(true)
}

fn managed_from_object(table: &DLPackExchangeAPI) -> Result<bool, Failed> {
    let Some(function) = table.managed_tensor_from_py_object_no_sync else {
        return Ok(false);
    };
    let object = ptr::dangling_mut::<u64>().cast::<c_void>();
    let mut out = ptr::null_mut();
    // SAFETY: the function does not look behind the first pointer.
    let result = unsafe { function(object, &mut out) };
    expect!(result == -2);
    expect!(out.cast() == object);
    Ok(true)
}

fn managed_to_object(table: &DLPackExchangeAPI) -> Result<bool, Failed> {
    let Some(function) = table.managed_tensor_to_py_object_no_sync else {
        return Ok(false);
    };
    let managed = ptr::dangling_mut::<Versioned>();
    let mut out = ptr::null_mut();
    // SAFETY: the function does not look behind the first pointer.
    let result = unsafe { function(managed, &mut out) };
    expect!(result == -3);
    expect!(out.cast() == managed);
    Ok(true)
}

fn tensor_from_object(table: &DLPackExchangeAPI) -> Result<bool, Failed> {
    let Some(function) = table.dltensor_from_py_object_no_sync else {
        return Ok(false);
    };
    let mut object = [0_i64; 3];
    let object: *mut c_void = object.as_mut_ptr().cast();
    let mut out = NO_TENSOR;
    // SAFETY: the function computes addresses within the object, and does not look there.
    let result = unsafe { function(object, &mut out) };
    let expected = tensor_of(object);
    expect!(result == -4);
    expect!(out.data == expected.data);
    expect!(out.device == expected.device);
    expect!(out.ndim == expected.ndim);
    expect!(out.dtype == expected.dtype);
    expect!(out.shape == expected.shape);
    expect!(out.strides == expected.strides);
    expect!(out.byte_offset == expected.byte_offset);
    Ok(true)
}

fn current_work_stream(table: &DLPackExchangeAPI) -> Result<bool, Failed> {
    let Some(function) = table.current_work_stream else {
        return Ok(false);
    };
    let mut streams = [0_u8; 2];
    let first: *mut c_void = streams.as_mut_ptr().cast();
    let mut stream = first;
    // SAFETY: the function moves the pointer by one byte, within the array.
    let result = unsafe { function(DLDeviceType::TRN, -5, &mut stream) };
    expect!(result == -4982);
    expect!(stream == first.wrapping_byte_add(1));
    Ok(true)
}
