//! The policy for read-only memory whose consumer has no read-only tensors.
//!
//! PyTorch, Paddle, TVM, CuPy, MXNet and ONNX Runtime have no read-only tensors, and neither has a
//! DLPack capsule of the older kind. TensorFlow's and JAX's tensors are always read-only. Sharing
//! memory between them is still sharing: what is forbidden is to write through the result.
//!
//! | set by | holds for |
//! |---|---|
//! | an argument (`readonly=`, [`Conversion::readonly`](super::Conversion::readonly), [`Like::readonly`](super::Like::readonly)) | one call |
//! | `with dlbridge.readonly(...):` | a thread or an asyncio task, in every extension |
//! | the environment variable `DLBRIDGE_READONLY` | the process |
//!
//! Nothing here is reached for memory that may be written.

use super::error::{not_exchangeable, unsuitable};
use crate::dlpack::python::intern;
use crate::error::{Incompatibility, IncompatibilityKind};
use pyo3::Borrowed;
use pyo3::exceptions::{PyException, PyUserWarning};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::ffi::CString;
use std::fmt;
use std::str::FromStr;
use std::sync::OnceLock;

/// What happens to read-only memory whose receiver can't be told that it is read-only.
///
/// ```
/// use dlbridge::python::ReadOnlyPolicy;
///
/// assert_eq!("share".parse(), Ok(ReadOnlyPolicy::Share));
/// assert_eq!(ReadOnlyPolicy::default(), ReadOnlyPolicy::Warn);
/// assert!("never".parse::<ReadOnlyPolicy>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ReadOnlyPolicy {
    /// Shares it, with a Python warning (`dlbridge.ReadOnlyWarning`) for each pair of frameworks.
    #[default]
    Warn,
    /// Shares it without a warning.
    Share,
    /// Refuses it with a `BufferError`.
    Refuse,
}

impl FromStr for ReadOnlyPolicy {
    type Err = Incompatibility;

    fn from_str(name: &str) -> Result<Self, Incompatibility> {
        match name {
            "warn" => Ok(Self::Warn),
            "share" => Ok(Self::Share),
            "refuse" => Ok(Self::Refuse),
            _ => Err(Incompatibility::new(
                IncompatibilityKind::Value,
                format!("{name:?}"),
                "\"warn\", \"share\" or \"refuse\"",
            )),
        }
    }
}

impl fmt::Display for ReadOnlyPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Warn => "warn",
            Self::Share => "share",
            Self::Refuse => "refuse",
        })
    }
}

impl FromPyObject<'_, '_> for ReadOnlyPolicy {
    type Error = PyErr;

    #[cfg(feature = "experimental-inspect")]
    const INPUT_TYPE: pyo3::inspect::PyStaticExpr = crate::python::hints::POLICY;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let name = object.cast::<PyString>()?;
        name.to_string_lossy()
            .parse()
            .map_err(|error: Incompatibility| unsuitable(named("readonly", error)))
    }
}

/// Names in the text what has a wrong value.
fn named(what: &str, error: Incompatibility) -> Incompatibility {
    let reason = format!("{what}: {}", error.reason());
    error.with_reason(reason)
}

const VARIABLE: &str = "DLBRIDGE_READONLY";

impl ReadOnlyPolicy {
    /// Returns the policy that holds where a call doesn't name one: of the innermost `with
    /// dlbridge.readonly(...)`, else of the environment variable `DLBRIDGE_READONLY`, which is read
    /// once, else [`Warn`](Self::Warn).
    ///
    /// # Errors
    ///
    /// A `ValueError` when the environment variable has another value.
    pub fn current(py: Python<'_>) -> PyResult<Self> {
        match Self::of_context(py)? {
            Some(policy) => Ok(policy),
            None => Self::of_environment(),
        }
    }

    /// Returns the policy of the innermost context manager. It lives in the package, so that it
    /// holds for all extensions; where that isn't loaded, there is none.
    fn of_context(py: Python<'_>) -> PyResult<Option<Self>> {
        let Some(package) = package(py)? else {
            return Ok(None);
        };
        let variable = package.getattr(intern!(py, "policies"))?;
        let policies = variable.call_method1(intern!(py, "get"), (py.None(),))?;
        match policies.is_none() {
            true => Ok(None),
            false => policies.get_item(0)?.extract().map(Some),
        }
    }

    fn of_environment() -> PyResult<Self> {
        static KNOWN: OnceLock<ReadOnlyPolicy> = OnceLock::new();
        if let Some(known) = KNOWN.get() {
            return Ok(*known);
        }
        let value = std::env::var_os(VARIABLE).unwrap_or_default();
        let policy = match value.to_string_lossy().as_ref() {
            "" => Self::default(),
            name => name.parse().map_err(|error: Incompatibility| {
                unsuitable(named(
                    &format!("the environment variable {VARIABLE}"),
                    error,
                ))
            })?,
        };
        Ok(*KNOWN.get_or_init(|| policy))
    }
}

/// Returns the module of the package that has what extensions share, if it is loaded.
fn package(py: Python<'_>) -> PyResult<Option<Bound<'_, PyAny>>> {
    let modules = py
        .import(intern!(py, "sys"))?
        .getattr(intern!(py, "modules"))?;
    let module = modules.call_method1(intern!(py, "get"), (intern!(py, "dlbridge._readonly"),))?;
    Ok(Some(module).filter(|module| !module.is_none()))
}

/// Applies the policy to read-only memory on its way from one framework to another one that can't
/// be told. `policy` is what the call names, `source` what to call the framework that it is from.
///
/// # Errors
///
/// The `BufferError` that `refusal` makes where the policy is to refuse, and what a warning raises
/// where Python's filters make it an exception.
#[cold]
pub(super) fn permit(
    py: Python<'_>,
    policy: Option<ReadOnlyPolicy>,
    source: impl FnOnce() -> PyResult<String>,
    target: &str,
    refusal: impl FnOnce() -> Incompatibility,
) -> PyResult<()> {
    let policy = match policy {
        Some(policy) => policy,
        None => ReadOnlyPolicy::current(py)?,
    };
    match policy {
        ReadOnlyPolicy::Share => Ok(()),
        ReadOnlyPolicy::Warn => warn(py, &source()?, target),
        ReadOnlyPolicy::Refuse => Err(not_exchangeable(refusal())),
    }
}

/// The way out of a refusal, beside a copy.
pub(super) const SHARING: &str = "pass readonly=\"share\" and don't write through the result";

/// Warns that memory of `source` that is read-only is shared with `target`: once for each pair, by
/// the function of the package that all extensions call. Where that isn't installed, by Python's
/// own rules.
///
/// # Errors
///
/// The warning itself, where Python's filters make it an exception.
fn warn(py: Python<'_>, source: &str, target: &str) -> PyResult<()> {
    let text = format!(
        "{source} -> {target}: the result shares read-only memory, and {target} can't be told so. Writing \
         through the result is forbidden: what {source} does then is undefined. Pass readonly=\"share\" to \
         accept that, readonly=\"refuse\" for an error instead, or copy=True for memory to write to; \
         dlbridge.readonly(...) and the environment variable {VARIABLE} set it for more than one call"
    );
    let package = match package(py)? {
        Some(package) => package,
        None => match py.import(intern!(py, "dlbridge._readonly")) {
            Ok(package) => package.into_any(),
            Err(error) if error.is_instance_of::<PyException>(py) => {
                let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
                return PyErr::warn(py, &py.get_type::<PyUserWarning>(), &text, 1);
            }
            Err(error) => return Err(error),
        },
    };
    package.call_method1(intern!(py, "warn"), (text,)).map(drop)
}

/// Returns the package whose Python code is running, as in "torch": that of a consumer that asks
/// for a tensor by a function which is written in Python. A consumer that is compiled isn't seen.
pub(super) fn calling_package(py: Python<'_>) -> Option<String> {
    let find = || -> PyResult<String> {
        let sys = py.import(intern!(py, "sys"))?;
        let frame = sys.call_method1(intern!(py, "_getframe"), (0,))?;
        let globals = frame.getattr(intern!(py, "f_globals"))?;
        globals.get_item(intern!(py, "__name__"))?.extract()
    };
    // Without a frame, as in a thread that was started by C, there is no such package.
    let module = find().ok()?;
    module.split('.').next().map(str::to_owned)
}
