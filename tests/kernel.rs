//! Ops and kernels: what is registered, which kernel a call gets, and what calls are refused.
#![cfg(feature = "ops")]

#[path = "kernel/aliasing.rs"]
mod aliasing;
#[path = "kernel/ambiguity.rs"]
mod ambiguity;
#[path = "support/at_once.rs"]
mod at_once;
#[path = "kernel/attributes.rs"]
mod attributes;
#[path = "kernel/calls.rs"]
mod calls;
#[path = "support/cases.rs"]
mod cases;
#[path = "kernel/crossing_lines.rs"]
mod crossing_lines;
#[path = "kernel/devices.rs"]
mod devices;
// All calls that there can be take Miri too long.
#[cfg(not(miri))]
#[path = "kernel/dispatch.rs"]
mod dispatch;
#[path = "kernel/errors.rs"]
mod errors;
#[path = "kernel/factories.rs"]
mod factories;
#[path = "kernel/lines_in_place.rs"]
mod lines_in_place;
#[path = "kernel/listing.rs"]
mod listing;
#[path = "kernel/memory.rs"]
mod memory;
#[cfg(not(miri))]
#[path = "kernel/model.rs"]
mod model;
#[path = "kernel/observers.rs"]
mod observers;
#[path = "kernel/optional.rs"]
mod optional;
#[path = "kernel/parameters.rs"]
mod parameters;
#[path = "kernel/part.rs"]
mod part;
#[path = "kernel/registration.rs"]
mod registration;
#[path = "kernel/repeats.rs"]
mod repeats;
#[path = "kernel/sizes.rs"]
mod sizes;
#[path = "kernel/support.rs"]
mod support;
#[path = "kernel/threads.rs"]
mod threads;
#[path = "kernel/untyped.rs"]
mod untyped;
#[path = "kernel/variadic.rs"]
mod variadic;
