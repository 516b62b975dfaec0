//! `matmul` on GPUs: by which of its ways, what cuBLASLt is told, and what is launched.

#[path = "matmul/failures.rs"]
mod failures;
#[path = "matmul/find.rs"]
mod find;
#[path = "matmul/kernels.rs"]
mod kernels;
#[path = "matmul/layouts.rs"]
mod layouts;
#[path = "matmul/library.rs"]
mod library;
#[path = "matmul/plans.rs"]
mod plans;
#[path = "matmul/tiles.rs"]
mod tiles;
#[path = "matmul/workspace.rs"]
mod workspace;
