//! The thread's stack of current streams, of this copy of the crate.

use super::Stream;
use crate::cuda::driver::gpu::Gpu;
use std::cell::RefCell;
use std::marker::PhantomData;

thread_local! {
    static CURRENT: RefCell<Vec<Stream>> = const { RefCell::new(Vec::new()) };
}

/// Returns the stream of a GPU that was pushed last on this thread.
pub(super) fn top(gpu: Gpu) -> Option<Stream> {
    let of_gpu = |streams: &RefCell<Vec<Stream>>| {
        let streams = streams.borrow();
        let mut newest_first = streams.iter().rev();
        newest_first.find(|stream| stream.gpu() == gpu).cloned()
    };
    CURRENT.try_with(of_gpu).unwrap_or_default()
}

/// Pushes a stream, until the guard is dropped.
pub(super) fn push(stream: Stream) -> Current {
    let depth = CURRENT.with_borrow_mut(|streams| {
        streams.push(stream);
        streams.len()
    });
    Current {
        depth,
        _thread: PhantomData,
    }
}

/// Guard of [`Stream::make_current`]: while it lives, the stream is current on its thread.
#[must_use = "dropping it restores the stream that was current before"]
#[derive(Debug)]
pub struct Current {
    depth: usize,
    /// Streams are current per thread, so the guard is not `Send`.
    _thread: PhantomData<*const ()>,
}

impl Drop for Current {
    fn drop(&mut self) {
        // Also pops streams whose guards were leaked. The streams are dropped outside of the
        // borrow, as their keepers may run foreign code.
        let ended = CURRENT.try_with(|streams| {
            let mut streams = streams.borrow_mut();
            let from = (self.depth - 1).min(streams.len());
            streams.split_off(from)
        });
        drop(ended);
    }
}
