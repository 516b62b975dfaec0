//! Operands of products: extents, pointers and strides.

/// Extents of a product of matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes<'a> {
    /// Extents of the batch, empty for two matrices.
    pub batch: &'a [usize],
    /// Rows of the first factor and of the result.
    pub rows: usize,
    /// Columns of the first factor and rows of the second one, which are summed over.
    pub depth: usize,
    /// Columns of the second factor and of the result.
    pub columns: usize,
}

/// Matrices in memory. Strides count elements, and may be negative or, for factors, zero.
#[derive(Debug, Clone, Copy)]
pub struct Matrices<'a, P> {
    /// The first element, as a pointer.
    pub first: P,
    /// The stride of each dimension of the batch.
    pub batch: &'a [isize],
    /// The stride from one row to the next.
    pub row: isize,
    /// The stride from one column to the next.
    pub column: isize,
}

/// Lanes of a matrix, rows of the first factor or columns of the second one, and their elements in
/// the dimension that is summed over.
#[derive(Debug)]
pub(super) struct Strided<T> {
    pub(super) first: *const T,
    /// The stride of lanes.
    pub(super) outer: isize,
    /// The stride of elements of a lane.
    pub(super) inner: isize,
}

impl<T> Clone for Strided<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Strided<T> {}

/// A product of two matrices.
#[derive(Debug)]
pub(super) struct Problem<T, O> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) depth: usize,
    pub(super) a: Strided<T>,
    pub(super) b: Strided<T>,
    pub(super) out: *mut O,
    pub(super) out_row: isize,
    pub(super) out_column: isize,
}
