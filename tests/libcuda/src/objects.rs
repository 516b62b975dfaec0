//! Properties of devices, contexts, streams, events and pools.

use crate::abi::{Context, Handle, Stream};
use crate::allocation::Release;
use crate::capture::Place;
use crate::clock::Clock;
use crate::codes::{Code, Outcome};
use crate::driver::{Driver, thread};
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub(crate) struct DeviceState {
    pub(crate) primary: u32,
    pub(crate) default_pool: u32,
    pub(crate) pool: u32,
    pub(crate) total: u64,
}

pub(crate) struct ContextState {
    pub(crate) device: usize,
    pub(crate) primary: bool,
    /// How often a primary context is retained; 1 for a context that was made.
    pub(crate) holds: u32,
    pub(crate) flags: u32,
    pub(crate) legacy: u32,
    pub(crate) per_thread: HashMap<u32, u32>,
    pub(crate) limits: BTreeMap<u32, usize>,
    pub(crate) cache_config: i32,
    /// The work of blocking streams that were destroyed, and of all streams that were.
    pub(crate) retired: (Vec<u64>, Clock),
    /// The error of a launch, which every later call in the context returns.
    pub(crate) failed: Option<Code>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum StreamKind {
    Legacy,
    PerThread,
    Blocking,
    NonBlocking,
}

pub(crate) struct StreamState {
    pub(crate) context: u32,
    pub(crate) kind: StreamKind,
    pub(crate) priority: i32,
    pub(crate) clock: Clock,
    /// The operation that was queued last.
    pub(crate) last: Option<u64>,
    /// Whether its work waits until something needs it, if that was said of this stream.
    pub(crate) late: Option<bool>,
    pub(crate) capture: Option<Place>,
}

impl StreamState {
    pub(crate) fn new(context: u32, kind: StreamKind, priority: i32) -> Self {
        StreamState {
            context,
            kind,
            priority,
            clock: Clock::default(),
            last: None,
            late: None,
            capture: None,
        }
    }
}

#[derive(Clone, Default)]
pub(crate) enum Recorded {
    #[default]
    Never,
    /// On a stream: the operation, and what comes before it.
    Queued(u64, Clock),
    /// In a capture.
    Captured(Place),
}

pub(crate) struct EventState {
    pub(crate) context: u32,
    pub(crate) timed: bool,
    pub(crate) recorded: Recorded,
    /// The operation that recorded it last and has run, with the time at which it ran.
    pub(crate) ran: Option<(u64, u64)>,
}

pub(crate) struct PoolState {
    pub(crate) device: usize,
    pub(crate) attributes: BTreeMap<i32, u64>,
    /// The devices that may use the pool's memory besides its own.
    pub(crate) shared_with: BTreeSet<usize>,
    pub(crate) used: u64,
    pub(crate) used_high: u64,
}

/// How many devices there are: `LIBCUDA_DOUBLE_DEVICES`, or 2.
pub(crate) fn device_count() -> usize {
    setting("LIBCUDA_DOUBLE_DEVICES").unwrap_or(2) as usize
}

pub(crate) fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.trim().parse().ok()
}

impl Driver {
    /// Makes the devices, at the first `cuInit`.
    pub(crate) fn start(&mut self) {
        if self.initialized {
            return;
        }
        self.initialized = true;
        if let Some(late) = setting("LIBCUDA_DOUBLE_LATE") {
            self.work.eager = late == 0;
        }
        let total = setting("LIBCUDA_DOUBLE_MEMORY").unwrap_or(4 << 30);
        for device in 0..device_count() {
            let primary = self.add_context(device, true);
            let pool = self.pools.add(PoolState::new(device));
            self.devices.push(DeviceState {
                primary,
                default_pool: pool,
                pool,
                total,
            });
        }
    }

    pub(crate) fn device(&self, device: i32) -> Outcome<usize> {
        usize::try_from(device)
            .ok()
            .filter(|&device| device < self.devices.len())
            .ok_or(Code::ERROR_INVALID_DEVICE)
    }

    pub(crate) fn add_context(&mut self, device: usize, primary: bool) -> u32 {
        let holds = u32::from(!primary);
        let context = self.contexts.add(ContextState {
            device,
            primary,
            holds,
            flags: 0,
            legacy: 0,
            per_thread: HashMap::new(),
            limits: BTreeMap::from([(0, 1024), (1, 1 << 20), (2, 8 << 20), (5, 128), (6, 0)]),
            cache_config: 0,
            retired: Default::default(),
            failed: None,
        });
        let legacy = self
            .streams
            .add(StreamState::new(context, StreamKind::Legacy, 0));
        self.contexts
            .live
            .entry(context)
            .and_modify(|state| state.legacy = legacy);
        context
    }

    /// A live context. Contexts are never taken out of their table, so that primary ones keep their
    /// handles.
    pub(crate) fn context(&mut self, id: u32) -> Outcome<&mut ContextState> {
        let state = self
            .contexts
            .live
            .get_mut(&id)
            .ok_or(Code::ERROR_INVALID_CONTEXT)?;
        if state.holds == 0 {
            Err(Code::ERROR_CONTEXT_IS_DESTROYED)
        } else {
            Ok(state)
        }
    }

    /// The calling thread's current context.
    pub(crate) fn current_context(&mut self) -> Outcome<u32> {
        let current = self
            .current
            .get(&thread())
            .and_then(|stack| stack.last().copied());
        let id = current.ok_or(Code::ERROR_INVALID_CONTEXT)?;
        match self.context(id) {
            Ok(ContextState {
                failed: Some(code), ..
            }) => Err(*code),
            Ok(_) => Ok(id),
            Err(code) => {
                self.record
                    .mistake(format!("context {id} is current, and was released"));
                Err(code)
            }
        }
    }

    pub(crate) fn device_of(&self, context: u32) -> usize {
        self.contexts
            .live
            .get(&context)
            .map_or(0, |state| state.device)
    }

    /// The stream that a handle stands for, the default streams among them, which are those of the
    /// current context.
    pub(crate) fn stream(&mut self, handle: Stream) -> Outcome<u32> {
        if handle.value() > 2 {
            let id = self.known(handle)?;
            let context = self.streams.live[&id].context;
            return self
                .context(context)
                .and_then(|state| state.failed.map_or(Ok(id), Err));
        }
        let context = self.current_context()?;
        if handle.value() < 2 {
            return Ok(self.context(context)?.legacy);
        }
        if let Some(&stream) = self.context(context)?.per_thread.get(&thread()) {
            return Ok(stream);
        }
        let stream = self
            .streams
            .add(StreamState::new(context, StreamKind::PerThread, 0));
        self.context(context)?.per_thread.insert(thread(), stream);
        Ok(stream)
    }

    /// A stream of the current context, which launches need.
    pub(crate) fn stream_of_current(&mut self, handle: Stream) -> Outcome<u32> {
        let current = self.current_context()?;
        let stream = self.stream(handle)?;
        let context = self.streams.live[&stream].context;
        if context == current {
            return Ok(stream);
        }
        self.record.mistake(format!(
            "stream {stream} is of context {context}, and context {current} is current"
        ));
        Err(Code::ERROR_INVALID_HANDLE)
    }

    /// The context that a program names: a live one.
    pub(crate) fn named_context(&mut self, handle: Context) -> Outcome<u32> {
        let id = self
            .known(handle)
            .map_err(|_| Code::ERROR_INVALID_CONTEXT)?;
        self.context(id).map(|_| id)
    }

    /// Ends a context: what is still in it is a leak, and goes with it.
    pub(crate) fn end_context(&mut self, id: u32) {
        let left: Vec<u64> = self
            .memory
            .live()
            .filter(|found| found.context == id)
            .map(|found| found.start)
            .collect();
        for &address in &left {
            let (words, kind) = (
                self.memory.words(address),
                self.memory
                    .find(address)
                    .map_or("", |found| found.kind.word()),
            );
            self.record
                .mistake(format!("context {id} ends while {words} ({kind}) is live"));
            let words = "the end of its context".to_owned();
            self.memory.end(address, Release { when: None, words });
            self.memory.poison(address);
        }
        let Some(state) = self.contexts.live.get_mut(&id) else {
            return;
        };
        let legacy = state.legacy;
        (state.failed, state.per_thread, state.retired) =
            (None, HashMap::new(), Default::default());
        self.streams
            .live
            .retain(|&stream, state| state.context != id || stream == legacy);
        self.events.live.retain(|_, state| state.context != id);
        self.modules.live.retain(|_, state| state.context != id);
        self.functions.live.retain(|_, state| state.context != id);
    }
}

impl PoolState {
    pub(crate) fn new(device: usize) -> Self {
        // Memory may be reused after events, opportunistically and by waiting, and is given back at
        // once.
        let attributes = BTreeMap::from([(1, 1), (2, 1), (3, 1), (4, 0)]);
        PoolState {
            device,
            attributes,
            shared_with: BTreeSet::new(),
            used: 0,
            used_high: 0,
        }
    }
}

impl StreamState {
    /// Whether the program made it, so that it has to destroy it.
    pub(crate) fn was_made(&self) -> bool {
        matches!(self.kind, StreamKind::Blocking | StreamKind::NonBlocking)
    }
}
