//! Threads that begin at the same moment.

use std::sync::Barrier;
use std::thread;

pub(crate) const THREADS: usize = 8;

/// Runs `body` on all threads at once, with the number of each.
pub(crate) fn on_all_threads(body: impl Fn(usize) + Sync) {
    let (start, body) = (Barrier::new(THREADS), &body);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                body(thread);
            });
        }
    });
}
