//! One call of an op, and the comparison of its results.

use super::arrangement::{Arrangement, Memory, bytes, item};
use super::tolerance::Tolerance;
use crate::compute::{Level, with_level};
use crate::device::Device;
use crate::dtype::Scalar;
use crate::error::Error;
use crate::kernel::{Attribute, IntoOperandMut, OpHandle, Operand};
use crate::tensor::Tensor;
use std::fmt;

/// What is called, and with which numbers.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) op: OpHandle,
    /// In their order; `None` for one that is left out.
    pub(super) inputs: Vec<Option<Tensor>>,
    pub(super) attributes: Vec<(String, Attribute)>,
    pub(super) label: String,
    pub(super) tolerance: Tolerance,
}

impl Case {
    /// Returns the place of an input among the operands of a call.
    pub(super) fn place(&self, input: usize) -> usize {
        let op = self.op.definition();
        match input.checked_sub(op.given()) {
            Some(more) => op.parameters().count() + more,
            None => input,
        }
    }
}

/// How a result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    /// To a tensor that the call makes.
    Made,
    /// To a tensor that is given.
    Given(Arrangement),
    /// To the memory of an input.
    InPlace(usize),
}

/// One way to call an op.
pub(super) struct Trial<'a> {
    pub(super) case: &'a Case,
    pub(super) level: Level,
    pub(super) threads: usize,
    pub(super) inputs: Vec<Arrangement>,
    pub(super) outputs: Vec<Written>,
}

impl Trial<'_> {
    /// Gives each result memory of its own, in which no two elements are at one place.
    pub(super) fn keep_results_apart(&mut self) {
        for at in 0..self.outputs.len() {
            let Written::InPlace(input) = self.outputs[at] else {
                continue;
            };
            if self.outputs[..at].contains(&self.outputs[at]) {
                self.outputs[at] = Written::Made;
            } else if self.inputs[input] == Arrangement::Repeated {
                self.inputs[input] = Arrangement::Contiguous;
            }
        }
    }

    /// Makes the call, and compares what it wrote.
    pub(super) fn run(&self, expected: &[&Tensor]) -> Result<(), String> {
        let op = self.case.op.definition();
        let given = op.given();
        let results = &expected[expected.len() - self.outputs.len()..];
        let inputs: Vec<Option<Memory>> = (self.inputs.iter().zip(&self.case.inputs))
            .map(|(arrangement, tensor)| Some(Memory::new(*arrangement, tensor.as_ref()?)))
            .collect();
        let outputs: Vec<Option<Memory>> = (self.outputs.iter().zip(results))
            .map(|(how, like)| match how {
                Written::Given(arrangement) => Some(Memory::blank(*arrangement, like)),
                _ => None,
            })
            .collect();
        let memories = || inputs.iter().chain(&outputs);
        let before: Vec<Option<Vec<u8>>> = memories()
            .map(|memory| Some(memory.as_ref()?.bytes()))
            .collect();
        let names: Vec<&str> = op.parameters().map(|(name, _, _)| name).collect();

        let mut call = self.case.op.call();
        call = call.threads(self.threads).label(&self.case.label);
        for (at, memory) in inputs.iter().enumerate() {
            call = match memory {
                Some(memory) if op.writes(self.case.place(at)) => {
                    call.in_out(WrittenOperand(memory))
                }
                memory => call.input(memory.as_ref().map(|memory| operand(memory, false))),
            };
        }
        for (at, how) in self.outputs.iter().enumerate() {
            let memory = match how {
                Written::InPlace(input) => inputs[*input].as_ref(),
                _ => outputs[at].as_ref(),
            };
            if let Some(memory) = memory {
                call = call.named_mut(names[given + at], WrittenOperand(memory));
            }
        }
        for (name, value) in &self.case.attributes {
            call = call.attribute(name, value.clone());
        }
        let made = with_level(self.level, || call.run());
        let made = made.map_err(|error| format!("{error}\n{self}"))?;

        let mut made = made.iter();
        let mut expected = expected.iter();
        for at in (0..names.len()).filter(|at| op.writes(*at)) {
            let how = at
                .checked_sub(given)
                .map(|at| (self.outputs[at], &outputs[at]));
            let found = match how {
                None => tensor_of(&inputs[at]),
                Some((Written::InPlace(input), _)) => tensor_of(&inputs[input]),
                Some((_, Some(memory))) => Some(&memory.tensor),
                Some(_) => made.next(),
            };
            let pair = found.zip(expected.next());
            let (found, expected) = pair.expect("there is one for each that is written");
            self.compare(names[at], found, expected)?;
        }

        for ((at, memory), before) in memories().enumerate().zip(before) {
            let (Some(memory), Some(before)) = (memory, before) else {
                continue;
            };
            let is_written = at >= inputs.len()
                || op.writes(self.case.place(at))
                || self.outputs.contains(&Written::InPlace(at));
            if let Some(byte) = memory.changed(before, is_written) {
                let op = self.case.op.name();
                return Err(format!(
                    "{op}: the call wrote memory that isn't a result's, at byte {byte}\n{self}"
                ));
            }
        }
        Ok(())
    }

    fn compare(&self, name: &str, found: &Tensor, expected: &Tensor) -> Result<(), String> {
        let op = self.case.op.name();
        let what = |tensor: &Tensor| format!("{} of shape {:?}", tensor.dtype(), tensor.shape());
        if what(found) != what(expected) {
            let (found, expected) = (what(found), what(expected));
            return Err(format!(
                "{op}: expected {expected} for {name}, got {found}\n{self}"
            ));
        }
        let (dtype, item) = (expected.dtype(), item(expected));
        let (found, wanted) = (bytes(found), bytes(expected));
        if item == 0 || found == wanted {
            return Ok(());
        }
        let elements = found.chunks_exact(item).zip(wanted.chunks_exact(item));
        let mut wrong = elements
            .enumerate()
            .filter(|(_, (found, expected))| !self.case.tolerance.allows(dtype, found, expected));
        let Some((at, (found, wanted))) = wrong.next() else {
            return Ok(());
        };
        let number = |bytes: &[u8]| match Scalar::read(dtype, bytes, 0) {
            Scalar::Float(number) => format!("{number:?}"),
            Scalar::Int(number) => number.to_string(),
            number => format!("{number:?}"),
        };
        let (found, wanted) = (number(found), number(wanted));
        let (index, more) = (index(at, expected.shape()), wrong.count());
        let (tolerance, len) = (self.case.tolerance, expected.len());
        Err(format!(
            "{op}: {name}{index:?}: expected {wanted} {tolerance}, got {found}; {more} more of {len} \
             elements are wrong\n{self}"
        ))
    }
}

fn tensor_of(memory: &Option<Memory>) -> Option<&Tensor> {
    Some(&memory.as_ref()?.tensor)
}

/// Borrows memory for a call, which may write it.
fn operand(memory: &Memory, writable: bool) -> Operand<'_> {
    let tensor = &memory.tensor;
    let (first, layout, dtype) = (tensor.data_mut(), tensor.layout(), tensor.dtype());
    // SAFETY: the memory keeps the elements, which are values of their type. Only the operands of
    // one call use it meanwhile.
    unsafe {
        Operand::from_raw(
            first,
            layout,
            dtype,
            Device::CPU,
            tensor.is_padded(),
            writable,
        )
    }
}

/// Memory as a result, also if the call reads it as an input.
struct WrittenOperand<'a>(&'a Memory);

impl<'a> IntoOperandMut<'a> for WrittenOperand<'a> {
    fn into_operand_mut(self) -> Result<Operand<'a>, Error> {
        Ok(operand(self.0, true))
    }
}

/// Returns the index of an element, by its place in row-major order.
fn index(mut at: usize, shape: &[usize]) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (index, size) in index.iter_mut().zip(shape).rev() {
        (*index, at) = (at % size, at / size);
    }
    index
}

impl fmt::Display for Trial<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let op = self.case.op.definition();
        let names: Vec<&str> = op.parameters().map(|(name, _, _)| name).collect();
        let name = |input: usize| op.argument_name(self.case.place(input));
        for (at, arrangement) in self.inputs.iter().enumerate() {
            match self.case.inputs[at] {
                None => writeln!(f, "  {}: left out", name(at))?,
                Some(_) => writeln!(f, "  {}: {arrangement}", name(at))?,
            }
        }
        for (result, how) in names[op.given()..].iter().zip(&self.outputs) {
            match how {
                Written::Made => writeln!(f, "  {result}: made by the call")?,
                Written::Given(arrangement) => writeln!(f, "  {result}: given, {arrangement}")?,
                Written::InPlace(input) => {
                    writeln!(f, "  {result}: in place of {}", name(*input))?;
                }
            }
        }
        let s = if self.threads == 1 { "" } else { "s" };
        write!(f, "  {} thread{s}, SIMD level {}", self.threads, self.level)
    }
}
