//! [`Fold`]: reductions that add one element after the other, in several lanes.

/// A reduction of elements `T`, for [`fold`](super::fold).
///
/// Elements are added to lanes, many of which fit into a vector register; lanes that have a few
/// thousand elements become part of a total. So a sum of `f32` can have fast lanes of `f32` and a
/// total of `f64`. The order of the elements is not specified, but it depends on the layout alone:
/// results are the same for every number of threads and SIMD level, as far as the functions are.
///
/// Mark the functions `#[inline(always)]`: they are inlined into loops that are compiled for each
/// SIMD level.
///
/// # Examples
///
/// The range of numbers:
///
/// ```
/// use dlbridge::compute::reduce::{Fold, fold};
/// use dlbridge::Tensor;
///
/// #[derive(Clone, Copy)]
/// struct Range;
///
/// impl Fold<f32> for Range {
///     type Lane = (f32, f32);
///     type Total = (f32, f32);
///     type Result = f32;
///
///     #[inline(always)]
///     fn empty_lane(self) -> (f32, f32) {
///         (f32::INFINITY, f32::NEG_INFINITY)
///     }
///     #[inline(always)]
///     fn add(self, (least, most): (f32, f32), x: f32) -> (f32, f32) {
///         (least.min(x), most.max(x))
///     }
///     #[inline(always)]
///     fn join(self, a: (f32, f32), b: (f32, f32)) -> (f32, f32) {
///         (a.0.min(b.0), a.1.max(b.1))
///     }
///     #[inline(always)]
///     fn empty(self) -> (f32, f32) {
///         self.empty_lane()
///     }
///     #[inline(always)]
///     fn add_lane(self, total: (f32, f32), lane: (f32, f32)) -> (f32, f32) {
///         self.join(total, lane)
///     }
///     #[inline(always)]
///     fn combine(self, total: (f32, f32), later: (f32, f32)) -> (f32, f32) {
///         self.join(total, later)
///     }
///     fn finish(self, (least, most): (f32, f32)) -> f32 {
///         most - least
///     }
/// }
///
/// let x = Tensor::from([[1.0_f32, 5.0, 2.0], [4.0, 4.0, 4.0]]);
/// let mut ranges = Tensor::from([0.0_f32; 2]);
/// fold(x.view()?, ranges.view_mut()?, &[1], Range);
/// assert_eq!(ranges.to_vec::<f32>()?, [4.0, 0.0]);
/// # Ok::<(), dlbridge::Error>(())
/// ```
pub trait Fold<T>: Copy + Sync {
    /// The accumulator of up to a few thousand elements.
    type Lane: Copy;
    /// The accumulator of any number of elements: at most 32 bytes, aligned to at most 16.
    type Total: Copy;
    /// The result.
    type Result: Copy;

    /// The most elements that are added to a lane one after the other, at least 8. Then it is
    /// joined with the other lanes, which costs time, and all become part of a total.
    const DEPTH: usize = 64;

    /// Returns the lane of no elements.
    fn empty_lane(self) -> Self::Lane;

    /// Returns a lane with one more element.
    fn add(self, lane: Self::Lane, x: T) -> Self::Lane;

    /// Returns both lanes in one.
    fn join(self, a: Self::Lane, b: Self::Lane) -> Self::Lane;

    /// Returns the total of no elements.
    fn empty(self) -> Self::Total;

    /// Returns a total with the elements of a lane.
    fn add_lane(self, total: Self::Total, lane: Self::Lane) -> Self::Total;

    /// Returns a total with those elements that another one has.
    fn combine(self, total: Self::Total, later: Self::Total) -> Self::Total;

    /// Returns the result.
    fn finish(self, total: Self::Total) -> Self::Result;
}
