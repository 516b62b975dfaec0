//! The frame of a call: arguments are checked against the op and each other, results made, the
//! kernel chosen, and called.

use super::alias;
use super::attribute::{Attribute, text_key};
use super::cache::{Found, Words};
use super::choose::Seen;
use super::error::{CallError, Failure, Reason};
use super::observe::{self, Record};
use super::op::{Kind, MOST_VARIABLES, Op, Question};
use super::operand::{Operand, relaid};
use super::registry::OpHandle;
use super::shapes::{self, Expected};
use crate::device::Device;
use crate::dtype::DType;
use crate::tensor::Tensor;
use crate::view::View;
use smallvec::SmallVec;
use std::time::Instant;

/// Arguments by their places; [`Operand::ABSENT`] for results that are to be made.
pub(crate) type Operands<'a> = SmallVec<[Operand<'a>; 4]>;

/// What is around a call: who makes results, and who else waits for it.
pub(crate) trait Surroundings {
    /// Makes a result, of zeros.
    fn make(&mut self, shape: &[usize], dtype: DType, device: Device) -> Result<Tensor, Failure>;

    /// Runs the kernel; where `releases` is true, other threads may run Python meanwhile.
    fn run(
        &mut self,
        releases: bool,
        body: &mut (dyn FnMut() -> Result<(), Failure> + Send),
    ) -> Result<(), Failure>;
}

/// Results that were made, by the places of their parameters.
pub(crate) type Made = SmallVec<[(usize, Tensor); 1]>;

/// A call, about to be made.
pub(crate) struct Frame<'r, 'a> {
    pub(crate) handle: &'r OpHandle,
    pub(crate) operands: Operands<'a>,
    /// Which of them there are, a bit each.
    pub(crate) present: u32,
    pub(crate) attributes: &'r [Attribute],
    pub(crate) label: &'r str,
}

impl Frame<'_, '_> {
    /// Makes the call.
    #[inline]
    pub(crate) fn run(mut self, around: &mut impl Surroundings) -> Result<Made, CallError> {
        let operands = std::mem::take(&mut self.operands);
        self.checked(operands, around)
            .map_err(|reason| reason.of(self.handle.name()))
    }

    fn checked(
        &self,
        mut operands: Operands<'_>,
        around: &mut impl Surroundings,
    ) -> Result<Made, Reason> {
        let op = self.handle.definition();
        let given = op.given();
        let needed = (1_u32 << given) - 1;
        if self.present & needed != needed {
            return Err(missing(
                op,
                (self.present & needed).trailing_ones() as usize,
            ));
        }
        let expected = shapes::expected(op, &operands[..given], self.attributes)?;
        let Expected::Broadcast(shape) = &expected else {
            return self.settled(&mut operands, &expected, around);
        };
        // Inputs that are broadcast get other layouts, which stay here.
        let layouts = shapes::broadcast(op, &operands[..given], shape)?;
        let mut operands: Operands<'_> = operands.iter().map(Operand::duplicate).collect();
        for (at, layout) in &layouts {
            operands[*at] = relaid(&operands[*at], layout.as_ref());
        }
        self.settled(&mut operands, &expected, around)
    }

    /// Goes on once it is settled which shapes there are.
    #[inline]
    fn settled(
        &self,
        operands: &mut [Operand<'_>],
        expected: &Expected,
        around: &mut impl Surroundings,
    ) -> Result<Made, Reason> {
        let op = self.handle.definition();
        let given = op.given();
        let variables = type_variables(op, &operands[..given])?;
        let device = main_device(operands, self.present);
        let mut made = Made::new();
        for at in given..op.parameters.len() {
            let (inputs, outputs) = operands.split_at_mut(at);
            let shape = expected.of(at - given, inputs);
            let dtype = output_type(op, at, &variables, self.attributes);
            if self.present & (1 << at) != 0 {
                check_output(op, at, &outputs[0], shape, dtype)?;
                continue;
            }
            let tensor = around.make(shape, dtype, device);
            let tensor = tensor.map_err(|error| Reason::Allocation {
                argument: op.parameters[at].name.clone(),
                error,
            })?;
            // SAFETY: the tensor is new, and kept here until the call is over; its facts stay where
            // they are when its handle is moved.
            outputs[0] = unsafe { shapes::of_new(&tensor) };
            made.push((at, tensor));
        }

        let coincide = alias::check(op, operands)?;
        let mut words = Words::new();
        sign(&mut words, operands, self.attributes, self.label, device);
        let found = match self.handle.find(&words) {
            Some(found) => found,
            None => self.prepare(words, operands, device)?,
        };
        check_for_kernel(op, operands, &found, device)?;
        if !coincide.is_empty() {
            alias::check_for_kernel(op, operands, &found.kernel, coincide)?;
        }
        self.call(op, operands, &found, around)?;
        Ok(made)
    }

    #[cold]
    fn prepare(
        &self,
        words: Words,
        operands: &[Operand<'_>],
        device: Device,
    ) -> Result<Found<'_>, Reason> {
        let see = |operand: &Operand<'_>| Seen {
            dtype: operand.dtype,
            device: operand.device,
            rank: operand.layout.rank(),
            row_major: operand.layout.is_contiguous(),
        };
        let seen: Vec<_> = operands.iter().map(see).collect();
        self.handle
            .prepare(words, &seen, self.attributes, self.label, device)
    }

    fn call(
        &self,
        op: &Op,
        operands: &[Operand<'_>],
        found: &Found<'_>,
        around: &mut impl Surroundings,
    ) -> Result<(), Reason> {
        let kernel = &found.kernel;
        let releases = kernel.releases_from.is_some_and(|least| {
            let question = Question {
                op,
                operands,
                attributes: self.attributes,
            };
            let largest = || {
                operands
                    .iter()
                    .map(|operand| operand.layout.len() as u64)
                    .max()
            };
            let work = op
                .work
                .map_or_else(|| largest().unwrap_or(0), |work| work(&question));
            work >= least
        });
        #[cfg(feature = "tracing")]
        let _span =
            tracing::debug_span!("dlbridge", op = op.name, kernel = kernel.description).entered();
        let shared = Shared(operands);
        let mut body = || {
            let shared = &shared;
            (found.compute)(shared.0)
        };
        let outcome = if observe::is_observed() {
            let start = Instant::now();
            let outcome = around.run(releases, &mut body);
            observe::tell(&Record {
                op: &op.name,
                kernel: &kernel.description,
                operands,
                time: start.elapsed(),
                failed: outcome.is_err(),
            });
            outcome
        } else {
            around.run(releases, &mut body)
        };
        outcome.map_err(|failure| Reason::Kernel {
            kernel: kernel.description.clone(),
            failure,
        })
    }
}

/// Operands that a kernel may use on any thread, as long as the call lasts.
struct Shared<'a>(&'a [Operand<'a>]);

// SAFETY: an operand says where memory is; who uses it, and how, the frame has settled, whichever
// thread the kernel runs on.
unsafe impl Send for Shared<'_> {}
// SAFETY: as above.
unsafe impl Sync for Shared<'_> {}

#[cold]
fn missing(op: &Op, at: usize) -> Reason {
    Reason::Missing {
        argument: op.parameters[at].name.clone(),
    }
}

/// What each type variable is, as a number; 0 where nothing says so yet.
type Variables = [u32; MOST_VARIABLES];

#[inline]
fn type_variables(op: &Op, operands: &[Operand<'_>]) -> Result<Variables, Reason> {
    let mut variables = [0; MOST_VARIABLES];
    for (at, (operand, parameter)) in operands.iter().zip(&op.parameters).enumerate() {
        let number = operand.dtype.number();
        let wanted = match &parameter.kind {
            Kind::Variable(variable) => {
                let known = &mut variables[*variable];
                if *known == 0 {
                    *known = number;
                }
                *known
            }
            Kind::Is(dtype) => dtype.number(),
            _ => continue,
        };
        if wanted != number {
            return Err(wrong_type(op, at, operand.dtype, DType::of_number(wanted)));
        }
    }
    Ok(variables)
}

#[cold]
fn wrong_type(op: &Op, at: usize, found: DType, wanted: DType) -> Reason {
    let parameter = &op.parameters[at];
    let same = |other: &&super::op::Parameter| other.kind == parameter.kind;
    let wanted = match op.parameters[..at].iter().find(same) {
        Some(other) => format!("{:?} has {wanted}", other.name),
        None => format!("{wanted} is needed"),
    };
    Reason::DType {
        argument: parameter.name.clone(),
        found,
        wanted,
    }
}

#[inline]
fn output_type(op: &Op, at: usize, variables: &Variables, attributes: &[Attribute]) -> DType {
    let known = match &op.parameters[at].kind {
        Kind::Is(dtype) => Some(*dtype),
        Kind::Variable(variable) => Some(DType::of_number(variables[*variable])),
        Kind::Attribute(name) => {
            let at = op.attributes.iter().position(|known| known.name == *name);
            at.and_then(|at| match attributes[at] {
                Attribute::DType(dtype) => Some(dtype),
                _ => None,
            })
        }
        Kind::Any => None,
    };
    known.expect("the op was checked for that when it was defined")
}

#[inline]
fn check_output(
    op: &Op,
    at: usize,
    operand: &Operand<'_>,
    shape: &[usize],
    dtype: DType,
) -> Result<(), Reason> {
    if operand.dtype.number() != dtype.number() {
        return Err(Reason::DType {
            argument: op.parameters[at].name.clone(),
            found: operand.dtype,
            wanted: format!("the result is {dtype}"),
        });
    }
    if operand.shape() != shape {
        return Err(Reason::Shape {
            argument: op.parameters[at].name.clone(),
            found: operand.shape().to_vec(),
            problem: format!("the result has {shape:?}"),
        });
    }
    Ok(())
}

/// Where the call takes place: the first device that isn't the host's, or the first one.
#[inline]
fn main_device(operands: &[Operand<'_>], present: u32) -> Device {
    let mut first = None;
    for (at, operand) in operands.iter().enumerate() {
        if present & (1 << at) == 0 {
            continue;
        }
        if !operand.device.is_host_accessible() {
            return operand.device;
        }
        first.get_or_insert(operand.device);
    }
    first.unwrap_or(Device::CPU)
}

/// What a choice depends on, as numbers. They are written where they stay: moved right afterwards,
/// they would be read before they have arrived.
#[inline]
fn sign(
    words: &mut Words,
    operands: &[Operand<'_>],
    attributes: &[Attribute],
    label: &str,
    device: Device,
) {
    for operand in operands {
        words.push(word_of(operand));
    }
    words.push(u64::from(device.id() as u32) | (label.len() as u64) << 32);
    if !label.is_empty() {
        text_key(label, words);
    }
    for attribute in attributes {
        attribute.key(words);
    }
}

#[inline]
fn word_of(operand: &Operand<'_>) -> u64 {
    let dtype = u64::from(operand.dtype.number()) << 32;
    let device = (operand.device.kind() as u64 & 0xff) << 16;
    let rank = (operand.layout.rank() as u64) << 1;
    dtype | device | rank | u64::from(operand.layout.is_contiguous())
}

/// Whether it is known which kernel a call with these arguments gets, where the attributes have their
/// defaults; for the benchmark, as this is all that a call does to find it.
#[doc(hidden)]
pub fn lookup(handle: &OpHandle, operands: &[Operand<'_>]) -> bool {
    let device = main_device(operands, u32::MAX);
    let attributes = handle.defaults().unwrap_or_default();
    let mut words = Words::new();
    sign(&mut words, operands, attributes, "", device);
    handle.find(&words).is_some()
}

/// Checks what the signature doesn't tell: addresses, and what is at them.
#[inline]
fn check_for_kernel(
    op: &Op,
    operands: &[Operand<'_>],
    found: &Found<'_>,
    device: Device,
) -> Result<(), Reason> {
    let kernel = &found.kernel;
    // Where the device is the host's, so are all.
    let is_elsewhere = !device.is_host_accessible();
    for (at, (operand, wants)) in operands.iter().zip(&kernel.wants).enumerate() {
        let argument = || op.parameters[at].name.clone();
        if operand.first.addr() & (wants.alignment - 1) != 0 && !operand.layout.is_empty() {
            return Err(Reason::Misaligned {
                argument: argument(),
                address: operand.first.addr(),
                alignment: wants.alignment,
            });
        }
        if !wants.any_bits && operand.device.is_host_accessible() {
            check_bytes(op, at, operand)?;
        }
        if is_elsewhere
            && operand.device != device
            && !operand.device.is_host_accessible()
            && kernel.host_memory & (1 << at) == 0
        {
            return Err(Reason::Device {
                argument: argument(),
                found: operand.device,
                wanted: device,
            });
        }
    }
    Ok(())
}

#[cold]
fn check_bytes(op: &Op, at: usize, operand: &Operand<'_>) -> Result<(), Reason> {
    let first = std::ptr::NonNull::new(operand.first).unwrap_or(std::ptr::NonNull::dangling());
    // SAFETY: the elements are as wide as bytes, of which every pattern is a `u8`.
    let bytes = unsafe { View::<u8>::from_raw(first, operand.layout) };
    match bytes.iter().find(|byte| **byte > 1) {
        None => Ok(()),
        Some(value) => Err(Reason::InvalidValue {
            argument: op.parameters[at].name.clone(),
            value: *value,
            dtype: operand.dtype,
        }),
    }
}
