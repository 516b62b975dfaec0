//! [`Stream`]: a CUDA stream, owned, default or borrowed from a framework.

mod capture;
mod current;
pub(super) mod current_stack;
pub(super) mod deferred;
pub(super) mod last_writer;
#[cfg(feature = "python")]
pub(crate) mod peer_streams;

use crate::cuda::driver::answer::{ask, call};
use crate::cuda::driver::capture_mode::relax_capture_mode;
use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::event::Event;
use crate::cuda::driver::foreign_drops::Foreign;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::driver::release_hook::drain_deferred;
use cudarc::driver::sys;
use std::any::Any;
use std::ffi::c_void;
use std::fmt;
use std::ptr;
use std::sync::Arc;
use std::thread::{self, ThreadId};

/// A queue of work on a GPU: one of ours, the GPU's default one, or a framework's.
#[derive(Clone)]
pub struct Stream {
    gpu: Gpu,
    raw: Raw,
    life: Life,
}

/// The driver's handle of a stream.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Raw(sys::CUstream);

// SAFETY: a handle, which the driver takes on any thread.
unsafe impl Send for Raw {}
// SAFETY: a shared reference only copies the handle.
unsafe impl Sync for Raw {}

/// How long a stream is there.
#[derive(Clone)]
pub(super) enum Life {
    /// Lives as long as the GPU.
    Lasting,
    /// Lives as long as its keeper.
    Kept { _keeper: Arc<dyn Any + Send + Sync> },
    /// Lives as long as its thread, of whose default stream no other thread can ask anything.
    OfThread(ThreadId),
    /// Untracked: it may be destroyed before memory is released.
    Unknown,
}

/// The handle that stands for the default stream of each thread.
const PER_THREAD: usize = 2;

impl Stream {
    /// Creates a non-blocking stream.
    ///
    /// # Errors
    ///
    /// Fails if the driver does.
    pub fn new(gpu: Gpu) -> Result<Self, CudaError> {
        let _context = gpu.enter()?;
        let mut raw = ptr::null_mut();
        let flags = sys::CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the context is current.
        unsafe { call!(cuStreamCreate(&mut raw, flags)) }?;
        let keeper = Arc::new(Created { gpu, raw: Raw(raw) });
        Ok(Self {
            gpu,
            raw: Raw(raw),
            life: Life::Kept { _keeper: keeper },
        })
    }

    /// Returns the GPU's default stream, called the legacy one.
    pub fn default_of(gpu: Gpu) -> Self {
        Self {
            gpu,
            raw: Raw(ptr::null_mut()),
            life: Life::Lasting,
        }
    }

    /// Wraps a stream of another library, by the driver's or the runtime's handle: 0 and 1 are the
    /// default stream, 2 the thread's own default one, which that thread alone can use: on others
    /// what is asked of it is an error.
    ///
    /// Fails if memory that was used on it is used on another stream, or released, all the GPU's
    /// work is waited for, as the stream may be gone then; [`kept`](Self::kept) and
    /// [`lasting`](Self::lasting) are better. Two streams of one handle, of which one is made after
    /// the other's end, aren't told apart if both are wrapped without these.
    ///
    /// # Safety
    ///
    /// It is a stream of this GPU, and there as long as anyone asks something of this one or a
    /// clone of it, or has it be current.
    pub unsafe fn from_raw(gpu: Gpu, handle: *mut c_void) -> Self {
        let (raw, life) = match handle.addr() {
            0 | 1 => (ptr::null_mut(), Life::Lasting),
            PER_THREAD => (handle, Life::OfThread(thread::current().id())),
            _ => (handle, Life::Unknown),
        };
        let raw = Raw(raw.cast());
        Self { gpu, raw, life }
    }

    /// Returns the same stream with a keeper, which lives as long as the stream is used.
    ///
    /// # Safety
    ///
    /// The stream is there as long as `keeper` isn't dropped.
    #[must_use]
    pub unsafe fn kept(mut self, keeper: impl Any + Send + Sync) -> Self {
        if matches!(self.life, Life::Unknown) {
            let _keeper = Arc::new(Foreign::new(keeper));
            self.life = Life::Kept { _keeper };
        }
        self
    }

    /// Returns the same stream, as one that is never destroyed.
    ///
    /// # Safety
    ///
    /// That is true.
    #[must_use]
    pub unsafe fn lasting(mut self) -> Self {
        if !matches!(self.life, Life::OfThread(_)) {
            self.life = Life::Lasting;
        }
        self
    }

    /// Returns the stream's GPU.
    #[inline]
    pub fn gpu(&self) -> Gpu {
        self.gpu
    }

    /// Returns the driver's handle; NULL is the default stream.
    #[inline]
    pub fn handle(&self) -> *mut c_void {
        self.raw.0.cast()
    }

    /// Returns the handle to pass to the driver.
    ///
    /// # Errors
    ///
    /// Fails if it is another thread's default stream: the driver would take this thread's for it.
    #[inline]
    pub(super) fn raw(&self) -> Result<sys::CUstream, CudaError> {
        match self.life {
            Life::OfThread(thread) if thread != thread::current().id() => {
                Err(CudaError::OtherThread)
            }
            _ => Ok(self.raw.0),
        }
    }

    /// Makes later work on this stream wait for the work that the other stream has by now.
    ///
    /// # Errors
    ///
    /// Fails if the driver fails, or the wait would invalidate a capture: this stream is captured,
    /// and the other one isn't and has something to do; they are captured into two graphs; or one
    /// is the default stream, and the other, or one that waits for the default stream, is captured.
    /// A stream that waits for a captured one becomes part of its graph.
    pub fn wait_for(&self, other: &Self) -> Result<(), CudaError> {
        if self == other || !self.needs_event_of(other)? {
            return Ok(());
        }
        let _context = self.gpu.enter()?;
        let mark = other.mark()?;
        let outcome = self.raw().and_then(|stream| mark.hold_up(stream));
        other.forget(mark);
        outcome
    }

    /// Returns a stream of a GPU that comes after the work that this one has by now: itself, where
    /// it is one of that GPU.
    pub(super) fn brought_to(self, gpu: Gpu) -> Result<Self, CudaError> {
        if self.gpu == gpu {
            return Ok(self);
        }
        let there = Self::new(gpu)?;
        there.wait_for(&self)?;
        Ok(there)
    }

    /// Marks the end of the work that it has by now.
    pub(super) fn mark(&self) -> Result<Event, CudaError> {
        let _context = self.gpu.enter()?;
        self.gpu.facts().events.mark(self.raw()?)
    }

    /// Makes later work on this stream wait for an event recorded in any stream.
    pub(super) fn wait_for_mark(&self, mark: &Event) -> Result<(), CudaError> {
        // The handle of a default stream is that of the current context's.
        let _context = self.gpu.enter()?;
        if self.is_capturing()? {
            let _relaxed = relax_capture_mode();
            return Self::needless_in_graph(mark.is_over()?);
        }
        mark.hold_up(self.raw()?)
    }

    /// Returns an event of this stream to the pool. Streams that wait for it already still do.
    pub(super) fn forget(&self, mark: Event) {
        self.gpu.facts().events.give_back(mark);
    }

    /// Blocks until all work of this stream is done.
    ///
    /// # Errors
    ///
    /// Fails if work failed, or the stream is being captured.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        let _context = self.gpu.enter()?;
        let relaxed = relax_capture_mode();
        // SAFETY: the context is current, and the stream there.
        unsafe { call!(cuStreamSynchronize(self.raw()?)) }?;
        drop(relaxed);
        drain_deferred();
        Ok(())
    }

    /// Returns whether all work of this stream is done (`cuStreamQuery`).
    ///
    /// # Errors
    ///
    /// Fails if work failed, or the stream is being captured.
    pub fn is_done(&self) -> Result<bool, CudaError> {
        let _context = self.gpu.enter()?;
        let _relaxed = relax_capture_mode();
        // SAFETY: the context is current, and the stream there.
        let answer = unsafe { ask!(cuStreamQuery(self.raw()?)) };
        if answer.is(sys::CUresult::CUDA_ERROR_NOT_READY) {
            return Ok(false);
        }
        answer.checked().map(|()| true)
    }

    /// Returns whether memory that was used on it can be released in its order, whenever that is,
    /// and by whom.
    pub(super) fn outlives_its_uses(&self) -> bool {
        matches!(self.life, Life::Lasting | Life::Kept { .. })
    }

    /// Returns whether a stream of which something is asked now is this one, of which something was
    /// asked before. If this one may be gone, and the other is known to be there, the driver may
    /// have given it this one's handle.
    #[inline]
    pub(super) fn goes_on_as(&self, now: &Self) -> bool {
        let may_be_gone = |stream: &Self| matches!(stream.life, Life::Unknown);
        self == now && (!may_be_gone(self) || may_be_gone(now))
    }

    /// Returns whether another stream can wait for it, although it is used for something else by
    /// now. Another thread's own can't be named.
    pub(super) fn can_be_awaited(&self) -> bool {
        match self.life {
            Life::Lasting | Life::Kept { .. } => true,
            Life::OfThread(thread) => thread == thread::current().id(),
            Life::Unknown => false,
        }
    }
}

/// Streams are equal if their handles are: where one may be gone, the driver may have given its
/// handle to the other.
impl PartialEq for Stream {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        let threads = match (&self.life, &other.life) {
            (Life::OfThread(one), Life::OfThread(other)) => one == other,
            _ => true,
        };
        self.raw == other.raw && self.gpu == other.gpu && threads
    }
}

impl Eq for Stream {}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Stream({:#x} of {})",
            self.raw.0.addr(),
            self.gpu.device()
        )
    }
}

/// A stream of ours.
struct Created {
    gpu: Gpu,
    raw: Raw,
}

impl Drop for Created {
    fn drop(&mut self) {
        // A failure can't be reported from here. The driver destroys it once its work is done.
        if let Ok(_context) = self.gpu.enter() {
            // SAFETY: it was created, and this is its end.
            let _ = unsafe { ask!(cuStreamDestroy_v2(self.raw.0)) };
        }
    }
}
