//! Waiting awake.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

/// How often a thread looks before it gives way to others.
const SPINS: usize = 64;

/// How a wait ended.
pub(super) struct Waited {
    pub(super) has_happened: bool,
    /// The longest time that it gave way.
    pub(super) gave_way: Duration,
}

/// Looks for a while whether something has happened. It gives way to other threads, of which one
/// may be what it waits for, and have no other CPU.
pub(super) fn wait(time: Duration, has_happened: impl Fn() -> bool) -> Waited {
    let begin = Instant::now();
    let mut gave_way = Duration::ZERO;
    loop {
        for _ in 0..SPINS {
            if has_happened() {
                return Waited {
                    has_happened: true,
                    gave_way,
                };
            }
            hint::spin_loop();
        }
        let before = begin.elapsed();
        if before >= time {
            return Waited {
                has_happened: false,
                gave_way,
            };
        }
        thread::yield_now();
        gave_way = gave_way.max(begin.elapsed() - before);
    }
}
