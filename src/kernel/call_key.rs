//! Call keys: numbers that tell calls apart as far as the choice of a kernel depends on them.

use smallvec::SmallVec;

/// A call key: equal for all calls that get the same kernel.
pub(super) type CallKey = SmallVec<[u64; INLINE_WORDS]>;

/// As many words need no allocation.
pub(super) const INLINE_WORDS: usize = 8;
