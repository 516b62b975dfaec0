//! The same work with dlbridge and dlpark, in interleaved rounds, and the ratio of the times.
//!
//! Single times depend on the machine and what else it does; both sides of a ratio were measured
//! in the same minute, in turns, and the least of many rounds is what neither was disturbed in.

mod common;

use common::{
    SHAPES, Shared, foreign, import, import_dlpark, imported, numbers, round_trip,
    round_trip_dlpark,
};
use dlbridge::Tensor;
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// The system's allocator, which counts on request: an atomic addition would take longer than
/// allocating does, and be part of the times.
struct Counting;

static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);
static ALLOCATED: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is passed on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if IS_COUNTING.load(Relaxed) {
            ALLOCATIONS.fetch_add(1, Relaxed);
            ALLOCATED.fetch_add(layout.size() as u64, Relaxed);
        }
        // SAFETY: `layout` has a nonzero size, by the contract of `GlobalAlloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        if IS_COUNTING.load(Relaxed) {
            ALLOCATED.fetch_sub(layout.size() as u64, Relaxed);
        }
        // SAFETY: `ptr` came from `System.alloc` with this layout, by the contract of
        // `GlobalAlloc`.
        unsafe { System.dealloc(ptr, layout) }
    }
}

#[global_allocator]
static GLOBAL: Counting = Counting;

const ROUNDS: usize = 5_000;
/// So few that what was prepared for a round is still in the cache when its turn comes.
const CALLS: usize = 100;

/// The least time that a round of calls took, and the allocations of one call.
struct Measured {
    least: Duration,
    allocations: f64,
}

impl Measured {
    const fn nothing_yet() -> Self {
        Self {
            least: Duration::MAX,
            allocations: 0.0,
        }
    }

    /// Measures a round of calls.
    fn round<I>(&mut self, prepare: impl FnMut() -> I, mut call: impl FnMut(I)) {
        let mut inputs = inputs(prepare);
        let begin = Instant::now();
        inputs.drain(..).for_each(&mut call);
        self.least = self.least.min(begin.elapsed());
    }

    /// Counts the allocations of a round of calls.
    fn count<I>(&mut self, prepare: impl FnMut() -> I, mut call: impl FnMut(I)) {
        let mut inputs = inputs(prepare);
        let before = ALLOCATIONS.load(Relaxed);
        counting(|| inputs.drain(..).for_each(&mut call));
        self.allocations = (ALLOCATIONS.load(Relaxed) - before) as f64 / CALLS as f64;
    }

    fn nanoseconds(&self) -> f64 {
        self.least.as_secs_f64() * 1e9 / CALLS as f64
    }
}

fn inputs<I>(mut prepare: impl FnMut() -> I) -> Vec<I> {
    let mut inputs = Vec::with_capacity(CALLS);
    inputs.extend((0..CALLS).map(|_| prepare()));
    inputs
}

fn counting<T>(work: impl FnOnce() -> T) -> T {
    IS_COUNTING.store(true, Relaxed);
    let result = work();
    IS_COUNTING.store(false, Relaxed);
    result
}

fn compare<I>(
    name: &str,
    rank: usize,
    mut prepare: impl FnMut() -> I,
    mut ours: impl FnMut(I),
    mut theirs: impl FnMut(I),
) {
    let (mut our, mut their) = (Measured::nothing_yet(), Measured::nothing_yet());
    for _ in 0..ROUNDS {
        our.round(&mut prepare, &mut ours);
        their.round(&mut prepare, &mut theirs);
    }
    our.count(&mut prepare, &mut ours);
    their.count(&mut prepare, &mut theirs);
    println!(
        "| {name} | {rank} | {:.1} | {:.0} | {:.1} | {:.0} | **{:.2}** |",
        our.nanoseconds(),
        our.allocations,
        their.nanoseconds(),
        their.allocations,
        our.nanoseconds() / their.nanoseconds(),
    );
}

fn main() {
    println!("| work | rank | dlbridge ns | allocations | dlpark ns | allocations | ratio |");
    println!("|---|---|---|---|---|---|---|");
    for shape in SHAPES {
        let name = "Vec -> Tensor -> export -> import, validate -> drop";
        compare(
            name,
            shape.len(),
            numbers,
            |numbers| round_trip(numbers, shape),
            |numbers| round_trip_dlpark(numbers, shape),
        );
    }
    for shape in SHAPES {
        let shared = Shared::new(shape);
        compare(
            "another export of an existing tensor, drop",
            shape.len(),
            || (),
            |()| shared.reexport(),
            |()| shared.reexport_dlpark(),
        );
    }
    for shape in SHAPES {
        let vec = Arc::new(numbers());
        compare(
            "import of a foreign tensor, validate, drop",
            shape.len(),
            || foreign(&vec, shape),
            import,
            import_dlpark,
        );
    }
    for shape in SHAPES {
        let mut first = Measured::nothing_yet();
        for _ in 0..ROUNDS {
            let export = |tensor: Tensor| drop(tensor.to_dlpack());
            first.round(|| imported(shape), export);
        }
        first.count(|| imported(shape), |tensor| drop(tensor.to_dlpack()));
        println!(
            "| first export of an imported tensor, drop both and the Vec | {} | {:.1} | {:.0} | | | |",
            shape.len(),
            first.nanoseconds(),
            first.allocations,
        );
    }
    million_handles();
}

/// What a handle takes: a pointer; and of its own facts, one allocation.
fn million_handles() {
    const HANDLES: usize = 1_000_000;
    let bytes_each = |make: &dyn Fn() -> Tensor| {
        let before = ALLOCATED.load(Relaxed);
        let handles: Vec<Tensor> = counting(|| (0..HANDLES).map(|_| make()).collect());
        (ALLOCATED.load(Relaxed) - before) as f64 / handles.len() as f64
    };
    let tensor = Tensor::from_vec(numbers(), SHAPES[1]).unwrap();
    let elements = numbers().len() * size_of::<f32>();
    println!();
    println!("A million live handles, bytes each:");
    println!(
        "- clones of one tensor: {:.0}",
        bytes_each(&|| tensor.clone())
    );
    println!(
        "- tensors of Vecs, without the {elements} of the elements: {:.0}",
        bytes_each(&|| Tensor::from_vec(numbers(), SHAPES[1]).unwrap()) - elements as f64
    );
    println!(
        "- views of one tensor: {:.0}",
        bytes_each(&|| tensor.transpose())
    );
}
