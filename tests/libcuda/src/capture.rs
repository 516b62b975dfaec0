//! Streams that are being captured, and the graphs that come of it.

use crate::access::Touch;
use crate::allocation::Release;
use crate::clock::Clock;
use crate::codes::{Code, Outcome};
use crate::driver::{Driver, thread};
use crate::objects::StreamKind;
use crate::work::Action;
use std::cell::Cell;
use std::collections::BTreeSet;

/// Where a captured stream or event stands in its graph: the nodes that come right before.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) capture: u32,
    pub(crate) after: BTreeSet<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Global,
    ThreadLocal,
    Relaxed,
}

impl Mode {
    pub(crate) fn of(value: i32) -> Outcome<Mode> {
        match value {
            0 => Ok(Mode::Global),
            1 => Ok(Mode::ThreadLocal),
            2 => Ok(Mode::Relaxed),
            _ => Err(Code::ERROR_INVALID_VALUE),
        }
    }
}

pub(crate) struct Capture {
    pub(crate) origin: u32,
    pub(crate) mode: Mode,
    pub(crate) thread: u32,
    pub(crate) nodes: Vec<Node>,
    pub(crate) invalid: bool,
}

#[derive(Clone)]
pub(crate) struct Node {
    pub(crate) action: Action,
    pub(crate) words: String,
    /// All nodes that come before, near and far.
    pub(crate) before: BTreeSet<usize>,
}

#[derive(Clone, Default)]
pub(crate) struct CapturedGraph {
    pub(crate) nodes: Vec<Node>,
}

pub(crate) struct Executable {
    pub(crate) nodes: Vec<Node>,
    pub(crate) flags: u64,
    /// The end of its last launch: launches of one executable graph never overlap.
    pub(crate) last: Option<(u64, Clock)>,
}

thread_local! {
    /// How strictly the calling thread's own calls are looked at while something is captured.
    pub(crate) static THREAD_MODE: Cell<i32> = const { Cell::new(0) };
}

impl Driver {
    pub(crate) fn begin_capture(&mut self, stream: u32, mode: Mode) -> Outcome {
        let state = &self.streams.live[&stream];
        if state.kind == StreamKind::Legacy {
            return Err(Code::ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
        if state.capture.is_some() {
            return Err(Code::ERROR_ILLEGAL_STATE);
        }
        let capture = Capture {
            origin: stream,
            mode,
            thread: thread(),
            nodes: Vec::new(),
            invalid: false,
        };
        let capture = self.captures.add(capture);
        self.place(
            stream,
            Some(Place {
                capture,
                after: BTreeSet::new(),
            }),
        );
        Ok(())
    }

    pub(crate) fn place(&mut self, stream: u32, place: Option<Place>) {
        if let Some(state) = self.streams.live.get_mut(&stream) {
            state.capture = place;
        }
    }

    pub(crate) fn invalidate(&mut self, capture: u32) {
        if let Some(capture) = self.captures.live.get_mut(&capture) {
            capture.invalid = true;
        }
    }

    /// The capture that a stream takes part in, which must still be good.
    pub(crate) fn place_of(&self, stream: u32) -> Outcome<Option<Place>> {
        let Some(place) = self
            .streams
            .live
            .get(&stream)
            .and_then(|state| state.capture.clone())
        else {
            return Ok(None);
        };
        let invalid = self
            .captures
            .live
            .get(&place.capture)
            .is_none_or(|capture| capture.invalid);
        if invalid {
            Err(Code::ERROR_STREAM_CAPTURE_INVALIDATED)
        } else {
            Ok(Some(place))
        }
    }

    /// Adds an operation to the graph that a stream captures.
    pub(crate) fn capture(&mut self, stream: u32, action: Action, words: String) -> Outcome {
        let Some(mut place) = self.place_of(stream)? else {
            return Err(Code::ERROR_ILLEGAL_STATE);
        };
        let touches = action.touches(self);
        if let Action::Release(address) = action {
            self.give_back_to_pool(address);
            // It isn't live from here on; each launch of the graph allocates it anew.
            self.memory.end(
                address,
                Release {
                    when: None,
                    words: words.clone(),
                },
            );
        }
        let capture = &self.captures.live[&place.capture];
        let mut before = place.after.clone();
        for node in &place.after {
            before.extend(&capture.nodes[*node].before);
        }
        for mistake in self.captured_races(place.capture, &before, &touches, &words) {
            self.record.mistake(mistake);
        }
        if let Some(capture) = self.captures.live.get_mut(&place.capture) {
            place.after = BTreeSet::from([capture.nodes.len()]);
            capture.nodes.push(Node {
                action,
                words,
                before,
            });
        }
        self.place(stream, Some(place));
        Ok(())
    }

    /// Conflicts with nodes of the graph that don't come before, which a replay could run at the
    /// same time.
    fn captured_races(
        &self,
        capture: u32,
        before: &BTreeSet<usize>,
        touches: &[Touch],
        words: &str,
    ) -> Vec<String> {
        let nodes = self.captures.live[&capture].nodes.iter().enumerate();
        let unordered = nodes.filter(|(index, _)| !before.contains(index));
        let conflicting = unordered.filter(|(_, node)| {
            let theirs = node.action.touches(self);
            touches
                .iter()
                .any(|touch| theirs.iter().any(|other| touch.conflicts(other)))
        });
        conflicting
            .map(|(_, node)| {
                format!(
                    "race: in a captured graph nothing orders {words} and {}",
                    node.words
                )
            })
            .collect()
    }

    /// A captured stream waits for an event, or a stream joins a capture by waiting for an event of
    /// it.
    pub(crate) fn wait_in_capture(&mut self, stream: u32, event: &Place) -> Outcome {
        let Some(capture) = self.captures.live.get(&event.capture) else {
            return Err(Code::ERROR_CAPTURED_EVENT);
        };
        if capture.invalid {
            return Err(Code::ERROR_STREAM_CAPTURE_INVALIDATED);
        }
        if self.streams.live[&stream].kind == StreamKind::Legacy {
            self.invalidate(event.capture);
            return Err(Code::ERROR_STREAM_CAPTURE_IMPLICIT);
        }
        let mut place = match self.place_of(stream)? {
            Some(place) if place.capture == event.capture => place,
            Some(place) => {
                self.invalidate(place.capture);
                self.invalidate(event.capture);
                return Err(Code::ERROR_STREAM_CAPTURE_MERGE);
            }
            None => Place {
                capture: event.capture,
                after: BTreeSet::new(),
            },
        };
        place.after.extend(&event.after);
        self.place(stream, Some(place));
        Ok(())
    }

    pub(crate) fn end_capture(&mut self, stream: u32) -> Outcome<CapturedGraph> {
        let place = self.streams.live[&stream]
            .capture
            .clone()
            .ok_or(Code::ERROR_ILLEGAL_STATE)?;
        let capture = self
            .captures
            .live
            .get(&place.capture)
            .ok_or(Code::ERROR_ILLEGAL_STATE)?;
        if capture.origin != stream {
            self.invalidate(place.capture);
            return Err(Code::ERROR_STREAM_CAPTURE_UNMATCHED);
        }
        if capture.mode != Mode::Relaxed && capture.thread != thread() {
            return Err(Code::ERROR_STREAM_CAPTURE_WRONG_THREAD);
        }
        let mut reached = place.after.clone();
        reached.extend(
            place
                .after
                .iter()
                .flat_map(|&node| capture.nodes[node].before.iter().copied()),
        );
        let mut joined = true;
        for state in self.streams.live.values_mut() {
            if state
                .capture
                .as_ref()
                .is_some_and(|other| other.capture == place.capture)
            {
                joined &= state
                    .capture
                    .take()
                    .is_some_and(|other| other.after.is_subset(&reached));
            }
        }
        let capture = self
            .captures
            .live
            .remove(&place.capture)
            .ok_or(Code::ERROR_ILLEGAL_STATE)?;
        match (capture.invalid, joined) {
            (true, _) => Err(Code::ERROR_STREAM_CAPTURE_INVALIDATED),
            (_, false) => Err(Code::ERROR_STREAM_CAPTURE_UNJOINED),
            _ => Ok(CapturedGraph {
                nodes: capture.nodes,
            }),
        }
    }

    /// Refuses a call that isn't safe while a stream is captured, and spoils the captures that it
    /// would disturb.
    pub(crate) fn not_while_capturing(&mut self) -> Outcome {
        let mine = THREAD_MODE.get();
        let disturbed: Vec<u32> = self
            .captures
            .live
            .iter()
            .filter_map(|(&id, capture)| {
                let own = capture.thread == thread() && capture.mode != Mode::Relaxed;
                let others = capture.mode == Mode::Global && mine == 0;
                (mine != 2 && (own || others)).then_some(id)
            })
            .collect();
        for &capture in &disturbed {
            self.invalidate(capture);
        }
        if disturbed.is_empty() {
            Ok(())
        } else {
            Err(Code::ERROR_STREAM_CAPTURE_UNSUPPORTED)
        }
    }
}
