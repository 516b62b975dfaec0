//! [`TensorFlow`]: the functions of the loaded TensorFlow that define ops and kernels.

#![allow(non_snake_case, reason = "the names are TensorFlow's")]

use super::definition::Definition;
use crate::hosts::lookup::{loaded, lookup_table};
use crate::hosts::problem::{Class, Problem};
use crate::hosts::{Host, HostError};
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

/// An object of TensorFlow's.
pub(super) type Handle = *mut c_void;
/// Infers shapes: context, status.
pub(super) type Infer = unsafe extern "C" fn(Handle, Handle);
/// Makes the kernel of a node: its construction.
pub(super) type Create = unsafe extern "C" fn(Handle) -> Handle;
/// Runs the kernel of a node: what `Create` returned, context.
type Compute = unsafe extern "C" fn(Handle, Handle);
type Delete = unsafe extern "C" fn(Handle);
type Name = *const c_char;

lookup_table! {
    /// Functions of `kernels.h`, `ops.h`, `tf_tensor.h` and `tf_status.h`.
    struct Functions;
    required {
        fn TF_NewStatus() -> Handle;
        fn TF_DeleteStatus(Handle);
        fn TF_SetStatus(Handle, c_int, Name);
        fn TF_GetCode(Handle) -> c_int;
        fn TF_Message(Handle) -> Name;
        fn TF_NewOpDefinitionBuilder(Name) -> Handle;
        fn TF_OpDefinitionBuilderAddAttr(Handle, Name);
        fn TF_OpDefinitionBuilderAddInput(Handle, Name);
        fn TF_OpDefinitionBuilderAddOutput(Handle, Name);
        fn TF_OpDefinitionBuilderSetShapeInferenceFunction(Handle, Infer);
        fn TF_RegisterOpDefinition(Handle, Handle);
        fn TF_NewKernelBuilder(Name, Name, Create, Compute, Delete) -> Handle;
        fn TF_RegisterKernelBuilder(Name, Handle, Handle);
        fn TF_OpKernelConstruction_Failure(Handle, Handle);
        fn TF_OpKernelConstruction_GetAttrSize(Handle, Name, *mut i32, *mut i32, Handle);
        fn TF_OpKernelConstruction_GetAttrType(Handle, Name, *mut c_int, Handle);
        fn TF_OpKernelConstruction_GetAttrInt64(Handle, Name, *mut i64, Handle);
        fn TF_OpKernelConstruction_GetAttrBool(Handle, Name, *mut u8, Handle);
        fn TF_OpKernelConstruction_GetAttrString(Handle, Name, *mut c_char, usize, Handle);
        fn TF_OpKernelConstruction_GetAttrTypeList(Handle, Name, *mut c_int, c_int, Handle);
        fn TF_OpKernelConstruction_GetAttrInt64List(Handle, Name, *mut i64, c_int, Handle);
        fn TF_OpKernelContext_Failure(Handle, Handle);
        fn TF_GetInput(Handle, c_int, *mut Handle, Handle);
        fn TF_AllocateOutput(Handle, c_int, c_int, *const i64, c_int, usize, Handle) -> Handle;
        fn TF_ForwardInputOrAllocateOutput(Handle, *const c_int, c_int, c_int, *const i64, c_int, *mut c_int, Handle) -> Handle;
        fn TF_DeleteTensor(Handle);
        fn TF_TensorType(Handle) -> c_int;
        fn TF_NumDims(Handle) -> c_int;
        fn TF_Dim(Handle, c_int) -> i64;
        fn TF_TensorByteSize(Handle) -> usize;
        fn TF_TensorData(Handle) -> *mut c_void;
        fn TF_ShapeInferenceContextNumInputs(Handle) -> i64;
        fn TF_NewShapeHandle() -> Handle;
        fn TF_DeleteShapeHandle(Handle);
        fn TF_NewDimensionHandle() -> Handle;
        fn TF_DeleteDimensionHandle(Handle);
        fn TF_ShapeInferenceContextGetInput(Handle, c_int, Handle, Handle);
        fn TF_ShapeInferenceContextSetOutput(Handle, c_int, Handle, Handle);
        fn TF_ShapeInferenceContextScalar(Handle) -> Handle;
        fn TF_ShapeInferenceContextVectorFromSize(Handle, usize) -> Handle;
        fn TF_ShapeInferenceContextConcatenateShapes(Handle, Handle, Handle, Handle, Handle);
        fn TF_ShapeInferenceContextRank(Handle, Handle) -> i64;
        fn TF_ShapeInferenceContextRankKnown(Handle, Handle) -> c_int;
        fn TF_ShapeInferenceContextDim(Handle, Handle, i64, Handle);
        fn TF_DimensionHandleValueKnown(Handle) -> c_int;
        fn TF_DimensionHandleValue(Handle) -> i64;
        fn TF_ShapeInferenceContextSetUnknownShape(Handle, Handle);
    }
    optional {}
}

lookup_table! {
    /// Functions of `c_api.h`, by which an op is found.
    struct Graphs;
    required {
        fn TF_NewGraph() -> Handle;
        fn TF_DeleteGraph(Handle);
        fn TF_GraphGetOpDef(Handle, Name, Handle, Handle);
        fn TF_NewBuffer() -> Handle;
        fn TF_DeleteBuffer(Handle);
    }
    optional {}
}

/// The names of the library with ops and kernels.
const LIBRARIES: [&str; 2] = [
    "libtensorflow_framework.so.2",
    "libtensorflow_framework.2.dylib",
];
/// The names of that with graphs: of the Python package, and of releases for C.
const GRAPH_LIBRARIES: [&str; 4] = [
    "libtensorflow_cc.so.2",
    "libtensorflow.so.2",
    "libtensorflow_cc.2.dylib",
    "libtensorflow.2.dylib",
];

/// Codes of statuses.
const INVALID_ARGUMENT: c_int = 3;
const RESOURCE_EXHAUSTED: c_int = 8;
const OUT_OF_RANGE: c_int = 11;
const INTERNAL: c_int = 13;

/// The loaded TensorFlow.
pub(super) struct TensorFlow {
    pub(super) functions: Functions,
    graphs: Graphs,
}

impl TensorFlow {
    /// Returns the loaded TensorFlow.
    pub(super) fn get() -> Result<&'static Self, HostError> {
        static TENSORFLOW: OnceLock<TensorFlow> = OnceLock::new();
        if let Some(tensorflow) = TENSORFLOW.get() {
            return Ok(tensorflow);
        }
        let missing = || Host::TensorFlow.not_loaded();
        let library = LIBRARIES.into_iter().find_map(loaded).ok_or_else(missing)?;
        let graphs = GRAPH_LIBRARIES.into_iter().find_map(loaded);
        // SAFETY: the signatures are those of TensorFlow's C headers from 2.15 on.
        let found = unsafe {
            Self {
                functions: Functions::find(library, Host::TensorFlow)?,
                graphs: Graphs::find(graphs.ok_or_else(missing)?, Host::TensorFlow)?,
            }
        };
        Ok(TENSORFLOW.get_or_init(|| found))
    }

    /// Returns whether there is an op of a name.
    pub(super) fn has_op(&'static self, name: &str) -> bool {
        let Ok(name) = CString::new(name) else {
            return false;
        };
        let status = Status::new(self);
        // SAFETY: the graph and the buffer are new, and deleted once; the name ends with a zero.
        unsafe {
            let (graph, buffer) = ((self.graphs.TF_NewGraph)(), (self.graphs.TF_NewBuffer)());
            (self.graphs.TF_GraphGetOpDef)(graph, name.as_ptr(), buffer, status.handle);
            (self.graphs.TF_DeleteBuffer)(buffer);
            (self.graphs.TF_DeleteGraph)(graph);
        }
        status.check().is_ok()
    }

    /// Defines an op.
    pub(super) fn define(
        &'static self,
        definition: &Definition,
        infer: Infer,
    ) -> Result<(), HostError> {
        let functions = &self.functions;
        let status = Status::new(self);
        let parts = |parts: &[String]| -> Result<Vec<CString>, HostError> {
            parts.iter().map(|part| text(part)).collect()
        };
        let name = text(&definition.name)?;
        let attributes = parts(&definition.attributes)?;
        let inputs = parts(&definition.inputs)?;
        let outputs = parts(&definition.outputs)?;
        // SAFETY: the texts end with a zero, and are copied. The definition was checked, and its
        // name isn't taken: otherwise the process would end. The builder is released by
        // being registered.
        unsafe {
            let builder = (functions.TF_NewOpDefinitionBuilder)(name.as_ptr());
            for attribute in &attributes {
                (functions.TF_OpDefinitionBuilderAddAttr)(builder, attribute.as_ptr());
            }
            for input in &inputs {
                (functions.TF_OpDefinitionBuilderAddInput)(builder, input.as_ptr());
            }
            for output in &outputs {
                (functions.TF_OpDefinitionBuilderAddOutput)(builder, output.as_ptr());
            }
            (functions.TF_OpDefinitionBuilderSetShapeInferenceFunction)(builder, infer);
            (functions.TF_RegisterOpDefinition)(builder, status.handle);
        }
        let refused = |problem| Host::TensorFlow.refused(&definition.name, Some(problem));
        status.check().map_err(refused)
    }

    /// Registers the kernel of an op for the CPU, for all dtypes of its definition.
    pub(super) fn register(
        &'static self,
        op: &str,
        (create, compute, delete): (Create, Compute, Delete),
    ) -> Result<(), HostError> {
        let functions = &self.functions;
        let status = Status::new(self);
        let name = text(op)?;
        // SAFETY: the texts end with a zero, and are copied; `compute` and `delete` take what
        // `create` returns. The builder is released by being registered.
        unsafe {
            let new = functions.TF_NewKernelBuilder;
            let builder = new(name.as_ptr(), c"CPU".as_ptr(), create, compute, delete);
            (functions.TF_RegisterKernelBuilder)(name.as_ptr(), builder, status.handle);
        }
        let refused = |problem| Host::TensorFlow.refused(op, Some(problem));
        status.check().map_err(refused)
    }
}

fn text(text: &str) -> Result<CString, HostError> {
    CString::new(text)
        .map_err(|_| Host::TensorFlow.refused(text, Some("it has a zero in it".to_owned())))
}

/// A status. That of a call that succeeded is used again by the thread.
pub(super) struct Status {
    tensorflow: &'static TensorFlow,
    pub(super) handle: Handle,
}

thread_local! {
    static UNUSED: Cell<Option<Status>> = const { Cell::new(None) };
}

impl Status {
    #[inline]
    pub(super) fn new(tensorflow: &'static TensorFlow) -> Self {
        let unused = UNUSED.try_with(Cell::take).ok().flatten();
        unused.unwrap_or_else(|| {
            // SAFETY: the function takes nothing, and never fails.
            let handle = unsafe { (tensorflow.functions.TF_NewStatus)() };
            Self { tensorflow, handle }
        })
    }

    /// Lets the thread use the status again. Each function sets what it tells anew.
    #[inline]
    pub(super) fn reuse(self) {
        // A thread that ends keeps nothing.
        let _ = UNUSED.try_with(move |unused| unused.set(Some(self)));
    }

    /// Returns the handle of a tensor that the last function gave, or why it gave none.
    #[inline]
    pub(super) fn given(&self, handle: Handle) -> Result<Handle, String> {
        if handle.is_null() {
            self.check()?;
            return Err("TensorFlow gave no tensor".to_owned());
        }
        Ok(handle)
    }

    /// Returns the text of the last function's failure.
    pub(super) fn check(&self) -> Result<(), String> {
        let functions = &self.tensorflow.functions;
        // SAFETY: the status is this one's, and its message a text that it keeps.
        unsafe {
            match (functions.TF_GetCode)(self.handle) {
                0 => Ok(()),
                _ => {
                    let message = CStr::from_ptr((functions.TF_Message)(self.handle));
                    Err(message.to_string_lossy().into_owned())
                }
            }
        }
    }
}

impl Drop for Status {
    fn drop(&mut self) {
        // SAFETY: the status is this one's, and deleted once.
        unsafe { (self.tensorflow.functions.TF_DeleteStatus)(self.handle) }
    }
}

impl TensorFlow {
    /// Writes a problem to a status.
    ///
    /// # Safety
    ///
    /// The handle is a status's.
    pub(super) unsafe fn set(&self, status: Handle, problem: &Problem) {
        let code = match problem.class {
            Class::Type | Class::Value => INVALID_ARGUMENT,
            Class::Index => OUT_OF_RANGE,
            Class::Memory => RESOURCE_EXHAUSTED,
            Class::Kernel => INTERNAL,
        };
        let text = problem.c_text();
        // SAFETY: the text ends with a zero, and is copied.
        unsafe { (self.functions.TF_SetStatus)(status, code, text.as_ptr()) };
    }
}
