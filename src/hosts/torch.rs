//! PyTorch: ops of its dispatcher, by the stable C shim of 2.8 and newer.
//!
//! An op is called `dlbridge::name`, with `_` for the dots in its name; one that writes its inputs
//! has another form, `dlbridge::name_functional`, which returns the new values instead.
//!
//! ```no_run
//! use dlbridge::hosts::torch;
//! use dlbridge::kernel::Registry;
//!
//! // In a process that has loaded PyTorch's library:
//! let op = Registry::global().op("add")?;
//! assert_eq!(torch::publish(&op)?, "add(Tensor a, Tensor b) -> Tensor");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arguments;
mod boxed;
mod exception;
mod library;
mod results;
mod schema;

use super::{Host, HostError};
use crate::kernel::OpHandle;
use boxed::{Published, function_of};
use library::{Handle, Torch};
use std::ffi::CString;
use std::ptr;
use std::sync::Mutex;

/// The namespace of the ops.
const NAMESPACE: &std::ffi::CStr = c"dlbridge";
const FILE: &std::ffi::CStr = c"dlbridge";

/// Returns the schemas of an op: its own, and that of its functional form if it writes inputs.
///
/// # Errors
///
/// When PyTorch isn't loaded, or has no equivalent of one of the arguments.
pub fn schemas(op: &OpHandle) -> Result<Vec<String>, HostError> {
    let number = |dtype| Torch::get().ok().and_then(|torch| torch.number(dtype));
    let forms = [false, true].into_iter().filter(|form| !form || writes(op));
    forms
        .map(|form| schema::schema(op.definition(), form, &number))
        .collect()
}

/// Defines an op in PyTorch's dispatcher, and implements it for the CPU. Returns its schema.
///
/// # Errors
///
/// When PyTorch isn't loaded, it has no equivalent of one of the arguments, or it has an op of this
/// name.
pub fn publish(op: &OpHandle) -> Result<String, HostError> {
    let torch = Torch::get()?;
    let schemas = schemas(op)?;
    let names = [false, true].map(|functional| schema::name(op.definition(), functional));
    if !is_native(op) {
        let problem = "its C functions know lists and texts from 2.10 on";
        return Err(Host::Torch.no_equivalent(op.name(), problem));
    }
    for schema in &schemas {
        let text = text(schema)?;
        let mut library: Handle = ptr::null_mut();
        // SAFETY: the texts end with a zero. The library is kept for ever, as deleting it would
        // take the op back.
        let failed = unsafe {
            let init = torch.functions.aoti_torch_library_init_fragment;
            init(NAMESPACE.as_ptr(), FILE.as_ptr(), 0, &mut library) != 0
                || (torch.functions.aoti_torch_library_def)(library, text.as_ptr()) != 0
        };
        if failed {
            return Err(Host::Torch.refused(schema, None));
        }
    }
    implement(op, &names[..schemas.len()])?;
    Ok(schemas.into_iter().next().expect("each op has a schema"))
}

/// Returns whether the loaded PyTorch's C functions know all kinds of the op's arguments. Otherwise
/// it has to be implemented in Python.
pub fn is_native(op: &OpHandle) -> bool {
    let has_lists = Torch::get().is_ok_and(Torch::has_lists);
    has_lists || !schema::needs_lists(op.definition())
}

/// Implements an op, and its functional form, which are defined in PyTorch's dispatcher by their
/// [`schemas`] with these names. Any further names are ones of the last form.
///
/// # Errors
///
/// When PyTorch isn't loaded or refuses.
pub fn implement(op: &OpHandle, names: &[String]) -> Result<(), HostError> {
    static IMPLEMENTING: Mutex<()> = Mutex::new(());
    let _guard = IMPLEMENTING.lock();
    let torch = Torch::get()?;
    let mut functions = Vec::new();
    for functional in [false, true].into_iter().take(1 + usize::from(writes(op))) {
        let published = Published::new(torch, op.clone(), functional);
        let function = function_of(published);
        functions.push(function.ok_or_else(|| Host::Torch.too_many_ops())?);
    }
    for (at, name) in names.iter().enumerate() {
        let name = text(name)?;
        let function = functions[at.min(functions.len() - 1)];
        let mut library: Handle = ptr::null_mut();
        // SAFETY: the texts end with a zero; the function takes the arguments of the schema, which
        // is made of the same definition. The library is kept for ever.
        let failed = unsafe {
            let init = torch.functions.aoti_torch_library_init_impl;
            init(
                NAMESPACE.as_ptr(),
                c"CPU".as_ptr(),
                FILE.as_ptr(),
                0,
                &mut library,
            ) != 0
                || torch.implement(library, name.as_ptr(), function) != 0
        };
        if failed {
            return Err(Host::Torch.refused(op.name(), None));
        }
    }
    Ok(())
}

fn writes(op: &OpHandle) -> bool {
    op.definition()
        .parameters()
        .any(|(_, reads, writes)| reads && writes)
}

fn text(text: &str) -> Result<CString, HostError> {
    let refused = |_| Host::Torch.refused(text, Some("it has a zero in it".to_owned()));
    CString::new(text).map_err(refused)
}
