//! Errors of inputs whose dtypes don't fit together, with the cast that helps.

use crate::dtype::DType;
use crate::error::{Incompatibility, IncompatibilityKind};
use crate::kernel::error::Reason;
use crate::kernel::op::{Kind, Op, Role};
use crate::kernel::operand::Operand;

/// The most arguments that a remedy names.
const MOST_NAMED: usize = 3;

/// Makes the error of the input at a place, whose dtype isn't the one that its parameter requires.
#[cold]
pub(super) fn wrong_type(op: &Op, own: &[Operand<'_>], more: &[Operand<'_>], at: usize) -> Reason {
    let kind_of = |at: usize| &op.parameters[op.parameter_of(at)].kind;
    let found = |place: usize| {
        own.get(place)
            .unwrap_or_else(|| &more[place - op.parameters.len()])
            .dtype
    };
    if let Kind::Is(wanted) = kind_of(at) {
        let (why, remedy) = (
            format!("{wanted} is needed"),
            format!("cast it to {wanted}"),
        );
        return dtype_mismatch(&op.argument_name(at), found(at), *wanted, &why, remedy);
    }
    let same: Vec<(usize, DType)> = (op.inputs_given(own, more))
        .filter(|(place, _)| kind_of(*place) == kind_of(at))
        .map(|(place, operand)| (place, operand.dtype))
        .collect();
    mixed(op, &same, (at, found(at)))
}

/// Makes the error of inputs of one type variable that have several dtypes, of which one is the
/// first that differs from those before it. The inputs to be cast are those that don't have the
/// dtype to which all of them can be promoted; one that is written keeps its dtype.
fn mixed(op: &Op, same: &[(usize, DType)], differs: (usize, DType)) -> Reason {
    let is_written = |place: usize| op.parameters[op.parameter_of(place)].role == Role::InOut;
    let written = same.iter().find(|(place, _)| is_written(*place));
    let mut dtypes = same.iter().map(|(_, dtype)| Some(*dtype));
    let promoted = dtypes.next().flatten();
    let promoted = dtypes.fold(promoted, |all, dtype| all?.promote(dtype?));
    let common = written.map(|(_, dtype)| *dtype).or(promoted);

    let name = |place: usize| op.argument_name(place);
    let (cast, other, wanted, remedy) = match common {
        Some(common) => {
            let cast: Vec<_> = same.iter().filter(|(_, dtype)| *dtype != common).collect();
            let argument = **cast
                .iter()
                .find(|argument| ***argument == differs)
                .unwrap_or(&cast[0]);
            let names: Vec<_> = cast.iter().map(|(place, _)| name(*place)).collect();
            let remedy = format!("cast {} to {common}", listed(&names));
            let other = same.iter().find(|(_, dtype)| *dtype == common);
            (argument, other, common, remedy)
        }
        None => {
            let remedy = "cast them to one dtype, as no dtype has the numbers of both";
            (differs, None, same[0].1, remedy.to_owned())
        }
    };
    let unlike = |(_, dtype): &&(usize, DType)| *dtype != cast.1;
    let other = other.or_else(|| same.iter().find(unlike));
    let (place, dtype) = other.expect("two of them differ");
    let why = format!("{:?} has {dtype}", name(*place));
    dtype_mismatch(&name(cast.0), cast.1, wanted, &why, remedy)
}

/// Returns names as in `"a", "b" and 3 more`.
fn listed<S: AsRef<str>>(names: &[S]) -> String {
    let (named, rest) = match names.len() {
        ..=MOST_NAMED => (names, 0),
        count => (&names[..MOST_NAMED - 1], count + 1 - MOST_NAMED),
    };
    let mut quoted: Vec<_> = named
        .iter()
        .map(|name| format!("{:?}", name.as_ref()))
        .collect();
    if rest > 0 {
        quoted.push(format!("{rest} more"));
    }
    let last = quoted.pop().unwrap_or_default();
    match quoted.is_empty() {
        true => last,
        false => format!("{} and {last}", quoted.join(", ")),
    }
}

/// Makes the error of an argument of another dtype.
#[cold]
pub(super) fn dtype_mismatch(
    argument: &str,
    found: DType,
    wanted: DType,
    why: &str,
    remedy: String,
) -> Reason {
    Reason::incompatible(
        argument,
        &format!("has elements of {found}, and {why}"),
        Incompatibility::new(
            IncompatibilityKind::DType,
            found.to_string(),
            wanted.to_string(),
        )
        .with_remedy(remedy),
    )
}
