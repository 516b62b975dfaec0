//! What the functions are with ndarray: it has no softmax and no norms of its own.

use ndarray::parallel::prelude::*;
use ndarray::{Array1, Array2, ArrayView2, Axis, Zip};

/// The softmax of each row.
pub(crate) fn softmax(x: &Array2<f32>) -> Array2<f32> {
    let mut out = x.clone();
    out.axis_iter_mut(Axis(0))
        .into_par_iter()
        .for_each(|mut row| {
            let largest = row.fold(f32::NEG_INFINITY, |most, x| most.max(*x));
            row.mapv_inplace(|x| (x - largest).exp());
            let sum = row.sum();
            row.mapv_inplace(|x| x / sum);
        });
    out
}

/// Each row over the root of the mean of its squares, times weights.
pub(crate) fn rms_norm(x: &Array2<f32>, weight: &Array1<f32>, eps: f32) -> Array2<f32> {
    let mut out = x.clone();
    let len = x.ncols() as f32;
    out.axis_iter_mut(Axis(0))
        .into_par_iter()
        .for_each(|mut row| {
            let factor = 1.0 / (row.dot(&row) / len + eps).sqrt();
            row.zip_mut_with(weight, |x, weight| *x *= factor * weight);
        });
    out
}

/// The sum of two arrays.
pub(crate) fn add(x: &Array2<f32>, y: &Array2<f32>) -> Array2<f32> {
    Zip::from(x).and(y).par_map_collect(|x, y| x + y)
}

/// The elements in row-major order.
pub(crate) fn copy(x: ArrayView2<'_, f32>) -> Array2<f32> {
    x.as_standard_layout().into_owned()
}
