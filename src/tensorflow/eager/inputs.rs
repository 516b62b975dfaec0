//! Inputs of an [`Operation`], and the attributes that follow from them.
//!
//! TensorFlow derives those attributes as well, but takes the next input of the op's definition
//! without checking that there is one, and an element of each list without checking that it has
//! any. So inputs are compared with the definition first, and lists are added as TensorFlow's
//! Python does: tensor by tensor, with the attributes set. That ends TensorFlow's deriving.

use super::super::error::TensorFlowError;
use super::definition::Argument;
use super::operation::Operation;
use super::tensor::EagerTensor;
use std::sync::Arc;

/// One tensor, as messages say it.
const ONE: &str = "one tensor, by Operation::input";
/// A list, as messages say it.
const LIST: &str = "a list of tensors, by Operation::input_list";

impl<'a> Operation<'a> {
    /// Adds an input.
    ///
    /// # Errors
    ///
    /// When the op has no more inputs, or the next one is a list, or the tensor is of another
    /// context. Whether it has the right type is found when the op is executed.
    pub fn input(mut self, tensor: &'a EagerTensor) -> Result<Self, TensorFlowError> {
        self.check_context(tensor)?;
        let definition = Arc::clone(&self.definition);
        let argument = self.next_argument(&definition.inputs)?;
        if argument.is_list() {
            return Err(self.wrong_input(argument, LIST, "one tensor"));
        }
        self.add(tensor)?;
        self.set_types(argument, &[tensor]);
        Ok(self)
    }

    /// Adds an input that is a list, as of `ConcatV2`. An empty one doesn't say of which type it
    /// is: that is an attribute to be set, unless another input says it.
    ///
    /// # Errors
    ///
    /// When the op has no more inputs, or the next one isn't a list, or a tensor is of another
    /// context. Whether they have the right types is found when the op is executed.
    pub fn input_list(mut self, tensors: &'a [EagerTensor]) -> Result<Self, TensorFlowError> {
        tensors
            .iter()
            .try_for_each(|tensor| self.check_context(tensor))?;
        let definition = Arc::clone(&self.definition);
        let argument = self.next_argument(&definition.inputs)?;
        if !argument.is_list() {
            return Err(self.wrong_input(argument, ONE, "a list"));
        }
        tensors.iter().try_for_each(|tensor| self.add(tensor))?;
        self.set_types(argument, &tensors.iter().collect::<Vec<_>>());
        Ok(self)
    }

    /// Refuses to execute the op if inputs are missing. Lists may be left out, if the op has a
    /// default for them.
    pub(super) fn check_inputs(&self) -> Result<(), TensorFlowError> {
        let rest = self.definition.inputs[self.given..].iter();
        match rest.into_iter().find(|argument| !argument.is_list()) {
            Some(missing) => Err(self.wrong_input(missing, ONE, "none")),
            None => Ok(()),
        }
    }

    /// Refuses tensors of other contexts, whose devices this one doesn't know.
    fn check_context(&self, tensor: &EagerTensor) -> Result<(), TensorFlowError> {
        if tensor.context().is_same(self.context) {
            return Ok(());
        }
        let op = self.name.to_owned();
        Err(TensorFlowError::OtherContext { op })
    }

    /// Returns the input that comes next.
    fn next_argument<'d>(
        &mut self,
        inputs: &'d [Argument],
    ) -> Result<&'d Argument, TensorFlowError> {
        let next = inputs
            .get(self.given)
            .ok_or_else(|| TensorFlowError::TooManyInputs {
                op: self.name.to_owned(),
                count: inputs.len(),
            })?;
        self.given += 1;
        Ok(next)
    }

    #[cold]
    fn wrong_input(
        &self,
        argument: &Argument,
        wanted: &'static str,
        found: &'static str,
    ) -> TensorFlowError {
        TensorFlowError::Input {
            op: self.name.to_owned(),
            name: argument.name.clone(),
            wanted,
            found,
        }
    }

    /// Adds a tensor to the inputs.
    fn add(&mut self, tensor: &EagerTensor) -> Result<(), TensorFlowError> {
        let functions = self.context.tensorflow().functions();
        // SAFETY: op, handle and status live. TensorFlow reads the next input of the definition
        // only up to the first list, and each tensor before is of an input of its own: there is
        // one.
        unsafe { (functions.TFE_OpAddInput)(self.op, tensor.as_ptr(), self.status.as_ptr()) };
        self.status.check("TFE_OpAddInput")
    }

    /// Sets the attributes that an input determines. Of several values TensorFlow keeps the first.
    fn set_types(&mut self, argument: &Argument, tensors: &[&EagerTensor]) {
        let functions = self.context.tensorflow().functions();
        let types: Vec<_> = tensors
            .iter()
            .map(|tensor| tensor.data_type().code())
            .collect();
        // SAFETY: op and names live; the values are copied before the call returns, are as many as
        // the count says, and have the kinds that a definition's inputs have.
        unsafe {
            if let Some(name) = &argument.count_attribute {
                (functions.TFE_OpSetAttrInt)(self.op, name.as_ptr(), types.len() as i64);
            }
            if let (Some(name), Some(first)) = (&argument.type_attribute, types.first()) {
                (functions.TFE_OpSetAttrType)(self.op, name.as_ptr(), *first);
            }
            if let Some(name) = &argument.types_attribute {
                let (first, count) = (types.as_ptr(), types.len() as i32);
                (functions.TFE_OpSetAttrTypeList)(self.op, name.as_ptr(), first, count);
            }
        }
    }
}
