//! Arguments whose views are cut: rows, parts, and what the type says of them.

use dlbridge::View;
use dlbridge::python::{ColumnMajor, ContiguousRows, In, Like, Out};
use pyo3::prelude::*;

register!(
    row_sums,
    largest_of_rows,
    scale_rows,
    swap_halves,
    diagonal_of_blocks,
    sums_of_columns,
    middle,
    chunk_sums,
);

/// Of any rank and strides.
#[pyfunction]
fn row_sums(x: In<'_, f32>) -> Vec<f32> {
    x.rows().map(|row| row.iter().sum()).collect()
}

/// Rows are slices, whatever lies between them.
#[pyfunction]
fn largest_of_rows(x: In<'_, i64, 2, ContiguousRows>) -> Vec<Option<i64>> {
    let first = |row: &[i64]| row.iter().copied().max();
    x.rows().map(first).collect()
}

#[pyfunction]
fn scale_rows(mut x: Out<'_, f32, 2>, factors: In<'_, f32, 1>) {
    let factors = factors.view();
    for (row, factor) in x.rows_mut().zip(factors) {
        row.into_iter().for_each(|x| *x *= factor);
    }
}

/// Along the last axis, in place.
#[pyfunction]
fn swap_halves(mut x: Out<'_, f32, 3>) {
    let [.., size] = x.sizes();
    let mut x = x.ranked_mut();
    let (mut a, mut b) = x.split_at_mut(2, size / 2);
    for (a, b) in a.rows_mut().zip(b.rows_mut()) {
        a.into_iter().zip(b).for_each(|(a, b)| std::mem::swap(a, b));
    }
}

/// The diagonal of each matrix of a batch.
#[pyfunction]
fn diagonal_of_blocks<'py>(x: In<'py, f32, 3>) -> PyResult<Like<'py>> {
    let [batch, rows, columns] = x.sizes();
    let view = x.ranked();
    x.like_from_fn([batch, rows.min(columns)], |[b, i]| {
        view.select(0, b).row(i)[[i]]
    })
}

/// Columns of column-major elements are the rows of the transpose, and slices.
#[pyfunction]
fn sums_of_columns(x: In<'_, f32, 2, ColumnMajor>) -> Vec<f32> {
    let columns = x.ranked().transpose();
    columns
        .rows()
        .map(|column: &[f32]| column.iter().sum())
        .collect()
}

/// All but the first and the last of an axis, and the address of what remains.
#[pyfunction]
fn middle(x: In<'_, f32, 2>, axis: usize) -> (usize, Vec<f32>) {
    let view = x.ranked();
    let size = view.sizes()[axis];
    let part = view.slice(axis, 1.min(size)..size.saturating_sub(1).max(1.min(size)));
    (part.as_ptr().addr(), part.iter().copied().collect())
}

#[pyfunction]
fn chunk_sums(x: In<'_, f32, 2>, size: usize) -> Vec<f32> {
    let sum = |chunk: View<'_, f32, _>| chunk.iter().sum();
    x.ranked().chunks(0, size).map(sum).collect()
}
