//! Which arguments may share memory: compared with the addresses of all their elements.

use crate::support::{Written, op};
use dlbridge::kernel::{Kernel, Op, Operand, Reason, Source, Target, Untyped, UntypedMut};
use dlbridge::layout::Layout;
use dlbridge::{DType, Device, View, ViewMut};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::Config;
use std::collections::BTreeSet;

/// The buffer that all views are of, in bytes; they begin near its middle.
const BUFFER: usize = 2048;
const MIDDLE: isize = 1024;

fn cases(cases: u32) -> Config {
    Config {
        cases: if cfg!(miri) { 10 } else { cases },
        failure_persistence: None,
        ..Config::default()
    }
}

/// A view of the buffer.
#[derive(Debug, Clone)]
struct Part {
    shape: Vec<usize>,
    strides: Vec<isize>,
    /// Where the element of index 0 begins, in elements; in whole bytes where these are smaller.
    start: isize,
    dtype: DType,
    writable: bool,
}

impl Part {
    fn bits(&self) -> isize {
        isize::from(self.dtype.bits())
    }

    /// Where each element begins, in bits from the buffer's beginning, in row-major order.
    fn places(&self) -> Vec<isize> {
        let first = 8 * MIDDLE + self.start * self.bits().max(8);
        let mut all = vec![first];
        for (size, stride) in self.shape.iter().zip(&self.strides) {
            let longer = |place: isize| {
                (0..*size as isize).map(move |index| place + index * stride * self.bits())
            };
            all = all.into_iter().flat_map(longer).collect();
        }
        all
    }

    /// All bytes that elements lie in.
    fn bytes(&self) -> BTreeSet<isize> {
        let bytes = |place: &isize| place / 8..=(place + self.bits() - 1) / 8;
        self.places().iter().flat_map(bytes).collect()
    }

    fn overlaps_itself(&self) -> bool {
        let places = self.places();
        places.iter().collect::<BTreeSet<_>>().len() < places.len()
    }

    fn shares_memory_with(&self, other: &Self) -> bool {
        !self.bytes().is_disjoint(&other.bytes())
    }

    /// Whether elements of the same index are at the same place.
    fn is_exactly(&self, other: &Self) -> bool {
        let as_one = |part: &Self| (part.dtype, part.shape.clone(), part.places());
        as_one(self) == as_one(other)
    }

    fn layout(&self) -> Layout {
        Layout::strided(&self.shape, &self.strides).unwrap()
    }

    fn operand<'a>(&self, buffer: *mut u8, layout: &'a Layout) -> Operand<'a> {
        let first = buffer.wrapping_offset(MIDDLE + self.start * self.bits().max(8) / 8);
        // SAFETY: views reach less far than the buffer does, and all that is in it are numbers.
        unsafe {
            let (layout, dtype) = (layout.as_ref(), self.dtype);
            Operand::from_raw(first, layout, dtype, Device::CPU, false, self.writable)
        }
    }
}

/// Strides of any kind, and such as views of dense memory have.
fn strides(shape: Vec<usize>) -> impl Strategy<Value = (Vec<usize>, Vec<isize>)> {
    let rank = shape.len();
    let scattered = prop::collection::vec(-7..=7_isize, rank);
    let dense = (
        Just(shape.clone()),
        prop::collection::vec(any::<bool>(), rank),
    )
        .prop_map(|(shape, backwards)| {
            let mut step = 1;
            let mut strides = vec![0; shape.len()];
            for at in (0..shape.len()).rev() {
                strides[at] = if backwards[at] { -step } else { step };
                step *= shape[at].max(1) as isize;
            }
            strides
        });
    (Just(shape), prop_oneof![scattered, dense])
}

fn shape() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![1 => Just(0), 9 => 1..=4_usize], 0..=3)
}

fn part_of(shape: Vec<usize>, dtype: DType) -> impl Strategy<Value = Part> {
    (strides(shape), -12..=12_isize, prop::bool::weighted(0.97)).prop_map(
        move |((shape, strides), start, writable)| Part {
            shape,
            strides,
            start,
            dtype,
            writable,
        },
    )
}

fn part() -> impl Strategy<Value = Part> {
    let dtype = select(vec![
        DType::U8,
        DType::I16,
        DType::F32,
        DType::I4,
        DType::U1,
    ]);
    (shape(), dtype).prop_flat_map(|(shape, dtype)| part_of(shape, dtype))
}

/// Why a call is refused: which argument, and with which other one.
#[derive(Debug, PartialEq)]
enum Refused {
    ReadOnly(String),
    SelfOverlap(String),
    Aliased(String, String),
}

/// Why a call was refused, if it was.
fn found(called: Result<Vec<dlbridge::Tensor>, dlbridge::kernel::CallError>) -> Option<Refused> {
    Some(match *called.err()?.reason {
        Reason::ReadOnly { argument } => Refused::ReadOnly(argument),
        Reason::SelfOverlap { argument } => Refused::SelfOverlap(argument),
        Reason::Aliased {
            argument, other, ..
        } => Refused::Aliased(argument, other),
        reason => panic!("{reason}"),
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
            "{:?} is none of {:?}",
            found,
            expected
        ),
    }
    Ok(())
}

/// A buffer of numbers, aligned for all types.
fn buffer() -> Vec<u64> {
    (0..BUFFER as u64 / 8)
        .map(|at| at.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect()
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

/// Calls a sum of parts of a buffer, and checks whether it was refused, and what it did if not.
fn check_sum(
    in_place: &[(&'static str, &'static str)],
    kernel: Kernel,
    kernel_can: bool,
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
    let call = op.call().input(a.operand(pointer, &layouts[0]));
    let call = call.input(b.operand(pointer, &layouts[1]));
    let called = call.output(Written(y.operand(pointer, &layouts[2]))).run();
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
    fn in_place_is_allowed_as_the_op_and_the_kernel_say(parts in inputs_and_output()) {
        let cells = || Kernel::of("sum").function(sum);
        let views = || Kernel::of("sum").function(sum_of_views);
        for in_place in [&[][..], &[("y", "a")], &[("y", "b")], &[("y", "a"), ("y", "b")]] {
            check_sum(in_place, cells(), true, &parts)?;
            check_sum(in_place, views(), false, &parts)?;
        }
    }

    #[test]
    fn what_is_written_shares_no_memory(x in part(), m in part(), n in part(), y in part()) {
        let function =
            |_: UntypedMut<'_>, _: Untyped<'_>, _: UntypedMut<'_>, _: UntypedMut<'_>| {};
        let definition = Op::new("f")
            .in_out("m", "M")
            .input("x", "X")
            .in_out("n", "N")
            .output("y", "X")
            .in_place("y", "x");
        let op = op(definition, [Kernel::of("f").function(function)]);
        // The output's type is that of the input, and its shape the first argument's.
        let strides = y.strides.iter().copied().chain([1, -2, 3]);
        let strides = strides.take(m.shape.len()).collect();
        let y = Part { dtype: x.dtype, shape: m.shape.clone(), strides, ..y };
        let mut buffer = buffer();
        let pointer = buffer.as_mut_ptr().cast();
        let layouts = [&m, &x, &n, &y].map(Part::layout);
        let call = op.call().in_out(Written(m.operand(pointer, &layouts[0])));
        let call = call.input(x.operand(pointer, &layouts[1]));
        let call = call.in_out(Written(n.operand(pointer, &layouts[2])));
        let called = call.output(Written(y.operand(pointer, &layouts[3]))).run();
        let arguments = [("m", true, &m), ("x", false, &x), ("n", true, &n), ("y", true, &y)];
        check(found(called), &expected(&arguments, &[]))?;
    }
}
