//! The thread's stack of current streams, of this copy of the crate.

use super::Stream;
use crate::cuda::driver::gpu::Gpu;
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

thread_local! {
    /// Each stream with the number of its guard.
    static CURRENT: RefCell<Vec<(u64, Stream)>> = const { RefCell::new(Vec::new()) };
    static NEXT: Cell<u64> = const { Cell::new(0) };
}

/// Returns the stream of a GPU that was pushed last on this thread.
pub(super) fn top(gpu: Gpu) -> Option<Stream> {
    let of_gpu = |streams: &RefCell<Vec<(u64, Stream)>>| {
        let streams = streams.borrow();
        let mut newest_first = streams.iter().rev().map(|(_, stream)| stream);
        newest_first.find(|stream| stream.gpu() == gpu).cloned()
    };
    CURRENT.try_with(of_gpu).unwrap_or_default()
}

/// Pushes a stream, until the guard is dropped.
pub(super) fn push(stream: Stream) -> Current {
    let number = NEXT.replace(NEXT.get() + 1);
    CURRENT.with_borrow_mut(|streams| streams.push((number, stream)));
    Current {
        number,
        _thread: PhantomData,
    }
}

/// Guard of [`Stream::make_current`]: while it lives, the stream is current on its thread, unless
/// there is a later one.
#[must_use = "dropping it ends that the stream is current"]
#[derive(Debug)]
pub struct Current {
    number: u64,
    /// Streams are current per thread, so the guard is not `Send`.
    _thread: PhantomData<*const ()>,
}

impl Drop for Current {
    fn drop(&mut self) {
        // Guards may be dropped in any order. The stream is dropped outside of the borrow, as its
        // keeper may run foreign code.
        let ended = CURRENT.try_with(|streams| {
            let mut streams = streams.borrow_mut();
            let at = streams
                .iter()
                .rposition(|(number, _)| *number == self.number)?;
            Some(streams.remove(at))
        });
        drop(ended);
    }
}
