//! Number of random cases of a property test.

use proptest::test_runner::Config;

/// The number of cases, and far fewer under Miri, which is slow. Failures aren't written to files:
/// what was found gets a test of its own.
pub(crate) fn cases(cases: u32) -> Config {
    Config {
        cases: if cfg!(miri) { 2 } else { cases },
        failure_persistence: None,
        ..Config::default()
    }
}
