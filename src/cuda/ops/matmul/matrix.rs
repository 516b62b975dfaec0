//! [`Matrix`]: an operand of rank 2, and how it is to be looked at.

use crate::kernel::Operand;

/// Where a matrix begins, its sizes, and its strides, counted in elements: along its columns first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Matrix {
    pub(super) at: *const u8,
    pub(super) sizes: [usize; 2],
    pub(super) strides: [i64; 2],
}

impl Matrix {
    /// Of an operand, which the op promises to be of rank 2.
    pub(super) fn of(operand: &Operand<'_>) -> Self {
        let layout = operand.layout();
        let strides = layout.strides();
        Self {
            at: operand.data_ptr(),
            sizes: [layout.shape()[0], layout.shape()[1]],
            strides: [strides[0] as i64, strides[1] as i64],
        }
    }

    /// The same elements, with rows as columns.
    pub(super) fn transposed(self) -> Self {
        let ([rows, columns], [row, column]) = (self.sizes, self.strides);
        Self {
            sizes: [columns, rows],
            strides: [column, row],
            ..self
        }
    }

    /// Whether what lies closest together is along columns.
    pub(super) fn is_by_columns(&self) -> bool {
        self.strides[0].unsigned_abs() < self.strides[1].unsigned_abs()
    }
}
