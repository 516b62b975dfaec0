//! Shapes of a node's outputs, as far as they are known.
//!
//! TensorFlow's C functions show no attributes but dtypes here, so the rules that need one give no
//! shape; the Python half, which knows the attributes, adds those where it makes a node.

use super::functions::{Handle, Status};
use super::published::Published;
use crate::hosts::problem::{Class, Problem};
use crate::kernel::{Attribute, Op, PartialShape, SizeExpression, SizeItem};
use std::ffi::c_int;

/// Infers the shapes of a node's outputs.
///
/// # Safety
///
/// `context` is that of a node of the op, and `status` a status.
pub(super) unsafe fn infer(
    published: &'static Published,
    context: Handle,
    status: Handle,
) -> Result<(), Problem> {
    let functions = &published.tensorflow.functions;
    let op = published.op.definition();
    // SAFETY: the context is that of a node, and the status a status.
    let count = unsafe {
        (functions.TF_ShapeInferenceContextSetUnknownShape)(context, status);
        (functions.TF_ShapeInferenceContextNumInputs)(context)
    };
    let shapes = Shapes { published, context };
    // SAFETY: the context is that of a node with as many inputs.
    let inputs: Vec<PartialShape> = (0..count).map(|at| unsafe { shapes.input(at) }).collect();
    let Some(inputs) = by_parameter(op, inputs) else {
        return Ok(());
    };
    let mut next = 0;
    for (at, tensors) in inputs.iter().enumerate() {
        if op.writes(at) {
            let shape = tensors.first().unwrap_or(&None);
            // SAFETY: a node has an output for each input that is written, before the others.
            unsafe { shapes.set_output(next, shape) };
            next += 1;
        }
    }
    if uses_attributes(op) {
        return Ok(());
    }
    // These aren't used.
    let attributes = vec![Attribute::Bool(false); op.attributes().count()];
    let Some(outputs) = op.partial_shapes(&inputs, &attributes) else {
        return Ok(());
    };
    let wrong = |text| Problem::new(Class::Value, format!("{}: {text}", op.name()));
    for shape in outputs.map_err(wrong)? {
        // SAFETY: a node has an output for each of the op.
        unsafe { shapes.set_output(next, &shape) };
        next += 1;
    }
    Ok(())
}

/// Returns a list of shapes for each input; `None` where it can't be told which were left out.
fn by_parameter(op: &Op, shapes: Vec<PartialShape>) -> Option<Vec<Vec<PartialShape>>> {
    let given = op.given();
    let optional = (0..given).filter(|at| op.is_optional(*at)).count();
    let required = given - optional;
    let (mut rest, mut all) = (shapes.len(), Vec::new());
    let is_clear = match op.variadic() {
        Some(_) => optional == 0,
        None => rest == required || rest == given,
    };
    let has_all = rest >= given;
    let mut shapes = shapes.into_iter();
    for at in 0..given {
        let count = match op.variadic() {
            Some(variadic) if variadic == at => rest,
            _ => usize::from(has_all || !op.is_optional(at)),
        };
        rest = rest.checked_sub(count)?;
        all.push(shapes.by_ref().take(count).collect());
    }
    is_clear.then_some(all)
}

/// Returns whether an op's rule of sizes depends on attributes.
fn uses_attributes(op: &Op) -> bool {
    fn in_expression(size: &SizeExpression) -> bool {
        match size {
            SizeExpression::Attribute(_) => true,
            SizeExpression::Joined(_, left, right) => in_expression(left) || in_expression(right),
            _ => false,
        }
    }
    let in_item = |item: &SizeItem| match item {
        SizeItem::Axis { .. } | SizeItem::Reduced { .. } => true,
        SizeItem::Size(size) => in_expression(size),
        _ => false,
    };
    let alternatives = op.size_rule().map_or(&[][..], |rule| &rule.alternatives);
    alternatives.iter().any(|alternative| {
        let inputs = alternative.inputs.iter().flat_map(|(_, items)| items);
        let outputs = alternative.outputs.iter().flatten();
        inputs.chain(outputs).any(in_item)
    })
}

/// The shapes of a node.
struct Shapes {
    published: &'static Published,
    context: Handle,
}

impl Shapes {
    /// Returns the shape of an input.
    ///
    /// # Safety
    ///
    /// The context is that of a node with such an input.
    unsafe fn input(&self, at: i64) -> PartialShape {
        let functions = &self.published.tensorflow.functions;
        let status = Status::new(self.published.tensorflow);
        // SAFETY: there is such an input; the handles are new, and deleted once.
        unsafe {
            let shape = (functions.TF_NewShapeHandle)();
            let get = functions.TF_ShapeInferenceContextGetInput;
            get(self.context, at as c_int, shape, status.handle);
            let mut sizes = None;
            if status.check().is_ok()
                && (functions.TF_ShapeInferenceContextRankKnown)(self.context, shape) != 0
            {
                let rank = (functions.TF_ShapeInferenceContextRank)(self.context, shape);
                let size = |at: i64| {
                    let dimension = (functions.TF_NewDimensionHandle)();
                    let read = functions.TF_ShapeInferenceContextDim;
                    read(self.context, shape, at, dimension);
                    let is_known = (functions.TF_DimensionHandleValueKnown)(dimension) != 0;
                    let size = is_known.then(|| (functions.TF_DimensionHandleValue)(dimension));
                    (functions.TF_DeleteDimensionHandle)(dimension);
                    size.and_then(|size| usize::try_from(size).ok())
                };
                sizes = Some((0..rank).map(size).collect());
            }
            (functions.TF_DeleteShapeHandle)(shape);
            sizes
        }
    }

    /// Sets the shape of an output, if its rank is known.
    ///
    /// # Safety
    ///
    /// The context is that of a node with such an output.
    unsafe fn set_output(&self, at: c_int, shape: &PartialShape) {
        let Some(sizes) = shape else {
            return;
        };
        let functions = &self.published.tensorflow.functions;
        let status = Status::new(self.published.tensorflow);
        // SAFETY: there is such an output; the handles are new, and deleted once.
        unsafe {
            let whole = (functions.TF_ShapeInferenceContextScalar)(self.context);
            for size in sizes {
                // -1 stands for a size that is unknown.
                let size = size.unwrap_or(usize::MAX);
                let one = (functions.TF_ShapeInferenceContextVectorFromSize)(self.context, size);
                let join = functions.TF_ShapeInferenceContextConcatenateShapes;
                join(self.context, whole, one, whole, status.handle);
                (functions.TF_DeleteShapeHandle)(one);
            }
            if status.check().is_ok() {
                let set = functions.TF_ShapeInferenceContextSetOutput;
                set(self.context, at, whole, status.handle);
            }
            (functions.TF_DeleteShapeHandle)(whole);
        }
    }
}
