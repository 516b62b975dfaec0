//! Layouts against a naive model: all elements listed one by one, in numbers without limits.
//!
//! Everything here also runs under Miri, with fewer cases.

#[path = "layout/bit_cast.rs"]
mod bit_cast;
#[path = "layout/broadcast.rs"]
mod broadcast;
#[path = "layout/contiguity.rs"]
mod contiguity;
#[path = "layout/dimensions.rs"]
mod dimensions;
#[path = "layout/errors.rs"]
mod errors;
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
#[path = "layout/regions.rs"]
mod regions;
#[path = "layout/reshape.rs"]
mod reshape;
#[path = "layout/strategies.rs"]
mod strategies;
#[path = "layout/validator.rs"]
mod validator;
