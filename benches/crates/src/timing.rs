//! Timing by turns: of each function the fastest round counts.

use std::hint::black_box;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5_000;
/// So few that what was prepared for a round is still in the cache when its turn comes.
const CALLS: usize = 100;

/// Measures both functions of prepared inputs, whose results are dropped, and prints a line of the
/// table.
pub(crate) fn compare<I, A, B>(
    name: &str,
    mut prepare: impl FnMut() -> I,
    mut ours: impl FnMut(I) -> A,
    mut theirs: impl FnMut(I) -> B,
) {
    let mut least = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        least[0] = least[0].min(round(&mut prepare, |input| drop(black_box(ours(input)))));
        least[1] = least[1].min(round(&mut prepare, |input| drop(black_box(theirs(input)))));
    }
    let [our, their] = least.map(|round| round.as_secs_f64() * 1e9 / CALLS as f64);
    println!(
        "| {name} | {our:.1} ns | {their:.1} ns | **{:.2}** |",
        our / their
    );
}

fn round<I>(mut prepare: impl FnMut() -> I, mut call: impl FnMut(I)) -> Duration {
    let mut inputs: Vec<I> = (0..CALLS).map(|_| prepare()).collect();
    let begin = Instant::now();
    inputs.drain(..).for_each(&mut call);
    begin.elapsed()
}
