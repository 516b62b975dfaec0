//! The frame of a call: arguments are checked against the op and each other, results made, the
//! kernel chosen, and called.

use super::alias;
use super::attribute::Attribute;
use super::cache::{Found, Words};
use super::choose::Seen;
use super::error::{CallError, Failure, Reason};
use super::observe::{self, Record};
use super::op::{Kind, Op, Question};
use super::operand::{Operand, relaid};
use super::registry::OpHandle;
use super::shapes::{self, Expected};
use crate::device::Device;
use crate::dtype::DType;
use crate::layout::Layout;
use crate::tensor::Tensor;
use crate::view::View;
use smallvec::SmallVec;
use std::time::Instant;

/// Arguments by their places; `None` for results that are to be made.
pub(crate) type Operands<'a> = SmallVec<[Option<Operand<'a>>; 4]>;

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
    pub(crate) attributes: &'r [Attribute],
    pub(crate) label: &'r str,
}

impl Frame<'_, '_> {
    /// Makes the call.
    pub(crate) fn run(self, around: &mut impl Surroundings) -> Result<Made, CallError> {
        let name = self.handle.name();
        self.checked(around).map_err(|reason| reason.of(name))
    }

    fn checked(self, around: &mut impl Surroundings) -> Result<Made, Reason> {
        let op = self.handle.definition();
        let given = op.given();
        // Inputs that are broadcast get other layouts, which stay here.
        let mut layouts = SmallVec::<[Layout; 2]>::new();
        let mut operands = SmallVec::<[Operand<'_>; 4]>::new();
        for (at, operand) in self.operands.iter().take(given).enumerate() {
            operands.push(operand.ok_or_else(|| missing(op, at))?);
        }
        let variables = type_variables(op, &operands)?;
        let expected = shapes::expected(op, &operands, self.attributes)?;
        let device = main_device(&operands);

        let mut relaid_at = SmallVec::<[usize; 2]>::new();
        if let Expected::Broadcast(shape) = &expected {
            for (at, operand) in operands.iter().enumerate() {
                if operand.shape() != &shape[..] {
                    layouts.push(shapes::broadcast(op, at, operand, shape)?);
                    relaid_at.push(at);
                }
            }
        }
        for (at, layout) in relaid_at.into_iter().zip(&layouts) {
            operands[at] = relaid(&operands[at], layout);
        }

        let mut made = Made::new();
        for at in given..op.parameters.len() {
            let shape = expected.of(at - given, &operands);
            let dtype = output_type(op, at, &variables, self.attributes);
            let operand = match self.operands[at] {
                Some(operand) => {
                    check_output(op, at, &operand, shape, dtype)?;
                    operand
                }
                None => {
                    let tensor = around.make(shape, dtype, device);
                    let tensor = tensor.map_err(|error| Reason::Allocation {
                        argument: op.parameters[at].name.clone(),
                        error,
                    })?;
                    // SAFETY: the tensor is new, and kept here until the call is over; its facts stay
                    // where they are when its handle is moved.
                    let operand = unsafe { shapes::of_new(&tensor) };
                    made.push((at, tensor));
                    operand
                }
            };
            operands.push(operand);
        }

        let coincide = alias::check(op, &operands)?;
        let (words, seen) = signature(&operands, self.attributes, self.label, device);
        let found = match self.handle.find(&words) {
            Some(found) => found,
            None => {
                let Self {
                    handle,
                    label,
                    attributes,
                    ..
                } = self;
                handle.prepare(words, &seen(&operands), attributes, label, device)?
            }
        };
        check_for_kernel(op, &operands, &found, device)?;
        alias::check_for_kernel(op, &operands, &found.kernel, coincide)?;
        self.call(op, &operands, &found, around)?;
        Ok(made)
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

/// What each type variable is.
type Variables = SmallVec<[Option<DType>; 4]>;

#[inline]
fn type_variables(op: &Op, operands: &[Operand<'_>]) -> Result<Variables, Reason> {
    let mut variables = Variables::from_elem(None, op.variables.len());
    for (at, operand) in operands.iter().enumerate() {
        let wanted = match &op.parameters[at].kind {
            Kind::Variable(variable) => *variables[*variable].get_or_insert(operand.dtype),
            Kind::Is(dtype) => *dtype,
            _ => continue,
        };
        if wanted.number() != operand.dtype.number() {
            return Err(wrong_type(op, at, operand.dtype, wanted));
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
        Kind::Variable(variable) => variables[*variable],
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
fn main_device(operands: &[Operand<'_>]) -> Device {
    let is_elsewhere = |operand: &&Operand<'_>| !operand.device.is_host_accessible();
    let main = operands.iter().find(is_elsewhere).or(operands.first());
    main.map_or(Device::CPU, |operand| operand.device)
}

/// What a choice depends on, as numbers, and a way to have it in words.
#[inline]
fn signature(
    operands: &[Operand<'_>],
    attributes: &[Attribute],
    label: &str,
    device: Device,
) -> (
    Words,
    impl Fn(&[Operand<'_>]) -> SmallVec<[Seen; 4]> + use<>,
) {
    let mut words = Words::new();
    for operand in operands {
        let dtype = u64::from(operand.dtype.number()) << 32;
        let device = (operand.device.kind() as u64 & 0xff) << 16;
        let rank = (operand.layout.rank() as u64) << 1;
        words.push(dtype | device | rank | u64::from(operand.layout.is_contiguous()));
    }
    words.push(device.id() as u64);
    words.push(label.len() as u64);
    if !label.is_empty() {
        Attribute::Text(label.to_owned()).key(&mut words);
    }
    for attribute in attributes {
        attribute.key(&mut words);
    }
    let seen = |operands: &[Operand<'_>]| {
        let see = |operand: &Operand<'_>| Seen {
            dtype: operand.dtype,
            device: operand.device,
            rank: operand.layout.rank(),
            row_major: operand.layout.is_contiguous(),
        };
        operands.iter().map(see).collect()
    };
    (words, seen)
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
        let is_of_host = kernel.host_memory & (1 << at) != 0;
        let is_elsewhere = !operand.device.is_host_accessible() && operand.device != device;
        if is_elsewhere && !is_of_host {
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
