//! A real library in C and this crate hand tensors to each other: values, pointers, writes in both
//! directions, and deleters, which may be called late and on any thread.
//!
//! The library is `c/peer.c`, compiled here against a real `dlpack.h`; `support/c_compiler.rs` says
//! where that is looked for.

#[path = "support/c_compiler.rs"]
mod c_compiler;
#[path = "c_peer/consumer.rs"]
mod consumer;
#[path = "c_peer/library.rs"]
mod library;
#[path = "c_peer/malformed.rs"]
mod malformed;
#[path = "c_peer/producer.rs"]
mod producer;
#[path = "support/trials.rs"]
mod trials;

use c_compiler::Toolchain;
use library::Library;
use libtest_mimic::Arguments;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use trials::trial;

/// What every trial needs: the library, compiled when the first of them asks.
#[derive(Debug)]
struct Peer {
    toolchain: Toolchain,
    library: OnceLock<Result<Library, String>>,
}

impl Peer {
    fn library(&self) -> Result<&Library, &String> {
        let library = self.library.get_or_init(|| {
            let sources = ["tests/c/peer.c", "tests/c/peer_malformed.c"];
            let file = self.toolchain.shared_library("peer", &sources)?;
            Library::load(&file)
        });
        library.as_ref()
    }
}

fn main() -> ExitCode {
    let peer = Toolchain::find("c_peer").map(|toolchain| {
        Arc::new(Peer {
            toolchain,
            library: OnceLock::new(),
        })
    });
    let groups = [
        ("producer", producer::TRIALS),
        ("consumer", consumer::TRIALS),
        ("malformed", malformed::TRIALS),
    ];
    let mut all = Vec::new();
    for (group, trials) in groups {
        for &(name, body) in trials {
            all.push(trial(
                &format!("{group}::{name}"),
                &peer,
                move |peer: &Peer| {
                    // What it finds wrong, it panics with.
                    body(peer.library()?);
                    Ok(())
                },
            ));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), all).exit_code()
}
