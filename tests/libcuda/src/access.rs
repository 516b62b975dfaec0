//! Reads and writes of bytes, and whether streams and events order them.

use crate::clock::Clock;
use crate::codes::{Code, Outcome};
use crate::driver::Driver;

/// Bytes in rows: what a copy or a fill touches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows {
    pub(crate) start: u64,
    pub(crate) width: u64,
    pub(crate) pitch: u64,
    pub(crate) height: u64,
    pub(crate) slice: u64,
    pub(crate) depth: u64,
}

impl Rows {
    pub(crate) fn flat(start: u64, bytes: u64) -> Rows {
        Rows {
            start,
            width: bytes,
            pitch: bytes,
            height: 1,
            slice: bytes,
            depth: 1,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }

    /// Where each row begins, slice by slice.
    pub(crate) fn starts(self) -> impl Iterator<Item = u64> {
        (0..self.depth).flat_map(move |z| {
            (0..self.height).map(move |y| self.start + z * self.slice + y * self.pitch)
        })
    }

    pub(crate) fn end(&self) -> u64 {
        self.start + (self.depth - 1) * self.slice + (self.height - 1) * self.pitch + self.width
    }

    fn one_piece(&self) -> bool {
        self.end() - self.start == self.width * self.height * self.depth
    }

    pub(crate) fn overlaps(&self, other: &Rows) -> bool {
        if self.end() <= other.start || other.end() <= self.start {
            return false;
        }
        if self.one_piece() && other.one_piece() {
            return true;
        }
        let mut theirs: Vec<u64> = other.starts().collect();
        theirs.sort_unstable();
        self.starts().any(|mine| {
            let behind = theirs.partition_point(|&start| start < mine + self.width);
            behind > 0 && theirs[behind - 1] + other.width > mine
        })
    }

    fn contains(&self, other: &Rows) -> bool {
        self.one_piece() && self.start <= other.start && other.end() <= self.end()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Reads,
    Writes,
    Allocates,
    Releases,
}

impl How {
    pub(crate) fn word(self) -> &'static str {
        match self {
            How::Reads => "reads",
            How::Writes => "writes",
            How::Allocates => "allocates",
            How::Releases => "releases",
        }
    }
}

/// Bytes that an operation touches.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub(crate) rows: Rows,
    pub(crate) how: How,
}

impl Touch {
    pub(crate) fn conflicts(&self, other: &Touch) -> bool {
        (self.how != How::Reads || other.how != How::Reads) && self.rows.overlaps(&other.rows)
    }
}

/// A use that was queued, kept as long as later work may not be ordered with it.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    stream: u32,
    number: u64,
    touch: Touch,
    words: String,
}

/// An operation that is being queued.
pub(crate) struct Moment<'a> {
    pub(crate) stream: u32,
    pub(crate) number: u64,
    pub(crate) clock: &'a Clock,
    pub(crate) words: &'a str,
}

impl Driver {
    /// Refuses a range that isn't in one allocation, if an end of it is in one at all; the rest is
    /// the host's memory.
    pub(crate) fn check_range(&mut self, what: &str, rows: Rows, device: bool) -> Outcome {
        if rows.is_empty() {
            return Ok(());
        }
        let words = self.memory.words(rows.start);
        match self.memory.find(rows.start) {
            Some(found) if rows.end() <= found.start + found.size => Ok(()),
            Some(found) => {
                let size = found.size;
                self.record.mistake(format!(
                    "{what} {words} goes past its end: it has {size} bytes"
                ));
                Err(Code::ERROR_INVALID_VALUE)
            }
            None if device || !self.memory.stands(rows.start) => {
                self.record.mistake(format!(
                    "{what} {:#x} is no memory of the driver",
                    rows.start
                ));
                Err(Code::ERROR_INVALID_VALUE)
            }
            None => Ok(()),
        }
    }

    /// Records the bytes that an operation touches, and each earlier use that it conflicts with and
    /// isn't ordered with.
    pub(crate) fn use_memory(&mut self, moment: &Moment, touches: &[Touch]) {
        for touch in touches.iter().filter(|touch| !touch.rows.is_empty()) {
            let words = self.memory.words(touch.rows.start);
            let host = &self.host;
            let Some(found) = self.memory.find_mut(touch.rows.start) else {
                continue;
            };
            let mut mistakes = Vec::new();
            if let Some(release) = found
                .released
                .as_ref()
                .filter(|_| touch.how != How::Allocates)
            {
                let after = release
                    .when
                    .is_none_or(|(stream, number)| moment.clock.covers(stream, number));
                let how = if after {
                    "after its release"
                } else {
                    "and isn't ordered with its release"
                };
                mistakes.push(format!(
                    "{} uses {words} {how} by {}",
                    moment.words, release.words
                ));
            }
            found.uses.retain(|earlier| {
                let ordered = moment.clock.covers(earlier.stream, earlier.number);
                if !ordered && found.released.is_none() && earlier.touch.conflicts(touch) {
                    let (this, that) = (touch.how.word(), earlier.touch.how.word());
                    mistakes.push(format!(
                        "race: {} {this} {words}, which {} {that}, and nothing orders the two",
                        moment.words, earlier.words
                    ));
                }
                // What comes before this use, and is covered by it, needs no look any more: who is
                // ordered with this use is ordered with that one.
                let stronger = touch.how != How::Reads || earlier.touch.how == How::Reads;
                let covered = ordered && stronger && touch.rows.contains(&earlier.touch.rows);
                !covered && !host.covers(earlier.stream, earlier.number)
            });
            let (stream, number) = (moment.stream, moment.number);
            found.uses.push(Use {
                stream,
                number,
                touch: *touch,
                words: moment.words.to_owned(),
            });
            for mistake in mistakes {
                self.record.mistake(mistake);
            }
        }
    }

    /// A use of an allocation that the host hasn't waited for.
    pub(crate) fn unfinished_use(&self, address: u64) -> Option<String> {
        let uses = &self.memory.find(address)?.uses;
        let pending = uses
            .iter()
            .find(|earlier| !self.host.covers(earlier.stream, earlier.number));
        pending.map(|earlier| earlier.words.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::Rows;

    #[test]
    fn columns_of_one_matrix_do_not_overlap() {
        let column = |start| Rows {
            start,
            width: 8,
            pitch: 32,
            height: 4,
            slice: 128,
            depth: 1,
        };
        assert!(!column(0).overlaps(&column(8)));
        assert!(column(0).overlaps(&column(4)));
        assert!(column(0).overlaps(&Rows::flat(33, 1)));
        assert!(!column(0).overlaps(&Rows::flat(40, 24)));
        assert!(!Rows::flat(0, 4).overlaps(&Rows::flat(4, 4)));
    }
}
