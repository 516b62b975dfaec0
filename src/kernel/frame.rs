//! Call frame: validates arguments against the op and each other, allocates results, dispatches to
//! a kernel and executes it.

mod checks;
mod execute;
mod infer;
mod mixed_types;
mod places;
mod recent;
mod repeat;
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
use super::operand::{Operand, relaid};
use super::shapes::{self, Expected};
use crate::device::{Device, DeviceKind};
use crate::dtype::DType;
use crate::layout::Layout;
#[cfg(feature = "hosts")]
use crate::layout::LayoutRef;
use crate::storage::Contents;
use checks::{NO_VARIABLES, bind_type_variables, output_type};
use checks::{check_output, is_any_bits, main_device, missing, prepare_for_kernel};
use smallvec::SmallVec;
use write_key::write_call_key;

/// Arguments by their [places](crate::kernel::Op::parameter_of); [`Operand::ABSENT`] for results
/// that are to be made, and for optional inputs that were left out.
pub(crate) type Operands<'a> = SmallVec<[Operand<'a>; 4]>;

const OTHER_STRIDES: &str = "the memory was allocated with other strides";

/// What is around a call: who makes results, and who else waits for it.
///
/// # Safety
///
/// What a result's operand leads to is there until the host is dropped, and no other code uses it,
/// nor any other argument, but for an input that the result may replace.
pub(crate) unsafe trait CallHost {
    /// Allocates a result, row-major, and keeps it. Results are requested in the order of their
    /// parameters. What the memory of devices contains is up to their backends.
    fn make<'a>(
        &mut self,
        shape: &[usize],
        dtype: DType,
        device: Device,
        contents: Contents,
    ) -> Result<Operand<'a>, Failure>;

    /// Allocates a result like [`make`](Self::make), on the CPU and of a row-major layout that the
    /// caller keeps; returns its address. That may be an input's of those in `replaceable`, a bit
    /// for each, whose elements then are the result's first contents.
    #[cfg(feature = "hosts")]
    fn allocate(
        &mut self,
        layout: LayoutRef<'_>,
        dtype: DType,
        contents: Contents,
        _replaceable: u32,
    ) -> Result<*mut u8, Failure> {
        let made = self.make(layout.shape(), dtype, Device::CPU, contents)?;
        match made.layout.is_contiguous() {
            true => Ok(made.first),
            false => Err(OTHER_STRIDES.into()),
        }
    }

    /// Runs the kernel; where `releases` is true, other threads may run Python meanwhile. The
    /// caller of a host that does nothing about that has released Python's lock, or decides about
    /// it.
    #[inline]
    fn run(
        &mut self,
        _releases: bool,
        body: &mut (dyn FnMut() -> Result<(), Failure> + Send),
    ) -> Result<(), Failure> {
        body()
    }

    /// Is told of a call that was made.
    #[inline]
    fn keep(&mut self, _made: Made<'_>) {}
}

/// A call that was made, with its kernel.
#[cfg_attr(
    not(feature = "hosts"),
    expect(dead_code, reason = "hosts of compilers read it")
)]
pub(crate) struct Made<'a> {
    frame: &'a Frame<'a>,
    operands: &'a [Operand<'a>],
    found: Found<'a>,
    releases: bool,
    /// The handle's, before the kernel was found.
    version: u64,
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
        let call = self.description();
        let hash = match recent::find(call, operands) {
            Ok(recent) => return self.repeat(&recent, operands, around),
            Err(hash) => hash,
        };
        let op = self.handle.definition();
        let (given, count) = (op.given(), op.parameters.len());
        let missed = op.needed & !self.present;
        if missed != 0 {
            return Err(missing(op, missed.trailing_zeros() as usize));
        }
        let (own, more) = (&operands[..given], &operands[count..]);
        let expected = shapes::expected(op, own, more, self.attributes)?;
        let Expected::Broadcast(shape) = &expected else {
            let made = self.dispatch(operands, &expected, around)?;
            self.keep((call, hash), made, (operands, operands), &[], around);
            return Ok(());
        };
        // Inputs that are broadcast get other layouts, which stay here.
        let layouts = shapes::broadcast(op, own, more, shape)?;
        let mut wide = with_layouts(operands, &layouts);
        let made = self.dispatch(&mut wide, &expected, around)?;
        self.keep((call, hash), made, (operands, &wide), &layouts, around);
        Ok(())
    }

    /// Keeps a call that was made, for those like it: its arguments as they were given, and as the
    /// kernel got them.
    #[inline]
    fn keep(
        &self,
        (call, hash): (recent::Call<'_>, Option<u32>),
        (found, releases): (Found<'_>, bool),
        (given, operands): (&[Operand<'_>], &[Operand<'_>]),
        layouts: &[(usize, Layout)],
        around: &mut impl CallHost,
    ) {
        if let Some(hash) = hash {
            let op = self.handle.definition();
            recent::keep(
                hash,
                (op, call),
                (&found, releases),
                (given, operands),
                layouts,
            );
        }
        around.keep(Made {
            frame: self,
            operands,
            found,
            releases,
            version: call.version,
        });
    }

    /// Returns what tells calls apart, beside their arguments.
    #[inline]
    fn description(&self) -> recent::Call<'_> {
        let defaults = self.handle.defaults();
        recent::Call {
            version: self.handle.version(),
            present: self.present,
            attributes: self.attributes,
            has_defaults: defaults.is_some_and(|defaults| std::ptr::eq(defaults, self.attributes)),
            label: self.label,
        }
    }

    /// Dispatches and executes the call, once all shapes are known. Returns its kernel, and whether
    /// other threads may have run Python meanwhile.
    #[inline]
    fn dispatch(
        &self,
        operands: &mut [Operand<'_>],
        expected: &Expected,
        around: &mut impl CallHost,
    ) -> Result<(Found<'_>, bool), Reason> {
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
            outputs[0] = self.make(at, (shape, dtype, device), contents, around)?;
        }

        let coincide = argument_overlap::check(op, operands)?;
        let mut key = CallKey::new();
        write_call_key(&mut key, op, operands, self.attributes, self.label, device);
        let found = match self.handle.find(&key) {
            Some(found) => found,
            None => self.prepare(key, operands, device)?,
        };
        if uncleared != 0 && !found.kernel.fills_results {
            clear(operands, uncleared);
        }
        prepare_for_kernel(op, operands, &found.kernel, device, &coincide)?;
        let releases = self.releases(operands, &found.kernel);
        let backend = match found.kernel.device {
            DeviceKind::Cpu if operands.iter().all(|operand| operand.device == Device::CPU) => None,
            // Also the CPU's, for memory that others use, too.
            kind => Backend::find(kind),
        };
        let backend = backend.map(|backend| (backend, device));
        self.execute(&found, operands, backend, releases, around)?;
        Ok((found, releases))
    }

    /// Makes a result, by its place.
    #[inline]
    fn make<'a>(
        &self,
        at: usize,
        (shape, dtype, device): (&[usize], DType, Device),
        contents: Contents,
        around: &mut impl CallHost,
    ) -> Result<Operand<'a>, Reason> {
        let made = around.make(shape, dtype, device, contents);
        let made = made.and_then(|made: Operand<'a>| match made.layout.is_contiguous() {
            true => Ok(made),
            false => Err(OTHER_STRIDES.into()),
        });
        made.map_err(|error| self.not_made(at, error))
    }

    #[cold]
    fn not_made(&self, at: usize, error: Failure) -> Reason {
        Reason::Allocation {
            argument: self.handle.definition().parameters[at].name.clone(),
            error,
        }
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
}

/// Returns operands of which some have other layouts.
fn with_layouts<'a>(operands: &[Operand<'a>], layouts: &'a [(usize, Layout)]) -> Operands<'a> {
    let mut operands: Operands<'_> = operands.iter().map(Operand::duplicate).collect();
    for (at, layout) in layouts {
        operands[*at] = relaid(&operands[*at], layout.as_ref());
    }
    operands
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
