//! The ops that come with the crate, from Rust: examples, and a comparison with naive oracles over
//! shapes, layouts and element types.
#![cfg(feature = "ops")]

#[path = "support/cases.rs"]
mod cases;
#[path = "ops/casts.rs"]
mod casts;
#[path = "ops/exact.rs"]
mod exact;
#[path = "ops/examples.rs"]
mod examples;
#[path = "ops/floats.rs"]
mod floats;
#[path = "ops/given.rs"]
mod given;
#[path = "ops/images.rs"]
mod images;
#[path = "ops/number.rs"]
mod number;
#[path = "ops/oracle.rs"]
mod oracle;
#[path = "ops/random.rs"]
mod random;
