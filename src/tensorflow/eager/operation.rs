//! [`Operation`]: one execution of an op, by name.

use super::super::error::TensorFlowError;
use super::super::functions::{TFE_Op, TFE_TensorHandle};
use super::super::refused_ops;
use super::super::status::{Status, c_name};
use super::attribute::{OpAttribute, kind_name};
use super::context::Context;
use super::definition::Definition;
use super::tensor::EagerTensor;
use std::ffi::CStr;
use std::fmt;
use std::marker::PhantomData;
use std::ptr;
use std::sync::Arc;

/// How many results an op may have, unless [`Operation::max_results`] is called.
const RESULTS: usize = 16;
/// The most that [`Operation::max_results`] allows: 8 MiB of addresses.
const MOST_RESULTS: usize = 1 << 20;

/// An op to be executed, with its inputs and attributes.
///
/// TensorFlow derives attributes that are types of inputs, such as `T`, from the inputs.
///
/// # Examples
///
/// ```
/// use dlbridge::Tensor;
/// use dlbridge::tensorflow::{Context, EagerTensor, Operation, TensorFlow, TensorFlowError};
///
/// fn multiply(tensorflow: TensorFlow) -> Result<(), TensorFlowError> {
///     let context = Context::new(tensorflow)?;
///     let x = Tensor::from_slice(&[1.0_f32, 2.0, 3.0, 4.0], &[2, 2])?;
///     let x = EagerTensor::from_tensor(&context, &x)?;
///     let product = Operation::new(&context, "MatMul")?
///         .input(&x)?
///         .input(&x)?
///         .attribute("transpose_b", true)?
///         .run_one()?;
///     assert_eq!(product.to_tensor()?.to_vec::<f32>()?, [5.0, 11.0, 11.0, 25.0]);
///     Ok(())
/// }
/// # if let Ok(tensorflow) = TensorFlow::load() { multiply(tensorflow)? }
/// # Ok::<(), TensorFlowError>(())
/// ```
pub struct Operation<'a> {
    pub(super) op: *mut TFE_Op,
    pub(super) context: &'a Context,
    pub(super) name: &'a str,
    pub(super) definition: Arc<Definition>,
    /// How many inputs of the definition were given.
    pub(super) given: usize,
    pub(super) status: Status,
    max_results: usize,
    inputs: PhantomData<&'a EagerTensor>,
}

impl Drop for Operation<'_> {
    fn drop(&mut self) {
        let functions = self.context.tensorflow().functions();
        // SAFETY: the op belongs to this, and is deleted once; NULL is allowed.
        unsafe { (functions.TFE_DeleteOp)(self.op) }
    }
}

impl<'a> Operation<'a> {
    /// Starts an execution of the op of this name, such as `"AddV2"`.
    ///
    /// # Errors
    ///
    /// When TensorFlow has no such op, or the op writes the memory of its inputs (`InplaceUpdate`
    /// and the like), or is internal to TensorFlow (`_ListToArray` and most others with a `_`).
    pub fn new(context: &'a Context, name: &'a str) -> Result<Self, TensorFlowError> {
        refused_ops::check(name)?;
        let tensorflow = context.tensorflow();
        let mut status = Status::new(tensorflow);
        let c_name = c_name(name)?;
        // SAFETY: context, name and status live.
        let op = unsafe {
            (tensorflow.functions().TFE_NewOp)(context.as_ptr(), c_name.as_ptr(), status.as_ptr())
        };
        status.check("TFE_NewOp")?;
        let mut operation = Self {
            op,
            context,
            name,
            definition: Arc::default(),
            given: 0,
            status,
            max_results: RESULTS,
            inputs: PhantomData,
        };
        operation.definition = Definition::of_op(tensorflow, name, &c_name)?;
        Ok(operation)
    }

    /// Sets the device, such as `"/device:CPU:0"`.
    ///
    /// # Errors
    ///
    /// When it isn't the name of a device.
    pub fn device(mut self, name: &str) -> Result<Self, TensorFlowError> {
        let functions = self.context.tensorflow().functions();
        let name = c_name(name)?;
        // SAFETY: op, name and status live.
        unsafe { (functions.TFE_OpSetDevice)(self.op, name.as_ptr(), self.status.as_ptr()) };
        self.status.check("TFE_OpSetDevice")?;
        Ok(self)
    }

    /// Sets how many results an op with a list of results may have, such as `Split`: up to
    /// 1,048,576, and 16 if this isn't called. Other ops have as many as TensorFlow defines.
    #[must_use]
    pub fn max_results(mut self, count: usize) -> Self {
        self.max_results = count.min(MOST_RESULTS);
        self
    }

    /// Sets an attribute.
    ///
    /// # Errors
    ///
    /// When the op has no such attribute, or of another kind.
    pub fn attribute(
        mut self,
        name: &str,
        value: impl Into<OpAttribute>,
    ) -> Result<Self, TensorFlowError> {
        let (value, c_name) = (value.into(), c_name(name)?);
        self.check_kind(name, &c_name, &value)?;
        let functions = self.context.tensorflow().functions();
        let (op, key) = (self.op, c_name.as_ptr());
        // SAFETY: op, name and status live; the values are copied before the call returns, and have
        // the kind that the op declares.
        unsafe {
            match &value {
                OpAttribute::Bool(value) => (functions.TFE_OpSetAttrBool)(op, key, (*value).into()),
                OpAttribute::Int(value) => (functions.TFE_OpSetAttrInt)(op, key, *value),
                OpAttribute::Float(value) => (functions.TFE_OpSetAttrFloat)(op, key, *value),
                OpAttribute::Type(value) => (functions.TFE_OpSetAttrType)(op, key, value.code()),
                OpAttribute::String(value) => {
                    (functions.TFE_OpSetAttrString)(op, key, value.as_ptr().cast(), value.len());
                }
                OpAttribute::Ints(value) => {
                    (functions.TFE_OpSetAttrIntList)(op, key, value.as_ptr(), value.len() as i32);
                }
                OpAttribute::Shape(value) => {
                    let (sizes, rank) = (value.as_ptr(), value.len() as i32);
                    let status = self.status.as_ptr();
                    (functions.TFE_OpSetAttrShape)(op, key, sizes, rank, status);
                    self.status.check("TFE_OpSetAttrShape")?;
                }
            }
        }
        Ok(self)
    }

    /// Compares a value with the kind that the op declares, as TensorFlow's setters only log a
    /// mismatch.
    fn check_kind(
        &mut self,
        name: &str,
        c_name: &CStr,
        value: &OpAttribute,
    ) -> Result<(), TensorFlowError> {
        let functions = self.context.tensorflow().functions();
        let mut is_list = 0;
        // SAFETY: op, name and status live.
        let code = unsafe {
            let status = self.status.as_ptr();
            (functions.TFE_OpGetAttrType)(self.op, c_name.as_ptr(), &mut is_list, status)
        };
        self.status.check("TFE_OpGetAttrType")?;
        let declared = (code, is_list != 0);
        if declared == value.kind() {
            return Ok(());
        }
        Err(TensorFlowError::Attribute {
            op: self.name.to_owned(),
            name: name.to_owned(),
            wanted: kind_name(declared),
            found: kind_name(value.kind()),
        })
    }

    /// Executes the op, and returns its results.
    ///
    /// # Errors
    ///
    /// When inputs are missing, the op fails, or it has more results than
    /// [`max_results`](Self::max_results).
    pub fn run(mut self) -> Result<Vec<EagerTensor>, TensorFlowError> {
        self.check_inputs()?;
        let room = self.definition.output_count().unwrap_or(self.max_results);
        if room <= RESULTS {
            self.execute(&mut [ptr::null_mut(); RESULTS])
        } else {
            self.execute(&mut vec![ptr::null_mut(); room])
        }
    }

    /// Executes the op, and returns its only result.
    ///
    /// # Errors
    ///
    /// The same as for [`run`](Self::run), and if there are more or fewer.
    pub fn run_one(self) -> Result<EagerTensor, TensorFlowError> {
        let op = self.name;
        let mut results = self.run()?;
        match (results.pop(), results.len()) {
            (Some(result), 0) => Ok(result),
            (last, others) => Err(TensorFlowError::Results {
                op: op.to_owned(),
                wanted: "one result",
                found: others + usize::from(last.is_some()),
            }),
        }
    }

    fn execute(
        &mut self,
        handles: &mut [*mut TFE_TensorHandle],
    ) -> Result<Vec<EagerTensor>, TensorFlowError> {
        let functions = self.context.tensorflow().functions();
        let mut count = handles.len() as i32;
        // SAFETY: op and status live, and so do its inputs, for 'a; there is room for as many
        // handles as the count says.
        unsafe {
            let (first, status) = (handles.as_mut_ptr(), self.status.as_ptr());
            (functions.TFE_Execute)(self.op, first, &mut count, status);
        }
        self.status.check("TFE_Execute")?;
        let results = handles[..count as usize].iter();
        // SAFETY: without an error these are as many new handles, which belong to nothing else.
        results
            .map(|handle| unsafe { EagerTensor::from_raw(self.context, *handle, "TFE_Execute") })
            .collect()
    }
}

impl fmt::Debug for Operation<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
