//! The crate `faer`.
#![cfg(feature = "faer")]

mod support;

use dlbridge::error::{Error, IncompatibilityKind as Kind};
use dlbridge::tensor::Layout;
use dlbridge::{Tensor, View};
use faer::{Mat, MatMut, MatRef};
use support::kind;

fn matrix() -> Mat<f64> {
    Mat::from_fn(3, 2, |row, column| (10 * row + column) as f64)
}

#[test]
fn tensor_keeps_the_matrix() -> Result<(), Error> {
    let mat = matrix();
    let first = mat.as_ptr();
    let mut tensor = Tensor::try_from(mat)?;
    assert_eq!(tensor.data_ptr().cast(), first);
    assert_eq!(tensor.to_vec::<f64>()?, [0.0, 1.0, 10.0, 11.0, 20.0, 21.0]);
    tensor.view_mut::<f64>()?[[2, 1]] = -1.0; // the tensor alone has it
    assert_eq!(MatRef::<f64>::try_from(&tensor)?[(2, 1)], -1.0);
    // Bytes between columns are part of the storage, and may not be read: they are uninitialised.
    let storage = tensor.storage().clone();
    let all = Tensor::from_storage(storage.clone(), &[storage.nbytes()], dlbridge::DType::U8);
    assert_eq!(all.unwrap_err(), Error::HasGaps);
    std::thread::spawn(move || drop(tensor)).join().unwrap();
    let empty = Tensor::try_from(Mat::<f64>::zeros(0, 4))?;
    assert_eq!(empty.shape(), [0, 4]);
    Ok(())
}

#[test]
fn views_share_elements_of_any_strides() -> Result<(), Error> {
    let mut tensor = Tensor::from_vec((0..12).map(f64::from).collect(), &[3, 4])?;
    let flipped = tensor.step_by(1, -1)?;
    let view = MatRef::<f64>::try_from(&flipped)?;
    assert_eq!((view[(0, 0)], view.col_stride()), (3.0, -1));
    let layout = Layout::from_faer(&view)?;
    assert_eq!(
        View::from_faer(&view, &layout).to_vec(),
        flipped.to_vec::<f64>()?
    );
    assert_eq!(view.to_owned()[(2, 3)], 8.0); // the copy
    drop(flipped);
    let mut view = MatMut::<f64>::try_from(&mut tensor)?;
    view[(1, 1)] = 50.0;
    assert_eq!(tensor.view::<f64>()?[[1, 1]], 50.0);
    Ok(())
}

#[test]
fn conversions_name_what_does_not_fit() -> Result<(), Error> {
    let mut tensor = Tensor::try_from(matrix())?;
    assert_eq!(
        kind(MatRef::<f32>::try_from(&tensor).unwrap_err()),
        Kind::DType
    );
    let line = tensor.select(0, 0)?;
    assert_eq!(
        kind(MatRef::<f64>::try_from(&line).unwrap_err()),
        Kind::Rank
    );
    assert_eq!(
        kind(MatMut::<f64>::try_from(&mut tensor).unwrap_err()),
        Kind::Alias
    );
    Ok(())
}
