//! Vector clocks of work: one counter for each stream, joined where streams wait for each other.

/// For each stream, how many of its operations are known to come before. Streams have small
/// numbers, given in turn, so that a list by number is joined and copied faster than a map.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(Vec<u64>);

impl Clock {
    /// What `other` knows is known from now on.
    pub(crate) fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (known, count) in self.0.iter_mut().zip(&other.0) {
            *known = (*known).max(*count);
        }
    }

    /// Counts one more operation of `stream`, and returns its number.
    pub(crate) fn advance(&mut self, stream: u32) -> u64 {
        let stream = stream as usize;
        if self.0.len() <= stream {
            self.0.resize(stream + 1, 0);
        }
        self.0[stream] += 1;
        self.0[stream]
    }

    /// Whether the operation of that number on `stream` comes before.
    pub(crate) fn covers(&self, stream: u32, number: u64) -> bool {
        let known = self.0.get(stream as usize);
        known.is_some_and(|known| *known >= number)
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;

    #[test]
    fn join_makes_other_work_known() {
        let (mut producer, mut consumer) = (Clock::default(), Clock::default());
        let first = producer.advance(1);
        consumer.join(&producer);
        let second = producer.advance(1);
        assert!(consumer.covers(1, first));
        assert!(!consumer.covers(1, second));
        assert!(!producer.covers(2, consumer.advance(2)));
    }
}
