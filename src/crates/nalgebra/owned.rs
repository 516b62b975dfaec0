//! Owned matrices and vectors of dynamic size: `DMatrix` (column-major) and `DVector`.

use crate::crates::TakeError;
use crate::crates::matrix::{matrix, wrong_rank};
use crate::dtype::Element;
use crate::error::{Error, Incompatibility, IncompatibilityKind};
use crate::storage::Storage;
use crate::tensor::{Tensor, Uninit};
use ::nalgebra::{DMatrix, DVector, Dyn, Scalar, VecStorage};

/// The tensor owns the matrix's vector: its strides are those of column-major order.
impl<T: Element + Scalar> TryFrom<DMatrix<T>> for Tensor {
    type Error = Error;

    /// # Errors
    ///
    /// When the sizes can't be a tensor's: those of a matrix without elements could be too large.
    fn try_from(matrix: DMatrix<T>) -> Result<Self, Error> {
        let (rows, columns) = matrix.shape();
        let mut tensor = Uninit::new();
        let strides = [1, rows.cast_signed()];
        tensor
            .layout()
            .become_strided(&[rows, columns], |axis| strides[axis])?;
        let storage = Storage::from_vec(Vec::from(matrix.data));
        Self::from_uninit(tensor, storage, 0, T::DTYPE)
    }
}

/// The tensor owns the vector's memory, and is of rank 1.
impl<T: Element + Scalar> From<DVector<T>> for Tensor {
    fn from(vector: DVector<T>) -> Self {
        Self::from(Vec::from(vector.data))
    }
}

/// The matrix owns the tensor's vector, if the tensor is its only handle.
impl<T: Element + Scalar> TryFrom<Tensor> for DMatrix<T> {
    type Error = TakeError;

    /// # Errors
    ///
    /// When the elements are not `T`s, the rank isn't 2, the elements don't lie one after another
    /// in column-major order, or the memory isn't a vector of `T`s, or is shared.
    fn try_from(tensor: Tensor) -> Result<Self, TakeError> {
        let (rows, columns) = match matrix(tensor.layout()) {
            Ok(([rows, columns], _)) => (rows, columns),
            Err(error) => return Err(TakeError::new(tensor, error)),
        };
        // Row-major order of the transposed matrix is column-major order of the matrix.
        let transposed = tensor.transpose();
        if !transposed.layout().is_contiguous() {
            return Err(TakeError::new(tensor, not_column_major(rows, columns)));
        }
        drop(tensor);
        let vec = transposed
            .take_vec::<T>()
            .and_then(|taken| taken.into_whole());
        match vec {
            Ok((vec, _)) => Ok(Self::from_data(VecStorage::new(
                Dyn(rows),
                Dyn(columns),
                vec,
            ))),
            Err((transposed, error)) => Err(TakeError::new(transposed.transpose(), error)),
        }
    }
}

/// The vector owns the tensor's memory, if the tensor is its only handle.
impl<T: Element + Scalar> TryFrom<Tensor> for DVector<T> {
    type Error = TakeError;

    /// # Errors
    ///
    /// When the elements are not `T`s, the rank isn't 1, the elements don't lie one after another,
    /// or the memory isn't a vector of `T`s, or is shared.
    fn try_from(tensor: Tensor) -> Result<Self, TakeError> {
        if tensor.rank() != 1 {
            let error = wrong_rank(1, tensor.rank());
            return Err(TakeError::new(tensor, error));
        }
        let (vec, _) = tensor.take_vec::<T>()?.into_whole()?;
        Ok(Self::from_vec(vec))
    }
}

#[cold]
fn not_column_major(rows: usize, columns: usize) -> Error {
    let found = format!("shape [{rows}, {columns}], not in column-major order without gaps");
    let wanted = "column-major order without gaps";
    Incompatibility::new(IncompatibilityKind::Layout, found, wanted)
        .with_remedy(
            "convert tensor.transpose() and transpose the matrix, or copy it: \
             DMatrixView::try_from(&tensor)?.into_owned()",
        )
        .into()
}
