//! Which stream is current on which thread.

use crate::cuda::driver::gpu::Gpu;
use crate::cuda::stream::Stream;
use std::cell::RefCell;
use std::marker::PhantomData;

thread_local! {
    static CURRENT: RefCell<Vec<Stream>> = const { RefCell::new(Vec::new()) };
}

impl Stream {
    /// The thread's current stream for a GPU: the default one, unless another was
    /// [made current](Self::make_current).
    pub fn current(gpu: Gpu) -> Self {
        Self::explicit(gpu).unwrap_or_else(|| Self::default_of(gpu))
    }

    /// The stream that was made current on this thread, if one was.
    pub(crate) fn explicit(gpu: Gpu) -> Option<Self> {
        let here = Self::explicit_here(gpu);
        #[cfg(feature = "python")]
        let here = here.or_else(|| crate::cuda::stream::peer_streams::explicit(gpu));
        here
    }

    /// The same, of those that were made current by this copy of the crate.
    pub(in crate::cuda) fn explicit_here(gpu: Gpu) -> Option<Self> {
        let of_gpu = |streams: &RefCell<Vec<Self>>| {
            let streams = streams.borrow();
            streams
                .iter()
                .rev()
                .find(|stream| stream.gpu() == gpu)
                .cloned()
        };
        CURRENT.try_with(of_gpu).unwrap_or_default()
    }

    /// Has the thread use this stream, until what this returns is dropped.
    pub fn make_current(&self) -> Current {
        let depth = CURRENT.with_borrow_mut(|streams| {
            streams.push(self.clone());
            streams.len()
        });
        Current {
            depth,
            _thread: PhantomData,
        }
    }
}

/// A stream is current, until this is dropped.
#[must_use = "when it is dropped, the stream that was current before is so again"]
#[derive(Debug)]
pub struct Current {
    depth: usize,
    /// Streams are current on threads: this mustn't leave its own.
    _thread: PhantomData<*const ()>,
}

impl Drop for Current {
    fn drop(&mut self) {
        // What became current later, and was forgotten, goes too. Streams are dropped only then: that may run
        // foreign code.
        let ended = CURRENT.try_with(|streams| {
            let mut streams = streams.borrow_mut();
            let from = (self.depth - 1).min(streams.len());
            streams.split_off(from)
        });
        drop(ended);
    }
}
