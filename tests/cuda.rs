//! Memory, streams and copies on GPUs, on a test double of NVIDIA's driver: see `tests/libcuda`.
#![cfg(all(feature = "cuda", unix, not(miri)))]

#[path = "cuda/capture.rs"]
mod capture;
#[path = "cuda/copies.rs"]
mod copies;
#[path = "cuda/double.rs"]
mod double;
#[path = "cuda/failures.rs"]
mod failures;
#[path = "cuda/gpus.rs"]
mod gpus;
#[path = "cuda/memory.rs"]
mod memory;
#[path = "cuda/streams.rs"]
mod streams;
