//! Timing in interleaved rounds: of each function the fastest round counts.

use std::hint::black_box;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A function of a library, to be timed and to be checked.
pub(crate) struct Call {
    run: Box<dyn Fn()>,
    values: Box<dyn Fn() -> Vec<f32>>,
}

impl Call {
    pub(crate) fn new<T: 'static>(
        function: impl Fn() -> T + 'static,
        values: impl Fn(&T) -> Vec<f32> + 'static,
    ) -> Self {
        let function = Rc::new(function);
        let same = Rc::clone(&function);
        Self {
            run: Box::new(move || drop(black_box(function()))),
            values: Box::new(move || values(&same())),
        }
    }
}

/// One line of the table: the same computation by each library.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) size: String,
    /// The least speed, as a multiple of that of the faster other library.
    pub(crate) bar: f64,
    pub(crate) calls: [Call; LIBRARIES.len()],
}

const LIBRARIES: [&str; 3] = ["dlbridge", "ndarray", "candle"];
const ROUND: Duration = Duration::from_millis(2);
const TOTAL: Duration = Duration::from_millis(700);
/// Threads of other libraries look for work for a while after each call.
const PAUSE: Duration = Duration::from_millis(2);

/// Measures a case. Returns its line of the table.
pub(crate) fn line(case: &Case) -> String {
    let values = case.calls.each_ref().map(|call| (call.values)());
    for (library, found) in LIBRARIES.iter().zip(&values) {
        check(case.name, library, found, &values[1]);
    }
    let least = measure(&case.calls);
    let ratio = least[1].min(least[2]) / least[0];
    let times = least.map(|seconds| format!("{:.1} µs", seconds * 1e6));
    let met = if ratio >= case.bar {
        "met"
    } else {
        "**missed**"
    };
    format!(
        "| {} | {} | {} | {ratio:.2} | {} | {met} |",
        case.name,
        case.size,
        times.join(" | "),
        case.bar
    )
}

fn check(case: &str, library: &str, found: &[f32], expected: &[f32]) {
    assert_eq!(found.len(), expected.len(), "{case} of {library}");
    for (found, expected) in found.iter().zip(expected) {
        let distance = (found - expected).abs();
        assert!(
            distance <= 1e-3 + 1e-3 * expected.abs(),
            "{case} of {library}: {found} instead of {expected}"
        );
    }
}

/// Returns the seconds of a call of each.
fn measure(calls: &[Call; LIBRARIES.len()]) -> [f64; LIBRARIES.len()] {
    let counts = calls.each_ref().map(|call| {
        (call.run)();
        let begin = Instant::now();
        (call.run)();
        (ROUND.as_secs_f64() / begin.elapsed().as_secs_f64()).clamp(1.0, 1e6) as u32
    });
    let mut least = [f64::INFINITY; LIBRARIES.len()];
    let begin = Instant::now();
    let mut rounds = 0;
    while rounds < 5 || begin.elapsed() < TOTAL {
        for at in 0..calls.len() {
            // Back and forth, so that no call always follows the same neighbour.
            let at = if rounds % 2 == 0 {
                at
            } else {
                calls.len() - 1 - at
            };
            std::thread::sleep(PAUSE);
            (calls[at].run)();
            let begin = Instant::now();
            for _ in 0..counts[at] {
                (calls[at].run)();
            }
            let seconds = begin.elapsed().as_secs_f64() / f64::from(counts[at]);
            least[at] = least[at].min(seconds);
        }
        rounds += 1;
    }
    least
}
