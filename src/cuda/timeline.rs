//! [`Timeline`]: on which streams memory is used, and how they wait for each other.

use super::error::CudaError;
use super::stream::Stream;
use smallvec::SmallVec;
use std::sync::{Mutex, PoisonError};

/// What is done with memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Use {
    Read,
    Write,
}

/// Where some memory was last written, and where it has been read since.
pub(super) struct Timeline(Mutex<Uses>);

struct Uses {
    writer: Stream,
    /// They waited for the writer, and nobody waits for them yet.
    readers: SmallVec<[Stream; 2]>,
}

impl Timeline {
    /// Memory that is ready once the work is done that a stream has by now.
    pub(super) fn new(writer: Stream) -> Self {
        Self(Mutex::new(Uses {
            writer,
            readers: SmallVec::new(),
        }))
    }

    /// Has a stream wait for whatever must be done before it uses the memory, and remembers that it does.
    ///
    /// On failure nothing is remembered, and nothing may be done with the memory.
    pub(super) fn use_on(&self, stream: &Stream, what: Use) -> Result<(), CudaError> {
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if uses.readers.is_empty() && uses.writer == *stream {
            return Ok(());
        }
        if what == Use::Read {
            if uses.writer != *stream && !uses.readers.contains(stream) {
                stream.wait_for(&uses.writer)?;
                uses.readers.push(stream.clone());
            }
            return Ok(());
        }
        stream.wait_for(&uses.writer)?;
        for reader in &uses.readers {
            stream.wait_for(reader)?;
        }
        let readers = std::mem::take(&mut uses.readers);
        let writer = std::mem::replace(&mut uses.writer, stream.clone());
        drop(uses);
        // Their end may be that of their keepers, which is foreign code.
        drop((readers, writer));
        Ok(())
    }

    /// The stream on which the memory was last written.
    pub(super) fn writer(&self) -> Stream {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .writer
            .clone()
    }

    /// Brings all uses into one stream, in whose order the memory can be released. `None` where that
    /// can't be, since one of the streams may be gone.
    pub(super) fn join(&mut self) -> Result<Option<Stream>, CudaError> {
        let uses = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let lasts = Stream::outlives_its_uses;
        if !lasts(&uses.writer) || !uses.readers.iter().all(lasts) {
            return Ok(None);
        }
        for reader in &uses.readers {
            uses.writer.wait_for(reader)?;
        }
        uses.readers.clear();
        Ok(Some(uses.writer.clone()))
    }

    /// Whether one of the streams is being captured, so that nothing must be asked of it.
    pub(super) fn is_capturing(&mut self) -> Result<bool, CudaError> {
        let uses = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        let streams = uses.readers.iter().chain([&uses.writer]);
        for stream in streams.filter(|stream| stream.outlives_its_uses()) {
            if stream.is_capturing()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    pub(super) fn gpu(&mut self) -> super::gpu::Gpu {
        let uses = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        uses.writer.gpu()
    }
}
