//! Queued operations, and their dependencies.

use crate::abi::{Host, HostFunction, StreamCallback};
use crate::access::{How, Moment, Rows, Touch};
use crate::allocation::Release;
use crate::clock::Clock;
use crate::codes::{Code, Outcome};
use crate::driver::Driver;
use crate::kernels::Launch;
use crate::objects::StreamKind;
use std::collections::{BTreeMap, HashSet};

/// What an operation does when its turn comes.
#[derive(Clone)]
pub(crate) enum Action {
    Copy {
        from: Rows,
        to: Rows,
        staged: Option<Vec<u8>>,
    },
    /// Repeats a pattern of 1, 2 or 4 bytes.
    Fill {
        to: Rows,
        pattern: Vec<u8>,
    },
    Launch(Launch),
    Host(HostFunction, Host),
    Callback(StreamCallback, Host),
    Allocate(u64),
    Release(u64),
    Record(u32),
    Nothing,
}

pub(crate) struct Operation {
    pub(crate) stream: u32,
    pub(crate) context: u32,
    pub(crate) after: Vec<u64>,
    pub(crate) action: Action,
    pub(crate) words: String,
}

#[derive(Default)]
pub(crate) struct Work {
    pub(crate) pending: BTreeMap<u64, Operation>,
    next: u64,
    /// Whether a thread executes work.
    pub(crate) busy: bool,
    /// How many operations have run, which is the time that events tell.
    pub(crate) time: u64,
    /// Whether operations run as soon as they may, instead of as late as they may.
    pub(crate) eager: bool,
    /// Whether copies on streams leave the host's pageable memory to the stream, as drivers may,
    /// instead of being done with it when the call returns.
    pub(crate) pageable_late: bool,
    /// Operations that are to fail when they run: how many run before, and the code.
    pub(crate) failures: Vec<(u64, Code)>,
}

impl Work {
    /// The code with which the operation that runs next is to fail, if it is.
    pub(crate) fn failure(&mut self) -> Option<Code> {
        let mut code = None;
        self.failures.retain_mut(|(before, with)| {
            if *before == 0 {
                code = Some(*with);
                return false;
            }
            *before -= 1;
            true
        });
        code
    }

    pub(crate) fn is_done(&self, id: u64) -> bool {
        !self.pending.contains_key(&id)
    }

    pub(crate) fn may_run(&self, id: u64) -> bool {
        self.pending
            .get(&id)
            .is_some_and(|operation| operation.after.iter().all(|&before| self.is_done(before)))
    }

    /// The targets and all that they wait for, in an order that keeps the streams' rules; of what
    /// is free, the streams that were made last come first, which is seldom the order in which a
    /// program queued the work.
    pub(crate) fn in_order(&self, targets: &[u64]) -> Vec<u64> {
        let mut targets: Vec<u64> = targets
            .iter()
            .copied()
            .filter(|&id| !self.is_done(id))
            .collect();
        targets.sort_by_key(|id| self.pending[id].stream);
        let (mut order, mut seen) = (Vec::new(), HashSet::new());
        let mut open: Vec<(u64, bool)> = targets.into_iter().map(|id| (id, false)).collect();
        while let Some((id, awaited)) = open.pop() {
            if awaited {
                order.push(id);
            } else if let Some(operation) = self.pending.get(&id).filter(|_| seen.insert(id)) {
                open.push((id, true));
                open.extend(operation.after.iter().map(|&before| (before, false)));
            }
        }
        order
    }
}

impl Action {
    /// The bytes that the operation reads and writes.
    pub(crate) fn touches(&self, driver: &Driver) -> Vec<Touch> {
        let whole = |address| {
            let size = driver.memory.find(address).map_or(0, |found| found.size);
            Rows::flat(address, size)
        };
        match self {
            Action::Copy { from, to, staged } => {
                let read = staged.is_none().then_some(Touch {
                    rows: *from,
                    how: How::Reads,
                });
                read.into_iter()
                    .chain([Touch {
                        rows: *to,
                        how: How::Writes,
                    }])
                    .collect()
            }
            Action::Fill { to, .. } => vec![Touch {
                rows: *to,
                how: How::Writes,
            }],
            Action::Launch(launch) => launch.touches(driver),
            Action::Allocate(address) => vec![Touch {
                rows: whole(*address),
                how: How::Allocates,
            }],
            Action::Release(address) => vec![Touch {
                rows: whole(*address),
                how: How::Releases,
            }],
            Action::Host(..) | Action::Callback(..) | Action::Record(_) | Action::Nothing => {
                Vec::new()
            }
        }
    }
}

impl Driver {
    /// Queues an operation, or adds it to the graph that the stream captures, which has
    /// no number then.
    pub(crate) fn queue(
        &mut self,
        stream: u32,
        action: Action,
        words: &str,
    ) -> Outcome<Option<u64>> {
        self.queue_after(stream, action, words, None)
    }

    /// The same, with an operation that must come before besides those of the stream's own rules.
    pub(crate) fn queue_after(
        &mut self,
        stream: u32,
        action: Action,
        words: &str,
        before: Option<(u64, Clock)>,
    ) -> Outcome<Option<u64>> {
        self.check_legacy_against_captures(stream)?;
        let words = format!("{words} on stream {stream}");
        if self.streams.live[&stream].capture.is_some() {
            self.capture(stream, action, words)?;
            return Ok(None);
        }
        let (mut after, mut clock) = self.what_comes_before(stream);
        if let Some((operation, known)) = before {
            after.push(operation);
            clock.join(&known);
        }
        clock.join(&self.host);
        let number = clock.advance(stream);
        let touches = action.touches(self);
        self.use_memory(
            &Moment {
                stream,
                number,
                clock: &clock,
                words: &words,
            },
            &touches,
        );
        self.note_release(&action, stream, number, &words);
        let context = self.streams.live[&stream].context;
        self.work.next += 1;
        let id = self.work.next;
        after.retain(|&before| !self.work.is_done(before));
        self.work.pending.insert(
            id,
            Operation {
                stream,
                context,
                after,
                action,
                words,
            },
        );
        if let Some(state) = self.streams.live.get_mut(&stream) {
            state.clock = clock;
            state.last = Some(id);
        }
        Ok(Some(id))
    }

    /// A release counts from when it is queued: what is queued behind it is too late.
    fn note_release(&mut self, action: &Action, stream: u32, number: u64, words: &str) {
        match *action {
            Action::Release(address) => {
                self.memory.end(
                    address,
                    Release {
                        when: Some((stream, number)),
                        words: words.to_owned(),
                    },
                );
                self.give_back_to_pool(address);
            }
            Action::Allocate(address) => {
                let again = self.memory.begin_again(address);
                let found = self.memory.find(address).filter(|_| again);
                let pooled = found.and_then(|found| Some((found.pool?, found.size)));
                if let Some((pool, size)) = pooled
                    && let Some(pool) = self.pools.live.get_mut(&pool)
                {
                    pool.used += size;
                }
            }
            _ => {}
        }
    }

    /// The streams of a context whose work the legacy default stream waits for, and which wait for
    /// its work.
    fn blocking_streams(&self, context: u32) -> impl Iterator<Item = u32> {
        self.streams.live.iter().filter_map(move |(&id, state)| {
            let blocking = matches!(state.kind, StreamKind::Blocking | StreamKind::PerThread);
            (blocking && state.context == context).then_some(id)
        })
    }

    /// What new work of a stream waits for by the rules of streams alone.
    fn what_comes_before(&self, stream: u32) -> (Vec<u64>, Clock) {
        let state = &self.streams.live[&stream];
        let others: Vec<u32> = match state.kind {
            StreamKind::Legacy => self.blocking_streams(state.context).collect(),
            StreamKind::Blocking | StreamKind::PerThread => {
                vec![self.contexts.live[&state.context].legacy]
            }
            StreamKind::NonBlocking => Vec::new(),
        };
        let mut clock = state.clock.clone();
        let mut after: Vec<u64> = state.last.into_iter().collect();
        for other in others.iter().map(|other| &self.streams.live[other]) {
            clock.join(&other.clock);
            after.extend(other.last);
        }
        if state.kind == StreamKind::Legacy {
            let (retired, known) = &self.contexts.live[&state.context].retired;
            after.extend(retired);
            clock.join(known);
        }
        (after, clock)
    }

    /// What the host waits for when it waits for a stream.
    pub(crate) fn work_of(&self, stream: u32) -> (Vec<u64>, Clock) {
        let state = &self.streams.live[&stream];
        match state.kind {
            StreamKind::Legacy => self.what_comes_before(stream),
            _ => (state.last.into_iter().collect(), state.clock.clone()),
        }
    }

    /// The captures of the streams that wait for this one, if it is the legacy stream.
    pub(crate) fn captured_beside(&self, stream: u32) -> Vec<u32> {
        let state = &self.streams.live[&stream];
        if state.kind != StreamKind::Legacy {
            return Vec::new();
        }
        let places = self
            .blocking_streams(state.context)
            .filter_map(|other| self.streams.live[&other].capture.as_ref());
        places.map(|place| place.capture).collect()
    }

    /// Work in the legacy stream would wait for streams that are being captured, which can't be.
    fn check_legacy_against_captures(&mut self, stream: u32) -> Outcome {
        let captures = self.captured_beside(stream);
        for capture in &captures {
            self.invalidate(*capture);
        }
        if captures.is_empty() {
            Ok(())
        } else {
            Err(Code::ERROR_STREAM_CAPTURE_IMPLICIT)
        }
    }
}
