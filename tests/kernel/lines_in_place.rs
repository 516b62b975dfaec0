//! Kernels that take lines on several threads, with the output exactly where an input is.

use crate::support::{Written, op};
use dlbridge::compute::threads::with_num_threads;
use dlbridge::kernel::{Kernel, Op, Operand, Source, Target};
use dlbridge::layout::Layout;
use dlbridge::{DType, Device};
use std::collections::HashSet;
use std::sync::Mutex;
use std::thread::{self, ThreadId};

const ROWS: usize = if cfg!(miri) { 5 } else { 300 };
const COLUMNS: usize = if cfg!(miri) { 7 } else { 400 };

static SEEN: Mutex<Option<HashSet<ThreadId>>> = Mutex::new(None);

/// Running sums of each row.
fn running_sums(x: Source<'_, f32>, y: Target<'_, f32>) {
    y.map_lines(&x, 1, |x, y| {
        if let Some(seen) = &mut *SEEN.lock().unwrap() {
            seen.insert(thread::current().id());
        }
        let mut total = 0.0;
        for (y, x) in y.iter_mut().zip(x) {
            total += x;
            *y = total;
        }
    });
}

/// Calls the kernel on memory of numbers, in place or beside it, and returns the result by rows.
fn called(strides: [isize; 2], in_place: bool, threads: usize) -> Vec<f32> {
    let definition = Op::new("sums").input("x", "T").output("y", "T");
    let op = op(
        definition.in_place("y", "x"),
        [Kernel::new("sums").function(running_sums)],
    );
    let layout = Layout::strided(&[ROWS, COLUMNS], &strides).unwrap();
    let mut memory: Vec<f32> = (0..ROWS * COLUMNS).map(|at| (at % 13) as f32).collect();
    let mut beside = vec![0.0_f32; if in_place { 0 } else { memory.len() }];
    let x = memory.as_mut_ptr();
    let y = if in_place { x } else { beside.as_mut_ptr() };
    // SAFETY: both layouts lead to the elements of a vector, which nothing else uses meanwhile.
    let of = |first: *mut f32, writable| unsafe {
        let layout = layout.as_ref();
        Operand::from_raw(
            first.cast(),
            layout,
            DType::F32,
            Device::CPU,
            false,
            writable,
        )
    };
    let call = || {
        op.call()
            .input(of(x, in_place))
            .output(Written(of(y, true)))
            .run()
    };
    with_num_threads(threads, call).unwrap();
    let result = if in_place { memory } else { beside };
    let at = |row: usize, column: usize| row * strides[0] as usize + column * strides[1] as usize;
    let all = (0..ROWS).flat_map(|row| (0..COLUMNS).map(move |column| at(row, column)));
    all.map(|at| result[at]).collect()
}

#[test]
fn lines_in_place_equal_a_naive_loop_on_any_number_of_threads() {
    for strides in [[COLUMNS as isize, 1], [1, ROWS as isize]] {
        let mut wanted = Vec::new();
        for row in 0..ROWS {
            let mut total = 0.0;
            for column in 0..COLUMNS {
                let at = row * strides[0] as usize + column * strides[1] as usize;
                total += (at % 13) as f32;
                wanted.push(total);
            }
        }
        for in_place in [false, true] {
            for threads in [1, 2, 4] {
                let found = called(strides, in_place, threads);
                assert!(
                    found == wanted,
                    "{strides:?}, in place: {in_place}, {threads} threads"
                );
            }
        }
    }
    *SEEN.lock().unwrap() = Some(HashSet::new());
    // Threads take work as they come: on a busy machine the first may do all of one call.
    let uses_several = || {
        called([COLUMNS as isize, 1], true, 4);
        SEEN.lock()
            .unwrap()
            .as_ref()
            .is_some_and(|seen| seen.len() > 1)
    };
    assert!(cfg!(miri) || (0..100).any(|_| uses_several()));
}
