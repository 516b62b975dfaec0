//! Aliasing of arguments: compared with the addresses of all their elements.

use crate::cases::cases;
use crate::part::{Part, buffer, part, part_of, shape};
use crate::support::{Written, op};
use dlbridge::error::IncompatibilityKind;
use dlbridge::kernel::{Kernel, Op, Reason, Source, Target, Untyped, UntypedMut};
use dlbridge::{DType, View, ViewMut};
use proptest::prelude::*;

/// Why a call is refused: which argument, and with which other one.
#[derive(Debug, PartialEq)]
enum Refused {
    ReadOnly(String),
    SelfOverlap(String),
    Aliased(String, String),
}

/// Why a call was refused, if it was.
fn found(called: Result<Vec<dlbridge::Tensor>, dlbridge::kernel::CallError>) -> Option<Refused> {
    let Reason::Incompatible { argument, error } = *called.err()?.reason else {
        panic!("another reason");
    };
    Some(match error.kind {
        IncompatibilityKind::ReadOnly => Refused::ReadOnly(argument),
        IncompatibilityKind::Overlap => Refused::SelfOverlap(argument),
        IncompatibilityKind::Alias => Refused::Aliased(argument, error.found.unwrap().into()),
        kind => panic!("{kind}: {error}"),
    })
}

/// All reasons that there are: of arguments by name, the written ones marked, and which pairs may
/// be exactly in the same place.
fn expected(arguments: &[(&str, bool, &Part)], in_place: &[(&str, &str)]) -> Vec<Refused> {
    let mut all = Vec::new();
    for (at, (name, writes, part)) in arguments.iter().enumerate() {
        if !writes {
            continue;
        }
        if !part.writable {
            all.push(Refused::ReadOnly(name.to_string()));
        }
        if part.overlaps_itself() {
            all.push(Refused::SelfOverlap(name.to_string()));
        }
        for (other_at, (other, writes, with)) in arguments.iter().enumerate() {
            let is_compared = other_at < at || other_at > at && !writes;
            let may_be = in_place.contains(&(name, other)) && part.is_exactly(with);
            if is_compared && part.shares_memory_with(with) && !may_be {
                all.push(Refused::Aliased(name.to_string(), other.to_string()));
            }
        }
    }
    all
}

fn check(found: Option<Refused>, expected: &[Refused]) -> Result<(), TestCaseError> {
    match found {
        None => prop_assert_eq!(expected, &[]),
        Some(found) => prop_assert!(
            expected.contains(&found),
            "{:?} is not in {:?}",
            found,
            expected
        ),
    }
    Ok(())
}

/// Two inputs and an output of the same type, the output often just where an input is.
fn inputs_and_output() -> impl Strategy<Value = (Part, Part, Part)> {
    let all = |shape: Vec<usize>| {
        let part = || part_of(shape.clone(), DType::I16);
        (part(), part(), part(), 0..6)
    };
    shape().prop_flat_map(all).prop_map(|(a, b, mut y, which)| {
        match which {
            0 => {
                y = Part {
                    writable: y.writable,
                    ..a.clone()
                }
            }
            1 => {
                y = Part {
                    writable: y.writable,
                    ..b.clone()
                }
            }
            // The same, but for strides that are never used, or for the place.
            2 => {
                y = Part {
                    writable: y.writable,
                    ..a.clone()
                };
                let unused = y.shape.iter().position(|size| *size == 1);
                match unused {
                    Some(at) => y.strides[at] += 1,
                    None => y.start += 1,
                }
            }
            _ => {}
        }
        (a, b, y)
    })
}

/// The number of a buffer at a place, of four in each word.
fn at(buffer: &[u64], place: isize) -> i16 {
    let place = place as usize;
    (buffer[place / 64].to_le() >> (place % 64)) as i16
}

fn set(buffer: &mut [u64], place: isize, number: i16) {
    let (word, shift) = (&mut buffer[place as usize / 64], place as usize % 64);
    let others = word.to_le() & !(0xffff << shift);
    *word = u64::from_le(others | u64::from(number as u16) << shift);
}

fn sum(a: Source<'_, i16>, b: Source<'_, i16>, y: Target<'_, i16>) {
    y.zip(&a, &b, i16::wrapping_add);
}

fn sum_of_views(a: View<'_, i16>, b: View<'_, i16>, mut y: ViewMut<'_, i16>) {
    let sums = a.iter().zip(&b).map(|(a, b)| a.wrapping_add(*b));
    y.iter_mut().zip(sums).for_each(|(y, sum)| *y = sum);
}

/// Calls an op often enough that a call like it is known, each part in a buffer of its own.
fn make_known(call: impl Fn(&dyn Fn(usize) -> *mut u8)) {
    let mut buffers: Vec<_> = (0..4).map(|_| buffer()).collect();
    let firsts: Vec<_> = buffers
        .iter_mut()
        .map(|buffer| buffer.as_mut_ptr().cast())
        .collect();
    for _ in 0..2 {
        call(&|at| firsts[at]);
    }
}

/// Calls a sum of parts of a buffer, and checks whether it was refused, and what it did if not.
fn check_sum(
    in_place: &[(&'static str, &'static str)],
    kernel: Kernel,
    (kernel_can, is_known): (bool, bool),
    (a, b, y): &(Part, Part, Part),
) -> Result<(), TestCaseError> {
    let mut definition = Op::new("sum")
        .input("a", "T")
        .input("b", "T")
        .output("y", "T");
    for (output, input) in in_place {
        definition = definition.in_place(*output, *input);
    }
    let op = op(definition, [kernel]);
    let mut buffer = buffer();
    let before = buffer.clone();
    let pointer = buffer.as_mut_ptr().cast();
    let layouts = [a, b, y].map(Part::layout);
    let call = |buffer: &dyn Fn(usize) -> *mut u8| {
        let call = op.call().input(a.operand(buffer(0), &layouts[0]));
        let call = call.input(b.operand(buffer(1), &layouts[1]));
        call.output(Written(y.operand(buffer(2), &layouts[2])))
            .run()
    };
    if is_known {
        make_known(|buffer| drop(call(buffer)));
    }
    let called = call(&|_| pointer);
    let arguments = [("a", false, a), ("b", false, b), ("y", true, y)];
    let expected = expected(&arguments, if kernel_can { in_place } else { &[] });
    let found = found(called);
    let mut wanted = before.clone();
    if found.is_none() {
        let pairs = a.places().into_iter().zip(b.places());
        for ((a, b), y) in pairs.zip(y.places()) {
            set(&mut wanted, y, at(&before, a).wrapping_add(at(&before, b)));
        }
    }
    prop_assert!(buffer == wanted, "not what is to be in the buffer");
    check(found, &expected)
}

proptest! {
    #![proptest_config(cases(3000))]

    #[test]
    fn in_place_needs_permission_of_op_and_kernel(
        parts in inputs_and_output(),
        is_known in any::<bool>(),
    ) {
        let cells = || Kernel::new("sum").function(sum);
        let views = || Kernel::new("sum").function(sum_of_views);
        for in_place in [&[][..], &[("y", "a")], &[("y", "b")], &[("y", "a"), ("y", "b")]] {
            check_sum(in_place, cells(), (true, is_known), &parts)?;
            check_sum(in_place, views(), (false, is_known), &parts)?;
        }
    }

    #[test]
    fn call_rejects_outputs_that_overlap(
        (x, m) in (part(), part()),
        (n, y) in (part(), part()),
        is_known in any::<bool>(),
    ) {
        let function =
            |_: UntypedMut<'_>, _: Untyped<'_>, _: UntypedMut<'_>, _: UntypedMut<'_>| {};
        let definition = Op::new("f")
            .in_out("m", "M")
            .input("x", "X")
            .in_out("n", "N")
            .output("y", "X")
            .in_place("y", "x");
        let op = op(definition, [Kernel::new("f").function(function)]);
        // The output's type is that of the input, and its shape the first argument's.
        let strides = y.strides.iter().copied().chain([1, -2, 3]);
        let strides = strides.take(m.shape.len()).collect();
        let y = Part { dtype: x.dtype, shape: m.shape.clone(), strides, ..y };
        let mut buffer = buffer();
        let pointer = buffer.as_mut_ptr().cast();
        let layouts = [&m, &x, &n, &y].map(Part::layout);
        let call = |buffer: &dyn Fn(usize) -> *mut u8| {
            let call = op.call().in_out(Written(m.operand(buffer(0), &layouts[0])));
            let call = call.input(x.operand(buffer(1), &layouts[1]));
            let call = call.in_out(Written(n.operand(buffer(2), &layouts[2])));
            call.output(Written(y.operand(buffer(3), &layouts[3]))).run()
        };
        if is_known {
            make_known(|buffer| drop(call(buffer)));
        }
        let called = call(&|_| pointer);
        let arguments = [("m", true, &m), ("x", false, &x), ("n", true, &n), ("y", true, &y)];
        check(found(called), &expected(&arguments, &[]))?;
    }
}
