//! Lines of an output that cross lines of an input in the same memory.

use crate::support::{Written, op};
use dlbridge::compute::threads::with_num_threads;
use dlbridge::kernel::{Kernel, Op, Operand, Source, Target};
use dlbridge::layout::Layout;
use dlbridge::{DType, Device};

const SIZE: usize = if cfg!(miri) { 6 } else { 3_000 };

type Function = fn(&Source<'_, u32>, &Target<'_, u32>);

/// A name, a kernel, and what it makes of an element of the row and one of the column.
type Sample = (&'static str, Function, fn(u32, u32) -> u32);

/// Calls a kernel in place on a square of the numbers from 7 on, and returns what is there then.
fn called(function: Function) -> Vec<u32> {
    let kernel = move |x: Source<'_, u32>, y: Target<'_, u32>| function(&x, &y);
    let definition = Op::new("crossing").input("x", "T").output("y", "T");
    let op = op(
        definition.in_place("y", "x"),
        [Kernel::new("crossing").function(kernel)],
    );
    let layout = Layout::contiguous(&[SIZE, SIZE]).unwrap();
    let mut memory: Vec<u32> = (7..7 + (SIZE * SIZE) as u32).collect();
    let first = memory.as_mut_ptr();
    // SAFETY: the layout leads to the elements of a vector, which nothing else uses meanwhile.
    let of = || unsafe {
        let layout = layout.as_ref();
        Operand::from_raw(first.cast(), layout, DType::U32, Device::CPU, false, true)
    };
    let call = || op.call().input(of()).output(Written(of())).run();
    with_num_threads(4, call).unwrap();
    memory
}

const ROW: usize = SIZE - 1;
const COLUMN: usize = 0;

fn row<'a>(y: &Target<'a, u32>) -> Target<'a, u32> {
    y.lines(1).nth(ROW).unwrap()
}

fn row_of<'a>(x: &Source<'a, u32>) -> Source<'a, u32> {
    x.lines(1).nth(ROW).unwrap()
}

fn column<'a>(x: &Source<'a, u32>) -> Source<'a, u32> {
    x.lines(0).nth(COLUMN).unwrap()
}

#[test]
fn line_along_another_axis_is_read_before_it_is_written() {
    let samples: [Sample; 5] = [
        (
            "map",
            |x, y| row(y).map_by(1, &column(x), |x| x + 1),
            |_, x| x + 1,
        ),
        (
            "map on one thread",
            |x, y| row(y).map(&column(x), |x| x + 1),
            |_, x| x + 1,
        ),
        (
            "zip",
            |x, y| row(y).zip(&row_of(x), &column(x), |a, b| a ^ b),
            |a, b| a ^ b,
        ),
        (
            "zip3",
            |x, y| row(y).zip3(&column(x), &row_of(x), &column(x), |a, b, c| a ^ b ^ c),
            |a, _| a,
        ),
        (
            "map_lines",
            |x, y| row(y).map_lines(&column(x), 0, |x, y| y.copy_from_slice(x)),
            |_, x| x,
        ),
    ];
    for (name, function, expected) in samples {
        let found = called(function);
        for at in 0..SIZE {
            let number = |row: usize, column: usize| (7 + row * SIZE + column) as u32;
            let (row, column) = (number(ROW, at), number(at, COLUMN));
            assert_eq!(
                found[ROW * SIZE + at],
                expected(row, column),
                "{name}, {at}"
            );
        }
        let others = 0..ROW * SIZE;
        assert!(
            others.clone().eq(others.map(|at| found[at] as usize - 7)),
            "{name}"
        );
    }
}
