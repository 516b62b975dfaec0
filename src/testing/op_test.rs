//! [`OpTest`]: a test of one call, in many ways.

use super::arrangement::Arrangement;
use super::combinations::{each_pair, each_value};
use super::tolerance::Tolerance;
use super::trial::{Case, Trial, Written};
use crate::compute::Level;
use crate::kernel::{Attribute, OpHandle, Registry};
use crate::tensor::Tensor;

/// Numbers of threads that are tried.
const THREADS: [usize; 3] = [1, 2, 5];

/// The most elements of all tensors together for which every pair of values is tried.
const SMALL: usize = 1 << 12;

/// A test of one call of an op, in many ways.
#[derive(Debug)]
#[must_use = "nothing is tested before `expect`"]
pub struct OpTest {
    case: Case,
    arrangements: Vec<Arrangement>,
    in_place: bool,
}

impl OpTest {
    /// Creates a test of the op of this name in the [global registry](Registry::global).
    ///
    /// # Panics
    ///
    /// When there is no such op.
    #[track_caller]
    pub fn new(name: &str) -> Self {
        match Registry::global().op(name) {
            Ok(op) => Self::with_op(&op),
            Err(error) => panic!("{error}"),
        }
    }

    /// Creates a test of an op of any registry.
    pub fn with_op(op: &OpHandle) -> Self {
        Self {
            case: Case {
                op: op.clone(),
                inputs: Vec::new(),
                attributes: Vec::new(),
                label: String::new(),
                tolerance: Tolerance::EXACT,
            },
            arrangements: Arrangement::ALL.to_vec(),
            in_place: true,
        }
    }

    /// Adds the next tensor that the op reads, or reads and writes. Calls get copies of it.
    pub fn input(mut self, tensor: &Tensor) -> Self {
        self.case.inputs.push(Some(tensor.clone()));
        self
    }

    /// Leaves out the next tensor that the op reads, which is optional.
    pub fn no_input(mut self) -> Self {
        self.case.inputs.push(None);
        self
    }

    /// Sets the value of an attribute.
    pub fn attribute(mut self, name: &str, value: impl Into<Attribute>) -> Self {
        self.case.attributes.push((name.to_owned(), value.into()));
        self
    }

    /// Restricts the calls to kernels with this label.
    pub fn label(mut self, label: &str) -> Self {
        label.clone_into(&mut self.case.label);
        self
    }

    /// Sets how far results may be from the oracle's. Without it they must be equal.
    pub fn within(mut self, tolerance: Tolerance) -> Self {
        self.case.tolerance = tolerance;
        self
    }

    /// Tries these arrangements only, for kernels that take no others.
    pub fn arrangements(mut self, arrangements: &[Arrangement]) -> Self {
        self.arrangements = arrangements.to_vec();
        self
    }

    /// Makes no calls in place, for kernels that can't though the op allows it.
    pub fn not_in_place(mut self) -> Self {
        self.in_place = false;
        self
    }

    /// Makes the calls, and compares their result with the oracle's.
    ///
    /// # Panics
    ///
    /// When a call fails, or a result is another one. The message says which, and how the call was
    /// made.
    #[track_caller]
    pub fn expect(self, expected: &Tensor) {
        self.expect_all(&[expected]);
    }

    /// Makes the calls, and compares all their results with the oracle's: those of the tensors that
    /// are read and written, and then the others.
    ///
    /// # Panics
    ///
    /// The same as for [`expect`](Self::expect).
    #[track_caller]
    pub fn expect_all(self, expected: &[&Tensor]) {
        if let Err(failure) = self.check(expected) {
            panic!("{failure}");
        }
    }

    fn check(&self, expected: &[&Tensor]) -> Result<(), String> {
        let op = self.case.op.definition();
        let written = (0..op.parameters().count())
            .filter(|at| op.writes(*at))
            .count();
        let inputs = self.case.inputs.len();
        let has_inputs = match op.variadic() {
            Some(_) => inputs >= op.given(),
            None => inputs == op.given(),
        };
        assert!(
            has_inputs && expected.len() == written,
            "{}: expected as many inputs and results as it has, got {inputs} and {}",
            self.case.op.name(),
            expected.len()
        );
        let levels: Vec<Level> = Level::ALL
            .into_iter()
            .filter(|level| level.is_available())
            .collect();
        let inputs: Vec<Vec<Arrangement>> = (self.case.inputs.iter().enumerate())
            .map(|(at, input)| match input {
                None => vec![Arrangement::Contiguous],
                Some(input) => {
                    let is_written = op.writes(self.case.place(at));
                    Arrangement::distinct(&self.arrangements, input, is_written)
                }
            })
            .collect();
        let first_result = written + op.given() - op.parameters().count();
        let outputs: Vec<Vec<Written>> = (expected[first_result..].iter().enumerate())
            .map(|(at, expected)| self.ways_to_write(op.given() + at, expected))
            .collect();
        let mut sizes = vec![levels.len(), THREADS.len()];
        sizes.extend(inputs.iter().map(Vec::len));
        sizes.extend(outputs.iter().map(Vec::len));
        let elements = self
            .case
            .inputs
            .iter()
            .flatten()
            .chain(expected.iter().copied());
        let elements: usize = elements.map(Tensor::len).sum();
        let combinations = if elements <= SMALL {
            each_pair(&sizes)
        } else {
            each_value(&sizes)
        };
        for chosen in combinations {
            let (of_inputs, of_outputs) = chosen[2..].split_at(inputs.len());
            let mut trial = Trial {
                case: &self.case,
                level: levels[chosen[0]],
                threads: THREADS[chosen[1]],
                inputs: (of_inputs.iter().zip(&inputs))
                    .map(|(at, ways)| ways[*at])
                    .collect(),
                outputs: (of_outputs.iter().zip(&outputs))
                    .map(|(at, ways)| ways[*at])
                    .collect(),
            };
            trial.keep_results_apart();
            trial.run(expected)?;
        }
        Ok(())
    }

    /// Returns the ways in which a result can be written.
    fn ways_to_write(&self, at: usize, expected: &Tensor) -> Vec<Written> {
        let op = self.case.op.definition();
        let fits =
            |input: &Tensor| (input.shape(), input.dtype()) == (expected.shape(), expected.dtype());
        let given = Arrangement::distinct(&self.arrangements, expected, true);
        let in_place = (self.case.inputs.iter().enumerate()).filter(|(input, tensor)| {
            let place = self.case.place(*input);
            self.in_place
                && op.may_be_in_place(at, place)
                && !op.writes(place)
                && tensor.as_ref().is_some_and(fits)
        });
        [Written::Made]
            .into_iter()
            .chain(given.into_iter().map(Written::Given))
            .chain(in_place.map(|(input, _)| Written::InPlace(input)))
            .collect()
    }
}

#[cfg(test)]
mod tests;
