//! Loops over the elements of tensors, for kernels: vectorised for the CPU's instruction set, split
//! among threads, and for any strides. The ops of this crate are written with it, and kernels of
//! other crates can be.
//!
//! | what a kernel does | function |
//! |---|---|
//! | computes each element from those at the same index | [`Target::map`](crate::kernel::Target::map), [`zip`](crate::kernel::Target::zip), [`zip3`](crate::kernel::Target::zip3), [`update`](crate::kernel::Target::update); on raw pointers [`elementwise`] |
//! | the same of floats, 16-bit ones among them | [`Target::map_wide`](crate::kernel::Target::map_wide), [`zip_wide`](crate::kernel::Target::zip_wide), [`zip3_wide`](crate::kernel::Target::zip3_wide) |
//! | reduces elements along axes, with an accumulator of its own | [`reduce::fold`] |
//! | computes lines along an axis from lines of another tensor | [`lines::map_lines`], [`Target::map_lines`](crate::kernel::Target::map_lines) |
//! | multiplies matrices | [`gemm`] |
//! | converts elements | [`Converter`] |
//! | something else | [`vectorize`] or [`dispatch`] for a loop of its own, [`threads`] to split it |
//!
//! Elementary functions that are vectorised with such loops are in [`math`]. An op is tested in all
//! layouts, numbers of threads and SIMD levels by [`testing`](crate::testing).
//!
//! ```
//! use dlbridge::compute::{threads, vectorize};
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! let numbers: Vec<u32> = (0..100_000).collect();
//! let sum = AtomicU64::new(0);
//! threads::for_each_range(numbers.len(), 1 << 14, |range| {
//!     let part: u64 = vectorize(|| numbers[range].iter().map(|number| u64::from(*number)).sum());
//!     sum.fetch_add(part, Ordering::Relaxed);
//! });
//! assert_eq!(sum.into_inner(), 100_000 * 99_999 / 2);
//! ```

mod address;
#[cfg(feature = "ops")]
pub(crate) mod concat;
#[cfg(feature = "kernels")]
mod convert;
mod copy;
#[cfg(feature = "kernels")]
pub mod elementwise;
mod gather;
#[cfg(feature = "kernels")]
pub mod gemm;
#[cfg(feature = "kernels")]
pub mod lines;
#[cfg(feature = "kernels")]
pub mod math;
#[cfg(feature = "ops")]
pub(crate) mod pixels;
mod plan;
mod pool;
#[cfg(feature = "ops")]
pub(crate) mod quantize;
#[cfg(feature = "kernels")]
pub mod reduce;
#[cfg(feature = "ops")]
pub(crate) mod rows;
#[cfg(feature = "ops")]
pub(crate) mod select;
mod simd;
mod stream;
pub mod threads;
#[cfg(feature = "kernels")]
mod tiles;
mod tiling;
mod transpose;

pub(crate) use copy::copy_items;
#[cfg(feature = "ops")]
pub(crate) use gather::{gather, scatter};
#[cfg(feature = "ops")]
pub(crate) use plan::Operand;
#[cfg(feature = "ops")]
pub(crate) use stream::{STREAM_FROM, fence, stream};
#[cfg(feature = "ops")]
pub(crate) use tiles::{Settings, for_each_tile};

#[cfg(feature = "kernels")]
pub use convert::Converter;
#[cfg(feature = "ops")]
pub(crate) use convert::{pack, unpack};
pub use simd::{Level, Routine, Simd, dispatch, vectorize, with_level};
