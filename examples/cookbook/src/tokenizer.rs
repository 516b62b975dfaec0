//! A tokenizer: texts become padded tensors of the caller's framework.

use dlbridge::Tensor;
use dlbridge::python::to_framework;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::HashMap;

// ANCHOR: tokenizer
/// Splits texts into the longest pieces of a vocabulary.
#[pyclass(frozen)]
pub struct Tokenizer {
    numbers: HashMap<String, i32>,
    longest: usize,
}

#[pymethods]
impl Tokenizer {
    /// Takes the pieces. Their numbers start at 1: padding is 0.
    #[new]
    fn new(pieces: Vec<String>) -> Self {
        let longest = pieces.iter().map(String::len).max().unwrap_or(0);
        Self {
            numbers: pieces.into_iter().zip(1..).collect(),
            longest,
        }
    }

    /// Returns `input_ids` and `attention_mask`, matrices with a row for each text.
    fn encode<'py>(
        &self,
        py: Python<'py>,
        texts: Vec<String>,
        to: &str,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (ids, mask, shape) = py.detach(|| self.padded(&texts))?;
        let result = PyDict::new(py);
        for (name, numbers) in [("input_ids", ids), ("attention_mask", mask)] {
            let tensor = Tensor::from_slice(&numbers, &shape)?;
            result.set_item(name, to_framework(py, tensor, to)?)?;
        }
        Ok(result)
    }
}
// ANCHOR_END: tokenizer

impl Tokenizer {
    /// Returns the numbers, the mask, and the shape of both.
    fn padded(&self, texts: &[String]) -> PyResult<(Vec<i32>, Vec<i32>, [usize; 2])> {
        let rows: Vec<_> = texts
            .iter()
            .map(|text| self.split(text))
            .collect::<PyResult<_>>()?;
        let width = rows.iter().map(Vec::len).max().unwrap_or(0);
        let padded = |row: &Vec<i32>, at: usize| row.get(at).copied().unwrap_or(0);
        let all = || {
            rows.iter()
                .flat_map(|row| (0..width).map(move |at| padded(row, at)))
        };
        Ok((
            all().collect(),
            all().map(i32::signum).collect(),
            [rows.len(), width],
        ))
    }

    fn split(&self, text: &str) -> PyResult<Vec<i32>> {
        let (mut rest, mut row) = (text, Vec::new());
        while !rest.is_empty() {
            let (length, number) = (1..=self.longest.min(rest.len()))
                .rev()
                .filter(|length| rest.is_char_boundary(*length))
                .find_map(|length| Some((length, *self.numbers.get(&rest[..length])?)))
                .ok_or_else(|| {
                    PyValueError::new_err(format!("the vocabulary has no piece for {rest:?}"))
                })?;
            row.push(number);
            rest = &rest[length..];
        }
        Ok(row)
    }
}
