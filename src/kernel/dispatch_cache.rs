//! Dispatch cache: call key to kernel. Lock-free reads; overflow entries in a FIFO behind a mutex.

use super::call_key::{CallKey, INLINE_WORDS};
use super::choose::Chosen;
use crate::layout::slice_eq;
use std::collections::VecDeque;
use std::mem;
use std::ops::Deref;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A power of two; Miri takes long to walk over many.
const BUCKETS: usize = if cfg!(miri) { 16 } else { 1024 };
/// Signatures that are found without a lock.
const MOST: usize = BUCKETS;
/// Others that are kept, as where an attribute is another number in each call.
const MOST_OTHERS: usize = 64;

/// Chosen kernels. Nothing that was found is dropped before the cache is, so that it may be used
/// while the cache is cleared.
pub(super) struct Cache {
    buckets: Box<[AtomicPtr<Slot>; BUCKETS]>,
    count: AtomicUsize,
    /// A number that no other cache has or had, and itself only until it is cleared.
    version: AtomicU64,
    /// Cleared entries: the first of each chain.
    retired: Mutex<Vec<Chain>>,
    others: Mutex<Others>,
}

type Others = VecDeque<Other>;
type Other = (CallKey, Arc<Chosen>);

struct Slot {
    key: CallKey,
    chosen: Chosen,
    next: *mut Slot,
}

/// A chain of slots that no lookup finds any more.
struct Chain(*mut Slot);

// SAFETY: slots are `Send` and `Sync`, and only walked to be dropped.
unsafe impl Send for Chain {}

/// Something chosen, kept by the cache or by a call in flight.
pub(super) enum Found<'a> {
    Kept(&'a Chosen),
    Lent(Arc<Chosen>),
}

impl Deref for Found<'_> {
    type Target = Chosen;

    #[inline]
    fn deref(&self) -> &Chosen {
        match self {
            Self::Kept(chosen) => chosen,
            Self::Lent(chosen) => chosen,
        }
    }
}

impl Cache {
    pub(super) fn new() -> Self {
        Self {
            buckets: Box::new([const { AtomicPtr::new(ptr::null_mut()) }; BUCKETS]),
            count: AtomicUsize::new(0),
            version: AtomicU64::new(new_version()),
            retired: Mutex::new(Vec::new()),
            others: Mutex::new(VecDeque::new()),
        }
    }

    /// Returns the kernel that was chosen for a call key.
    #[inline]
    pub(super) fn find(&self, key: &[u64]) -> Option<Found<'_>> {
        let mut slot = self.bucket(key).load(Ordering::Acquire);
        // SAFETY: published slots live as long as the cache, and don't change.
        while let Some(found) = unsafe { slot.as_ref() } {
            if slice_eq(&found.key, key) {
                return Some(Found::Kept(&found.chosen));
            }
            slot = found.next;
        }
        if self.count.load(Ordering::Relaxed) < MOST {
            return None;
        }
        self.find_other(key)
    }

    #[cold]
    fn find_other(&self, key: &[u64]) -> Option<Found<'_>> {
        let others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        let found = others.iter().find(|(known, _)| **known == *key)?;
        Some(Found::Lent(found.1.clone()))
    }

    /// Inserts a choice, and returns it, and what is kept no longer, to be dropped when no lock is
    /// held. The cache isn't cleared meanwhile.
    #[cold]
    pub(super) fn keep(&self, key: CallKey, chosen: Chosen) -> (Found<'_>, Option<Other>) {
        if self.count.fetch_add(1, Ordering::Relaxed) >= MOST {
            self.count.store(MOST, Ordering::Relaxed);
            let chosen = Arc::new(chosen);
            let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
            let dropped = match others.len() == MOST_OTHERS {
                true => others.pop_front(),
                false => None,
            };
            others.push_back((key, chosen.clone()));
            return (Found::Lent(chosen), dropped);
        }
        let bucket = self.bucket(&key);
        let next = bucket.load(Ordering::Relaxed);
        let slot = Box::leak(Box::new(Slot { key, chosen, next }));
        let new = ptr::from_mut(slot);
        loop {
            // SAFETY: the slot isn't published yet, so this thread alone has it.
            let next = unsafe { (*new).next };
            match bucket.compare_exchange_weak(next, new, Ordering::Release, Ordering::Relaxed) {
                // SAFETY: a published slot lives as long as the cache.
                Ok(_) => return (Found::Kept(unsafe { &(*new).chosen }), None),
                // SAFETY: the exchange failed, so the slot wasn't published, and this thread alone
                // has it.
                Err(other) => unsafe { (*new).next = other },
            }
        }
    }

    /// Clears the cache, and returns the entries, to be dropped when no lock is held.
    pub(super) fn clear(&self) -> Others {
        let mut retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        for bucket in self.buckets.iter() {
            let first = bucket.swap(ptr::null_mut(), Ordering::AcqRel);
            if !first.is_null() {
                retired.push(Chain(first));
            }
        }
        // Afterwards: who reads the new number finds none of the old choices.
        self.version.store(new_version(), Ordering::Release);
        self.count.store(0, Ordering::Relaxed);
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        mem::take(&mut *others)
    }

    /// Returns a number that no other cache has or had, and this one only until it is cleared.
    #[inline]
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    #[inline]
    fn bucket(&self, key: &[u64]) -> &AtomicPtr<Slot> {
        // Products that don't wait for each other.
        let mut sum = 0_u64;
        for words in key.chunks(INLINE_WORDS) {
            sum = sum.rotate_left(23);
            for (word, factor) in words.iter().zip(FACTORS) {
                sum = sum.wrapping_add(word.wrapping_mul(factor));
            }
        }
        // The upper bits depend on all others.
        let hash = (sum ^ sum >> 32).wrapping_mul(FACTORS[0]);
        &self.buckets[(hash >> (64 - BUCKETS.ilog2())) as usize]
    }
}

/// Returns a number for the first time.
fn new_version() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Odd, and otherwise without any order.
const FACTORS: [u64; INLINE_WORDS] = [
    0x9e37_79b9_7f4a_7c15,
    0xbf58_476d_1ce4_e5b9,
    0x94d0_49bb_1331_11eb,
    0xd6e8_feb8_6659_fd93,
    0xa076_1d64_78bd_642f,
    0xe703_7ed1_a0b4_28db,
    0x8ebc_6af0_9c88_c6e3,
    0x5899_65cc_7537_4cc3,
];

impl Drop for Chain {
    fn drop(&mut self) {
        let mut slot = self.0;
        while !slot.is_null() {
            // SAFETY: slots came from boxes, each is in one chain, and this is the last access to
            // the cache.
            let whole = unsafe { Box::from_raw(slot) };
            slot = whole.next;
        }
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        for bucket in self.buckets.iter() {
            drop(Chain(bucket.load(Ordering::Acquire)));
        }
    }
}

// SAFETY: slots are reached through atomics, and what is in them is `Send` and `Sync`.
unsafe impl Send for Cache {}
// SAFETY: shared references load slots by atomics or behind mutexes, and what is in slots is
// `Sync`.
unsafe impl Sync for Cache {}
