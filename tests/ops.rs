//! The ops that come with the crate, from Rust: examples, and a comparison with naive oracles over
//! shapes, layouts and element types.
#![cfg(feature = "ops")]

#[path = "support/cases.rs"]
mod cases;
#[path = "ops/examples.rs"]
mod examples;
#[path = "ops/oracle.rs"]
mod oracle;
#[path = "ops/random.rs"]
mod random;
