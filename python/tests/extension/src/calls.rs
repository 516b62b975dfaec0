//! Arguments that are in use while Python, or another thread, runs.

use dlbridge::Tensor;
use dlbridge::python::{In, Out, detach};
use pyo3::prelude::*;
use std::sync::{Condvar, Mutex};

register!(
    reading,
    writing,
    owning,
    add,
    double,
    double_detached,
    sum_detached,
    copy_pairs_detached,
    write_until_let_go,
    read_until_let_go,
    waiting,
    let_go,
    call_while_detached,
);

/// Calls while `x` is read.
#[pyfunction]
fn reading<'py>(x: In<'py>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let answer = function.call0();
    drop(x);
    answer
}

/// Calls while `out` is written.
#[pyfunction]
fn writing<'py>(out: Out<'py>, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let answer = function.call0();
    drop(out);
    answer
}

/// Calls while `x` is kept.
#[pyfunction]
fn owning<'py>(x: Tensor, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let answer = function.call0();
    drop(x);
    answer
}

#[pyfunction]
fn add(a: In<'_, f32>, b: In<'_, f32>, mut out: Out<'_, f32>) -> PyResult<()> {
    a.check_shape(out.shape())?;
    b.check_shape(out.shape())?;
    let (a, b) = (a.view(), b.view());
    for ((out, a), b) in out.view_mut().iter_mut().zip(&a).zip(&b) {
        *out = a + b;
    }
    Ok(())
}

/// In place.
#[pyfunction]
fn double(mut out: Out<'_, f32>) {
    out.view_mut().iter_mut().for_each(|x| *x *= 2.0);
}

#[pyfunction]
fn double_detached(py: Python<'_>, mut x: In<'_, f32>, mut out: Out<'_, f32>) -> PyResult<()> {
    out.check_shape(x.shape())?;
    detach(py, (&mut x, &mut out), |(x, mut out)| {
        out.iter_mut().zip(&x).for_each(|(out, x)| *out = 2.0 * x);
    })
}

#[pyfunction]
fn sum_detached(py: Python<'_>, mut x: In<'_, f32>) -> PyResult<f32> {
    detach(py, &mut x, |x| x.iter().sum())
}

#[pyfunction]
fn copy_pairs_detached(
    py: Python<'_>,
    mut a: In<'_, f32>,
    mut b: In<'_, f32>,
    mut c: Out<'_, f32>,
    mut d: Out<'_, f32>,
) -> PyResult<()> {
    c.check_shape(a.shape())?;
    d.check_shape(b.shape())?;
    detach(
        py,
        (&mut a, &mut b, &mut c, &mut d),
        |(a, b, mut c, mut d)| {
            c.iter_mut().zip(&a).for_each(|(to, from)| *to = *from);
            d.iter_mut().zip(&b).for_each(|(to, from)| *to = *from);
        },
    )
}

/// How many threads are waiting, and how many may go.
static WAITING: Mutex<(usize, usize)> = Mutex::new((0, 0));
static CHANGED: Condvar = Condvar::new();

fn wait() {
    let mut state = WAITING.lock().unwrap();
    state.0 += 1;
    while state.1 == 0 {
        state = CHANGED.wait(state).unwrap();
    }
    state.1 -= 1;
    state.0 -= 1;
}

/// Writes without the GIL, until `let_go` is called.
#[pyfunction]
fn write_until_let_go(py: Python<'_>, mut out: Out<'_, f32>, value: f32) -> PyResult<()> {
    detach(py, &mut out, |mut out| {
        wait();
        out.fill(value);
    })
}

/// Reads without the GIL, until `let_go` is called.
#[pyfunction]
fn read_until_let_go(py: Python<'_>, mut x: In<'_, f32>) -> PyResult<f32> {
    detach(py, &mut x, |x| {
        wait();
        x.iter().sum()
    })
}

#[pyfunction]
fn waiting() -> usize {
    WAITING.lock().unwrap().0
}

#[pyfunction]
fn let_go() {
    WAITING.lock().unwrap().1 += 1;
    CHANGED.notify_all();
}

/// Calls between attachments, as a library with threads of its own would.
#[pyfunction]
fn call_while_detached(py: Python<'_>, mut x: In<'_, f32>, function: Py<PyAny>) -> PyResult<f32> {
    detach(py, &mut x, |x| {
        Python::attach(|py| function.call0(py))?;
        Ok(x.iter().sum())
    })?
}
