//! [`TensorFlowError`]: the error type of everything in `tensorflow`.

use crate::error::{Error, Incompatibility};
use std::path::PathBuf;

/// What went wrong with TensorFlow, or on the way to it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TensorFlowError {
    /// TensorFlow's library isn't in any of the places.
    #[error(
        "TensorFlow's library was not found: expected {}; looked in {}; install the Python \
         package tensorflow, or set DLBRIDGE_TENSORFLOW to its folder",
        .names.join(" or "), .places.join(", ")
    )]
    NotFound {
        /// The names of the file.
        names: Vec<&'static str>,
        /// Each place, and why it isn't there.
        places: Vec<String>,
    },
    /// A file that the loader refuses.
    #[error("{} can't be loaded as TensorFlow: {problem}", .path.display())]
    Load {
        /// The file.
        path: PathBuf,
        /// The loader's message.
        problem: String,
    },
    /// A library that lacks a function.
    #[error(
        "expected the function {symbol} in {}, found none; TensorFlow {version} of this build \
         can't be used for it",
        .path.display()
    )]
    MissingSymbol {
        /// The file.
        path: PathBuf,
        /// The function's name.
        symbol: &'static str,
        /// The version, or `of an unknown version`.
        version: String,
    },
    /// A version that this crate doesn't support.
    #[error("expected TensorFlow 2.12 or newer, below 3, found {found} in {}", .path.display())]
    UnsupportedVersion {
        /// The file.
        path: PathBuf,
        /// The version, as the library says it.
        found: String,
    },
    /// The process has another TensorFlow, and never loads a second.
    #[error(
        "expected no other TensorFlow in this process than {}, found {} loaded already; use that \
         one, by TensorFlow::from_process()",
        .asked.display(), .loaded.display()
    )]
    OtherLoaded {
        /// The requested file.
        asked: PathBuf,
        /// The file that is loaded.
        loaded: PathBuf,
    },
    /// A version whose structs this crate doesn't know.
    #[error(
        "expected TensorFlow 2.12 to 2.22 on a 64-bit machine, whose structs are known, \
         found {found}"
    )]
    UnknownStructs {
        /// The version that was found.
        found: String,
    },
    /// Structs that don't hold what TensorFlow's functions say.
    #[error("expected {wanted} in TensorFlow's structs, found {found}; their layout has changed")]
    StructsDiffer {
        /// What the functions say.
        wanted: String,
        /// What the structs hold.
        found: String,
    },
    /// A tensor that can't be shared, or that has no equivalent.
    #[error(transparent)]
    Tensor(#[from] Error),
    /// TensorFlow reports an error.
    #[error("{function} failed with {code}: {message}")]
    Status {
        /// TensorFlow's function.
        function: &'static str,
        /// The code's name, such as `INVALID_ARGUMENT`.
        code: &'static str,
        /// TensorFlow's message.
        message: String,
    },
    /// A name with a NUL byte in it.
    #[error("expected a name without a NUL byte, got {name:?}")]
    Name {
        /// The name.
        name: String,
    },
    /// An op that writes the memory of its inputs.
    #[error(
        "the op {op} writes to its inputs' memory, which may be read-only; use \
         TensorScatterUpdate instead"
    )]
    WritesInputs {
        /// The op.
        op: String,
    },
    /// An op that may write to memory that isn't TensorFlow's.
    #[error("the op {op} is refused: {problem}")]
    RefusedOp {
        /// The op.
        op: String,
        /// Why, and what to use instead.
        problem: &'static str,
    },
    /// A tensor of another context than the operation's.
    #[error(
        "expected a tensor of the context in which {op} is executed, got one of another; make it \
         in this context, by EagerTensor::from_tensor"
    )]
    OtherContext {
        /// The op.
        op: String,
    },
    /// A tensor for a list of tensors, a list for one, or none at all.
    #[error("expected {wanted}, for input {name:?} of {op}, got {found}")]
    Input {
        /// The op.
        op: String,
        /// The input.
        name: String,
        /// What the op takes.
        wanted: &'static str,
        /// What was given.
        found: &'static str,
    },
    /// An input beyond those that the op has.
    #[error(
        "{op} takes {count} {}, but more were given",
        if *.count == 1 { "input" } else { "inputs" }
    )]
    TooManyInputs {
        /// The op.
        op: String,
        /// How many inputs it has; a list is one.
        count: usize,
    },
    /// An attribute of another kind than the op declares.
    #[error("expected {wanted} for attribute {name:?} of {op}, got {found}")]
    Attribute {
        /// The op.
        op: String,
        /// The attribute.
        name: String,
        /// The kind that the op declares.
        wanted: String,
        /// The kind of the value.
        found: String,
    },
    /// An op with another number of results.
    #[error("expected {wanted} from {op}, got {found}")]
    Results {
        /// The op.
        op: String,
        /// How many were expected.
        wanted: &'static str,
        /// How many there are.
        found: usize,
    },
    /// A graph without such an operation or output.
    #[error("the graph has no output {name:?}: {problem}")]
    NoOutput {
        /// The name, such as `"y:0"`.
        name: String,
        /// The problem.
        problem: String,
    },
    /// A SavedModel without such a signature, or a signature without such a tensor.
    #[error("there is no {what} {name:?}; expected one of {known:?}")]
    Unknown {
        /// What was looked up: `"signature"`, `"input"`.
        what: &'static str,
        /// The name.
        name: String,
        /// The names that there are.
        known: Vec<String>,
    },
    /// A signature's input that was not given.
    #[error("expected a tensor for input {name:?} of signature {signature:?}, got none")]
    MissingInput {
        /// The signature.
        signature: String,
        /// The input.
        name: String,
    },
    /// A message that isn't one of TensorFlow's protocol buffers.
    #[error("malformed {what} at byte {at}: {problem}")]
    Malformed {
        /// What was read.
        what: &'static str,
        /// The position.
        at: usize,
        /// What is wrong there.
        problem: &'static str,
    },
}

impl From<Incompatibility> for TensorFlowError {
    #[cold]
    fn from(error: Incompatibility) -> Self {
        Self::Tensor(error.into())
    }
}
