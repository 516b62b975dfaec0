//! tvm-ffi: global functions, for Relax's virtual machine and for all of its languages.
//!
//! An op is the function `dlbridge.name`. Its arguments are positional: inputs, attributes, and
//! outputs. A function whose outputs are given writes them, and returns nothing: what Relax's
//! `call_dps_packed` expects. Without outputs it returns new tensors from the allocator of its
//! caller, one or an array of several.
//!
//! - An optional input that is left out is `None`.
//! - A variadic input is an array of tensors, or several arguments; then all tensors up to the next
//!   argument that is none are its own, so that outputs need an attribute before them.
//! - Attributes from the end may be left off; `None` stands for the default of one in between.
//!
//! ```no_run
//! use dlbridge::hosts::tvm_ffi;
//! use dlbridge::kernel::Registry;
//!
//! // In a process that has loaded tvm-ffi's library:
//! let op = Registry::global().op("add")?;
//! assert_eq!(tvm_ffi::publish(&op)?, "dlbridge.add");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arguments;
mod library;
mod results;
mod value;

use super::allocated::Allocated;
use super::operands;
use super::problem::{Class, Problem, guarded};
use super::repeats::{Description, Keeping, Repeated};
use super::{Host, HostError};
use crate::kernel::OpHandle;
use arguments::Arguments;
use library::{Handle, TvmFfi};
use results::Results;
use std::ffi::c_void;
use std::ptr;
use std::sync::Mutex;
use value::Value;

/// A published op, which is kept for ever.
struct Published {
    tvm: &'static TvmFfi,
    op: OpHandle,
}

/// Makes an op a global function. Returns its name.
///
/// # Errors
///
/// When tvm-ffi isn't loaded, or has a function of this name.
pub fn publish(op: &OpHandle) -> Result<String, HostError> {
    static PUBLISHING: Mutex<()> = Mutex::new(());
    let tvm = TvmFfi::get()?;
    let name = format!("dlbridge.{}", op.name());
    let _guard = PUBLISHING.lock();
    if tvm.global(&name).is_some() {
        return Err(Host::TvmFfi.name_taken(&name));
    }
    let published = Box::new(Published {
        tvm,
        op: op.clone(),
    });
    let published: *mut Published = Box::leak(published);
    let mut function: Handle = ptr::null_mut();
    // SAFETY: `call` is a function of this type; its data is never freed, as a global function may
    // be called at any time.
    let failed = unsafe {
        let create = tvm.functions.TVMFFIFunctionCreate;
        create(published.cast(), call, None, &mut function) != 0
    };
    if failed || !tvm.set_global(&name, function) {
        return Err(Host::TvmFfi.refused(&name, None));
    }
    Ok(name)
}

/// The function of all ops, by tvm-ffi's convention.
///
/// # Safety
///
/// `published` is a [`Published`]; there are `count` arguments, whose tensors are the caller's for
/// the time of the call, and room for a result.
unsafe extern "C" fn call(
    published: *mut c_void,
    arguments: *const Value,
    count: i32,
    result: *mut Value,
) -> i32 {
    // SAFETY: `publish` gave this data, and never frees it.
    let published: &'static Published = unsafe { &*published.cast() };
    let arguments = match count {
        0 => &[][..],
        // SAFETY: there are that many arguments.
        _ => unsafe { std::slice::from_raw_parts(arguments, count as usize) },
    };
    let tvm = published.tvm;
    // SAFETY: the arguments are the caller's for the time of the call.
    let outcome = guarded(published.op.name(), || unsafe { published.run(arguments) });
    match outcome {
        Ok(made) => {
            // SAFETY: there is room for a result, which owns what it refers to.
            unsafe { result.write(made) };
            0
        }
        Err(problem) => {
            let kind = match problem.class {
                Class::Type => c"TypeError",
                Class::Value => c"ValueError",
                Class::Index => c"IndexError",
                Class::Memory | Class::Kernel => c"RuntimeError",
            };
            let text = problem.c_text();
            // SAFETY: both texts end with a zero, and are copied.
            unsafe {
                (tvm.functions.TVMFFIErrorSetRaisedFromCStr)(kind.as_ptr(), text.as_ptr());
            }
            -1
        }
    }
}

impl Published {
    /// Runs a call, and returns its result.
    ///
    /// # Safety
    ///
    /// The arguments are valid, and their tensors the caller's for the time of the call.
    unsafe fn run(&'static self, values: &[Value]) -> Result<Value, Problem> {
        let mut results = Allocated::new(Results::new(self.tvm));
        let (mut known, mut keeps) = (Description::of(self), false);
        let can_repeat = values.len() == self.op.definition().parameters().count()
            // SAFETY: the arguments are valid for the time of the call.
            && values.iter().all(|value| unsafe { value.tell_apart(&mut known) });
        if can_repeat {
            // SAFETY: words were written of all arguments. tvm-ffi's tensors are kept by the
            // caller, who doesn't use a tensor elsewhere meanwhile that is written.
            match unsafe { known.repeat(&mut results) } {
                Repeated::Made(outcome) => {
                    return outcome.map(|()| Value::NONE).map_err(Problem::from);
                }
                Repeated::Not(is_known) => keeps = is_known,
            }
        }
        let mut arguments = Arguments::default();
        // SAFETY: the arguments are valid for the time of the call.
        unsafe { arguments.read(self.tvm, &self.op, values) }?;
        let mut keeping = Keeping::new(&mut results, keeps);
        // SAFETY: tvm-ffi's tensors are kept by the caller, with their elements. As of all packed
        // functions, callers don't use a tensor elsewhere meanwhile that is written.
        unsafe {
            operands::run(
                &self.op,
                &arguments.inputs,
                &arguments.outputs,
                &arguments.attributes,
                &mut keeping,
            )
        }?;
        known.keep(keeping);
        results.into_allocator().into_value()
    }
}
