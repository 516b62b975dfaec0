//! [`Matrix`]: an operand of rank 2, as sizes and strides.

use crate::cuda::blas::Stored;
use crate::kernel::Operand;

/// No algorithm asks for addresses at multiples of more.
const ALIGNED: usize = 256;

/// The most rows and columns that cuBLASLt's algorithms count, and the most elements between two of
/// them.
const COUNTED: usize = i32::MAX as usize;

/// Where a matrix begins, its sizes, and its strides, counted in elements: along its columns first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Matrix {
    pub(super) at: *const u8,
    pub(super) sizes: [usize; 2],
    pub(super) strides: [i64; 2],
}

impl Matrix {
    /// Creates the matrix of an operand of rank 2, which the op guarantees.
    pub(super) fn of(operand: &Operand<'_>) -> Self {
        let layout = operand.layout();
        let strides = layout.strides();
        Self {
            at: operand.data_ptr(),
            sizes: [layout.shape()[0], layout.shape()[1]],
            strides: [strides[0] as i64, strides[1] as i64],
        }
    }

    /// Returns the same elements, with rows as columns.
    pub(super) fn transposed(self) -> Self {
        let ([rows, columns], [row, column]) = (self.sizes, self.strides);
        Self {
            sizes: [columns, rows],
            strides: [column, row],
            ..self
        }
    }

    /// Returns whether what lies closest together is along columns.
    pub(super) fn is_by_columns(&self) -> bool {
        self.strides[0].unsigned_abs() < self.strides[1].unsigned_abs()
    }

    /// Returns whether cuBLASLt counts as far as its sizes, and its strides where it is taken as it
    /// is, go.
    pub(super) fn is_counted(&self) -> bool {
        let leading = self.stored().map_or(1, |stored| stored.leading);
        let is_counted = |size: usize| size <= COUNTED;
        self.sizes.into_iter().all(is_counted) && usize::try_from(leading).is_ok_and(is_counted)
    }

    /// Returns the matrix in cuBLASLt's terms, if its rows or its columns are contiguous and don't
    /// overlap.
    pub(super) fn stored(&self) -> Option<Stored> {
        let leading = |matrix: &Self| {
            let ([rows, columns], [row, column]) = (matrix.sizes, matrix.strides);
            let height = rows.max(1) as i64;
            // Along a dimension of size 1 there are no steps.
            let is_dense = rows <= 1 || row == 1;
            match columns <= 1 {
                true => is_dense.then_some(height),
                false => (is_dense && column >= height).then_some(column),
            }
        };
        let (is_transposed, leading) = match leading(self) {
            Some(leading) => (false, leading),
            None => (true, leading(&self.transposed())?),
        };
        Some(Stored {
            is_transposed,
            leading,
            alignment: 1 << (self.at.addr() | ALIGNED).trailing_zeros(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr;

    /// Returns whether it is transposed, and its leading dimension.
    fn stored(sizes: [usize; 2], strides: [i64; 2]) -> Option<(bool, i64)> {
        let at = ptr::without_provenance(512 + 8);
        let matrix = Matrix { at, sizes, strides };
        let found = matrix.stored()?;
        assert_eq!(found.alignment, 8);
        let turned = matrix.transposed().stored().unwrap();
        assert!(turned.is_transposed != found.is_transposed || sizes.contains(&1));
        Some((found.is_transposed, found.leading))
    }

    #[test]
    fn matrix_with_contiguous_rows_or_columns_is_accepted() {
        assert_eq!(stored([3, 5], [5, 1]), Some((true, 5)));
        assert_eq!(stored([3, 5], [8, 1]), Some((true, 8)));
        assert_eq!(stored([3, 5], [1, 3]), Some((false, 3)));
        assert_eq!(stored([3, 5], [1, 70]), Some((false, 70)));
        for strides in [
            [10, 2],
            [-5, 1],
            [5, -1],
            [0, 1],
            [1, 0],
            [1, 2],
            [4, 1],
            [0, 0],
        ] {
            assert_eq!(stored([3, 5], strides), None, "{strides:?}");
        }
    }

    #[test]
    fn stride_of_single_row_or_column_is_ignored() {
        assert_eq!(stored([1, 5], [77, 1]), Some((false, 1)));
        assert_eq!(stored([1, 5], [0, 3]), Some((false, 3)));
        assert_eq!(stored([3, 1], [1, -9]), Some((false, 3)));
        assert_eq!(stored([3, 1], [4, 0]), Some((true, 4)));
        assert_eq!(stored([1, 1], [-1, 0]), Some((false, 1)));
        assert_eq!(stored([1, 5], [1, 0]), None);
        assert_eq!(stored([3, 1], [-2, 1]), None);
    }

    #[test]
    fn sizes_and_strides_beyond_32_bits_are_refused() {
        let at = ptr::without_provenance(512);
        let is_counted = |sizes, strides| Matrix { at, sizes, strides }.is_counted();
        let (most, far) = (i32::MAX as usize, i64::from(i32::MAX));
        assert!(is_counted([3, 5], [5, 1]) && is_counted([3, 5], [1, far]));
        assert!(is_counted([most, 1], [1, 1]) && is_counted([2, most], [far, 1]));
        for sizes in [[most + 1, 1], [1, most + 1], [most + 1, most + 1]] {
            assert!(!is_counted(sizes, [sizes[1] as i64, 1]), "{sizes:?}");
            assert!(!is_counted(sizes, [1, sizes[0] as i64]), "{sizes:?}");
            assert!(!is_counted(sizes, [0, 0]), "{sizes:?}");
        }
        for strides in [[1, far + 1], [far + 1, 1]] {
            assert!(!is_counted([3, 5], strides), "{strides:?}");
        }
        // These are copied, or there is nothing at the stride's end.
        assert!(is_counted([3, 5], [far + 1, 2]) && is_counted([1, 5], [far + 1, 1]));
    }

    #[test]
    fn alignment_is_capped() {
        for (address, alignment) in [(2, 2), (4096, 256), (48, 16)] {
            let at = ptr::without_provenance(address);
            let matrix = Matrix {
                at,
                sizes: [2, 2],
                strides: [2, 1],
            };
            assert_eq!(matrix.stored().unwrap().alignment, alignment);
        }
    }
}
