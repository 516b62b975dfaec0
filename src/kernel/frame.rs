//! Call frame: validates arguments against the op and each other, allocates results, dispatches to
//! a kernel and executes it.

mod checks;
mod infer;
mod mixed_types;
#[cfg(feature = "hosts")]
pub(super) mod settled;
#[cfg(test)]
mod tests;
mod write_key;

pub use write_key::lookup;

use super::argument_overlap;
use super::attribute::Attribute;
use super::backend::Backend;
use super::call_key::CallKey;
use super::choose::Seen;
use super::dispatch_cache::Found;
use super::error::{CallError, Failure, Reason};
use super::handle::OpHandle;
use super::observe::{self, Record};
use super::op::{Op, ShapeContext};
use super::operand::{Operand, relaid};
use super::shapes::{self, Expected};
use crate::compute::threads::with_num_threads;
use crate::device::{Device, DeviceKind};
use crate::dtype::DType;
use crate::storage::Contents;
use checks::{NO_VARIABLES, bind_type_variables, output_type};
use checks::{check_for_kernel, check_output, is_any_bits, main_device, missing};
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Instant;
use write_key::write_call_key;

/// Arguments by their [places](crate::kernel::Op::parameter_of); [`Operand::ABSENT`] for results
/// that are to be made, and for optional inputs that were left out.
pub(crate) type Operands<'a> = SmallVec<[Operand<'a>; 4]>;

/// What is around a call: who makes results, and who else waits for it.
///
/// # Safety
///
/// What a result's operand leads to is there until the host is dropped, and no other code uses it.
pub(crate) unsafe trait CallHost {
    /// Allocates a result, and keeps it. Results are requested in the order of their parameters.
    /// What the memory of devices contains is up to their backends.
    fn make<'a>(
        &mut self,
        shape: &[usize],
        dtype: DType,
        device: Device,
        contents: Contents,
    ) -> Result<Operand<'a>, Failure>;

    /// Runs the kernel; where `releases` is true, other threads may run Python meanwhile.
    fn run(
        &mut self,
        releases: bool,
        body: &mut (dyn FnMut() -> Result<(), Failure> + Send),
    ) -> Result<(), Failure>;

    /// Is told of a call that was made.
    #[cfg(feature = "hosts")]
    #[inline]
    fn keep(&mut self, _made: Made<'_>) {}
}

/// A call that was made, with its kernel.
#[cfg(feature = "hosts")]
pub(crate) struct Made<'a> {
    frame: &'a Frame<'a>,
    operands: &'a [Operand<'a>],
    found: Found<'a>,
    /// The handle's, before the kernel was found.
    generation: usize,
}

/// A call, about to be made, beside its arguments: those stay where they were put together, as
/// moving them, to be read at once, takes longer than most of what is done with them.
pub(crate) struct Frame<'r> {
    pub(crate) handle: &'r OpHandle,
    /// Bit mask of the parameters that the call gives or leaves out.
    pub(crate) present: u32,
    pub(crate) attributes: &'r [Attribute],
    pub(crate) label: &'r str,
    /// The number of threads; 0 for the process's.
    pub(crate) threads: usize,
}

impl Frame<'_> {
    /// Executes the call, of an operand for each of the op's parameters, and the other tensors of a
    /// variadic one.
    #[inline]
    pub(crate) fn run(
        &self,
        operands: &mut [Operand<'_>],
        around: &mut impl CallHost,
    ) -> Result<(), CallError> {
        self.validate(operands, around)
            .map_err(|reason| reason.of(self.handle.name()))
    }

    #[inline]
    fn validate(
        &self,
        operands: &mut [Operand<'_>],
        around: &mut impl CallHost,
    ) -> Result<(), Reason> {
        let op = self.handle.definition();
        let (given, count) = (op.given(), op.parameters.len());
        let missed = op.needed & !self.present;
        if missed != 0 {
            return Err(missing(op, missed.trailing_zeros() as usize));
        }
        let (own, more) = (&operands[..given], &operands[count..]);
        let expected = shapes::expected(op, own, more, self.attributes)?;
        let Expected::Broadcast(shape) = &expected else {
            return self.dispatch(operands, &expected, around);
        };
        // Inputs that are broadcast get other layouts, which stay here.
        let layouts = shapes::broadcast(op, own, more, shape)?;
        let mut operands: Operands<'_> = operands.iter().map(Operand::duplicate).collect();
        for (at, layout) in &layouts {
            operands[*at] = relaid(&operands[*at], layout.as_ref());
        }
        self.dispatch(&mut operands, &expected, around)
    }

    /// Dispatches and executes the call, once all shapes are known.
    #[inline]
    fn dispatch(
        &self,
        operands: &mut [Operand<'_>],
        expected: &Expected,
        around: &mut impl CallHost,
    ) -> Result<(), Reason> {
        let op = self.handle.definition();
        let (given, count) = (op.given(), op.parameters.len());
        let mut variables = NO_VARIABLES;
        bind_type_variables(op, &operands[..given], &operands[count..], &mut variables)?;
        let device = main_device(operands);
        let mut uncleared = 0_u32;
        for at in given..count {
            let (inputs, outputs) = operands.split_at_mut(at);
            let shape = expected.shape_of(at - given, inputs);
            let dtype = output_type(op, at, &variables, self.attributes);
            if self.present & (1 << at) != 0 {
                check_output(op, at, &outputs[0], shape, dtype)?;
                continue;
            }
            let contents = match device == Device::CPU && self.handle.fills_results() {
                true if is_any_bits(dtype) => Contents::Arbitrary,
                _ => Contents::Zeros,
            };
            uncleared |= u32::from(contents == Contents::Arbitrary) << at;
            let result = around.make(shape, dtype, device, contents);
            outputs[0] = result.map_err(|error| Reason::Allocation {
                argument: op.parameters[at].name.clone(),
                error,
            })?;
        }

        let coincide = argument_overlap::check(op, operands)?;
        let mut key = CallKey::new();
        write_call_key(&mut key, op, operands, self.attributes, self.label, device);
        #[cfg(feature = "hosts")]
        let generation = self.handle.generation();
        let found = match self.handle.find(&key) {
            Some(found) => found,
            None => self.prepare(key, operands, device)?,
        };
        if uncleared != 0 && !found.kernel.fills_results {
            clear(operands, uncleared);
        }
        check_for_kernel(op, operands, &found, device)?;
        if !coincide.is_empty() {
            argument_overlap::check_for_kernel(op, operands, &found.kernel, &coincide)?;
        }
        self.execute(op, operands, (&found, device), around)?;
        #[cfg(feature = "hosts")]
        around.keep(Made {
            frame: self,
            operands,
            found,
            generation,
        });
        Ok(())
    }

    #[cold]
    fn prepare(
        &self,
        key: CallKey,
        operands: &[Operand<'_>],
        device: Device,
    ) -> Result<Found<'_>, Reason> {
        let see = |operand: &Operand<'_>| Seen {
            is_absent: operand.is_absent(),
            dtype: operand.dtype,
            device: operand.device,
            rank: operand.layout.rank(),
            row_major: operand.layout.is_contiguous(),
        };
        let seen: Vec<_> = operands.iter().map(see).collect();
        self.handle
            .prepare(key, &seen, self.attributes, self.label, device)
    }

    fn execute(
        &self,
        op: &Op,
        operands: &[Operand<'_>],
        (found, device): (&Found<'_>, Device),
        around: &mut impl CallHost,
    ) -> Result<(), Reason> {
        let kernel = &found.kernel;
        let shared = Shared(operands);
        let releases = kernel.releases_from.is_some_and(|least| {
            let (operands, more) = operands.split_at(op.parameters.len());
            let context = ShapeContext {
                op,
                operands,
                more,
                attributes: self.attributes,
            };
            let largest = || {
                shared
                    .0
                    .iter()
                    .map(|operand| operand.layout.len() as u64)
                    .max()
            };
            let work = op
                .work
                .map_or_else(|| largest().unwrap_or(0), |work| work(&context));
            work >= least
        });
        let backend = match kernel.device {
            DeviceKind::Cpu if operands.iter().all(|operand| operand.device == Device::CPU) => None,
            // Also the CPU's, for memory that others use, too.
            kind => Backend::find(kind),
        };
        let mut body = || {
            let shared = &shared;
            let mut compute = || match self.threads {
                0 => (found.compute)(shared.0),
                threads => with_num_threads(threads, || (found.compute)(shared.0)),
            };
            match backend {
                None => compute(),
                Some(backend) => {
                    let uses = shared.0.iter().enumerate();
                    let uses =
                        uses.filter_map(|(at, operand)| Some((operand.storage?, op.writes(at))));
                    let uses: SmallVec<[_; 4]> = uses.collect();
                    (backend.run)(device, &uses, &mut compute)
                }
            }
        };
        let outcome = if observe::is_observed() {
            let start = Instant::now();
            // Observers are notified of a panic, too.
            let run = AssertUnwindSafe(|| around.run(releases, &mut body));
            let outcome = catch_unwind(run);
            let ordered = op.in_order(operands);
            observe::tell(&Record {
                op: &op.name,
                kernel: &kernel.description,
                operands: ordered.as_deref().unwrap_or(operands),
                time: start.elapsed(),
                failed: !matches!(outcome, Ok(Ok(()))),
            });
            outcome.unwrap_or_else(|panic| resume_unwind(panic))
        } else {
            around.run(releases, &mut body)
        };
        outcome.map_err(|failure| {
            Reason::refused(failure, |failure| Reason::Kernel {
                kernel: kernel.description.clone(),
                failure,
            })
        })
    }
}

/// Clears new results, for a kernel that was registered after they were made.
#[cold]
fn clear(operands: &[Operand<'_>], which: u32) {
    for (at, result) in operands.iter().enumerate() {
        if at < u32::BITS as usize && which & (1 << at) != 0 {
            let bytes = result.layout.len() * result.dtype.item_bytes().unwrap_or(0);
            // SAFETY: the result was just made by the host, contiguous and of whole bytes, and no
            // other code uses it.
            unsafe { result.first.write_bytes(0, bytes) };
        }
    }
}

/// Operands that a kernel may use on any thread, as long as the call lasts.
struct Shared<'a>(&'a [Operand<'a>]);

// SAFETY: an operand says where memory is; who uses it, and how, the frame has settled, whichever
// thread the kernel runs on.
unsafe impl Send for Shared<'_> {}
// SAFETY: shared references to operands give addresses alone, and the frame has checked that what
// is written is used in no other way.
unsafe impl Sync for Shared<'_> {}
