//! Trials that need something the machine may lack.
//!
//! What is lacking is never passed over in silence: the trials are counted as ignored, and say why.

use libtest_mimic::{Failed, Trial};
use std::sync::Arc;

/// When this is `1`, a trial that can't run fails.
const REQUIRE_ALL: &str = "DLBRIDGE_REQUIRE_ALL";

/// Something a trial needs, and that is not there.
#[derive(Clone, Debug)]
pub(crate) struct Missing {
    reason: String,
    fails: bool,
}

impl Missing {
    /// Its trials are ignored, unless the environment asks for all of them.
    pub(crate) fn optional(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            fails: std::env::var_os(REQUIRE_ALL).is_some_and(|value| value == "1"),
        }
    }

    /// Its trials fail: the user pointed at something that is not there.
    pub(crate) fn required(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            fails: true,
        }
    }
}

/// A trial that runs `body` with what it needs, or reports what is missing.
pub(crate) fn trial<N: Send + Sync + 'static>(
    name: &str,
    needs: &Result<Arc<N>, Missing>,
    body: impl FnOnce(&N) -> Result<(), Failed> + Send + 'static,
) -> Trial {
    match needs.clone() {
        Ok(needs) => Trial::test(name, move || body(&needs)),
        // An ignored trial can still be requested, and then it has to fail.
        Err(Missing { reason, fails }) => Trial::test(name, {
            let reason = reason.clone();
            move || Err(Failed::from(reason))
        })
        .with_ignored_flag(!fails)
        .with_kind(reason),
    }
}
