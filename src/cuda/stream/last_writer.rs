//! [`StreamUses`]: the last writer and later readers of some memory, and the events by which streams wait for them.

use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::event::Event;
use crate::cuda::driver::gpu::Gpu;
use crate::cuda::stream::Stream;
use smallvec::SmallVec;
use std::sync::{Mutex, PoisonError};

/// Access to memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    Write,
}

/// Last writer of memory, and readers since.
pub(in crate::cuda) struct StreamUses(Mutex<Uses>);

struct Uses {
    gpu: Gpu,
    /// `None` before a stream writes it.
    writer: Option<Stream>,
    /// The end of what the writer had to do at first, where it may be gone when other code uses the
    /// memory; until that is waited for, or the writer does something else.
    mark: Option<Event>,
    /// They waited for the writer, and no code waits for them yet.
    readers: SmallVec<[Stream; 2]>,
    /// Whether it was ever used on a stream that may be gone, or that no other code can name.
    untracked: bool,
    /// Such a stream, on which the memory's producer works. The producer orders its own work there.
    theirs: Option<Stream>,
}

/// All uses of memory that is to be released.
pub(in crate::cuda) enum Joined {
    /// This stream comes after them.
    In(Stream),
    /// None of them is known here.
    Nowhere,
    /// Some are on streams that can't be asked any more.
    Untracked,
}

impl Uses {
    fn all(&self) -> impl Iterator<Item = &Stream> {
        self.writer.iter().chain(&self.readers)
    }

    /// Has a stream wait for the writer, and, before it writes, for the readers. `false` where all
    /// work on the GPUs was waited for instead, as one of them can't be queried.
    fn wait_on(&mut self, stream: &Stream, what: Use) -> Result<bool, CudaError> {
        let is_askable = |other: &Stream| other.goes_on_as(stream) || other.can_be_awaited();
        let is_writer_askable = self.writer.iter().all(is_askable);
        let marked = self.mark.as_ref().filter(|_| !is_writer_askable);
        let are_askable =
            self.readers.iter().all(is_askable) && (marked.is_some() || is_writer_askable);
        if !are_askable {
            self.synchronize()?;
            return Ok(false);
        }
        match (marked, &self.writer) {
            (Some(mark), _) => stream.wait_for_mark(mark)?,
            (None, Some(writer)) => wait_for_use(stream, writer)?,
            (None, None) => {}
        }
        self.forget_mark();
        if what == Use::Write {
            self.readers
                .iter()
                .try_for_each(|reader| wait_for_use(stream, reader))?;
        }
        Ok(true)
    }

    /// Waits for all that is done on the GPUs on which the memory was used.
    fn synchronize(&self) -> Result<(), CudaError> {
        self.gpus().into_iter().try_for_each(Gpu::wait_for_all)
    }

    /// Returns the GPUs on which the memory was used.
    fn gpus(&self) -> SmallVec<[Gpu; 2]> {
        let mut gpus = SmallVec::new();
        for stream in self.all() {
            if !gpus.contains(&stream.gpu()) {
                gpus.push(stream.gpu());
            }
        }
        gpus
    }

    /// It is good for one use, as the writer may go on writing.
    fn forget_mark(&mut self) {
        if let Some(mark) = self.mark.take() {
            self.gpu.facts().events.give_back(mark);
        }
    }
}

/// Has a stream wait for another's use of memory, and stay outside of a graph that it is part of.
fn wait_for_use(stream: &Stream, other: &Stream) -> Result<(), CudaError> {
    stream.check_stays_outside(other)?;
    stream.wait_for(other)
}

impl Drop for Uses {
    fn drop(&mut self) {
        self.forget_mark();
    }
}

impl StreamUses {
    /// Returns the uses of memory that is ready on every stream.
    pub(in crate::cuda) fn ready(gpu: Gpu) -> Self {
        Self(Mutex::new(Uses {
            gpu,
            untracked: false,
            writer: None,
            mark: None,
            readers: SmallVec::new(),
            theirs: None,
        }))
    }

    /// Returns the uses of memory that is ready in the order of a stream.
    pub(in crate::cuda) fn new(writer: Stream) -> Self {
        let mut stream_uses = Self::ready(writer.gpu());
        let uses = stream_uses.uses();
        uses.untracked = !writer.outlives_its_uses();
        uses.writer = Some(writer);
        stream_uses
    }

    /// Returns foreign memory, whose producer works on `home`, that is ready once the work is done
    /// that a stream has by now.
    pub(in crate::cuda) fn foreign(home: Option<&Stream>, ready_on: Stream) -> Self {
        let mut stream_uses = Self::new(ready_on.clone());
        let uses = stream_uses.uses();
        // An event in a graph doesn't exist for other streams. Without one, all work is waited for.
        if uses.untracked && matches!(ready_on.is_capturing(), Ok(false)) {
            uses.mark = ready_on.mark().ok();
        }
        if uses.untracked && home == Some(&ready_on) {
            uses.theirs = Some(ready_on);
            uses.untracked = false;
        }
        stream_uses
    }

    fn uses(&mut self) -> &mut Uses {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a stream wait for all earlier uses that conflict with this one, and records the use.
    ///
    /// On failure nothing is remembered, and nothing may be done with the memory.
    pub(in crate::cuda) fn use_on(&self, stream: &Stream, what: Use) -> Result<(), CudaError> {
        stream.raw()?;
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_read = what == Use::Read;
        let is_this = |other: &Stream| other.goes_on_as(stream);
        if uses.writer.as_ref().is_some_and(is_this) && (is_read || uses.readers.is_empty()) {
            uses.forget_mark();
            return Ok(());
        }
        // What was read before is waited for again, as the writer may have gone on. But no wait for
        // a stream that isn't captured can be part of a graph: what one reads is made ready for its
        // stream before.
        let is_known = is_read && uses.readers.iter().any(is_this);
        if is_known && stream.is_capturing()? {
            return Ok(());
        }
        let goes_on = uses.wait_on(stream, what)?;
        let is_theirs = uses.theirs.as_ref().is_some_and(is_this);
        uses.untracked |= !stream.outlives_its_uses() && !is_theirs;
        if is_read && goes_on {
            if !is_known {
                uses.readers.push(stream.clone());
            }
            return Ok(());
        }
        let readers = std::mem::take(&mut uses.readers);
        uses.forget_mark();
        let writer = uses.writer.replace(stream.clone());
        drop(uses);
        // Their end may be that of their keepers, which is foreign code.
        drop((readers, writer));
        Ok(())
    }

    /// Returns the stream on which the memory was last written, if something can still be asked of
    /// it.
    pub(in crate::cuda) fn writer(&self) -> Option<Stream> {
        let uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        uses.writer.clone().filter(Stream::can_be_awaited)
    }

    /// Waits until the CPU may use the memory.
    pub(in crate::cuda) fn settle(&self) -> Result<(), CudaError> {
        let uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let streams: SmallVec<[Stream; 2]> = uses.all().cloned().collect();
        // Other threads' queries must not wait for the GPU meanwhile.
        drop(uses);
        for stream in &streams {
            if !stream.can_be_awaited() {
                stream.gpu().synchronize()?;
                continue;
            }
            if stream.is_capturing()? {
                return Err(CudaError::Capturing {
                    what: "memory that a graph uses can't be looked at",
                });
            }
            stream.synchronize()?;
        }
        Ok(())
    }

    /// Brings all uses into one stream, in whose order the memory can be released.
    pub(in crate::cuda) fn join(&mut self) -> Result<Joined, CudaError> {
        let uses = self.uses();
        if uses.untracked {
            return Ok(Joined::Untracked);
        }
        let mut ours = uses
            .all()
            .filter(|stream| !uses.theirs.iter().any(|theirs| theirs.goes_on_as(stream)));
        let Some(last) = ours.next() else {
            return Ok(Joined::Nowhere);
        };
        ours.try_for_each(|other| last.wait_for(other))?;
        Ok(Joined::In(last.clone()))
    }

    /// Returns whether one of the streams is being captured, so that nothing must be asked of it.
    pub(in crate::cuda) fn is_capturing(&mut self) -> Result<bool, CudaError> {
        let uses = self.uses();
        for stream in uses.all().filter(|stream| stream.outlives_its_uses()) {
            if stream.is_capturing()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the GPUs on which the memory was used, other than by work that others wait for.
    pub(in crate::cuda) fn gpus(&mut self) -> SmallVec<[Gpu; 2]> {
        self.uses().gpus()
    }

    pub(in crate::cuda) fn gpu(&mut self) -> Gpu {
        self.uses().gpu
    }
}
