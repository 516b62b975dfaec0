//! The functions of TensorFlow's C library, by their names.
//!
//! Codes are integers rather than Rust enums, as newer versions have more of them.

#![allow(
    non_camel_case_types,
    non_snake_case,
    reason = "the names are TensorFlow's"
)]

use libloading::Library;
use std::ffi::{c_char, c_float, c_int, c_uchar, c_void};

macro_rules! opaque {
    ($($name:ident)*) => {
        $(
            #[repr(C)]
            pub(super) struct $name {
                _opaque: [u8; 0],
            }
        )*
    };
}

opaque! {
    TF_Function TF_Graph TF_ImportGraphDefOptions TF_Operation TF_Session TF_SessionOptions TF_Status TF_Tensor
    TFE_Context TFE_ContextOptions TFE_Op TFE_TensorHandle
}

/// Bytes with their owner.
#[repr(C)]
pub(super) struct TF_Buffer {
    pub(super) data: *const c_void,
    pub(super) length: usize,
    deallocator: Option<unsafe extern "C" fn(*mut c_void, usize)>,
}

/// An output of an operation.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct TF_Output {
    pub(super) oper: *mut TF_Operation,
    pub(super) index: c_int,
}

/// Frees the memory of a tensor: data, length, argument.
pub(super) type Deallocator = unsafe extern "C" fn(*mut c_void, usize, *mut c_void);

macro_rules! symbols {
    ($($name:ident($($argument:ty),*) $(-> $answer:ty)?;)*) => {
        /// The functions that every supported version has.
        pub(super) struct Functions {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $answer)?,)*
            pub(super) dlpack: Option<DLPack>,
        }

        impl Functions {
            /// Looks all functions up, and returns the name of the first one that is missing
            /// otherwise.
            ///
            /// # Safety
            ///
            /// The library's functions of these names have these types, and it is never unloaded.
            pub(super) unsafe fn look_up(library: &Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $(
                        // SAFETY: the function of this name has this type and the library stays
                        // loaded, which are preconditions of this function.
                        $name: unsafe { library.get(stringify!($name)) }
                            .map(|symbol| *symbol)
                            .map_err(|_| stringify!($name))?,
                    )*
                    // SAFETY: the same preconditions hold for the functions of DLPack.
                    dlpack: unsafe { DLPack::look_up(library) },
                })
            }
        }
    };
}

symbols! {
    TF_DataTypeSize(c_int) -> usize;

    TF_NewStatus() -> *mut TF_Status;
    TF_DeleteStatus(*mut TF_Status);
    TF_GetCode(*const TF_Status) -> c_int;
    TF_Message(*const TF_Status) -> *const c_char;

    TF_NewBuffer() -> *mut TF_Buffer;
    TF_NewBufferFromString(*const c_void, usize) -> *mut TF_Buffer;
    TF_DeleteBuffer(*mut TF_Buffer);

    TF_NewTensor(
        c_int, *const i64, c_int, *mut c_void, usize, Deallocator, *mut c_void
    ) -> *mut TF_Tensor;
    TF_DeleteTensor(*mut TF_Tensor);
    TF_TensorType(*const TF_Tensor) -> c_int;
    TF_NumDims(*const TF_Tensor) -> c_int;
    TF_Dim(*const TF_Tensor, c_int) -> i64;
    TF_TensorByteSize(*const TF_Tensor) -> usize;
    TF_TensorData(*const TF_Tensor) -> *mut c_void;

    TFE_NewContextOptions() -> *mut TFE_ContextOptions;
    TFE_DeleteContextOptions(*mut TFE_ContextOptions);
    TFE_NewContext(*const TFE_ContextOptions, *mut TF_Status) -> *mut TFE_Context;
    TFE_DeleteContext(*mut TFE_Context);
    TFE_NewTensorHandle(*const TF_Tensor, *mut TF_Status) -> *mut TFE_TensorHandle;
    TFE_DeleteTensorHandle(*mut TFE_TensorHandle);
    TFE_TensorHandleDataType(*mut TFE_TensorHandle) -> c_int;
    TFE_TensorHandleBackingDeviceName(*mut TFE_TensorHandle, *mut TF_Status) -> *const c_char;
    TFE_TensorHandleResolve(*mut TFE_TensorHandle, *mut TF_Status) -> *mut TF_Tensor;
    TFE_NewOp(*mut TFE_Context, *const c_char, *mut TF_Status) -> *mut TFE_Op;
    TFE_DeleteOp(*mut TFE_Op);
    TFE_OpSetDevice(*mut TFE_Op, *const c_char, *mut TF_Status);
    TFE_OpAddInput(*mut TFE_Op, *mut TFE_TensorHandle, *mut TF_Status);
    TFE_OpGetAttrType(*mut TFE_Op, *const c_char, *mut c_uchar, *mut TF_Status) -> c_int;
    TFE_OpSetAttrString(*mut TFE_Op, *const c_char, *const c_void, usize);
    TFE_OpSetAttrInt(*mut TFE_Op, *const c_char, i64);
    TFE_OpSetAttrFloat(*mut TFE_Op, *const c_char, c_float);
    TFE_OpSetAttrBool(*mut TFE_Op, *const c_char, c_uchar);
    TFE_OpSetAttrType(*mut TFE_Op, *const c_char, c_int);
    TFE_OpSetAttrTypeList(*mut TFE_Op, *const c_char, *const c_int, c_int);
    TFE_OpSetAttrShape(*mut TFE_Op, *const c_char, *const i64, c_int, *mut TF_Status);
    TFE_OpSetAttrIntList(*mut TFE_Op, *const c_char, *const i64, c_int);
    TFE_Execute(*mut TFE_Op, *mut *mut TFE_TensorHandle, *mut c_int, *mut TF_Status);

    TF_NewGraph() -> *mut TF_Graph;
    TF_DeleteGraph(*mut TF_Graph);
    TF_NewImportGraphDefOptions() -> *mut TF_ImportGraphDefOptions;
    TF_DeleteImportGraphDefOptions(*mut TF_ImportGraphDefOptions);
    TF_GraphImportGraphDef(
        *mut TF_Graph, *const TF_Buffer, *const TF_ImportGraphDefOptions, *mut TF_Status
    );
    TF_GraphOperationByName(*mut TF_Graph, *const c_char) -> *mut TF_Operation;
    TF_GraphNextOperation(*mut TF_Graph, *mut usize) -> *mut TF_Operation;
    TF_OperationName(*mut TF_Operation) -> *const c_char;
    TF_OperationOpType(*mut TF_Operation) -> *const c_char;
    TF_OperationNumOutputs(*mut TF_Operation) -> c_int;
    TF_GraphGetOpDef(*mut TF_Graph, *const c_char, *mut TF_Buffer, *mut TF_Status);
    TF_GraphNumFunctions(*mut TF_Graph) -> c_int;
    TF_GraphGetFunctions(*mut TF_Graph, *mut *mut TF_Function, c_int, *mut TF_Status) -> c_int;
    TF_FunctionToFunctionDef(*mut TF_Function, *mut TF_Buffer, *mut TF_Status);
    TF_DeleteFunction(*mut TF_Function);

    TF_NewSessionOptions() -> *mut TF_SessionOptions;
    TF_DeleteSessionOptions(*mut TF_SessionOptions);
    TF_NewSession(*mut TF_Graph, *const TF_SessionOptions, *mut TF_Status) -> *mut TF_Session;
    TF_CloseSession(*mut TF_Session, *mut TF_Status);
    TF_DeleteSession(*mut TF_Session, *mut TF_Status);
    TF_LoadSessionFromSavedModel(
        *const TF_SessionOptions, *const TF_Buffer, *const c_char, *const *const c_char, c_int,
        *mut TF_Graph, *mut TF_Buffer, *mut TF_Status
    ) -> *mut TF_Session;
    TF_SessionRun(
        *mut TF_Session, *const TF_Buffer, *const TF_Output, *const *mut TF_Tensor, c_int,
        *const TF_Output, *mut *mut TF_Tensor, c_int, *const *const TF_Operation, c_int,
        *mut TF_Buffer, *mut TF_Status
    );
}

/// Exchange of eager handles by DLPack: functions of C++, which releases for C lack.
pub(super) struct DLPack {
    pub(super) from_handle:
        unsafe extern "C" fn(*mut TFE_TensorHandle, *mut TF_Status) -> *mut c_void,
    pub(super) to_handle: unsafe extern "C" fn(
        *mut c_void,
        *mut TF_Status,
        *mut TFE_Context,
    ) -> *mut TFE_TensorHandle,
}

impl DLPack {
    /// `tensorflow::TFE_HandleToDLPack(TFE_TensorHandle*, TF_Status*)`.
    pub(super) const FROM_HANDLE: &'static str =
        "_ZN10tensorflow18TFE_HandleToDLPackEP16TFE_TensorHandleP10TSL_Status";
    /// `tensorflow::TFE_HandleFromDLPack(void*, TF_Status*, TFE_Context*)`.
    const TO_HANDLE: &'static str =
        "_ZN10tensorflow20TFE_HandleFromDLPackEPvP10TSL_StatusP11TFE_Context";

    /// # Safety
    ///
    /// The library's functions of these names have these types, and it is never unloaded.
    unsafe fn look_up(library: &Library) -> Option<Self> {
        // SAFETY: the functions of these names have these types and the library stays loaded, which
        // are preconditions of this function.
        unsafe {
            Some(Self {
                from_handle: *library.get(Self::FROM_HANDLE).ok()?,
                to_handle: *library.get(Self::TO_HANDLE).ok()?,
            })
        }
    }
}
