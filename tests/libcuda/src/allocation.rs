//! One allocation of the driver.

use crate::access::Use;
use crate::arena::PAGE;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Device,
    /// Of a pool, allocated and released in the order of streams.
    StreamOrdered,
    /// Like [`Kind::StreamOrdered`], and allocated by a graph.
    OfGraph,
    Pinned,
    /// The host's own memory, made known to the driver.
    Registered,
    Managed,
    /// A global variable of a module.
    Global,
}

impl Kind {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Kind::Device => "device memory",
            Kind::StreamOrdered => "stream-ordered memory",
            Kind::OfGraph => "memory of a graph",
            Kind::Pinned => "pinned memory",
            Kind::Registered => "registered memory",
            Kind::Managed => "managed memory",
            Kind::Global => "a module's variable",
        }
    }

    /// Whether the host may not touch it.
    pub(crate) fn closed(self) -> bool {
        !matches!(self, Kind::Pinned | Kind::Registered | Kind::Managed)
    }

    pub(crate) fn pooled(self) -> bool {
        matches!(self, Kind::StreamOrdered | Kind::OfGraph)
    }
}

/// The release of memory: when it is ordered, and which call requested it.
#[derive(Clone, Debug)]
pub(crate) struct Release {
    /// The stream and the number of the operation there; nothing when the host waited for all work
    /// first.
    pub(crate) when: Option<(u32, u64)>,
    pub(crate) words: String,
}

pub(crate) struct Allocation {
    pub(crate) id: u64,
    pub(crate) start: u64,
    pub(crate) size: u64,
    pub(crate) kind: Kind,
    pub(crate) context: u32,
    pub(crate) device: usize,
    pub(crate) pool: Option<u32>,
    pub(crate) flags: u32,
    pub(crate) released: Option<Release>,
    /// Whether the release took place, and the memory is poisoned.
    pub(crate) gone: bool,
    /// Uses that work which is queued later may have to be ordered with.
    pub(crate) uses: Vec<Use>,
}

impl Allocation {
    /// Whether its pages are closed while no operation runs: once released, pinned and managed
    /// memory is too.
    pub(crate) fn is_shut(&self) -> bool {
        self.kind.closed() || self.gone
    }

    pub(crate) fn has_fence(&self) -> bool {
        self.kind.closed() && !self.size.is_multiple_of(PAGE)
    }
}
