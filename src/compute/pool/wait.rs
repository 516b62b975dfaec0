//! Waiting awake.

use std::hint;
use std::thread;
use std::time::{Duration, Instant};

/// How often a thread looks before it gives way to others.
const SPINS: usize = 64;

/// Giving way for so long means that another thread was at work on the CPU.
const LATE: Duration = Duration::from_micros(500);

/// How a wait ended.
pub(super) enum Waited {
    /// It has happened.
    Happened,
    /// Not yet.
    InVain,
    /// Not yet, and another thread had the CPU meanwhile.
    Late,
}

/// Looks for a while whether something has happened. It gives way to other threads, of which one
/// may be what it waits for, and have no other CPU.
pub(super) fn wait(time: Duration, has_happened: impl Fn() -> bool) -> Waited {
    let begin = Instant::now();
    let mut is_late = false;
    loop {
        for _ in 0..SPINS {
            if has_happened() {
                return Waited::Happened;
            }
            hint::spin_loop();
        }
        if is_late {
            return Waited::Late;
        }
        let before = begin.elapsed();
        if before >= time {
            return Waited::InVain;
        }
        thread::yield_now();
        is_late = begin.elapsed().saturating_sub(before) > LATE;
    }
}
