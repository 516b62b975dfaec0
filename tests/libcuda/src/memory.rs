//! Allocations of the driver: owner, kind and users of each.

use crate::allocation::{Allocation, Kind, Release};
use crate::arena::{self, Access, Arena, PAGE};
use std::collections::{BTreeMap, VecDeque};

/// What fresh device memory holds, so that a read of what was never written shows.
pub(crate) const FRESH: u8 = 0xA5;
/// What released memory holds, so that a late read shows.
pub(crate) const POISON: u8 = 0xDB;
/// What stands behind an allocation up to the end of its page, so that a write past the end shows.
const FENCE: u8 = 0xFE;
/// Large allocations are filled up to here only, so that a test of them doesn't take the machine's
/// memory.
const FILLED: u64 = 64 << 20;
/// Released memory stays readable for late work until so much of it has gathered.
const KEPT_BYTES: u64 = 64 << 20;
const KEPT_COUNT: usize = 4096;

#[derive(Default)]
pub(crate) struct Memory {
    arena: Arena,
    allocations: BTreeMap<u64, Allocation>,
    kept: VecDeque<u64>,
    kept_bytes: u64,
    next_id: u64,
    /// Bytes of each device in live allocations.
    used: BTreeMap<usize, u64>,
}

impl Memory {
    /// New memory: of the arena, or of the host at `at`.
    pub(crate) fn add(
        &mut self,
        kind: Kind,
        size: u64,
        at: Option<u64>,
        context: u32,
        device: usize,
    ) -> Option<u64> {
        let start = match at {
            Some(start) => start,
            None => self.arena.take(size)?,
        };
        self.next_id += 1;
        let id = self.next_id;
        let (pool, flags, released, gone, uses) = (None, 0, None, false, Vec::new());
        let new = Allocation {
            id,
            start,
            size,
            kind,
            context,
            device,
            pool,
            flags,
            released,
            gone,
            uses,
        };
        if at.is_none() {
            arena::protect(start, size, Access::Write);
            fill(start, size.min(FILLED), FRESH);
            if new.has_fence() {
                fill(start + size, PAGE - size % PAGE, FENCE);
            }
        }
        self.close(&new);
        if kind.closed() {
            *self.used.entry(device).or_default() += size;
        }
        self.allocations.insert(start, new);
        Some(start)
    }

    /// The allocation in which an address lies, released ones among them.
    pub(crate) fn find(&self, address: u64) -> Option<&Allocation> {
        let (_, found) = self.allocations.range(..=address).next_back()?;
        (address - found.start < found.size).then_some(found)
    }

    pub(crate) fn find_mut(&mut self, address: u64) -> Option<&mut Allocation> {
        let (_, found) = self.allocations.range_mut(..=address).next_back()?;
        (address - found.start < found.size).then_some(found)
    }

    pub(crate) fn live(&self) -> impl Iterator<Item = &Allocation> {
        self.allocations
            .values()
            .filter(|allocation| allocation.released.is_none())
    }

    /// Whether an address can be read and written: it is in an allocation whose pages are still
    /// there, or the host's.
    pub(crate) fn stands(&self, address: u64) -> bool {
        self.find(address).is_some() || !self.arena.contains(address)
    }

    /// An address in words.
    pub(crate) fn words(&self, address: u64) -> String {
        match self.find(address) {
            Some(found) if address == found.start => format!("allocation {}", found.id),
            Some(found) => format!("allocation {} + {}", found.id, address - found.start),
            None if address == 0 => "null".to_owned(),
            None if self.arena.contains(address) => "memory that was released long ago".to_owned(),
            None => "host memory".to_owned(),
        }
    }

    /// Opens pages for an operation; `close` ends that.
    pub(crate) fn open(&self, address: u64, write: bool) {
        if let Some(found) = self.find(address).filter(|found| found.is_shut()) {
            arena::protect(
                found.start,
                found.size,
                if write { Access::Write } else { Access::Read },
            );
        }
    }

    pub(crate) fn close_at(&self, address: u64) {
        if let Some(found) = self.find(address) {
            self.close(found);
        }
    }

    fn close(&self, allocation: &Allocation) {
        if allocation.is_shut() {
            arena::protect(allocation.start, allocation.size, Access::Nothing);
        }
    }

    /// Whether nothing was written behind the end of an allocation.
    pub(crate) fn fence_holds(&self, address: u64) -> bool {
        let Some(found) = self
            .find(address)
            .filter(|found| found.has_fence() && !found.gone)
        else {
            return true;
        };
        arena::protect(found.start, found.size, Access::Read);
        let (fence, length) = (found.start + found.size, PAGE - found.size % PAGE);
        // SAFETY: the bytes up to the end of the allocation's last page are the arena's, and were
        // just opened.
        let bytes = unsafe { std::slice::from_raw_parts(fence as *const u8, length as usize) };
        let holds = bytes.iter().all(|&byte| byte == FENCE);
        self.close(found);
        holds
    }

    /// From here on it isn't the program's, even if the release takes place later.
    pub(crate) fn end(&mut self, address: u64, release: Release) {
        let Some(found) = self.find_mut(address) else {
            return;
        };
        let (device, size) = (
            found.device,
            if found.kind.closed() { found.size } else { 0 },
        );
        if found.released.replace(release).is_none() {
            self.used.entry(device).and_modify(|used| *used -= size);
        }
    }

    /// Memory of a graph is the program's again when the graph is launched again; says whether it
    /// wasn't.
    pub(crate) fn begin_again(&mut self, address: u64) -> bool {
        let Some(found) = self.find_mut(address) else {
            return false;
        };
        let (device, size, ended) = (found.device, found.size, found.released.take().is_some());
        if ended {
            *self.used.entry(device).or_default() += size;
        }
        ended
    }

    pub(crate) fn used(&self, device: usize) -> u64 {
        self.used.get(&device).copied().unwrap_or_default()
    }

    /// The release takes place: what is there is overwritten, and the pages stay for a while for
    /// late work.
    pub(crate) fn poison(&mut self, address: u64) {
        let Some(found) = self.find_mut(address).filter(|found| !found.gone) else {
            return;
        };
        found.gone = true;
        let (start, size, kind) = (found.start, found.size, found.kind);
        if kind == Kind::Registered {
            self.allocations.remove(&start);
            return;
        }
        arena::protect(start, size, Access::Write);
        fill(start, size.min(FILLED), POISON);
        // Pinned and managed memory can't be touched by the host any more either.
        arena::protect(start, size, Access::Nothing);
        self.kept.push_back(start);
        self.kept_bytes += size;
        while self.kept_bytes > KEPT_BYTES || self.kept.len() > KEPT_COUNT {
            let Some(oldest) = self.kept.pop_front() else {
                break;
            };
            if let Some(old) = self.allocations.remove(&oldest) {
                self.kept_bytes -= old.size;
                arena::discard(old.start, old.size);
            }
        }
    }

    /// Memory of a graph is allocated anew each time that the graph runs.
    pub(crate) fn renew(&mut self, address: u64) {
        let Some(found) = self.find_mut(address) else {
            return;
        };
        let (start, size) = (found.start, found.size);
        found.gone = false;
        arena::protect(start, size, Access::Write);
        fill(start, size.min(FILLED), FRESH);
        arena::protect(start, size, Access::Nothing);
        if let Some(place) = self.kept.iter().position(|&kept| kept == start) {
            self.kept.remove(place);
            self.kept_bytes -= size;
        }
    }

    /// No memory, with all addresses that were given out still taken.
    pub(crate) fn emptied(self) -> Memory {
        for allocation in self
            .allocations
            .values()
            .filter(|allocation| allocation.kind != Kind::Registered)
        {
            arena::discard(allocation.start, allocation.size);
        }
        Memory {
            arena: self.arena,
            ..Memory::default()
        }
    }
}

fn fill(start: u64, bytes: u64, with: u8) {
    // SAFETY: callers pass pages of the arena that they just opened for writing.
    unsafe { std::ptr::write_bytes(start as *mut u8, with, bytes as usize) };
}
