//! TensorFlow: ops and kernels for the CPU, by its C functions, from 2.15 on.
//!
//! The op `image.blend` is `Dlbridge>ImageBlend`. Its inputs are those of the definition, of which
//! an optional one is a list of none or one tensor, and a variadic one a list; its outputs are the
//! new values of the inputs that it writes, and the outputs. The attributes are those of the
//! definition:
//!
//! | kind | in TensorFlow |
//! |---|---|
//! | `Bool`, `Int`, `Text`, `DType`, `Ints` | `bool`, `int`, `string`, `type`, `list(int)` |
//! | `Float` | `string`, such as `"0.1"`, as TensorFlow's floats have 32 bits |
//! | `OptionalInt`, `OptionalInts` | `int`, `list(int)`; the smallest `int` stands for `None` |
//! | `OptionalDType` | `list(type)`; `type` if an output has it, which is given in each call |
//!
//! ```no_run
//! use dlbridge::hosts::tensorflow;
//! use dlbridge::kernel::Registry;
//!
//! // In a process that has loaded TensorFlow's library:
//! let op = Registry::global().op("rms_norm")?;
//! assert_eq!(tensorflow::publish(&op)?, "Dlbridge>RmsNorm");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod definition;
mod functions;
mod inference;
mod kernel;
mod node;
mod published;
mod results;
mod tensor;

use super::{Host, HostError};
use crate::kernel::OpHandle;
use definition::Definition;
use functions::TensorFlow;
use published::Published;
use std::sync::{Mutex, PoisonError};

/// Returns the name of an op in TensorFlow.
///
/// # Errors
///
/// When TensorFlow can't have such a name.
pub fn name(op: &OpHandle) -> Result<String, HostError> {
    definition::name(op.name())
}

/// Defines an op in TensorFlow, and registers its kernel for the CPU. Returns its name.
///
/// # Errors
///
/// When TensorFlow isn't loaded, it has no equivalent of one of the arguments, or it has an op of
/// this name.
pub fn publish(op: &OpHandle) -> Result<String, HostError> {
    static PUBLISHING: Mutex<()> = Mutex::new(());
    let tensorflow = TensorFlow::get()?;
    // TensorFlow ends the process if a definition is wrong, or there already.
    let definition = Definition::of(op)?;
    let _guard = PUBLISHING.lock().unwrap_or_else(PoisonError::into_inner);
    if tensorflow.has_op(&definition.name) {
        return Err(Host::TensorFlow.name_taken(&definition.name));
    }
    let name = definition.name.clone();
    let entry = kernel::entry_points(Published {
        tensorflow,
        op: op.clone(),
    });
    let entry = entry.ok_or_else(|| Host::TensorFlow.too_many_ops())?;
    tensorflow.define(&definition, entry.infer)?;
    tensorflow.register(&name, (entry.create, kernel::compute, kernel::delete))?;
    Ok(name)
}
