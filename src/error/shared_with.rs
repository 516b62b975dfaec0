//! [`SharedWith`]: other users of a tensor's memory.

use std::fmt;

/// Who else may be using a tensor's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum SharedWith {
    /// Other tensors, exports or weak references made from it in this program.
    Handles,
    /// The foreign library that it came from.
    Producer,
}

impl fmt::Display for SharedWith {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Handles => "with other handles to it",
            Self::Producer => "with the library that it came from",
        })
    }
}
