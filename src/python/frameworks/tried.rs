//! [`Tried`]: what the installed release of a framework accepts, where releases differ.
//!
//! A release is asked by one attempt with a small tensor, and its answer holds for the process. So
//! errors and explanations say what that release does, whichever it is.

use crate::dtype::DType;
use crate::error::Error;
use crate::tensor::Tensor;
use pyo3::exceptions::{PyBufferError, PyImportError};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A property of tensors that not every release accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::python) enum Question {
    DType(DType),
    /// Elements without gaps, in another order than row-major.
    Transposed,
}

/// What a release says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::python) enum Answer {
    Accepts,
    /// In its own words.
    Refuses(Arc<str>),
}

/// The questions that a tensor brings up.
type Questions = [Option<Question>; 2];

/// Finds the questions. What it raises says nothing of the release.
type Ask = fn(Python<'_>, &Tensor) -> PyResult<Questions>;

/// What was found out of the installed release.
pub(in crate::python) struct Tried {
    questions: Ask,
    verify: Verify,
    answers: Mutex<Vec<(Question, Answer)>>,
}

/// Refuses, by a `BufferError`, an object that a release made of a sample and misreads.
type Verify = fn(Question, &Bound<'_, PyAny>) -> PyResult<()>;

impl Tried {
    pub(super) const fn new(questions: Ask) -> Self {
        Self::verified(questions, |_, _| Ok(()))
    }

    /// Creates one for a framework of which some releases take a tensor and misread it.
    pub(super) const fn verified(questions: Ask, verify: Verify) -> Self {
        Self {
            questions,
            verify,
            answers: Mutex::new(Vec::new()),
        }
    }

    /// Returns what of a tensor the installed release refuses, and why.
    ///
    /// # Errors
    ///
    /// What an attempt raises that says nothing of the release: that isn't remembered.
    #[inline]
    pub(in crate::python) fn refused<'py>(
        &self,
        py: Python<'py>,
        tensor: &Tensor,
        attempt: impl Fn(Tensor) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Option<(Question, Arc<str>)>> {
        for question in (self.questions)(py, tensor)?.into_iter().flatten() {
            if let Some(Answer::Refuses(why)) = self.answer(py, question, &attempt)? {
                return Ok(Some((question, why)));
            }
        }
        Ok(None)
    }

    /// Returns the answer to a question, by an attempt if it wasn't asked before; `None` where the
    /// framework isn't installed.
    fn answer<'py>(
        &self,
        py: Python<'py>,
        question: Question,
        attempt: impl Fn(Tensor) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Option<Answer>> {
        let known = |answers: &[(Question, Answer)]| {
            let found = answers.iter().find(|(asked, _)| *asked == question);
            found.map(|(_, answer)| answer.clone())
        };
        if let Some(answer) = known(&self.answers()) {
            return Ok(Some(answer));
        }
        // Python code runs meanwhile, so the lock isn't held.
        let made = attempt(question.sample()?).and_then(|made| {
            (self.verify)(question, &made)?;
            Ok(made)
        });
        let Some(answer) = outcome(py, made)? else {
            return Ok(None);
        };
        let mut answers = self.answers();
        if known(&answers).is_none() {
            answers.push((question, answer.clone()));
        }
        Ok(Some(answer))
    }

    fn answers(&self) -> MutexGuard<'_, Vec<(Question, Answer)>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Question {
    /// Returns a small tensor that only a release refuses that refuses all such tensors.
    fn sample(self) -> Result<Tensor, Error> {
        match self {
            Self::DType(dtype) => Tensor::zeroed(&[2], dtype),
            // Each element differs, so that another order shows.
            Self::Transposed => {
                let numbers = [0.0_f32, 1.0, 2.0, 3.0, 4.0, 5.0];
                Ok(Tensor::from_slice(&numbers, &[2, 3])?.transpose())
            }
        }
    }
}

/// Returns what an attempt says of a release: a refusal is a `BufferError`, which has the words of
/// the framework as its cause.
///
/// # Errors
///
/// Any other exception, such as a `MemoryError`.
#[cold]
fn outcome(py: Python<'_>, attempt: PyResult<Bound<'_, PyAny>>) -> PyResult<Option<Answer>> {
    let error = match attempt {
        Ok(_) => return Ok(Some(Answer::Accepts)),
        Err(error) if error.is_instance_of::<PyImportError>(py) => return Ok(None),
        Err(error) if error.is_instance_of::<PyBufferError>(py) => error,
        Err(error) => return Err(error),
    };
    let words = error.cause(py).unwrap_or(error).value(py).to_string();
    let first = words.lines().map(str::trim).find(|line| !line.is_empty());
    Ok(Some(Answer::Refuses(first.unwrap_or("no reason").into())))
}

/// Tests by embedding Python, which Miri doesn't run.
#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
    use std::cell::Cell;

    #[expect(clippy::unnecessary_wraps, reason = "an `Ask`")]
    fn of_dtype(_: Python<'_>, tensor: &Tensor) -> PyResult<Questions> {
        Ok([Some(Question::DType(tensor.dtype())), None])
    }

    fn with_python<R>(function: impl FnOnce(Python<'_>) -> R) -> R {
        Python::initialize();
        Python::attach(function)
    }

    #[test]
    fn refused_asks_release_once_per_question() {
        with_python(|py| {
            let tried = Tried::new(of_dtype);
            let attempts = Cell::new(0);
            let attempt = |sample: Tensor| {
                attempts.set(attempts.get() + 1);
                match sample.dtype() {
                    DType::F32 => Ok(py.None().into_bound(py)),
                    _ => {
                        let error = PyBufferError::new_err("can't take the tensor");
                        error.set_cause(py, Some(PyRuntimeError::new_err("\n no such type\nat 7")));
                        Err(error)
                    }
                }
            };
            for dtype in [DType::F32, DType::F64, DType::F32, DType::F64] {
                let tensor = Tensor::zeroed(&[3], dtype).unwrap();
                let refused = tried.refused(py, &tensor, attempt).unwrap();
                let expected =
                    (dtype == DType::F64).then(|| (Question::DType(dtype), "no such type".into()));
                assert_eq!(refused, expected);
            }
            assert_eq!(attempts.get(), 2);
        });
    }

    #[test]
    fn refused_forgets_failures_that_say_nothing_of_release() {
        with_python(|py| {
            let tried = Tried::new(of_dtype);
            let tensor = Tensor::zeroed(&[3], DType::F32).unwrap();
            let full = |_| Err(PyMemoryError::new_err("full"));
            assert!(tried.refused(py, &tensor, full).is_err());
            let missing = |_| Err(PyImportError::new_err("not installed"));
            assert_eq!(tried.refused(py, &tensor, missing).unwrap(), None);
            let refusing = |_| Err(PyBufferError::new_err("no"));
            let refused = tried.refused(py, &tensor, refusing).unwrap();
            assert_eq!(refused, Some((Question::DType(DType::F32), "no".into())));
        });
    }

    #[test]
    fn refused_remembers_release_that_misreads_what_it_takes() {
        with_python(|py| {
            let tried = Tried::verified(of_dtype, |question, made| match question {
                Question::DType(DType::F64) => Err(PyBufferError::new_err(made.to_string())),
                _ => Ok(()),
            });
            let takes_all = |_| Ok(py.None().into_bound(py));
            for (dtype, why) in [(DType::F32, None), (DType::F64, Some("None"))] {
                let tensor = Tensor::zeroed(&[3], dtype).unwrap();
                let refused = tried.refused(py, &tensor, takes_all).unwrap();
                let expected = why.map(|why| (Question::DType(dtype), why.into()));
                assert_eq!(refused, expected);
            }
        });
    }

    #[test]
    fn sample_of_transposed_is_dense_and_not_row_major() {
        let sample = Question::Transposed.sample().unwrap();
        assert!(sample.layout().is_dense() && !sample.layout().is_contiguous());
        assert!(sample.data_ptr().addr().is_multiple_of(64));
        assert_eq!(
            sample.to_vec::<f32>().unwrap(),
            [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]
        );
    }
}
