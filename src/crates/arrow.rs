//! Apache Arrow: arrays of numbers, lists of a fixed size, and tensors of a fixed shape.
//!
//! Arrow's arrays are never written, so tensors that share memory with one are read-only, unless
//! the tensor has the only handle to the memory. Arrays with nulls are refused.
//!
//! ```
//! use arrow_array::{Float32Array, FixedSizeListArray};
//! use dlbridge::Tensor;
//!
//! let tensor = Tensor::try_from(Float32Array::from(vec![1.0, 2.0, 3.0]))?;
//! assert_eq!(tensor.to_vec::<f32>()?, [1.0, 2.0, 3.0]);
//! let rows = Tensor::from([[1_i64, 2], [3, 4], [5, 6]]);
//! let list = FixedSizeListArray::try_from(rows)?; // three lists of two
//! # assert_eq!(list.value_length(), 2);
//! # Ok::<(), dlbridge::Error>(())
//! ```

mod list;
mod primitive;
mod shaped;

pub use shaped::{FixedShape, from_fixed_shape};

use crate::error::{Error, Incompatibility, IncompatibilityKind};

/// Checks that there are no nulls.
fn check_nulls(count: usize) -> Result<(), Error> {
    if count == 0 {
        return Ok(());
    }
    let found = format!("an array with {count} nulls");
    Err(
        Incompatibility::new(IncompatibilityKind::Value, found, "an array without nulls")
            .with_remedy("fill them first")
            .into(),
    )
}
