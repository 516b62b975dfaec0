//! Shapes and dtypes of an op's results, without tensors.

use super::checks::{NO_VARIABLES, bind_type_variables, output_type};
use crate::device::Device;
use crate::dtype::DType;
use crate::kernel::attribute::Attribute;
use crate::kernel::choose::Seen;
use crate::kernel::error::{CallError, Failure, Reason};
use crate::kernel::handle::{Attributes, OpHandle, complete};
use crate::kernel::op::{Op, Presence};
use crate::kernel::operand::Operand;
use crate::kernel::shapes::{self, Expected};
use crate::kernel::sizes::PartialShape;
use crate::layout::Layout;

impl OpHandle {
    /// Returns the values of all attributes of a call that gives some, by name.
    ///
    /// # Errors
    ///
    /// When one isn't of its kind, there is none of a name, or one without a default is missing.
    pub fn attributes(
        &self,
        given: impl IntoIterator<Item = (String, Attribute)>,
    ) -> Result<Vec<Attribute>, CallError> {
        let op = self.definition();
        let mut places = Vec::new();
        for (argument, value) in given {
            let at = op
                .attributes
                .iter()
                .position(|known| known.name == argument);
            let Some(at) = at else {
                let known = op.attributes.iter().map(|known| known.name.clone());
                let known = known.collect();
                return Err(Reason::NoSuchArgument { argument, known }.of(self.name()));
            };
            places.push((at, value));
        }
        let mut values = Attributes::new();
        complete(self, &mut places, &mut values).map_err(|reason| reason.of(self.name()))?;
        Ok(values.into_vec())
    }

    /// Returns the shapes and dtypes of the results of a call, without making it. `inputs` has a
    /// list of shapes and dtypes for each input: empty for one that is left out, and several for a
    /// variadic one; `attributes` are those of [`attributes`](Self::attributes).
    ///
    /// # Errors
    ///
    /// When the op refuses such inputs.
    ///
    /// # Panics
    ///
    /// When there are fewer lists than inputs, or fewer attributes than the op has.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "ops")] {
    /// use dlbridge::DType;
    /// use dlbridge::kernel::Registry;
    ///
    /// let sum = Registry::global().op("sum").unwrap();
    /// let attributes = sum.attributes([("axis".to_owned(), 0_i64.into())]).unwrap();
    /// let results = sum.infer(&[vec![(&[2, 3], DType::I8)]], &attributes).unwrap();
    /// assert_eq!(results, [(vec![3], DType::I64)]);
    /// # }
    /// ```
    pub fn infer(
        &self,
        inputs: &[Vec<(&[usize], DType)>],
        attributes: &[Attribute],
    ) -> Result<Vec<(Vec<usize>, DType)>, CallError> {
        let reason = |reason: Reason| reason.of(self.name());
        let op = self.definition();
        assert_eq!(inputs.len(), op.given(), "{op} has as many inputs");
        assert_eq!(
            attributes.len(),
            op.attributes.len(),
            "{op} has as many attributes"
        );
        check_counts(op, inputs).map_err(reason)?;
        // Only the shapes count.
        let layout = |shape: &[usize]| Layout::strided(shape, &vec![0; shape.len()]);
        let tensors = inputs.iter().flatten();
        let layouts: Result<Vec<_>, _> = tensors.map(|(shape, _)| layout(shape)).collect();
        let layouts = layouts.map_err(|error| reason(Reason::Invalid(error.to_string())))?;
        let mut layouts = layouts.iter();
        let (own, more) = split(
            inputs,
            || Operand::ABSENT,
            |(_, dtype)| Operand {
                layout: layouts.next().expect("each tensor has one").as_ref(),
                dtype: *dtype,
                ..Operand::ABSENT
            },
        );
        let expected = shapes::expected(op, &own, &more, attributes).map_err(reason)?;
        if let Expected::Broadcast(shape) = &expected {
            shapes::broadcast(op, &own, &more, shape).map_err(reason)?;
        }
        let dtypes = result_types(op, &own, &more, attributes).map_err(reason)?;
        let result = |(at, dtype)| (expected.shape_of(at, &own).to_vec(), dtype);
        Ok(dtypes.into_iter().enumerate().map(result).collect())
    }

    /// Returns the shapes and dtypes of the results of a call, without making it, as far as sizes
    /// are known and the op has a [rule](Op::sizes) of them: as [`infer`](Self::infer).
    ///
    /// # Errors
    ///
    /// When the op refuses such inputs, whatever the other sizes are.
    ///
    /// # Panics
    ///
    /// When there are fewer lists than inputs, or fewer attributes than the op has.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "ops")] {
    /// use dlbridge::DType;
    /// use dlbridge::kernel::Registry;
    ///
    /// let add = Registry::global().op("add").unwrap();
    /// let of = |size, dtype| vec![(Some(vec![size]), dtype)];
    /// let inputs = [of(None, DType::F32), of(Some(3), DType::F32)];
    /// let results = add.infer_partial(&inputs, &[]).unwrap();
    /// assert_eq!(results, [(Some(vec![Some(3)]), DType::F32)]);
    /// let inputs = [of(None, DType::F32), of(None, DType::I32)];
    /// assert!(add.infer_partial(&inputs, &[]).is_err());
    /// # }
    /// ```
    pub fn infer_partial(
        &self,
        inputs: &[Vec<(PartialShape, DType)>],
        attributes: &[Attribute],
    ) -> Result<Vec<(PartialShape, DType)>, CallError> {
        let reason = |reason: Reason| reason.of(self.name());
        let op = self.definition();
        assert_eq!(inputs.len(), op.given(), "{op} has as many inputs");
        check_counts(op, inputs).map_err(reason)?;
        let shapes_of = |of: &Vec<(PartialShape, _)>| of.iter().map(|(s, _)| s.clone()).collect();
        let shapes: Vec<Vec<_>> = inputs.iter().map(shapes_of).collect();
        let invalid = |failure: Failure| Reason::Invalid(failure.to_string());
        let refused = |failure| reason(Reason::refused(failure, invalid));
        let shapes = op.partial_shapes(&shapes, attributes).transpose();
        let (own, more) = split(
            inputs,
            || Operand::ABSENT,
            |(_, dtype)| Operand {
                dtype: *dtype,
                ..Operand::ABSENT
            },
        );
        let shapes = shapes.map_err(refused)?;
        let dtypes = result_types(op, &own, &more, attributes).map_err(reason)?;
        let shapes = shapes.unwrap_or_else(|| vec![None; dtypes.len()]);
        Ok(shapes.into_iter().zip(dtypes).collect())
    }

    /// Checks that there is a kernel for a call on the CPU with row-major tensors. `arguments` has
    /// a list of ranks and dtypes for each input, as of [`infer`](Self::infer), and each output.
    ///
    /// # Errors
    ///
    /// When there is none.
    ///
    /// # Panics
    ///
    /// When there are fewer lists than inputs and outputs, or fewer attributes than the op has.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "ops")] {
    /// use dlbridge::DType;
    /// use dlbridge::kernel::Registry;
    ///
    /// let exp = Registry::global().op("exp").unwrap();
    /// let of = |dtype| [vec![(2, dtype)], vec![(2, dtype)]];
    /// assert!(exp.check_kernel(&of(DType::F32), &[]).is_ok());
    /// assert!(exp.check_kernel(&of(DType::I32), &[]).is_err());
    /// # }
    /// ```
    pub fn check_kernel(
        &self,
        arguments: &[Vec<(usize, DType)>],
        attributes: &[Attribute],
    ) -> Result<(), CallError> {
        let reason = |reason: Reason| reason.of(self.name());
        let op = self.definition();
        assert_eq!(
            (arguments.len(), attributes.len()),
            (op.parameters.len(), op.attributes.len()),
            "{op} has as many arguments and attributes"
        );
        check_counts(op, arguments).map_err(reason)?;
        let seen = |is_absent, rank, dtype| Seen {
            is_absent,
            dtype,
            device: Device::CPU,
            rank,
            row_major: true,
        };
        let absent = || seen(true, 0, Operand::ABSENT.dtype);
        let (mut own, more) = split(arguments, absent, |(rank, dtype)| {
            seen(false, *rank, *dtype)
        });
        own.extend(more);
        self.choose(&own, attributes, "").map(drop).map_err(reason)
    }
}

/// Returns the dtypes of the results of a call with such inputs.
fn result_types(
    op: &Op,
    own: &[Operand<'_>],
    more: &[Operand<'_>],
    attributes: &[Attribute],
) -> Result<Vec<DType>, Reason> {
    let mut variables = NO_VARIABLES;
    bind_type_variables(op, own, more, &mut variables)?;
    let outputs = op.given()..op.parameters.len();
    Ok(outputs
        .map(|at| output_type(op, at, &variables, attributes))
        .collect())
}

/// Checks that each input is given as often as it may be.
fn check_counts<T>(op: &Op, inputs: &[Vec<T>]) -> Result<(), Reason> {
    for (parameter, tensors) in op.parameters.iter().zip(inputs) {
        if tensors.is_empty() && parameter.presence != Presence::Optional {
            let argument = parameter.name.clone();
            return Err(Reason::Missing { argument });
        }
        if tensors.len() > 1 && parameter.presence != Presence::Variadic {
            return Err(Reason::TooMany {
                wanted: 1,
                given: tensors.len(),
            });
        }
    }
    Ok(())
}

/// Returns the first of each list, and the others of all of them, as a call has them.
fn split<T, O>(
    lists: &[Vec<T>],
    absent: impl Fn() -> O,
    mut of: impl FnMut(&T) -> O,
) -> (Vec<O>, Vec<O>) {
    let (mut own, mut more) = (Vec::new(), Vec::new());
    for list in lists {
        if list.is_empty() {
            own.push(absent());
        }
        for (at, one) in list.iter().enumerate() {
            if at == 0 { &mut own } else { &mut more }.push(of(one));
        }
    }
    (own, more)
}
