//! Records: calls, work that ran, mistakes; and the errors that calls are told to return.

use crate::codes::Code;
use crate::driver::thread;
use std::collections::BTreeMap;

#[derive(Default)]
pub(crate) struct Record {
    journal: Vec<String>,
    mistakes: Vec<String>,
    calls: BTreeMap<&'static str, u64>,
    total: u64,
    failures: Vec<Failure>,
    /// What a function writes where it writes an enum, in its next call.
    pub(crate) written: Option<(String, i32)>,
}

/// The call that is to fail: counted from when the failure was requested.
struct Failure {
    /// Of this function, or of any.
    function: Option<String>,
    remaining: u64,
    code: Code,
}

impl Record {
    pub(crate) fn line(&mut self, line: String) {
        self.journal.push(line);
    }

    /// Writes down something that a correct program doesn't do. It stays, whatever the call then
    /// returns.
    pub(crate) fn mistake(&mut self, mistake: String) {
        self.journal.push(format!("mistake: {mistake}"));
        self.mistakes.push(mistake);
    }

    /// Writes down a call, and counts it.
    pub(crate) fn call(&mut self, name: &'static str, words: &str, result: Result<(), Code>) {
        let result = result
            .err()
            .map(|code| format!(" = {code}"))
            .unwrap_or_default();
        self.journal
            .push(format!("{name}({words}) in thread {}{result}", thread()));
    }

    /// Counts a call, and says how it is to fail if it is.
    pub(crate) fn count(&mut self, name: &'static str) -> Option<Code> {
        *self.calls.entry(name).or_default() += 1;
        self.total += 1;
        let mut code = None;
        self.failures.retain_mut(|failure| {
            if failure
                .function
                .as_deref()
                .is_some_and(|function| function != name)
            {
                return true;
            }
            failure.remaining -= 1;
            if failure.remaining == 0 {
                code = Some(failure.code);
            }
            failure.remaining > 0
        });
        code
    }

    /// What a function is to write instead of the enum's true value.
    pub(crate) fn written(&mut self, function: &str, value: i32) -> i32 {
        match self.written.take_if(|(name, _)| name == function) {
            Some((_, value)) => value,
            None => value,
        }
    }

    pub(crate) fn fail(&mut self, function: Option<String>, nth: u64, code: Code) {
        self.failures.push(Failure {
            function,
            remaining: nth.max(1),
            code,
        });
    }

    pub(crate) fn forget_failures(&mut self) {
        self.failures.clear();
        self.written = None;
    }

    pub(crate) fn calls(&self, name: &str) -> u64 {
        if name.is_empty() {
            self.total
        } else {
            self.calls.get(name).copied().unwrap_or_default()
        }
    }

    pub(crate) fn journal(&self) -> String {
        self.journal.join("\n")
    }

    pub(crate) fn mistakes(&self) -> String {
        self.mistakes.join("\n")
    }

    pub(crate) fn forget_journal(&mut self) {
        self.journal.clear();
    }

    pub(crate) fn forget_mistakes(&mut self) {
        self.mistakes.clear();
    }
}
