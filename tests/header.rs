//! Compares the ABI that this project uses with a real `dlpack.h`.
//!
//! A C program that is compiled against the header prints what it is like there: sizes,
//! alignments, offsets, types, constants. Rust says the same of its own types, and the two have to
//! agree, fact by fact and in both directions. Then each side calls functions of the other through
//! every function pointer. Last, the header's text is read for anything that neither knows of, so
//! that a new version of DLPack fails here, and is not overlooked.
//!
//! The header isn't part of this repository. `support/c_compiler.rs` says where it is looked for.

#[path = "support/c_compiler.rs"]
mod c_compiler;
#[path = "header/c_type.rs"]
mod c_type;
#[path = "header/calls.rs"]
mod calls;
#[path = "header/declarations.rs"]
mod declarations;
#[path = "header/echoes.rs"]
mod echoes;
#[path = "header/facts.rs"]
mod facts;
#[path = "support/trials.rs"]
mod trials;

use c_compiler::Toolchain;
use calls::Peer;
use declarations::expected_facts;
use facts::Facts;
use libtest_mimic::{Arguments, Failed, Trial};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use trials::trial;

/// What the trials share; each program is compiled when the first of them asks.
#[derive(Debug)]
struct Header {
    toolchain: Toolchain,
    facts: OnceLock<Result<Facts, String>>,
    peer: OnceLock<Result<Peer, String>>,
}

impl Header {
    /// What C says of the header.
    fn facts(&self) -> Result<&Facts, Failed> {
        let facts = self.facts.get_or_init(|| {
            let sources = ["tests/c/header_facts.c"];
            let program = self.toolchain.executable("header_facts", &sources)?;
            Facts::of_program(&program)
        });
        facts.as_ref().map_err(Failed::from)
    }

    /// C functions to call, and to be called by.
    fn peer(&self) -> Result<&Peer, Failed> {
        let peer = self.peer.get_or_init(|| {
            let sources = ["tests/c/header_calls.c"];
            let library = self.toolchain.shared_library("header_calls", &sources)?;
            Peer::load(&library)
        });
        peer.as_ref().map_err(Failed::from)
    }

    /// Says which header a failure is about.
    fn blame(&self, failed: Failed) -> Failed {
        let message = failed.message().unwrap_or_default();
        format!(
            "{message}\nThe header is {}",
            self.toolchain.header().display()
        )
        .into()
    }
}

fn main() -> ExitCode {
    let header = Toolchain::find("header").map(|toolchain| {
        Arc::new(Header {
            toolchain,
            facts: OnceLock::new(),
            peer: OnceLock::new(),
        })
    });
    let header_trial = |name: &str, body: fn(&Header, &str) -> Result<(), Failed>| {
        let subject = name.rsplit("::").next().unwrap_or(name).to_owned();
        trial(name, &header, move |header: &Header| {
            body(header, &subject).map_err(|failed| header.blame(failed))
        })
    };

    let mut trials = vec![
        Trial::test("reader::sees_what_is_new", reader_detects_new_declarations),
        Trial::test(
            "reader::refuses_what_is_strange",
            reader_rejects_unknown_syntax,
        ),
        header_trial("completeness", |header, _| completeness(header)),
    ];
    trials.extend(facts::GROUPS.map(|group| {
        header_trial(&format!("facts::{group}"), |header, group| {
            facts::compare(group, header.facts()?, &Facts::of_rust())
        })
    }));
    trials.extend(calls::CHECKS.map(|(name, check)| {
        trial(
            &format!("calls::{name}"),
            &header,
            move |header: &Header| check(header.peer()?).map_err(|failed| header.blame(failed)),
        )
    }));
    let conclusion = libtest_mimic::run(&Arguments::from_args(), trials);
    conclusion.exit_code()
}

/// Everything in the header is reported by the C program, and everything that is reported is
/// compared by a trial.
fn completeness(header: &Header) -> Result<(), Failed> {
    let text = std::fs::read_to_string(header.toolchain.header())?;
    let expected = expected_facts(&text)?;
    let facts = header.facts()?;
    let reported: BTreeSet<&str> = facts.names().collect();

    let mut complaints = Vec::new();
    for name in expected
        .iter()
        .filter(|name| !reported.contains(name.as_str()))
    {
        complaints.push(format!(
            "{name} is in the header; tests/c/header_facts.c does not report it"
        ));
    }
    for name in &reported {
        // These come beside a fact that the reader expects, or belong to a type as a whole.
        let accompanies = [".size", ".align", ".type"]
            .iter()
            .any(|end| name.ends_with(end));
        if !accompanies && !expected.contains(*name) {
            complaints.push(format!(
                "{name} is reported, but was not seen in the header"
            ));
        }
        if !facts::GROUPS.contains(&facts::group_of(name)) {
            complaints.push(format!(
                "{name} is reported, but no trial compares its group"
            ));
        }
    }
    none_of(complaints)
}

/// A header with one of everything, so that the reader is tested where there is no DLPack.
const SMALL_HEADER: &str = "
#ifndef SMALL_H_
#define SMALL_H_ // not the only comment: /* \\
#define DLPACK_FLAG_BITMASK_NEW (1UL << 3UL)
#ifdef __cplusplus
typedef enum : int32_t {
#else
typedef enum {
#endif
  /*! kDLOld = 1, */
  kDLFirst = 1,
  kDLSecond
} Kind;
typedef int (*Function)(Kind kind, void (*callback)(int a, int b));
typedef struct Tag {
  uint32_t* many; void *one;
  void (*call)(struct Tag* self);
  struct Tag* next;
} Tagged;
#endif
";

fn reader_detects_new_declarations() -> Result<(), Failed> {
    let expected = [
        "Kind.kDLFirst",
        "Kind.kDLSecond",
        "Tagged.call.offset",
        "Tagged.many.offset",
        "Tagged.next.offset",
        "Tagged.one.offset",
        "flags.DLPACK_FLAG_BITMASK_NEW",
        "function_types.Function",
        "version.SMALL_H_",
    ];
    let found = expected_facts(SMALL_HEADER)?;
    if found.iter().eq(expected.iter()) {
        return Ok(());
    }
    Err(format!("the reader found {found:#?}").into())
}

fn reader_rejects_unknown_syntax() -> Result<(), Failed> {
    let strange = [
        "int function(void);",
        "typedef union { int a; } U;",
        "typedef struct { struct { int a; } inner; } S;",
        "typedef struct { int a, b; } S;",
        "typedef struct { int a[2]; } S;",
        "typedef struct { int a : 2; } S;",
        "typedef int Number;",
        "typedef struct { int a; } S",
        "#if VERSION > 1\n#endif",
        "#endif",
        "/* no end",
    ];
    let accepted = strange.iter().filter(|text| expected_facts(text).is_ok());
    none_of(
        accepted
            .map(|text| format!("the reader accepted {text:?}"))
            .collect(),
    )
}

/// Fails with all complaints at once, if there are any.
fn none_of(complaints: Vec<String>) -> Result<(), Failed> {
    if complaints.is_empty() {
        return Ok(());
    }
    Err(complaints.join("\n").into())
}
