//! The crate `nalgebra`.
#![cfg(feature = "nalgebra")]

mod support;

use dlbridge::error::{Error, IncompatibilityKind as Kind};
use dlbridge::tensor::Layout;
use dlbridge::{Tensor, View};
use nalgebra::{DMatrix, DMatrixView, DMatrixViewMut, DVector, Dyn};
use support::kind;

type Strided<'a, T> = DMatrixView<'a, T, Dyn, Dyn>;
type StridedMut<'a, T> = DMatrixViewMut<'a, T, Dyn, Dyn>;

fn matrix() -> DMatrix<f64> {
    DMatrix::from_row_slice(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
}

#[test]
fn matrices_move_their_vector_both_ways() -> Result<(), Error> {
    let owned = matrix();
    let first = owned.as_ptr();
    let mut tensor = Tensor::try_from(owned)?;
    assert_eq!(tensor.data_ptr().cast(), first);
    assert_eq!(
        (tensor.shape(), tensor.strides()),
        (&[2, 3][..], &[1, 2][..])
    );
    assert_eq!(tensor.to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    tensor.view_mut::<f64>()?[[0, 2]] = 30.0;
    let back = DMatrix::<f64>::try_from(tensor)?;
    assert_eq!((back.as_ptr(), back[(0, 2)]), (first, 30.0));

    let vector = DVector::from_vec(vec![1_i32, 2, 3]);
    let first = vector.as_ptr();
    let back = DVector::<i32>::try_from(Tensor::from(vector))?;
    assert_eq!(back.as_ptr(), first);
    let empty = DMatrix::<f64>::try_from(Tensor::try_from(DMatrix::<f64>::zeros(0, 3))?)?;
    assert_eq!(empty.shape(), (0, 3));
    Ok(())
}

/// Column by column, as nalgebra has them in memory.
fn indices(matrix: &DMatrix<f64>) -> impl Iterator<Item = (usize, usize)> {
    let (rows, columns) = matrix.shape();
    (0..columns).flat_map(move |column| (0..rows).map(move |row| (row, column)))
}

#[test]
fn views_share_elements_of_any_strides_that_nalgebra_has() -> Result<(), Error> {
    let mut tensor = Tensor::from_vec((0..12).map(f64::from).collect(), &[3, 4])?;
    let rows = tensor.slice(1, 1..)?.step_by(0, 2)?;
    let view = Strided::<f64>::try_from(&rows)?;
    // By index: nalgebra's iterators over strided views compute addresses behind the last element,
    // which Miri doesn't let pass.
    let expected = DMatrix::from_row_slice(2, 3, &[1.0, 2.0, 3.0, 9.0, 10.0, 11.0]);
    let elements: Vec<_> = indices(&expected).map(|at| view[at]).collect();
    assert_eq!(
        (elements.as_slice(), view.shape()),
        (expected.as_slice(), expected.shape())
    );
    assert_eq!(view.as_ptr().cast(), rows.data_ptr());
    let broadcast = tensor.slice(0, 0..1)?.broadcast_to(&[5, 4])?;
    assert_eq!(Strided::<f64>::try_from(&broadcast)?[(4, 3)], 3.0);
    drop((rows, broadcast));

    let mut view = StridedMut::<f64>::try_from(&mut tensor)?;
    view[(2, 0)] = -1.0;
    (0..4).for_each(|column| view.row_mut(1)[column] = 7.0);
    assert_eq!(tensor.view::<f64>()?[[2, 0]], -1.0);
    assert_eq!(tensor.view::<f64>()?[[1, 3]], 7.0);
    Ok(())
}

#[test]
fn views_of_nalgebra_are_views() -> Result<(), Error> {
    let matrix = matrix();
    let part = matrix.view_with_steps((0, 0), (2, 2), (0, 1));
    let layout = Layout::from_nalgebra(&part)?;
    let view = View::from_nalgebra(&part, &layout);
    assert_eq!(view.to_vec(), [1.0, 3.0, 4.0, 6.0]);
    assert_eq!(view.as_ptr(), matrix.as_ptr());
    Ok(())
}

#[test]
fn conversions_name_what_does_not_fit() -> Result<(), Error> {
    let tensor = || Tensor::try_from(matrix()).unwrap();
    let refused = |tensor: Tensor| kind(DMatrix::<f64>::try_from(tensor).unwrap_err());
    assert_eq!(
        kind(DMatrix::<f32>::try_from(tensor()).unwrap_err()),
        Kind::DType
    );
    assert_eq!(refused(Tensor::from(vec![1.0_f64])), Kind::Rank);
    assert_eq!(
        kind(DVector::<f64>::try_from(tensor()).unwrap_err()),
        Kind::Rank
    );
    let row_major = Tensor::from_vec(vec![0.0_f64; 6], &[2, 3])?;
    let refused_row_major = DMatrix::<f64>::try_from(row_major).unwrap_err();
    let error = refused_row_major.error.incompatibility();
    assert_eq!(error.kind, Kind::Layout);
    assert!(error.remedy.unwrap().contains("transpose"));
    let transposed = refused_row_major.tensor.transpose();
    drop(refused_row_major.tensor);
    assert_eq!(DMatrix::<f64>::try_from(transposed)?.shape(), (3, 2));
    let shared = tensor();
    let other = shared.clone();
    assert_eq!(refused(shared), Kind::Alias);
    let flipped = other.step_by(0, -1)?;
    assert_eq!(
        kind(Strided::<f64>::try_from(&flipped).unwrap_err()),
        Kind::Layout
    );
    Ok(())
}
