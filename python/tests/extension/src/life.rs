//! Owners that are counted, and unusual ways to let go of them.

use dlbridge::{Error, Storage, Tensor};
use pyo3::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

register!(
    counted,
    counted_mut,
    drops,
    alive,
    entrust,
    release_while_raised,
    release_later,
    release_under_a_lock,
    release_on_many_threads,
);

static MADE: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);

/// What every framework finds aligned.
const ALIGNMENT: usize = 64;

/// Says when it is gone.
struct Counting {
    room: Vec<f32>,
    /// Those of the room that are aligned.
    used: Range<usize>,
}

impl Counting {
    fn new(len: usize) -> Self {
        MADE.fetch_add(1, Ordering::SeqCst);
        let mut room = vec![0.0; len + ALIGNMENT / size_of::<f32>()];
        let start = room.as_ptr().align_offset(ALIGNMENT);
        let used = start..start + len;
        for (i, number) in room[used.clone()].iter_mut().enumerate() {
            *number = i as f32;
        }
        Self { room, used }
    }
}

impl AsRef<[f32]> for Counting {
    fn as_ref(&self) -> &[f32] {
        &self.room[self.used.clone()]
    }
}

impl AsMut<[f32]> for Counting {
    fn as_mut(&mut self) -> &mut [f32] {
        &mut self.room[self.used.clone()]
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        // Visible to code that still reads the memory after its release, before it is reused.
        self.room.fill(f32::NAN);
        DROPPED.fetch_add(1, Ordering::SeqCst);
    }
}

/// 0, 1, 2, ... in memory whose owner is counted; to be read only.
#[pyfunction]
fn counted(len: usize) -> Result<Tensor, Error> {
    Tensor::from_owner(Counting::new(len), &[len])
}

/// The same, also to be written.
#[pyfunction]
fn counted_mut(len: usize) -> Result<Tensor, Error> {
    let storage = Storage::from_owner_mut(Counting::new(len));
    Tensor::from_storage(storage, &[len], dlbridge::DType::F32)
}

/// How many of these owners were dropped.
#[pyfunction]
fn drops() -> usize {
    DROPPED.load(Ordering::SeqCst)
}

/// How many of these owners are there.
#[pyfunction]
fn alive() -> usize {
    MADE.load(Ordering::SeqCst) - DROPPED.load(Ordering::SeqCst)
}

static ENTRUSTED: Mutex<Vec<Tensor>> = Mutex::new(Vec::new());

/// Keeps a tensor until one of the functions below releases it.
#[pyfunction]
fn entrust(x: Tensor) {
    ENTRUSTED.lock().unwrap().push(x);
}

fn all_entrusted() -> Vec<Tensor> {
    std::mem::take(&mut ENTRUSTED.lock().unwrap())
}

/// Releases them while an exception is on its way, and returns that exception if it still is.
#[pyfunction]
fn release_while_raised<'py>(
    py: Python<'py>,
    exception: Bound<'py, PyAny>,
) -> Option<Bound<'py, PyAny>> {
    let all = all_entrusted();
    PyErr::from_value(exception).restore(py);
    drop(all);
    PyErr::take(py).map(|error| error.into_value(py).into_bound(py).into_any())
}

/// Releases them on a thread that Python doesn't know and that no code waits for.
#[pyfunction]
fn release_later(milliseconds: u64) {
    let all = all_entrusted();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(milliseconds));
        drop(all);
    });
}

/// Releases them on a thread that holds a lock, which this one, with the GIL, waits for. Returns
/// after how many milliseconds it got the lock.
#[pyfunction]
fn release_under_a_lock() -> u128 {
    let all = all_entrusted();
    let lock = Arc::new(Mutex::new(()));
    let (say, hear) = channel();
    let theirs = Arc::clone(&lock);
    std::thread::spawn(move || {
        let guard = theirs.lock().unwrap();
        say.send(()).unwrap();
        drop(all);
        drop(guard);
    });
    hear.recv().unwrap();
    let start = std::time::Instant::now();
    drop(lock.lock().unwrap());
    start.elapsed().as_millis()
}

/// Releases them one by one, on that many threads at once, while this one has the GIL, and keeps it
/// for a while. Returns after how many milliseconds all of them were done.
#[pyfunction]
#[pyo3(signature = (count, kept_milliseconds = 0))]
fn release_on_many_threads(count: usize, kept_milliseconds: u64) -> u128 {
    let all = Arc::new(Mutex::new(all_entrusted()));
    let start = std::time::Instant::now();
    let body = |all: Arc<Mutex<Vec<Tensor>>>| {
        move || {
            while let Some(one) = { all.lock().unwrap().pop() } {
                drop(one);
            }
        }
    };
    let spawn = |_| std::thread::spawn(body(Arc::clone(&all)));
    let threads: Vec<_> = (0..count).map(spawn).collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let took = start.elapsed().as_millis();
    std::thread::sleep(Duration::from_millis(kept_milliseconds));
    took
}
