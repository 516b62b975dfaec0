//! Calls of ops from Rust.

use super::attribute::Attribute;
use super::backend::Backend;
use super::error::{CallError, Failure, Reason};
use super::frame::{CallHost, Frame, Operands};
use super::handle::{Attributes, OpHandle, complete};
use super::operand::{IntoOperand, IntoOperandMut, Operand};
use crate::device::Device;
use crate::dtype::{DType, Element};
use crate::error::Error;
use crate::layout::LayoutRef;
use crate::storage::Contents;
use crate::tensor::Tensor;
use smallvec::SmallVec;
use std::fmt;
use std::ops::Range;

/// A call that is being put together.
///
/// ```
/// use dlbridge::Tensor;
/// use dlbridge::kernel::{Kernel, Op, Registry, Source, Target};
///
/// let registry = Registry::new();
/// registry.define(Op::new("double").input("x", "T").output("y", "T").in_place("y", "x"))?;
/// let double = |x: Source<'_, f32>, y: Target<'_, f32>| y.map(&x, |x| 2.0 * x);
/// registry.register(Kernel::new("double").function(double))?;
/// let double = registry.op("double")?;
///
/// let x = Tensor::from([1.0_f32, 2.0]);
/// let mut y = Tensor::from([0.0_f32; 2]);
/// double.call().input(&x).output(&mut y).run()?;
/// assert_eq!(y.to_vec::<f32>()?, [2.0, 4.0]);
///
/// let of_another_type = Tensor::from([1_i64]);
/// let error = double.call().input(&of_another_type).make().unwrap_err();
/// assert!(error.to_string().starts_with("double: no kernel for (x: int64"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "nothing is done before `run` or `make`"]
pub struct Call<'r, 'a> {
    handle: &'r OpHandle,
    operands: Operands<'a>,
    present: u32,
    attributes: Vec<(usize, Attribute)>,
    label: &'r str,
    threads: usize,
    /// Numbers that were given by value, and which arguments they are.
    numbers: Vec<(usize, Number)>,
    problem: Option<Box<Reason>>,
}

impl fmt::Debug for Call<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call")
            .field("op", &self.handle)
            .finish_non_exhaustive()
    }
}

/// Room for a number of any type, and aligned for it.
#[repr(align(16))]
struct Number([u8; 16]);

impl OpHandle {
    /// Begins a call.
    #[inline]
    pub fn call(&self) -> Call<'_, '_> {
        Call::new(self)
    }
}

impl<'r, 'a> Call<'r, 'a> {
    #[inline]
    fn new(handle: &'r OpHandle) -> Self {
        Self {
            handle,
            operands: (handle.definition().parameters.iter())
                .map(|_| Operand::ABSENT)
                .collect(),
            present: 0,
            attributes: Vec::new(),
            label: "",
            threads: 0,
            numbers: Vec::new(),
            problem: None,
        }
    }

    /// Adds the next tensor that is read. `None` leaves out an optional one.
    #[inline]
    pub fn input(mut self, tensor: impl IntoOperand<'a>) -> Self {
        let operand = tensor.into_operand();
        self.place_next(Ok(operand), 0..self.given());
        self
    }

    /// Adds the next tensors that are read, as those of a variadic input.
    pub fn inputs<T: IntoOperand<'a>>(mut self, tensors: impl IntoIterator<Item = T>) -> Self {
        let given = self.given();
        for tensor in tensors {
            let operand = tensor.into_operand();
            self.place_next(Ok(operand), 0..given);
        }
        self
    }

    /// Adds the next tensor that is read and written.
    #[inline]
    pub fn in_out(mut self, tensor: impl IntoOperandMut<'a>) -> Self {
        let operand = tensor.into_operand_mut();
        self.place_next(operand, 0..self.given());
        self
    }

    /// Sets the tensor of the next result. Results without one are allocated.
    #[inline]
    pub fn output(mut self, tensor: impl IntoOperandMut<'a>) -> Self {
        let operand = tensor.into_operand_mut();
        let count = self.handle.definition().parameters.len();
        self.place_next(operand, self.given()..count);
        self
    }

    /// Adds a scalar as the next tensor that is read.
    pub fn number<T: Element>(mut self, value: T) -> Self {
        const { assert!(size_of::<T>() <= size_of::<Number>()) };
        const { assert!(align_of::<T>() <= align_of::<Number>()) };
        let mut number = Number([0; 16]);
        let first = number.0.as_mut_ptr();
        // SAFETY: the number has room for a `T` and is aligned for it, by the assertions above.
        unsafe { first.cast::<T>().write(value) };
        let layout = LayoutRef::SCALAR;
        // SAFETY: no code reads the operand before it gets the number's final address.
        let operand =
            unsafe { Operand::from_raw(first, layout, T::DTYPE, Device::CPU, false, false) };
        if let Some(at) = self.place_next(Ok(operand), 0..self.given()) {
            self.numbers.push((at, number));
        }
        self
    }

    /// Adds a tensor that is read, by the argument's name.
    pub fn named(mut self, name: &str, tensor: impl IntoOperand<'a>) -> Self {
        self.place_named(name, Ok(tensor.into_operand()));
        self
    }

    /// Adds a tensor that is written, by the argument's name.
    pub fn named_mut(mut self, name: &str, tensor: impl IntoOperandMut<'a>) -> Self {
        self.place_named(name, tensor.into_operand_mut());
        self
    }

    /// Sets the value of an attribute.
    pub fn attribute(mut self, name: &str, value: impl Into<Attribute>) -> Self {
        let op = self.handle.definition();
        let Some(at) = op.attributes.iter().position(|known| known.name == name) else {
            self.fail(Reason::NoSuchArgument {
                argument: name.to_owned(),
                known: op
                    .attributes
                    .iter()
                    .map(|known| known.name.clone())
                    .collect(),
            });
            return self;
        };
        if self.attributes.iter().any(|(known, _)| *known == at) {
            self.fail(Reason::GivenTwice {
                argument: name.to_owned(),
            });
        }
        self.attributes.push((at, value.into()));
        self
    }

    /// Restricts the call to kernels with this label.
    pub fn label(mut self, label: &'r str) -> Self {
        self.label = label;
        self
    }

    /// Sets how many threads the kernel may use; 0 means as many as the
    /// [process's number](crate::compute::threads) says.
    ///
    /// ```
    /// use dlbridge::{DType, Tensor};
    /// use dlbridge::compute::threads;
    /// use dlbridge::kernel::{Kernel, Op, Registry, Target};
    ///
    /// let registry = Registry::new();
    /// registry.define(Op::new("count").output("n", DType::U64).shapes(|_| Ok(vec![vec![]])))?;
    /// let count = |n: Target<'_, u64>| {
    ///     n.iter().for_each(|n| n.set(threads::num_threads() as u64));
    /// };
    /// registry.register(Kernel::new("count").function(count))?;
    /// let count = registry.op("count")?;
    /// let mut number = Tensor::scalar(0_u64);
    /// count.call().threads(3).output(&mut number).run()?;
    /// assert_eq!(number.item::<u64>()?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn threads(mut self, number: usize) -> Self {
        self.threads = number;
        self
    }

    /// Executes the call, and returns the results that it allocated.
    ///
    /// # Errors
    ///
    /// When an argument doesn't fit this op, no kernel is for such a call, or it fails.
    #[inline]
    pub fn run(mut self) -> Result<Vec<Tensor>, CallError> {
        let mut host = Alone::default();
        self.execute(&mut host)?;
        Ok(host.results.into_vec())
    }

    /// Executes the call, and returns its one allocated result.
    ///
    /// # Errors
    ///
    /// The same as for [`run`](Self::run); and when the op has no result, or several, or it was
    /// given: then nothing is done.
    pub fn make(mut self) -> Result<Tensor, CallError> {
        let results = self.given()..self.handle.definition().parameters.len();
        let count = results.filter(|at| !self.has(*at)).count();
        if count != 1 {
            let problem = format!("one result is to be made, and there are {count}");
            self.fail(Reason::Invalid(problem));
        }
        let mut host = Alone::default();
        self.execute(&mut host)?;
        let result = host.results.pop();
        Ok(result.expect("one is made, as was just counted"))
    }

    /// Executes the call where it is, without moving the struct.
    fn execute(&mut self, host: &mut Alone) -> Result<(), CallError> {
        let handle = self.handle;
        let name = handle.name();
        if let Some(problem) = self.problem.take() {
            return Err(problem.of(name));
        }
        let mut completed = Attributes::new();
        let attributes = match handle.defaults() {
            Some(defaults) if self.attributes.is_empty() => defaults,
            _ => {
                let given = &mut self.attributes;
                complete(handle, given, &mut completed).map_err(|reason| reason.of(name))?;
                &completed
            }
        };
        for (at, number) in &mut self.numbers {
            self.operands[*at].move_to(number.0.as_mut_ptr());
        }
        let frame = Frame {
            handle,
            present: self.present,
            attributes,
            label: self.label,
            threads: self.threads,
        };
        frame.run(&mut self.operands, host)
    }

    fn given(&self) -> usize {
        self.handle.definition().given()
    }

    #[cold]
    fn fail(&mut self, problem: Reason) {
        self.problem.get_or_insert_with(|| Box::new(problem));
    }

    fn has(&self, at: usize) -> bool {
        self.present & (1 << at) != 0
    }

    /// Puts a tensor at the next free place of these, and returns the place.
    #[inline]
    fn place_next(
        &mut self,
        operand: Result<Operand<'a>, Error>,
        places: Range<usize>,
    ) -> Option<usize> {
        let next = places.clone().find(|at| !self.has(*at));
        match next {
            Some(at) => self.place(at, operand),
            None if places.start == 0 && self.handle.definition().variadic().is_some() => {
                let at = self.operands.len();
                self.operands.push(Operand::ABSENT);
                self.place(at, operand);
                return Some(at);
            }
            None => self.fail(Reason::TooMany {
                wanted: places.len(),
                given: places.len() + 1,
            }),
        }
        next
    }

    fn place_named(&mut self, name: &str, operand: Result<Operand<'a>, Error>) {
        let op = self.handle.definition();
        match op.position(name) {
            Some(at) if !self.has(at) => self.place(at, operand),
            Some(_) => self.fail(Reason::GivenTwice {
                argument: name.to_owned(),
            }),
            None => self.fail(Reason::NoSuchArgument {
                argument: name.to_owned(),
                known: op
                    .parameters()
                    .map(|(name, _, _)| name.to_owned())
                    .collect(),
            }),
        }
    }

    #[inline]
    fn place(&mut self, at: usize, operand: Result<Operand<'a>, Error>) {
        match operand {
            Ok(operand) => {
                let op = self.handle.definition();
                let parameter = op.parameter_of(at);
                if operand.is_absent() && !op.is_optional(parameter) {
                    let argument = op.argument_name(at).into_owned();
                    return self.fail(Reason::Missing { argument });
                }
                self.operands[at] = operand;
                self.present |= 1 << parameter;
            }
            Err(error) => self.fail(Reason::Tensor {
                argument: self.handle.definition().argument_name(at).into_owned(),
                error,
            }),
        }
    }
}

/// A call from Rust: no code waits for it, and results are ours.
#[derive(Default)]
struct Alone {
    results: SmallVec<[Tensor; 1]>,
}

// SAFETY: the tensors are new, and kept.
unsafe impl CallHost for Alone {
    fn make<'a>(
        &mut self,
        shape: &[usize],
        dtype: DType,
        device: Device,
        contents: Contents,
    ) -> Result<Operand<'a>, Failure> {
        let tensor = make(shape, dtype, device, contents)?;
        // SAFETY: the tensor is new, and kept until the host is dropped, after the call.
        let operand = unsafe { Operand::of_new(&tensor) };
        self.results.push(tensor);
        Ok(operand)
    }
}

/// Allocates a tensor: of these contents on the host, uninitialised elsewhere.
pub(crate) fn make(
    shape: &[usize],
    dtype: DType,
    device: Device,
    contents: Contents,
) -> Result<Tensor, Failure> {
    if device == Device::CPU {
        return Ok(match contents {
            Contents::Arbitrary => Tensor::arbitrary(shape, dtype)?,
            _ => Tensor::zeroed(shape, dtype)?,
        });
    }
    match Backend::find(device.kind()).and_then(|backend| backend.make) {
        Some(make) => make(shape, dtype, device),
        None if device.is_host_accessible() => Ok(Tensor::zeroed(shape, dtype)?),
        None => Err(format!("there is no memory of ours on {device}").into()),
    }
}
