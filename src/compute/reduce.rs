//! Reductions of tensors of any strides along any axes: vectorised, and on several threads where
//! the tensors are large.
//!
//! A reduction makes accumulators from contiguous elements, in one of two ways: of elements that
//! belong to one result (`Accumulate::along`), or of as many results as there are elements
//! (`Accumulate::across`). Elements that aren't contiguous in either way are gathered first. The
//! elements are split in a way that depends on the shape alone, so results don't depend on the
//! number of threads.

mod accumulate;
mod driver;
#[cfg(feature = "ops")]
mod extreme;
#[cfg(feature = "ops")]
mod extreme_lines;
mod few_rows;
mod fold;
mod fold_lanes;
mod fold_lines;
mod fold_turns;
mod fold_views;
mod load;
#[cfg(feature = "ops")]
mod moments;
mod plan;
#[cfg(test)]
mod tests;

#[cfg(feature = "ops")]
pub(crate) use extreme::{Extreme, index_of_extreme};
#[cfg(feature = "ops")]
pub(crate) use fold_views::{fold_half_floats, fold_with};
#[cfg(feature = "ops")]
pub(crate) use moments::{Moments, Sums, moments};

pub use fold::Fold;
pub use fold_views::fold;
