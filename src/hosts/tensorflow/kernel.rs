//! The functions that TensorFlow calls: for each op, for each node of a graph, and in each call.

use super::functions::{Create, Handle, Infer, Status};
use super::inference;
use super::node::Node;
use super::published::Published;
use super::results::Results;
use super::tensor::Tensor;
use crate::hosts::allocated::Allocated;
use crate::hosts::operands::{self, Inputs};
use crate::hosts::problem::{Class, Problem, guarded};
use crate::hosts::repeats::{Description, Keeping, Repeated};
use crate::hosts::slot::{Family, Slots};
use smallvec::SmallVec;
use std::ffi::c_int;
use std::ptr;

/// The functions of an op.
#[derive(Clone, Copy)]
pub(super) struct EntryPoints {
    pub(super) create: Create,
    pub(super) infer: Infer,
}

static SLOTS: Slots<Published> = Slots::new();

/// Returns the functions of an op, which is kept for ever; `None` if there are too many.
pub(super) fn entry_points(published: Published) -> Option<EntryPoints> {
    SLOTS.fill::<Functions>(published)
}

struct Functions;

impl Family for Functions {
    type Function = EntryPoints;

    fn function<const SLOT: usize>() -> EntryPoints {
        EntryPoints {
            create: create::<SLOT>,
            infer: infer::<SLOT>,
        }
    }
}

/// Makes the kernel of a node, with its attributes.
///
/// # Safety
///
/// `construction` is that of a node of the slot's op.
unsafe extern "C" fn create<const SLOT: usize>(construction: Handle) -> Handle {
    // SAFETY: TensorFlow calls with the construction of a node of the slot's op.
    unsafe { create_by(SLOT, construction) }
}

/// # Safety
///
/// As of [`create`].
unsafe fn create_by(slot: usize, construction: Handle) -> Handle {
    let Some(published) = SLOTS.get(slot) else {
        return ptr::null_mut();
    };
    let name = published.op.name();
    // SAFETY: the construction is that of a node of the op.
    let node = guarded(name, || unsafe { Node::read(published, construction) });
    match node {
        Ok(node) => Box::into_raw(Box::new(node)).cast(),
        Err(problem) => {
            let tensorflow = published.tensorflow;
            let status = Status::new(tensorflow);
            // SAFETY: the status is a new one, and the construction TensorFlow's.
            unsafe {
                tensorflow.set(status.handle, &problem);
                let fail = tensorflow.functions.TF_OpKernelConstruction_Failure;
                fail(construction, status.handle);
            }
            ptr::null_mut()
        }
    }
}

/// Infers the shapes of a node's outputs.
///
/// # Safety
///
/// `context` is that of a node of the slot's op, and `status` a status.
unsafe extern "C" fn infer<const SLOT: usize>(context: Handle, status: Handle) {
    // SAFETY: TensorFlow calls with the context of a node of the slot's op, and a status.
    unsafe { infer_by(SLOT, context, status) };
}

/// # Safety
///
/// As of [`infer`].
unsafe fn infer_by(slot: usize, context: Handle, status: Handle) {
    let Some(published) = SLOTS.get(slot) else {
        return;
    };
    let name = published.op.name();
    // SAFETY: the context is that of a node of the op, and the status a status.
    let outcome = guarded(name, || unsafe {
        inference::infer(published, context, status)
    });
    if let Err(problem) = outcome {
        // SAFETY: the handle is a status's.
        unsafe { published.tensorflow.set(status, &problem) };
    }
}

/// Frees the kernel of a node.
///
/// # Safety
///
/// `node` is what [`create`] returned, and not used any more.
pub(super) unsafe extern "C" fn delete(node: Handle) {
    if !node.is_null() {
        // SAFETY: `create` made it, and it is freed once.
        drop(unsafe { Box::from_raw(node.cast::<Node>()) });
    }
}

/// Runs the kernel of a node.
///
/// # Safety
///
/// `node` is what [`create`] returned, and `context` that of a call.
pub(super) unsafe extern "C" fn compute(node: Handle, context: Handle) {
    if node.is_null() {
        return;
    }
    // SAFETY: `create` made it, and it is freed after its last call.
    let node = unsafe { &*node.cast::<Node>() };
    let published = node.published;
    let call = Call {
        node,
        context,
        status: Status::new(published.tensorflow),
    };
    // SAFETY: the context is that of a call of this node.
    match guarded(published.op.name(), || unsafe { call.run() }) {
        Ok(()) => call.status.reuse(),
        Err(problem) => {
            let tensorflow = published.tensorflow;
            // SAFETY: the status is the call's own, and the context TensorFlow's.
            unsafe {
                tensorflow.set(call.status.handle, &problem);
                (tensorflow.functions.TF_OpKernelContext_Failure)(context, call.status.handle);
            }
        }
    }
}

/// A call of a node's kernel.
struct Call<'a> {
    node: &'a Node,
    context: Handle,
    status: Status,
}

impl Call<'_> {
    fn failed(&self, text: impl std::fmt::Display) -> Problem {
        let name = self.node.published.op.name();
        Problem::new(Class::Value, format!("{name}: {text}"))
    }

    /// # Safety
    ///
    /// The context is that of a call of the node.
    unsafe fn run(&self) -> Result<(), Problem> {
        let node = self.node;
        let mut known = Description::of(node.published);
        let Some(dtypes) = node.dtypes.get() else {
            // SAFETY: the context is that of a call of the node.
            return unsafe { self.run_anew(known, false) };
        };
        for attribute in &node.attributes {
            known.add_attribute(attribute);
        }
        for (at, code) in (0..).zip(dtypes) {
            // Let go at once, so that its memory can become a result's.
            // SAFETY: the context is that of a call of the node.
            unsafe { self.input(at) }?.tell_apart(*code, &mut known);
        }
        let results = Results::new(&self.status, node.published.tensorflow, self.context, 0);
        // SAFETY: words were written of all inputs, which the context keeps until the call is over,
        // and which TensorFlow never changes. A result is new, or an input of this call alone.
        match unsafe { known.repeat(&mut Allocated::new(results)) } {
            Repeated::Made(outcome) => outcome.map_err(Problem::from),
            // SAFETY: the context is that of a call of the node.
            Repeated::Not(keeps) => unsafe { self.run_anew(known, keeps) },
        }
    }

    /// Runs a call that isn't like one before, and keeps it if `keeps` is true.
    ///
    /// # Safety
    ///
    /// As of [`run`](Self::run).
    #[cold]
    unsafe fn run_anew(&self, known: Description, keeps: bool) -> Result<(), Problem> {
        let published = self.node.published;
        let op = published.op.definition();
        let mut kept: SmallVec<[Tensor; 6]> = SmallVec::new();
        let mut inputs = Inputs::default();
        let (mut next, mut written) = (0, 0);
        for (at, count) in self.node.counts.iter().enumerate() {
            for _ in 0..*count {
                let tensor = match op.writes(at) {
                    // SAFETY: the context is that of a call of the node.
                    true => unsafe { self.new_value(next, written) }?,
                    // SAFETY: the context is that of a call of the node.
                    false => unsafe { self.input(next) }?,
                };
                written += c_int::from(op.writes(at));
                inputs.places.push(at);
                kept.push(tensor);
                next += 1;
            }
        }
        let results = Results::new(&self.status, published.tensorflow, self.context, written);
        let mut results = Allocated::new(results);
        for tensor in &kept {
            let described = tensor.describe(&mut inputs.tensors);
            described.map_err(|text| self.failed(text))?;
        }
        if self.node.can_repeat {
            let code = |tensor: &Tensor| tensor.code() as u32;
            self.node
                .dtypes
                .get_or_init(|| kept.iter().map(code).collect());
        }
        let mut keeping = Keeping::new(&mut results, keeps);
        // SAFETY: the tensors are kept until the call is over, and written by no other code:
        // TensorFlow never changes inputs, and what is written is new, or this call's alone.
        unsafe {
            let attributes = &self.node.attributes;
            operands::run(&published.op, &inputs, &[], attributes, &mut keeping)
        }?;
        known.keep(keeping);
        Ok(())
    }

    /// Returns an input.
    ///
    /// # Safety
    ///
    /// As of [`run`](Self::run), for an input that there is.
    #[inline(always)]
    unsafe fn input(&self, at: c_int) -> Result<Tensor, Problem> {
        let tensorflow = self.node.published.tensorflow;
        let mut handle = ptr::null_mut();
        // SAFETY: the context is that of a call.
        unsafe {
            (tensorflow.functions.TF_GetInput)(self.context, at, &mut handle, self.status.handle);
        }
        let handle = self
            .status
            .given(handle)
            .map_err(|text| self.failed(text))?;
        Ok(Tensor { tensorflow, handle })
    }

    /// Returns an output with the elements of an input, which is the input's own memory where
    /// nothing else uses it.
    ///
    /// # Safety
    ///
    /// As of [`input`](Self::input), for an output that there is.
    unsafe fn new_value(&self, input: c_int, output: c_int) -> Result<Tensor, Problem> {
        let tensorflow = self.node.published.tensorflow;
        // TensorFlow gives no tensor away that is held: only its sizes are kept.
        // SAFETY: there is such an input, as this function requires.
        let sizes = unsafe { self.input(input) }?.sizes();
        let mut forwarded = -1;
        // SAFETY: there are as many sizes, and room for a number.
        let handle = unsafe {
            (tensorflow.functions.TF_ForwardInputOrAllocateOutput)(
                self.context,
                &input,
                1,
                output,
                sizes.as_ptr(),
                sizes.len() as c_int,
                &mut forwarded,
                self.status.handle,
            )
        };
        let handle = self
            .status
            .given(handle)
            .map_err(|text| self.failed(text))?;
        let new = Tensor { tensorflow, handle };
        if forwarded < 0 {
            // SAFETY: there is such an input, as this function requires.
            let old = unsafe { self.input(input) }?;
            new.copy_from(&old);
        }
        Ok(new)
    }
}
