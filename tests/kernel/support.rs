//! Registries that hold only the ops of a test.

use dlbridge::kernel::{
    CallError, IntoOperandMut, Kernel, Op, OpHandle, Operand, Reason, Registry, Source, Target,
};

/// A registry of one op and some kernels.
pub(crate) fn registry(op: Op, kernels: impl IntoIterator<Item = Kernel>) -> Registry {
    let registry = Registry::new();
    registry.define(op).unwrap();
    for kernel in kernels {
        registry.register(kernel).unwrap();
    }
    registry
}

/// An op of its own, with some kernels.
pub(crate) fn op(op: Op, kernels: impl IntoIterator<Item = Kernel>) -> OpHandle {
    let name = op.name().to_owned();
    registry(op, kernels).op(&name).unwrap()
}

/// `copy(x: T) -> y: T`, which can be in place.
pub(crate) fn copy() -> Op {
    Op::new("copy")
        .input("x", "T")
        .output("y", "T")
        .in_place("y", "x")
}

/// A kernel of it.
pub(crate) fn copies(x: Source<'_, f32>, y: Target<'_, f32>) {
    y.map(&x, |x| x);
}

/// An operand to be written, however it was made.
pub(crate) struct Written<'a>(pub(crate) Operand<'a>);

impl<'a> IntoOperandMut<'a> for Written<'a> {
    fn into_operand_mut(self) -> Result<Operand<'a>, dlbridge::Error> {
        Ok(self.0)
    }
}

/// What the error of a call says, and which one it is.
#[track_caller]
pub(crate) fn refused<T>(called: Result<T, CallError>) -> (Reason, String) {
    let Err(error) = called else {
        panic!("the call wasn't refused");
    };
    let text = error.to_string();
    (*error.reason, text)
}

/// Checks which reason a call was refused for, and the whole text.
macro_rules! assert_refused {
    ($call:expr, $pattern:pat, $text:expr) => {{
        let (reason, text) = $crate::support::refused($call);
        assert!(matches!(reason, $pattern), "{reason:?}");
        assert_eq!(text, $text);
    }};
}
pub(crate) use assert_refused;

/// Asserts that a call is refused as an argument is incompatible, of which kind, and in which
/// words.
macro_rules! assert_incompatible {
    ($call:expr, $Kind:ident, $text:expr) => {{
        let (reason, text) = $crate::support::refused($call);
        let kind = dlbridge::error::IncompatibilityKind::$Kind;
        assert!(
            matches!(reason, dlbridge::kernel::Reason::Incompatible { .. }),
            "{reason:?}"
        );
        assert_eq!(reason.incompatibility().kind, kind);
        assert_eq!(text, $text);
    }};
}
pub(crate) use assert_incompatible;
