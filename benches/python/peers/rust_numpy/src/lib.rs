//! An extension with rust-numpy, as its README writes one.

use numpy::ndarray::Zip;
use numpy::{
    Element, IntoPyArray, PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArray, PyReadonlyArray1,
    PyReadonlyArrayDyn, PyReadwriteArray, PyReadwriteArray1, PyReadwriteArrayDyn,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

// ANCHOR: slices
/// The three slices, if the arrays have one shape and are contiguous.
fn slices<'a, D: numpy::ndarray::Dimension>(
    a: &'a PyReadonlyArray<'_, f32, D>,
    b: &'a PyReadonlyArray<'_, f32, D>,
    out: &'a mut PyReadwriteArray<'_, f32, D>,
) -> PyResult<(&'a [f32], &'a [f32], &'a mut [f32])>
where
    f32: Element,
{
    if a.shape() != out.shape() || b.shape() != out.shape() {
        return Err(PyValueError::new_err("the shapes differ"));
    }
    if !(a.is_c_contiguous() && b.is_c_contiguous() && out.is_c_contiguous()) {
        return Err(PyValueError::new_err("contiguous arrays are expected"));
    }
    Ok((a.as_slice()?, b.as_slice()?, out.as_slice_mut()?))
}
// ANCHOR_END: slices

fn add_slices(a: &[f32], b: &[f32], out: &mut [f32]) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = a + b;
    }
}

// ANCHOR: add
#[pyfunction]
fn add(
    a: PyReadonlyArrayDyn<'_, f32>,
    b: PyReadonlyArrayDyn<'_, f32>,
    mut out: PyReadwriteArrayDyn<'_, f32>,
) -> PyResult<()> {
    let (a, b, out) = slices(&a, &b, &mut out)?;
    add_slices(a, b, out);
    Ok(())
}
// ANCHOR_END: add

#[pyfunction]
fn add_1d(
    a: PyReadonlyArray1<'_, f32>,
    b: PyReadonlyArray1<'_, f32>,
    mut out: PyReadwriteArray1<'_, f32>,
) -> PyResult<()> {
    let (a, b, out) = slices(&a, &b, &mut out)?;
    add_slices(a, b, out);
    Ok(())
}

/// As the README's `mult`, which leaves rust-numpy's borrow flags alone.
#[pyfunction]
fn add_unchecked(
    a: &Bound<'_, PyArrayDyn<f32>>,
    b: &Bound<'_, PyArrayDyn<f32>>,
    out: &Bound<'_, PyArrayDyn<f32>>,
) -> PyResult<()> {
    if a.shape() != out.shape() || b.shape() != out.shape() {
        return Err(PyValueError::new_err("the shapes differ"));
    }
    if !(a.is_c_contiguous() && b.is_c_contiguous() && out.is_c_contiguous()) {
        return Err(PyValueError::new_err("contiguous arrays are expected"));
    }
    // SAFETY: the benchmark passes three arrays that don't overlap, and no other code has them.
    let (a, b, out) = unsafe { (a.as_slice()?, b.as_slice()?, out.as_slice_mut()?) };
    add_slices(a, b, out);
    Ok(())
}

#[pyfunction]
fn add_released(
    py: Python<'_>,
    a: PyReadonlyArrayDyn<'_, f32>,
    b: PyReadonlyArrayDyn<'_, f32>,
    mut out: PyReadwriteArrayDyn<'_, f32>,
) -> PyResult<()> {
    let (a, b, out) = slices(&a, &b, &mut out)?;
    py.detach(|| add_slices(a, b, out));
    Ok(())
}

#[pyfunction]
fn add_strided(
    a: PyReadonlyArrayDyn<'_, f32>,
    b: PyReadonlyArrayDyn<'_, f32>,
    mut out: PyReadwriteArrayDyn<'_, f32>,
) -> PyResult<()> {
    if a.shape() != out.shape() || b.shape() != out.shape() {
        return Err(PyValueError::new_err("the shapes differ"));
    }
    Zip::from(out.as_array_mut())
        .and(a.as_array())
        .and(b.as_array())
        .for_each(|out, a, b| *out = a + b);
    Ok(())
}

#[pyfunction]
fn fresh_numpy(py: Python<'_>) -> Bound<'_, PyArray1<f32>> {
    vec![0.0, 1.0, 2.0, 3.0, 4.0, 5.0].into_pyarray(py)
}

#[pymodule]
fn rust_numpy_peer(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(add, module)?)?;
    module.add_function(wrap_pyfunction!(add_1d, module)?)?;
    module.add_function(wrap_pyfunction!(add_unchecked, module)?)?;
    module.add_function(wrap_pyfunction!(add_released, module)?)?;
    module.add_function(wrap_pyfunction!(add_strided, module)?)?;
    module.add_function(wrap_pyfunction!(fresh_numpy, module)?)
}
