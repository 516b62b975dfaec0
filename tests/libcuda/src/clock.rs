//! Vector clocks of work: one counter for each stream, joined where streams wait for each other.

use std::collections::BTreeMap;

/// For each stream, how many of its operations are known to come before.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clock(BTreeMap<u32, u64>);

impl Clock {
    /// What `other` knows is known from now on.
    pub(crate) fn join(&mut self, other: &Clock) {
        for (&stream, &count) in &other.0 {
            let known = self.0.entry(stream).or_default();
            *known = (*known).max(count);
        }
    }

    /// Counts one more operation of `stream`, and returns its number.
    pub(crate) fn advance(&mut self, stream: u32) -> u64 {
        let count = self.0.entry(stream).or_default();
        *count += 1;
        *count
    }

    /// Whether the operation of that number on `stream` comes before.
    pub(crate) fn covers(&self, stream: u32, number: u64) -> bool {
        self.0.get(&stream).is_some_and(|&known| known >= number)
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
