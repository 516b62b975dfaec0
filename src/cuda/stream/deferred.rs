//! Deferred releases, drained at the next allocation or synchronisation.

use crate::cuda::driver::capture_mode::relax_capture_mode;
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::event::Event;
use crate::cuda::driver::foreign_drops::{HeldDrops, drop_foreign};
use crate::cuda::driver::release_hook;
use crate::cuda::stream::Stream;
use std::any::Any;
use std::collections::VecDeque;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Memory that is at its end.
pub(in crate::cuda) trait Release: Send {
    /// Releases it; `false` where that must wait.
    fn try_release(&mut self) -> Result<bool, CudaError>;
}

/// The releases that are pending.
struct PendingReleases {
    /// For the end of a capture: until then nothing may be asked of the streams. Or for better
    /// times, where the driver refused.
    memory: Vec<Box<dyn Release>>,
    /// For work on GPUs.
    queues: Vec<Queue>,
}

/// Releases that are pending on a stream, in its order: while the first one waits, all do.
struct Queue {
    stream: Stream,
    kept: VecDeque<Deferred>,
}

/// A value whose drop is deferred until its stream is done with it.
struct Deferred {
    /// The end of that work, once it is marked.
    end: Option<Event>,
    what: Box<dyn Any + Send>,
}

static PENDING: Mutex<PendingReleases> = Mutex::new(PendingReleases {
    memory: Vec::new(),
    queues: Vec::new(),
});
/// Whether there are pending releases.
static ANY: AtomicBool = AtomicBool::new(false);
/// How many of a stream's may wait before it is looked whether the first of them still must.
const AT_ONCE: usize = 64;

/// Changes the pending releases under the lock. Nothing may be dropped meanwhile, as deleters may
/// come back here.
fn with_pending<R>(change: impl FnOnce(&mut PendingReleases) -> R) -> R {
    release_hook::register(drain);
    let mut pending = PENDING.lock().unwrap_or_else(PoisonError::into_inner);
    let result = change(&mut pending);
    let any = !pending.memory.is_empty() || !pending.queues.is_empty();
    ANY.store(any, Ordering::Release);
    result
}

/// Releases memory, now or as soon as that can be done.
pub(in crate::cuda) fn release(memory: Box<dyn Release>) {
    if let Some(memory) = try_release(memory) {
        with_pending(|pending| pending.memory.push(memory));
    }
}

/// Tries to release memory; returns it if it must wait.
fn try_release(mut memory: Box<dyn Release>) -> Option<Box<dyn Release>> {
    match memory.try_release() {
        Ok(true) => None,
        // The driver is gone, with the program, or a kernel crashed, and with it everything on the
        // GPU: nothing can be done for the memory. What is foreign is released nevertheless.
        Err(error) if error.is_final() => None,
        Ok(false) | Err(_) => Some(memory),
    }
}

/// Keeps something until the work is done that a stream has by now: memory of the host from which a
/// copy is made, or a framework's tensor, whose framework knows nothing of the stream.
///
/// # Errors
///
/// Fails if the stream is being captured, as the work may then be done any number of times; then it
/// is dropped at once.
pub fn release_after(stream: &Stream, kept: impl Any + Send) -> Result<(), CudaError> {
    // Where that can't be found out, the work may be under way.
    if let Ok(true) = stream.is_capturing() {
        return Err(CudaError::Capturing {
            what: "nothing can be kept until work is done",
        });
    }
    let kept = Deferred {
        // Where it can't be marked now, it will be later.
        end: stream.mark().ok(),
        what: Box::new(kept),
    };
    let queue = Queue {
        stream: stream.clone(),
        kept: VecDeque::from([kept]),
    };
    let (left, count) = with_pending(|pending| {
        let left = pending.append(queue);
        let count = pending.of(stream).map_or(0, |queue| queue.kept.len());
        (left, count)
    });
    drop(left);
    if count.is_multiple_of(AT_ONCE) {
        // For those that never ask for memory.
        drain();
    }
    Ok(())
}

impl PendingReleases {
    /// Appends releases to the queue of their stream. The emptied queue that is returned is to be
    /// dropped without the lock.
    fn append(&mut self, mut queue: Queue) -> Option<Queue> {
        match self.of(&queue.stream) {
            Some(known) => known.kept.append(&mut queue.kept),
            None => {
                self.queues.push(queue);
                return None;
            }
        }
        Some(queue)
    }

    /// [Appends](Self::append) releases before those that were queued meanwhile.
    fn put_back(&mut self, mut queue: Queue) -> Option<Queue> {
        if let Some(newer) = self.of(&queue.stream) {
            queue.kept.append(&mut newer.kept);
            mem::swap(&mut newer.kept, &mut queue.kept);
            return Some(queue);
        }
        self.append(queue)
    }

    fn of(&mut self, stream: &Stream) -> Option<&mut Queue> {
        self.queues.iter_mut().find(|queue| queue.stream == *stream)
    }
}

impl Queue {
    /// Moves out everything that its stream is done with.
    fn take_over(&mut self, over: &mut Vec<Box<dyn Any + Send>>) {
        while let Some(first) = self.kept.front_mut()
            && first.is_over(&self.stream)
            && let Some(first) = self.kept.pop_front()
        {
            first
                .end
                .into_iter()
                .for_each(|end| self.stream.forget(end));
            over.push(first.what);
        }
    }
}

impl Deferred {
    fn is_over(&mut self, stream: &Stream) -> bool {
        let mut ask = || {
            let end = match self.end.take() {
                Some(end) => end,
                // That would be a mark in the graph.
                None if stream.is_capturing()? => return Ok(false),
                None => stream.mark()?,
            };
            let end = self.end.insert(end);
            let _context = stream.gpu().enter()?;
            end.is_over()
        };
        // After a final failure no work goes on that could use it.
        ask().unwrap_or_else(|error: CudaError| error.is_final())
    }
}

/// Drains deferred releases: drops everything whose work is done by now, or puts that off where the
/// thread holds drops.
#[inline]
pub(in crate::cuda) fn drain() {
    if ANY.load(Ordering::Acquire) {
        drain_all();
    }
}

#[cold]
fn drain_all() {
    // An owner's drop may panic, or come back here. First everything is put back that must wait.
    let _held = HeldDrops::new();
    let (memory, mut queues) = with_pending(|pending| {
        (
            mem::take(&mut pending.memory),
            mem::take(&mut pending.queues),
        )
    });
    let mut over = Vec::new();
    let relaxed = relax_capture_mode();
    for queue in &mut queues {
        queue.take_over(&mut over);
    }
    drop(relaxed);
    let memory: Vec<_> = memory.into_iter().filter_map(try_release).collect();
    let (left, done): (Vec<_>, Vec<_>) =
        queues.into_iter().partition(|queue| !queue.kept.is_empty());
    let left: Vec<_> = with_pending(|pending| {
        pending.memory.extend(memory);
        let put_back = left.into_iter().map(|queue| pending.put_back(queue));
        put_back.collect()
    });
    if !over.is_empty() {
        drop_foreign(over);
    }
    drop((done, left));
}
