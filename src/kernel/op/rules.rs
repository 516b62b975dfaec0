//! What an op's definition says beyond its kernels' needs: sizes, batches and gradients.

use super::{ElementType, Kind, Op, Shapes};
use crate::kernel::attribute::Attribute;
use crate::kernel::error::{Failure, RegistrationError};
use crate::kernel::gradient::Gradient;
use crate::kernel::operand::Operand;
use crate::kernel::sizes::{PartialShape, SizeRule, SizedInput};

impl Op {
    /// Sets the rule of sizes, as text: checked in each call unless the op has a
    /// [function](Self::shapes) for its shapes, and known to compilers of frameworks, for which
    /// some sizes are unknown. An op without it whose outputs have the inputs' shape has such a
    /// rule already.
    ///
    /// | in the rule | stands for |
    /// |---|---|
    /// | `n` | a size, the same wherever it is; of an attribute of kind `Int`, its value |
    /// | `3`, `2 * n + 1`, `h / 2` | sizes; `/` rounds down |
    /// | `...` | any number of dimensions, which are broadcast against those of the other inputs |
    /// | `s...` | any number of dimensions, the same wherever `s` is |
    /// | `p..., n@axis, q...` | the dimension that the attribute `axis` names, and those around it |
    /// | `reduce(s, axis, keepdims)` | `s...` without the axes that an attribute names; alone in an input |
    /// | `sum(n)` | for outputs: the sum of `n` over the tensors of a variadic input |
    /// | <code>&#124;</code> | another rule, for inputs of other ranks |
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::Tensor;
    /// use dlbridge::kernel::{AttributeKind, Kernel, Op, Registry};
    /// use dlbridge::{View, ViewMut};
    ///
    /// let registry = Registry::new();
    /// let op = Op::new("outer").input("x", "T").input("y", "T").output("z", "T");
    /// registry.define(op.sizes("x[n], y[m] -> z[n, m]"))?;
    /// let outer = |x: View<'_, f32>, y: View<'_, f32>, mut z: ViewMut<'_, f32>| {
    ///     let products = x.iter().flat_map(|x| y.iter().map(move |y| x * y));
    ///     z.iter_mut().zip(products).for_each(|(z, product)| *z = product);
    /// };
    /// registry.register(Kernel::new("outer").function(outer))?;
    /// let outer = registry.op("outer")?;
    ///
    /// let (x, y) = (Tensor::from([1.0_f32, 2.0]), Tensor::from([1.0_f32, 10.0, 100.0]));
    /// let z = outer.call().input(&x).input(&y).make()?;
    /// assert_eq!(z.to_string(), "[[  1.  10. 100.]\n [  2.  20. 200.]]");
    /// let error = outer.call().input(&z).input(&y).make().unwrap_err();
    /// assert_eq!(error.to_string(), "outer: expected shape [n] for x, got [2, 3]");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sizes(mut self, rule: impl Into<String>) -> Self {
        self.sizes = Some(rule.into());
        self
    }

    /// Declares that the op works by element: an element of an output depends on the elements of
    /// the same index, after broadcasting if the op [broadcasts](Self::broadcasts). So a call of
    /// more dimensions is a call for each index of those.
    pub fn elementwise(mut self) -> Self {
        self.is_elementwise = true;
        self
    }

    /// Declares that the op works on batches: where the [rule of sizes](Self::sizes) has `...`, a
    /// spread or `reduce` as an input's first item, a call with one more dimension there is a call
    /// for each index of it.
    pub fn batches(mut self) -> Self {
        self.takes_batches = true;
        self
    }

    /// Sets the gradient of an input, as calls of ops: their arguments are inputs, outputs, and the
    /// outputs' gradients, `d` and the output's name; keyword arguments are the op's attributes,
    /// literals, and `dtype(x)`. `0` says that no output depends on the input. Where the
    /// [rule of sizes](Self::sizes) has alternatives, the gradient may have one for each, between
    /// `|`. Of a tensor that the op writes, the name is its value before the call in `y`, and `dy`
    /// the gradient of its value after it. `a if weight else b` is `a` in calls that have the
    /// optional input `weight`, and `b` in others.
    ///
    /// Of complex numbers it is the derivative times the output's gradient, without conjugates:
    /// PyTorch and TensorFlow get `conj(G(conj(dy)))`, and JAX `G(dy)`. Each tensor of a variadic
    /// input has the gradient that is declared.
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::kernel::{Op, Registry};
    ///
    /// let op = Op::new("scaled").input("x", "T").input("factor", "T").output("y", "T");
    /// let op = op.sizes("x[s...], factor[] -> y[s...]");
    /// let op = op
    ///     .gradient("x", "multiply(dy, factor)")
    ///     .gradient("factor", "sum(multiply(dy, x))");
    /// Registry::new().define(op)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn gradient(mut self, input: impl Into<String>, gradient: impl Into<String>) -> Self {
        self.gradient_texts.push((input.into(), gradient.into()));
        self
    }

    /// Parses the texts of the definition.
    pub(in crate::kernel) fn resolve(&mut self) -> Result<(), RegistrationError> {
        let bad = |problem: String| RegistrationError::BadOp {
            op: self.name.clone(),
            problem,
        };
        if self.broadcasts && matches!(self.shapes, Some(Shapes::Kept(_))) {
            return Err(bad(
                "it broadcasts, and can't keep the first input's shape".into()
            ));
        }
        let rule = match &self.sizes {
            Some(_) if self.broadcasts => {
                return Err(bad("it broadcasts, which is a rule of sizes already".into()));
            }
            Some(text) => Some(SizeRule::parse(self, text).map_err(bad)?),
            None if self.given() == 0 => None,
            None if matches!(self.shapes, Some(Shapes::Ruled(_))) && !self.is_elementwise => None,
            None => Some(SizeRule::implied(self)),
        };
        if self.takes_batches && rule.is_none() {
            return Err(bad("batches need a rule of sizes".into()));
        }
        self.size_rule = rule;
        let mut gradients: Vec<Gradient> = Vec::new();
        for (input, text) in &self.gradient_texts {
            let gradient = Gradient::parse(self, input, text);
            let gradient = gradient.map_err(|problem| RegistrationError::BadOp {
                op: self.name.clone(),
                problem,
            })?;
            if gradients.iter().any(|known| known.input == gradient.input) {
                return Err(RegistrationError::BadOp {
                    op: self.name.clone(),
                    problem: format!("{input:?} has two gradients"),
                });
            }
            gradients.push(gradient);
        }
        self.gradients = gradients;
        Ok(())
    }

    /// Returns the rule of sizes, if the op has one; `None` for an op that isn't defined in a
    /// registry yet.
    pub fn size_rule(&self) -> Option<&SizeRule> {
        self.size_rule.as_ref()
    }

    /// Returns the element type of a parameter, by its place.
    ///
    /// # Panics
    ///
    /// When there is no such parameter.
    pub fn element_type(&self, parameter: usize) -> ElementType {
        let variable = |at: &usize| self.variables[*at].clone();
        match &self.parameters[parameter].kind {
            Kind::Any => ElementType::Any,
            Kind::Is(dtype) => ElementType::Is(*dtype),
            Kind::Variable(at) => ElementType::Variable(variable(at)),
            Kind::Attribute(name) => ElementType::Attribute(name.clone()),
            Kind::AttributeOr(name, at) => ElementType::AttributeOr {
                attribute: name.clone(),
                variable: variable(at),
            },
            Kind::AttributeOrSum(name, at) => ElementType::AttributeOrSum {
                attribute: name.clone(),
                variable: variable(at),
            },
        }
    }

    /// Returns the pairs of an output and an input that may share [memory](Self::in_place).
    pub fn in_place_pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.in_place
            .iter()
            .map(|(output, input)| (&output[..], &input[..]))
    }

    /// Returns whether the op works [by element](Self::elementwise).
    pub fn is_elementwise(&self) -> bool {
        self.is_elementwise
    }

    /// Returns whether the op works on [batches](Self::batches).
    pub fn takes_batches(&self) -> bool {
        self.takes_batches
    }

    /// Returns whether inputs are [broadcast](Self::broadcasts) against each other.
    pub fn is_broadcasting(&self) -> bool {
        self.broadcasts
    }

    /// Returns the gradients; none for an op that isn't defined in a registry yet.
    pub fn gradients(&self) -> &[Gradient] {
        &self.gradients
    }

    /// Returns the outputs' shapes by the [rule of sizes](Self::sizes), as far as they are known,
    /// for shapes of which sizes or ranks may be unknown. `inputs` has a list for each input: empty
    /// for one that is left out, and several shapes for a variadic one. `None` without a rule.
    ///
    /// # Errors
    ///
    /// When known sizes contradict the rule.
    ///
    /// # Panics
    ///
    /// When there are fewer lists than inputs, or fewer attributes than the op has.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[cfg(feature = "ops")] {
    /// use dlbridge::kernel::Registry;
    ///
    /// let add = Registry::global().op("add").unwrap();
    /// let (a, b) = (Some(vec![None, Some(3)]), Some(vec![Some(3)]));
    /// let shapes = add.definition().partial_shapes(&[vec![a], vec![b]], &[]).unwrap();
    /// assert_eq!(shapes?, [Some(vec![None, Some(3)])]);
    /// # }
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn partial_shapes(
        &self,
        inputs: &[Vec<PartialShape>],
        attributes: &[Attribute],
    ) -> Option<Result<Vec<PartialShape>, Failure>> {
        assert_eq!(inputs.len(), self.given(), "{self} has as many inputs");
        assert_eq!(
            attributes.len(),
            self.attributes.len(),
            "{self} has as many attributes"
        );
        let sized = inputs.iter().enumerate().flat_map(|(parameter, shapes)| {
            let name = &self.parameters[parameter].name;
            shapes.iter().map(move |shape| SizedInput {
                parameter,
                name: name.clone(),
                shape: shape.clone(),
            })
        });
        let rule = self.size_rule.as_ref()?;
        Some(rule.evaluate(self, &sized.collect::<Vec<_>>(), attributes))
    }

    /// Checks a call's shapes by the rule of sizes, and returns those of the outputs.
    pub(in crate::kernel) fn evaluate_sizes(
        &self,
        own: &[Operand<'_>],
        more: &[Operand<'_>],
        attributes: &[Attribute],
    ) -> Result<Vec<Vec<usize>>, Failure> {
        let inputs = self
            .inputs_given(own, more)
            .map(|(at, operand)| SizedInput {
                parameter: self.parameter_of(at),
                name: self.argument_name(at).into_owned(),
                shape: Some(operand.shape().iter().copied().map(Some).collect()),
            });
        let inputs: Vec<_> = inputs.collect();
        let rule = self.size_rule.as_ref().expect("the op is defined");
        let shapes = rule.evaluate(self, &inputs, attributes)?;
        let known = |shape: PartialShape| shape?.into_iter().collect();
        let shapes: Option<Vec<Vec<usize>>> = shapes.into_iter().map(known).collect();
        Ok(shapes.expect("all sizes are known, as those of the inputs are"))
    }
}
