//! The protocol's Python half: capsules, `__dlpack__` from both sides, and the C exchange table
//! from both sides.
//!
//! | a tensor goes | through a capsule | through the exchange table |
//! |---|---|---|
//! | in | [`ask`], then [`Offer::take`] | [`Table::of_type`], then its functions |
//! | out | [`Request::parse`], then [`answer`] | [`Exchange`], [`table`] and [`table_capsule`] |
//!
//! Like the rest of the crate it knows no tensors: what is offered is handed to a check of the
//! caller's before it is taken, and what goes out comes from a trait that the caller implements.

mod capsule;
mod consumer;
mod exchange;
pub mod foreign;
pub mod interpreter;
mod once;
mod producer;
mod table;
pub mod type_lookup;

pub use capsule::{Lent, Named, Offer, into_capsule, keeping_exception};
pub use consumer::{Wish, ask};
pub use exchange::{AllocationError, Exchange, table, table_capsule};
#[doc(hidden)]
pub use once::Interned;
pub use once::{FoundOnce, intern};
pub use producer::{Producer, Request, answer};
pub use table::Table;
