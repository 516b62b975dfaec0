//! `matmul` on GPUs: which kernel is launched, and with what.

#[path = "matmul/kernels.rs"]
mod kernels;
#[path = "matmul/tiles.rs"]
mod tiles;
