//! Memory, streams, copies and kernels on GPUs, on a test double of NVIDIA's driver: see
//! `tests/libcuda`.
#![cfg(all(feature = "cuda", unix, not(miri)))]

#[path = "cuda/allocations.rs"]
mod allocations;
#[path = "cuda/cache.rs"]
mod cache;
#[path = "cuda/capture.rs"]
mod capture;
#[path = "cuda/capture_mode.rs"]
mod capture_mode;
#[path = "cuda/capture_waits.rs"]
mod capture_waits;
#[path = "cuda/compile.rs"]
mod compile;
#[path = "cuda/compiler.rs"]
mod compiler;
#[path = "cuda/copies.rs"]
mod copies;
#[path = "cuda/deferred.rs"]
mod deferred;
#[path = "cuda/double.rs"]
mod double;
#[path = "cuda/failures.rs"]
mod failures;
#[path = "cuda/find.rs"]
mod find;
#[path = "cuda/gpus.rs"]
mod gpus;
#[path = "cuda/host.rs"]
mod host;
#[path = "cuda/images.rs"]
mod images;
#[path = "cuda/kernels.rs"]
mod kernels;
#[path = "cuda/launch.rs"]
mod launch;
#[path = "cuda/launch_errors.rs"]
mod launch_errors;
#[path = "cuda/matmul.rs"]
mod matmul;
#[path = "cuda/memory.rs"]
mod memory;
#[path = "cuda/modules.rs"]
mod modules;
#[path = "cuda/peers.rs"]
mod peers;
#[cfg(feature = "cudarc")]
#[path = "cuda/slices.rs"]
mod slices;
#[path = "cuda/streams.rs"]
mod streams;
#[path = "cuda/transfers.rs"]
mod transfers;
#[path = "cuda/unknown_codes.rs"]
mod unknown_codes;
#[path = "cuda/unordered.rs"]
mod unordered;
