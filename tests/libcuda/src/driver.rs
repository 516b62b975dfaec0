//! Everything that the double knows, behind one lock.

use crate::abi::{Context, Event, Function, Graph, GraphExec, Handle, Module, Pool, Stream};
use crate::capture::{Capture, CapturedGraph, Executable};
use crate::clock::Clock;
use crate::codes::{Code, Outcome};
use crate::kernels::{LoadedFunction, LoadedModule, Registered};
use crate::memory::Memory;
use crate::objects::{ContextState, DeviceState, EventState, PoolState, StreamState};
use crate::record::Record;
use crate::work::Work;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// Things that are made and destroyed, under numbers that are never used again.
pub(crate) struct Table<T> {
    next: u32,
    pub(crate) live: BTreeMap<u32, T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table {
            next: 1,
            live: BTreeMap::new(),
        }
    }
}

impl<T> Table<T> {
    pub(crate) fn add(&mut self, value: T) -> u32 {
        let id = self.next;
        self.next += 1;
        self.live.insert(id, value);
        id
    }
}

#[derive(Default)]
pub(crate) struct Driver {
    pub(crate) initialized: bool,
    pub(crate) devices: Vec<DeviceState>,
    pub(crate) contexts: Table<ContextState>,
    /// Each thread's stack of current contexts.
    pub(crate) current: HashMap<u32, Vec<u32>>,
    pub(crate) streams: Table<StreamState>,
    pub(crate) events: Table<EventState>,
    pub(crate) modules: Table<LoadedModule>,
    pub(crate) functions: Table<LoadedFunction>,
    pub(crate) pools: Table<PoolState>,
    pub(crate) graphs: Table<CapturedGraph>,
    pub(crate) executables: Table<Executable>,
    pub(crate) captures: Table<Capture>,
    pub(crate) memory: Memory,
    pub(crate) work: Work,
    /// What the host is known to have waited for. One clock for all threads: how they order each
    /// other can't be seen.
    pub(crate) host: Clock,
    pub(crate) record: Record,
    pub(crate) kernels: HashMap<String, Registered>,
    /// Which device may use the memory of which other.
    pub(crate) peers: HashSet<(usize, usize)>,
}

/// A kind of handle, and the table in which its things are.
pub(crate) trait Kept: Handle {
    type State;
    fn table(driver: &mut Driver) -> &mut Table<Self::State>;
}

macro_rules! kept {
    ($($handle:ty => $state:ty, $table:ident;)*) => {$(
        impl Kept for $handle {
            type State = $state;
            fn table(driver: &mut Driver) -> &mut Table<$state> {
                &mut driver.$table
            }
        }
    )*};
}

kept! {
    Context => ContextState, contexts;
    Stream => StreamState, streams;
    Event => EventState, events;
    Module => LoadedModule, modules;
    Function => LoadedFunction, functions;
    Pool => PoolState, pools;
    Graph => CapturedGraph, graphs;
    GraphExec => Executable, executables;
}

impl Driver {
    /// The number of a live thing. A handle of something else or of something destroyed is a
    /// mistake, and is recorded.
    pub(crate) fn known<H: Kept>(&mut self, handle: H) -> Outcome<u32> {
        let Some(id) = handle.id() else {
            self.record
                .mistake(format!("{:#x} is no {}", handle.value(), H::WORD));
            return Err(Code::ERROR_INVALID_HANDLE);
        };
        let table = H::table(self);
        if table.live.contains_key(&id) {
            return Ok(id);
        }
        let what = if id < table.next {
            "used after it was destroyed"
        } else {
            "used, and was never made"
        };
        self.record.mistake(format!("{} {id} is {what}", H::WORD));
        Err(Code::ERROR_INVALID_HANDLE)
    }

    /// What a live handle stands for.
    pub(crate) fn get<H: Kept>(&mut self, handle: H) -> Outcome<&mut H::State> {
        let id = self.known(handle)?;
        H::table(self)
            .live
            .get_mut(&id)
            .ok_or(Code::ERROR_INVALID_HANDLE)
    }

    /// Takes a thing out of its table: it is destroyed.
    pub(crate) fn take<H: Kept>(&mut self, handle: H) -> Outcome<H::State> {
        let id = self.known(handle)?;
        H::table(self)
            .live
            .remove(&id)
            .ok_or(Code::ERROR_INVALID_HANDLE)
    }
}

static DRIVER: Mutex<Option<Driver>> = Mutex::new(None);
static FREED: Condvar = Condvar::new();

/// The driver, locked; the lock is given up while a callback of the program runs.
pub(crate) struct Locked(Option<MutexGuard<'static, Option<Driver>>>);

impl Locked {
    pub(crate) fn take() -> Locked {
        let mut guard = DRIVER.lock().unwrap_or_else(PoisonError::into_inner);
        guard.get_or_insert_with(Driver::default);
        Locked(Some(guard))
    }

    /// Forgets everything but the memory's addresses, which stay taken.
    pub(crate) fn reset(&mut self) {
        let memory = std::mem::take(&mut self.memory).emptied();
        **self = Driver {
            memory,
            ..Driver::default()
        };
    }

    /// Runs what may call back into the double, with the lock given up.
    pub(crate) fn unlocked<T>(&mut self, work: impl FnOnce() -> T) -> T {
        self.0 = None;
        let outer = IN_CALLBACK.replace(true);
        let result = work();
        IN_CALLBACK.set(outer);
        *self = Locked::take();
        result
    }

    /// Waits until no other thread executes work, and takes its turn.
    pub(crate) fn begin_execution(&mut self) {
        while self.work.busy {
            if let Some(guard) = self.0.take() {
                self.0 = Some(FREED.wait(guard).unwrap_or_else(PoisonError::into_inner));
            }
        }
        self.work.busy = true;
    }

    pub(crate) fn end_execution(&mut self) {
        self.work.busy = false;
        FREED.notify_all();
    }
}

impl Deref for Locked {
    type Target = Driver;
    fn deref(&self) -> &Driver {
        self.0
            .as_ref()
            .and_then(|guard| guard.as_ref())
            .expect("the driver is locked")
    }
}

impl DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut Driver {
        self.0
            .as_mut()
            .and_then(|guard| guard.as_mut())
            .expect("the driver is locked")
    }
}

thread_local! {
    static THREAD: u32 = {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    };
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// A small number for the calling thread.
pub(crate) fn thread() -> u32 {
    THREAD.with(|&thread| thread)
}

/// Whether the calling thread is in a callback of a stream, from where the driver must not be
/// called.
pub(crate) fn in_callback() -> bool {
    IN_CALLBACK.get()
}
