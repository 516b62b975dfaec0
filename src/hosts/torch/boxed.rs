//! The functions that the dispatcher calls: arguments from its stack, results to it.

use super::arguments::{Arguments, Described, Tensor};
use super::exception::Exception;
use super::library::{Boxed, Torch};
use super::results::Results;
use crate::device::Device;
use crate::hosts::allocated::Allocated;
use crate::hosts::repeats::{Description, Keeping, Repeated};
use crate::hosts::slot::{Family, Slots};
use crate::kernel::{Frame, OpHandle, Operand, Operands};
use smallvec::SmallVec;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// A published op.
pub(super) struct Published {
    torch: &'static Torch,
    op: OpHandle,
    /// Whether new values of written inputs are results.
    functional: bool,
    /// Whether calls like one before are repeated: where no input is written.
    repeats: bool,
}

impl Published {
    pub(super) fn new(torch: &'static Torch, op: OpHandle, functional: bool) -> Self {
        let is_plain = |(_, reads, writes): (&str, bool, bool)| !(reads && writes);
        let repeats = op.definition().parameters().all(is_plain);
        Self {
            torch,
            op,
            functional,
            repeats,
        }
    }

    /// Runs a call, and returns its results.
    ///
    /// # Safety
    ///
    /// The stack has the arguments of the op's schema, which are given up.
    unsafe fn call(&'static self, stack: *const u64) -> Result<SmallVec<[Tensor; 2]>, String> {
        let op = self.op.definition();
        // SAFETY: the stack has the arguments of the op's schema, as this function requires.
        let mut arguments = unsafe { Arguments::take(self.torch, op, stack) };
        let named = |problem: String| format!("{}: {problem}", self.op.name());
        if let Some(problem) = arguments.problem.take() {
            return Err(named(problem));
        }
        let mut results = Allocated::new(Results::new(self.torch));
        let (mut known, mut keeps) = (Description::of(self), false);
        let can_repeat = self.repeats && describe(&arguments, &mut known);
        if can_repeat {
            // SAFETY: words were written of all inputs, which are kept until the call is over. As
            // of all ops, PyTorch's callers don't write them meanwhile.
            match unsafe { known.repeat(&mut results) } {
                Repeated::Made(outcome) => {
                    outcome.map_err(|error| error.to_string())?;
                    return Ok(results.into_allocator().into_tensors().collect());
                }
                Repeated::Not(is_known) => keeps = is_known,
            }
        }
        let mut copies: SmallVec<[Tensor; 2]> = SmallVec::new();
        let mut described: SmallVec<[(usize, Described); 4]> = SmallVec::new();
        let mut more: SmallVec<[(usize, Described); 4]> = SmallVec::new();
        for (at, tensors) in arguments.inputs.iter().enumerate() {
            let writes = op.writes(at);
            for (number, tensor) in tensors.iter().enumerate() {
                let tensor = match writes && self.functional {
                    true => {
                        copies.push(copy(tensor).map_err(named)?);
                        &copies[copies.len() - 1]
                    }
                    false => tensor,
                };
                let tensor = tensor.describe(writes);
                let tensor = tensor.map_err(|problem| {
                    named(format!("argument {:?}: {problem}", op.argument_name(at)))
                })?;
                if number == 0 {
                    &mut described
                } else {
                    &mut more
                }
                .push((at, tensor));
            }
        }
        let mut operands = Operands::new();
        operands.resize_with(op.parameters().count(), || Operand::ABSENT);
        let mut present = 0;
        for (at, tensor) in &described {
            operands[*at] = operand(tensor, op.writes(*at));
            present |= 1 << at;
        }
        operands.extend(
            more.iter()
                .map(|(at, tensor)| operand(tensor, op.writes(*at))),
        );
        let frame = Frame {
            handle: &self.op,
            present,
            attributes: &arguments.attributes,
            label: "",
            threads: 0,
        };
        let mut keeping = Keeping::new(&mut results, keeps);
        frame
            .run(&mut operands, &mut keeping)
            .map_err(|error| error.to_string())?;
        known.keep(keeping);
        copies.extend(results.into_allocator().into_tensors());
        Ok(copies)
    }
}

/// Describes a call, for others like it. Returns whether there can be any.
#[inline]
fn describe(arguments: &Arguments, call: &mut Description) -> bool {
    for attribute in &arguments.attributes {
        call.add_attribute(attribute);
    }
    let mut inputs = arguments.inputs.iter();
    inputs.all(|tensors| tensors.len() == 1 && tensors[0].tell_apart(call))
}

/// Returns a tensor as an operand of a call.
fn operand(tensor: &Described, writes: bool) -> Operand<'_> {
    let (first, layout, dtype) = (tensor.first, tensor.layout.as_ref(), tensor.dtype);
    // SAFETY: the tensor is kept until the call is over, with the elements of its layout. As of all
    // ops, PyTorch's callers don't use a tensor elsewhere meanwhile that an op writes.
    unsafe { Operand::from_raw(first, layout, dtype, Device::CPU, false, writes) }
}

/// Returns a copy of a tensor.
fn copy(tensor: &Tensor) -> Result<Tensor, String> {
    let mut handle = ptr::null_mut();
    // SAFETY: the handle is a tensor's.
    let status = unsafe { (tensor.torch.functions.aoti_torch_clone)(tensor.handle, &mut handle) };
    match status {
        0 => Ok(Tensor {
            torch: tensor.torch,
            handle,
        }),
        _ => Err("PyTorch has no memory for a copy".to_owned()),
    }
}

static SLOTS: Slots<Published> = Slots::new();

/// Returns the function of an op, which is kept for ever; `None` if there are too many.
pub(super) fn function_of(published: Published) -> Option<Boxed> {
    SLOTS.fill::<Functions>(published)
}

struct Functions;

impl Family for Functions {
    type Function = Boxed;

    fn function<const SLOT: usize>() -> Boxed {
        boxed::<SLOT>
    }
}

/// The function of a slot.
///
/// # Safety
///
/// The stack has the arguments of the op's schema, which are given up, and room for its results.
unsafe extern "C-unwind" fn boxed<const SLOT: usize>(stack: *mut u64, _: u64, _: u64) {
    // Nothing here is dropped when an exception passes, so the frame has no code for that: if the
    // module has an unwinder of its own, as a linker may give it, that code couldn't run for an
    // exception of C++'s.
    // SAFETY: the dispatcher calls with the arguments of the op's schema and room for its results.
    if let Some(exception) = unsafe { run(SLOT, stack) } {
        // SAFETY: it was just made; this is the only frame below C++'s, and has nothing to drop.
        unsafe { exception.throw() }
    }
}

/// Runs the op of a slot. Returns its failure.
///
/// # Safety
///
/// As of [`boxed`].
#[inline(never)]
unsafe fn run(slot: usize, stack: *mut u64) -> Option<Exception> {
    let published = SLOTS.get(slot)?;
    // SAFETY: the stack has the arguments of the op's schema, and room for its results, as this
    // function requires.
    let call = AssertUnwindSafe(|| unsafe {
        let results = published.call(stack)?;
        for (at, tensor) in results.into_iter().enumerate() {
            *stack.add(at) = tensor.handle.expose_provenance() as u64;
            std::mem::forget(tensor);
        }
        Ok(())
    });
    let text = match catch_unwind(call) {
        Ok(Ok(())) => return None,
        Ok(Err(text)) => text,
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_else(|| "the kernel panicked".to_owned());
            format!("{}: {text}", published.op.name())
        }
    };
    let text = CString::new(text.replace('\0', "")).unwrap_or_default();
    Some(published.torch.exceptions.make(&text))
}
