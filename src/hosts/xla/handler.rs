//! The functions that XLA calls.

use super::abi::{
    CallFrame, EXECUTE, INTERNAL, INVALID_ARGUMENT, METADATA, Metadata, MetadataExtension,
    NewError, VERSION,
};
use super::arguments::{Places, Tensors, describe, tell_apart};
use super::attributes::Values;
use super::results::Results;
use crate::hosts::repeats::{Description, Keeping, Repeated};
use crate::hosts::slot::{Family, Slots};
use crate::kernel::{Frame, OpHandle, Operand, Operands};
use std::ffi::{CString, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

/// A handler: of an `XLA_FFI_CallFrame`, it returns an `XLA_FFI_Error`, or null for success.
pub type Handler = unsafe extern "C" fn(*mut c_void) -> *mut c_void;

static SLOTS: Slots<OpHandle> = Slots::new();

/// Returns the handler of an op, which is kept for ever and the same each time; `None` if there are
/// too many.
pub(super) fn handler_of(op: OpHandle) -> Option<Handler> {
    SLOTS.find_or_fill::<Handlers>(op, OpHandle::is_same)
}

struct Handlers;

impl Family for Handlers {
    type Function = Handler;

    fn function<const SLOT: usize>() -> Handler {
        handler::<SLOT>
    }
}

/// The handler of a slot.
///
/// # Safety
///
/// The frame is one of XLA's.
unsafe extern "C" fn handler<const SLOT: usize>(frame: *mut c_void) -> *mut c_void {
    // SAFETY: XLA calls with a frame of its own, which lasts as long as the call.
    unsafe { handle(SLOT, &*frame.cast::<CallFrame>()) }
}

/// Answers what the handler is, or runs the op of a slot.
///
/// # Safety
///
/// The frame is one of XLA's.
unsafe fn handle(slot: usize, frame: &CallFrame) -> *mut c_void {
    // SAFETY: the frame is one of XLA's, as this function requires.
    if unsafe { answer(frame) } {
        return ptr::null_mut();
    }
    let Some(op) = SLOTS.get(slot) else {
        return ptr::null_mut();
    };
    // SAFETY: the frame is one of XLA's, as this function requires.
    let call = catch_unwind(AssertUnwindSafe(|| unsafe { call(op, frame) }));
    let (code, text) = match call {
        Ok(Ok(())) => return ptr::null_mut(),
        Ok(Err(text)) => (INVALID_ARGUMENT, text),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(ToString::to_string);
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
            let text = text.unwrap_or_else(|| "the kernel panicked".to_owned());
            (INTERNAL, format!("{}: {text}", op.name()))
        }
    };
    let text = CString::new(text.replace('\0', "")).unwrap_or_default();
    let mut error = NewError {
        struct_size: size_of::<NewError>(),
        extensions: ptr::null_mut(),
        message: text.as_ptr(),
        code,
    };
    // SAFETY: each frame has the functions of its XLA, of which this is the first; it copies the
    // text.
    unsafe { ((*frame.api).error_create)(&mut error) }
}

/// Answers the question what the handler is, which is one of the frame's extensions. Returns
/// whether it was asked: then the frame has nothing else.
///
/// # Safety
///
/// The frame is one of XLA's.
unsafe fn answer(frame: &CallFrame) -> bool {
    let mut next = frame.extensions;
    // SAFETY: extensions are a list, which ends with null.
    while let Some(extension) = unsafe { next.as_ref() } {
        if extension.kind == METADATA && extension.struct_size >= size_of::<MetadataExtension>() {
            // SAFETY: an extension of this kind and size has metadata, to be written.
            let metadata = unsafe { (*next.cast::<MetadataExtension>()).metadata };
            // SAFETY: the metadata are there, to be written, up to their size.
            unsafe {
                if (*metadata).struct_size >= std::mem::offset_of!(Metadata, traits) + 4 {
                    ((*metadata).version.major, (*metadata).version.minor) = VERSION;
                    (*metadata).traits = 0;
                }
            }
            return true;
        }
        next = extension.next;
    }
    false
}

/// Runs a call.
///
/// # Safety
///
/// The frame is one of XLA's.
unsafe fn call(op: &'static OpHandle, frame: &CallFrame) -> Result<(), String> {
    let (name, definition) = (op.name(), op.definition());
    let named = |problem: String| format!("{name}: {problem}");
    if frame.struct_size < size_of::<CallFrame>() {
        return Err(named("XLA's frames have too few fields".to_owned()));
    }
    if frame.stage != EXECUTE {
        return Ok(());
    }
    let mut values = Values::default();
    // SAFETY: the frame's lists are XLA's, and last as long as the call.
    unsafe { values.read(definition, &frame.attributes) }.map_err(named)?;
    let (mut known, mut keeps) = (Description::of(op), false);
    // SAFETY: the frame's lists are XLA's, and last as long as the call.
    let can_repeat = unsafe { tell_call_apart(&values, frame, &mut known) };
    if can_repeat {
        // SAFETY: no results are made for a call that is repeated.
        let mut host = unsafe { Results::new(&[]) };
        // SAFETY: words were written of all buffers, which are XLA's until this function returns.
        match unsafe { known.repeat(&mut host) } {
            Repeated::Made(outcome) => return outcome.map_err(|error| error.to_string()),
            Repeated::Not(is_known) => keeps = is_known,
        }
    }
    let (mut inputs, mut results) = (Tensors::new(), Tensors::new());
    // SAFETY: the frame's lists are XLA's, and last as long as the call.
    let read = unsafe {
        describe(&frame.arguments, &mut inputs)
            .and_then(|()| describe(&frame.results, &mut results))
    };
    read.map_err(named)?;
    let places = Places::new(definition, inputs.len(), values.given).map_err(named)?;
    let expected = definition
        .parameters()
        .filter(|(_, _, writes)| *writes)
        .count();
    if results.len() != expected {
        let got = results.len();
        return Err(named(format!("expected {expected} results, got {got}")));
    }
    let parameters = definition.parameters().count();
    let mut operands = Operands::new();
    operands.resize_with(parameters, || Operand::ABSENT);
    let mut written = results.iter();
    let mut last = usize::MAX;
    for (input, at) in inputs.iter().zip(places.of) {
        let operand = match definition.writes(at) {
            // SAFETY: the call lasts until this function returns.
            false => unsafe { input.operand(false) },
            true => {
                let result = written.next().expect("written inputs are results");
                if !result.is_like(input) {
                    let argument = definition.argument_name(at);
                    let text = format!("the result of {argument:?} isn't of its shape and dtype");
                    return Err(named(text));
                }
                if result.first != input.first {
                    // SAFETY: both have as many bytes; they are one buffer, or don't overlap.
                    unsafe { ptr::copy(input.first, result.first, input.nbytes()) };
                }
                // SAFETY: the call lasts until this function returns, and this is a result.
                unsafe { result.operand(true) }
            }
        };
        if at == last {
            operands.push(operand);
        } else {
            operands[at] = operand;
        }
        last = at;
    }
    let call = Frame {
        handle: op,
        present: places.present,
        attributes: &values.attributes,
        label: "",
        threads: 0,
    };
    // SAFETY: the rest of the results are those of a call that lasts until this function returns.
    let mut host = unsafe { Results::new(written.as_slice()) };
    let mut keeping = Keeping::new(&mut host, keeps);
    let outcome = call.run(&mut operands, &mut keeping);
    known.keep(keeping);
    outcome.map_err(|error| error.to_string())
}

/// Describes a call, for others like it. Returns whether there can be any.
///
/// # Safety
///
/// The frame is one of XLA's.
#[inline]
unsafe fn tell_call_apart(values: &Values, frame: &CallFrame, call: &mut Description) -> bool {
    call.add_number(frame.arguments.count as u64);
    for attribute in &values.attributes {
        call.add_attribute(attribute);
    }
    // SAFETY: the frame's lists are XLA's, and last as long as the call.
    values.given.is_none()
        && unsafe { tell_apart(&frame.arguments, call) && tell_apart(&frame.results, call) }
}
