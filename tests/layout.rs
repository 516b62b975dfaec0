//! Layouts against a naive model: all elements listed one by one, in numbers without limits.
//!
//! Everything here also runs under Miri, with fewer cases.

#[path = "layout/answers.rs"]
mod answers;
#[path = "layout/bit_cast.rs"]
mod bit_cast;
#[path = "layout/broadcast.rs"]
mod broadcast;
#[path = "layout/dimensions.rs"]
mod dimensions;
#[path = "layout/invariants.rs"]
mod invariants;
#[path = "layout/memory.rs"]
mod memory;
#[path = "layout/model.rs"]
mod model;
#[path = "layout/overlap.rs"]
mod overlap;
#[path = "layout/parts.rs"]
mod parts;
#[path = "layout/refusals.rs"]
mod refusals;
#[path = "layout/regions.rs"]
mod regions;
#[path = "layout/reshape.rs"]
mod reshape;
#[path = "layout/strategies.rs"]
mod strategies;
#[path = "layout/validator.rs"]
mod validator;
