//! What can't be released yet, and is tried again whenever memory is asked for.

use super::error::CudaError;
use super::event::Event;
use super::stream::Stream;
use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Memory that is at its end.
pub(super) trait Release: Send {
    /// Releases it; `false` where that must wait.
    fn try_release(&mut self) -> Result<bool, CudaError>;
}

/// What waits.
enum Waiting {
    /// For the end of a capture: until then nothing may be asked of the streams. Or for better times, where the
    /// driver refused.
    Memory(Box<dyn Release>),
    /// For work on a GPU.
    Kept {
        stream: Stream,
        event: Option<Event>,
        kept: Box<dyn Any + Send>,
    },
}

static WAITING: Mutex<Vec<Waiting>> = Mutex::new(Vec::new());
/// Whether there is anything, which there seldom is.
static ANY: AtomicBool = AtomicBool::new(false);

fn waiting() -> MutexGuard<'static, Vec<Waiting>> {
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

fn put(new: impl IntoIterator<Item = Waiting>) {
    let mut waiting = waiting();
    waiting.extend(new);
    ANY.store(!waiting.is_empty(), Ordering::Release);
}

/// Releases memory, now or as soon as that can be done.
pub(super) fn release(memory: Box<dyn Release>) {
    if let Err(waiting) = Waiting::Memory(memory).try_release() {
        put([waiting]);
    }
}

/// Keeps something until the work is done that a stream has by now: memory of the host from which a copy is
/// made, or a framework's tensor, whose framework knows nothing of the stream.
///
/// # Errors
///
/// When the stream is being captured, as the work may then be done any number of times; then it is dropped at once.
pub fn release_after(stream: &Stream, kept: impl Any + Send) -> Result<(), CudaError> {
    // Where that can't be found out, the work may be under way.
    if let Ok(true) = stream.is_capturing() {
        return Err(CudaError::Capturing {
            what: "nothing can be kept until work is done",
        });
    }
    let mut waiting = Waiting::Kept {
        stream: stream.clone(),
        event: None,
        kept: Box::new(kept),
    };
    // Where the end of the work can't be marked now, it will be later.
    let _ = waiting.mark();
    put([waiting]);
    Ok(())
}

impl Waiting {
    /// Marks the end of the work that is waited for, unless it is marked.
    fn mark(&mut self) -> Result<(), CudaError> {
        let Self::Kept { stream, event, .. } = self else {
            return Ok(());
        };
        if event.is_none() {
            *event = Some(stream.mark()?);
        }
        Ok(())
    }

    /// Releases it, unless that must wait. What is kept is given back, to be dropped when nothing is locked.
    fn try_release(mut self) -> Result<Option<Box<dyn Any + Send>>, Self> {
        let marked = self.mark();
        match self {
            Self::Memory(mut memory) => match memory.try_release() {
                Ok(true) => Ok(None),
                // The driver is gone, with the program, or a kernel crashed, and with it everything on the
                // GPU: nothing can be done for the memory. What is foreign is released nevertheless.
                Err(error) if error.is_final() => Ok(None),
                Ok(false) | Err(_) => Err(Self::Memory(memory)),
            },
            Self::Kept {
                stream,
                event,
                kept,
            } => {
                let gpu = stream.gpu();
                let is_over = marked.and_then(|()| {
                    let _entered = gpu.enter()?;
                    event.as_ref().map_or(Ok(false), Event::is_over)
                });
                let goes_on = match is_over {
                    Ok(is_over) => !is_over,
                    // Then no work goes on that could use it.
                    Err(error) => !error.is_final(),
                };
                if goes_on {
                    return Err(Self::Kept {
                        stream,
                        event,
                        kept,
                    });
                }
                if let Some(event) = event {
                    stream.forget(event);
                }
                Ok(Some(kept))
            }
        }
    }
}

/// Releases what can be released by now.
#[inline]
pub(super) fn collect() {
    if ANY.load(Ordering::Acquire) {
        try_all();
    }
}

#[cold]
fn try_all() {
    // Nothing is released under the lock, as that may run foreign code, which may come back here.
    let before = std::mem::take(&mut *waiting());
    let mut over = Vec::new();
    let mut left = Vec::new();
    for entry in before {
        match entry.try_release() {
            Ok(kept) => over.extend(kept),
            Err(entry) => left.push(entry),
        }
    }
    put(left);
    drop(over);
}
