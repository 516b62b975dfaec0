//! Conversions from and to the types of other crates, each with a feature of the crate's name.
//!
//! ```
//! # #[cfg(feature = "ndarray")] {
//! use dlbridge::Tensor;
//! use ndarray::{Array2, ArrayView2, array};
//!
//! let tensor = Tensor::try_from(array![[1.0_f32, 2.0], [3.0, 4.0]])?; // the array's memory
//! let view = ArrayView2::<f32>::try_from(&tensor)?; // borrowed
//! assert_eq!(view.column(1).sum(), 6.0);
//! let array = Array2::<f32>::try_from(tensor)?; // the same memory again
//! # assert_eq!(array[[1, 0]], 3.0);
//! # }
//! # Ok::<(), dlbridge::Error>(())
//! ```
//!
//! What a conversion by `From` or `TryFrom` returns shares the memory of what it was given. Where a
//! crate's type can't take the memory, the conversion fails and says how to copy, or there is a
//! function whose name says that it copies. `docs/crates.md` has a table of all crates.

#[cfg(feature = "arrow")]
pub mod arrow;
#[cfg(feature = "burn")]
mod burn;
#[cfg(feature = "candle")]
pub mod candle;
#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "image")]
pub mod image;
#[cfg(any(feature = "nalgebra", feature = "faer"))]
mod matrix;
#[cfg(feature = "nalgebra")]
mod nalgebra;
#[cfg(feature = "ndarray")]
mod ndarray;
#[cfg(feature = "ort")]
mod ort;
#[cfg(feature = "safetensors")]
pub mod safetensors;

pub use crate::tensor::TakeError;
