//! NumPy: the loops of universal functions, which are calls of elementwise ops.
//!
//! NumPy calls a loop with addresses and strides of some elements, and no Python. What it means is
//! a call of the op with tensors of one dimension. Where an element depends on another of the same
//! loop, as in a reduction, each is a call.

mod elements;
mod flags;

use super::operands::{Described, Inputs, describe_in_place, run};
use super::problem::{Class, Problem, guarded};
use crate::device::Device;
use crate::dtype::DType;
use crate::kernel::{Attribute, CallError, CallHost, Failure, OpHandle, Operand};
use crate::storage::Contents;
use elements::{Elements, ITEM_BYTES};
use flags::Flags;
use smallvec::SmallVec;
use std::ffi::{c_char, c_void};

/// The function of a loop, by NumPy's convention: addresses of the first elements, how many there
/// are, strides in bytes, and the [`Loop`].
pub(crate) type Function =
    unsafe extern "C" fn(*mut *mut c_char, *const isize, *const isize, *mut c_void);

/// Why a loop failed, for Python's exceptions.
#[derive(Debug)]
pub(crate) struct LoopError {
    pub(crate) kind: FailureKind,
    pub(crate) text: String,
    /// The error of the call, if there was one.
    pub(crate) error: Option<CallError>,
}

/// What a failed loop is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FailureKind {
    /// An argument's dtype.
    Type,
    /// An argument's value.
    Value,
    /// An index that isn't there.
    Index,
    /// A kernel that failed or panicked.
    Other,
}

/// A loop of a universal function: an op with some dtypes and attributes.
#[derive(Debug)]
pub(crate) struct Loop {
    op: OpHandle,
    /// Of inputs and outputs.
    dtypes: SmallVec<[DType; 4]>,
    attributes: Vec<Attribute>,
    /// Raises an exception. It may be called on any thread, with or without the GIL.
    fail: fn(LoopError),
}

impl Loop {
    /// Returns a loop, unless NumPy's elements can't be the op's.
    pub(crate) fn new(
        op: OpHandle,
        dtypes: SmallVec<[DType; 4]>,
        attributes: Vec<Attribute>,
        fail: fn(LoopError),
    ) -> Result<Self, String> {
        let definition = op.definition();
        let count = definition.parameters().count();
        let named = |text: &str| Err(format!("{}: {text}", op.name()));
        if !definition.is_elementwise() {
            return named("a universal function works by element, and this op doesn't");
        }
        if definition.variadic().is_some()
            || (0..count).any(|at| definition.is_optional(at))
            || (0..definition.given()).any(|at| definition.writes(at))
        {
            return named("a universal function has inputs that are all given and only read");
        }
        if dtypes.len() != count || count > elements::MOST {
            return named("a loop has a dtype for each input and output, of which there are few");
        }
        let mut bytes = dtypes.iter().map(|dtype| dtype.item_bytes());
        if bytes.any(|bytes| bytes.is_none_or(|bytes| bytes == 0 || bytes > ITEM_BYTES)) {
            return named("a loop has elements of 1 to 16 bytes");
        }
        Ok(Self {
            op,
            dtypes,
            attributes,
            fail,
        })
    }

    /// Runs the op on `count` elements of each argument.
    ///
    /// # Safety
    ///
    /// There are as many addresses and strides as dtypes, with `count` aligned elements each.
    unsafe fn run(
        &self,
        addresses: *const *mut u8,
        count: usize,
        strides: *const isize,
    ) -> Result<(), Problem> {
        let arguments: SmallVec<[Elements; 4]> = (0..self.dtypes.len())
            .map(|at| {
                let bytes = self.dtypes[at].item_bytes().unwrap_or(1) as isize;
                // SAFETY: there are as many addresses and strides as dtypes.
                unsafe { Elements::new(*addresses.add(at), *strides.add(at), count, bytes) }
            })
            .collect();
        let given = self.op.definition().given();
        if count > 0 && elements::are_independent(&arguments, given, &self.op) {
            let (inputs, outputs) = arguments.split_at(given);
            for (output, dtype) in outputs.iter().zip(&self.dtypes[given..]) {
                // New memory may have bytes that no bool has.
                let is_new = inputs.iter().all(|input| input.first != output.first);
                if *dtype == DType::BOOL && is_new {
                    for at in 0..count {
                        // SAFETY: the output has `count` elements of a byte, to be written.
                        unsafe { output.at(at).write(0) };
                    }
                }
            }
            // SAFETY: the elements are there; those that are written are no others, or are read at
            // the same place, which the op permits.
            return unsafe { self.call(&arguments, count) };
        }
        for at in 0..count {
            let mut copies = [0_u128; elements::MOST];
            let mut singles: SmallVec<[Elements; 4]> = SmallVec::new();
            for (argument, copy) in arguments.iter().zip(&mut copies) {
                let place = (&raw mut *copy).cast::<u8>();
                if singles.len() < given {
                    // SAFETY: the element is there, and has at most as many bytes as the copy.
                    unsafe { argument.at(at).copy_to(place, argument.bytes as usize) };
                }
                singles.push(Elements::new(place, 0, 1, argument.bytes));
            }
            // SAFETY: the copies are there, and no other code knows them.
            unsafe { self.call(&singles, 1)? };
            for (argument, single) in arguments[given..].iter().zip(&singles[given..]) {
                // SAFETY: the element is there, to be written.
                unsafe {
                    let to = argument.at(at);
                    single.first.copy_to(to, argument.bytes as usize);
                }
            }
        }
        Ok(())
    }

    /// Calls the op.
    ///
    /// # Safety
    ///
    /// The elements are there for the time of the call, and those of outputs overlap others only as
    /// the op permits.
    unsafe fn call(&self, arguments: &[Elements], count: usize) -> Result<(), Problem> {
        let given = self.op.definition().given();
        let mut inputs = Inputs::default();
        let mut outputs: SmallVec<[Described; 2]> = SmallVec::new();
        let size = count as i64;
        for (at, (argument, dtype)) in arguments.iter().zip(&self.dtypes).enumerate() {
            let stride = argument.stride_in_elements() as i64;
            let dims = (1, &raw const size, &raw const stride);
            // SAFETY: there is one size and one stride.
            let described = unsafe {
                if at < given {
                    inputs.places.push(at);
                    describe_in_place(&mut inputs.tensors, argument.first, *dtype, dims)
                } else {
                    describe_in_place(&mut outputs, argument.first, *dtype, dims)
                }
            };
            described.map_err(|error| Problem::new(Class::Value, error.to_string()))?;
        }
        // SAFETY: the elements are there for the time of the call, as this function requires.
        unsafe { run(&self.op, &inputs, &outputs, &self.attributes, &mut AllGiven) }
    }
}

/// The function of all loops.
///
/// # Safety
///
/// The data is a [`Loop`] that lasts, and the rest is as NumPy passes it to a loop of its dtypes.
pub(crate) unsafe extern "C" fn run_loop(
    addresses: *mut *mut c_char,
    sizes: *const isize,
    strides: *const isize,
    data: *mut c_void,
) {
    // SAFETY: the data is a loop, and NumPy passes the number of elements, addresses and strides.
    unsafe {
        let this = &*data.cast::<Loop>();
        let count = usize::try_from(*sizes).unwrap_or(0);
        let outcome = guarded(this.op.name(), || {
            let _flags = Flags::keep();
            this.run(addresses.cast_const().cast(), count, strides)
        });
        if let Err(problem) = outcome {
            let kind = match problem.class {
                Class::Type => FailureKind::Type,
                Class::Value => FailureKind::Value,
                Class::Index => FailureKind::Index,
                Class::Memory | Class::Kernel => FailureKind::Other,
            };
            let Problem { text, error, .. } = problem;
            // A panic must not get into C.
            let _ = guarded(this.op.name(), || {
                (this.fail)(LoopError { kind, text, error });
                Ok(())
            });
        }
    }
}

/// The host of a call whose results are given.
struct AllGiven;

// SAFETY: it makes no results.
unsafe impl CallHost for AllGiven {
    fn make<'a>(
        &mut self,
        _: &[usize],
        _: DType,
        _: Device,
        _: Contents,
    ) -> Result<Operand<'a>, Failure> {
        Err("NumPy gives all outputs".into())
    }
}
