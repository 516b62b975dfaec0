//! [`Call`]: an op is called from Rust.

use super::attribute::Attribute;
use super::error::{CallError, Failure, Reason};
use super::frame::{Frame, Made, Operands, Surroundings};
use super::operand::{IntoOperand, IntoOperandMut, Operand};
use super::registry::OpHandle;
use crate::device::Device;
use crate::dtype::{DType, Element};
use crate::error::Error;
use crate::tensor::Tensor;

/// A call that is being put together.
///
/// ```
/// use dlbridge::Tensor;
/// use dlbridge::kernel::{Kernel, Op, Registry, Source, Target};
///
/// let registry = Registry::new();
/// registry.define(Op::new("double").input("x", "T").output("y", "T").in_place("y", "x"))?;
/// let double = |x: Source<'_, f32>, y: Target<'_, f32>| y.map(&x, |x| 2.0 * x);
/// registry.register(Kernel::of("double").function(double))?;
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
    /// Where numbers are that were given by value.
    #[allow(
        clippy::vec_box,
        reason = "operands point to them, so they stay where they are"
    )]
    numbers: Vec<Box<[u8; 16]>>,
    problem: Option<Reason>,
}

impl<'r, 'a> Call<'r, 'a> {
    pub(super) fn new(handle: &'r OpHandle) -> Self {
        Self {
            handle,
            operands: Operands::from_elem(Operand::ABSENT, handle.definition().parameters.len()),
            present: 0,
            attributes: Vec::new(),
            label: "",
            numbers: Vec::new(),
            problem: None,
        }
    }

    /// The next tensor that is read.
    pub fn input(mut self, tensor: impl IntoOperand<'a>) -> Self {
        let operand = tensor.into_operand();
        self.place_next(Ok(operand), 0);
        self
    }

    /// The next tensor that is read and written.
    pub fn in_out(mut self, tensor: impl IntoOperandMut<'a>) -> Self {
        let operand = tensor.into_operand_mut();
        self.place_next(operand, 0);
        self
    }

    /// Where the next result is written. Results that are given nothing are made.
    pub fn output(mut self, tensor: impl IntoOperandMut<'a>) -> Self {
        let operand = tensor.into_operand_mut();
        let given = self.handle.definition().given();
        self.place_next(operand, given);
        self
    }

    /// The next tensor that is read: one number.
    pub fn number<T: Element>(self, value: T) -> Self {
        const { assert!(size_of::<T>() <= 16) };
        let mut place = Box::new([0_u8; 16]);
        let first = place.as_mut_ptr();
        // SAFETY: there is room for it, at any address.
        unsafe { first.cast::<T>().write_unaligned(value) };
        self.keep(place, T::DTYPE, |this, operand| {
            this.place_next(Ok(operand), 0)
        })
    }

    fn keep(
        mut self,
        mut place: Box<[u8; 16]>,
        dtype: DType,
        put: impl FnOnce(&mut Self, Operand<'a>),
    ) -> Self {
        let layout = crate::layout::LayoutRef::SCALAR;
        let first = place.as_mut_ptr();
        // SAFETY: the number is in a box, which the call keeps until it was made.
        let operand = unsafe { Operand::from_raw(first, layout, dtype, Device::CPU, false, false) };
        put(&mut self, operand);
        self.numbers.push(place);
        self
    }

    /// A tensor that is read, by the argument's name.
    pub fn named(mut self, name: &str, tensor: impl IntoOperand<'a>) -> Self {
        self.place_named(name, Ok(tensor.into_operand()));
        self
    }

    /// A tensor that is written, by the argument's name.
    pub fn named_mut(mut self, name: &str, tensor: impl IntoOperandMut<'a>) -> Self {
        self.place_named(name, tensor.into_operand_mut());
        self
    }

    /// The value of an attribute.
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
        self.attributes.push((at, value.into()));
        self
    }

    /// Asks for kernels of this label.
    pub fn label(mut self, label: &'r str) -> Self {
        self.label = label;
        self
    }

    /// Makes the call, and gives the results that were made.
    ///
    /// # Errors
    ///
    /// When an argument is none for this op, no kernel is for such a call, or it fails.
    pub fn run(self) -> Result<Vec<Tensor>, CallError> {
        let made = self.made()?;
        Ok(made.into_iter().map(|(_, tensor)| tensor).collect())
    }

    /// Makes the call, and gives its one result, which was to be made.
    ///
    /// # Errors
    ///
    /// As of [`run`](Self::run); and when the op has no result, or several, or it was given.
    pub fn make(self) -> Result<Tensor, CallError> {
        let name = self.handle.name();
        let mut made = self.made()?;
        match (made.pop(), made.is_empty()) {
            (Some((_, tensor)), true) => Ok(tensor),
            _ => Err(Reason::Invalid("there isn't one result that is made".into()).of(name)),
        }
    }

    fn made(self) -> Result<Made, CallError> {
        let handle = self.handle;
        let name = handle.name();
        if let Some(problem) = self.problem {
            return Err(problem.of(name));
        }
        let given = complete(handle, self.attributes).map_err(|reason| reason.of(name))?;
        let attributes = match &given {
            Some(given) => given,
            None => handle.defaults().unwrap_or_default(),
        };
        let frame = Frame {
            handle,
            operands: self.operands,
            present: self.present,
            attributes,
            label: self.label,
        };
        let made = frame.run(&mut Alone);
        drop(self.numbers);
        made
    }

    fn fail(&mut self, problem: Reason) {
        self.problem.get_or_insert(problem);
    }

    fn has(&self, at: usize) -> bool {
        self.present & (1 << at) != 0
    }

    /// Puts a tensor at the next place from `from` on.
    fn place_next(&mut self, operand: Result<Operand<'a>, Error>, from: usize) {
        let op = self.handle.definition();
        let until = if from == 0 {
            op.given()
        } else {
            self.operands.len()
        };
        match (from..until).find(|at| !self.has(*at)) {
            Some(at) => self.place(at, operand),
            None => self.fail(Reason::TooMany {
                wanted: until - from,
                given: until - from + 1,
            }),
        }
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

    fn place(&mut self, at: usize, operand: Result<Operand<'a>, Error>) {
        match operand {
            Ok(operand) => {
                self.operands[at] = operand;
                self.present |= 1 << at;
            }
            Err(error) => self.fail(Reason::Tensor {
                argument: self.handle.definition().parameters[at].name.clone(),
                error,
            }),
        }
    }
}

/// All attributes of a call: those that were given, converted, and the others' defaults. `None` where
/// these are all.
pub(crate) fn complete(
    handle: &OpHandle,
    given: Vec<(usize, Attribute)>,
) -> Result<Option<Vec<Attribute>>, Reason> {
    if given.is_empty() && handle.defaults().is_some() {
        return Ok(None);
    }
    let op = handle.definition();
    let mut values: Vec<_> = op
        .attributes
        .iter()
        .map(|known| known.default.clone())
        .collect();
    for (at, value) in given {
        let kind = op.attributes[at].kind;
        values[at] = Some(value.converted(kind).ok_or_else(|| Reason::Attribute {
            attribute: op.attributes[at].name.clone(),
            wanted: kind,
            found: value,
        })?);
    }
    let value = |(at, value): (usize, Option<Attribute>)| {
        value.ok_or_else(|| Reason::Missing {
            argument: op.attributes[at].name.clone(),
        })
    };
    values
        .into_iter()
        .enumerate()
        .map(value)
        .collect::<Result<_, _>>()
        .map(Some)
}

/// A call from Rust: nobody waits for it, and results are ours.
struct Alone;

impl Surroundings for Alone {
    fn make(&mut self, shape: &[usize], dtype: DType, device: Device) -> Result<Tensor, Failure> {
        make(shape, dtype, device)
    }

    #[inline]
    fn run(
        &mut self,
        _: bool,
        body: &mut (dyn FnMut() -> Result<(), Failure> + Send),
    ) -> Result<(), Failure> {
        body()
    }
}

/// A tensor of zeros in memory of ours.
pub(crate) fn make(shape: &[usize], dtype: DType, device: Device) -> Result<Tensor, Failure> {
    if !device.is_host_accessible() {
        return Err(format!("there is no memory of ours on {device}").into());
    }
    Ok(Tensor::zeros(shape, dtype)?)
}
