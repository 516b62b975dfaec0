//! Evaluation of size rules, for sizes of which some may be unknown.

mod outputs;

use super::{SizeAlternative, SizeExpression, SizeItem, SizeRule, axis_in};
use crate::kernel::argument_error::ArgumentError;
use crate::kernel::attribute::Attribute;
use crate::kernel::error::Failure;
use crate::kernel::op::Op;
use std::collections::BTreeMap;

/// A shape of which the rank, or some sizes, may be unknown.
pub type PartialShape = Option<Vec<Option<usize>>>;

/// An input of a call: its place among the parameters, its name in messages, and its shape.
pub(in crate::kernel) struct SizedInput {
    pub(in crate::kernel) parameter: usize,
    pub(in crate::kernel) name: String,
    pub(in crate::kernel) shape: PartialShape,
}

/// The values of a rule's names in a call.
#[derive(Default)]
struct Bindings<'a> {
    batch: PartialShape,
    has_batch: bool,
    spreads: BTreeMap<&'a str, PartialShape>,
    sizes: BTreeMap<&'a str, Option<usize>>,
    sums: BTreeMap<&'a str, Option<usize>>,
}

impl SizeRule {
    /// Checks the inputs' shapes, and returns those of the outputs.
    pub(in crate::kernel) fn evaluate(
        &self,
        op: &Op,
        inputs: &[SizedInput],
        attributes: &[Attribute],
    ) -> Result<Vec<PartialShape>, Failure> {
        let fits = |alternative: &&SizeAlternative| alternative.has_ranks_of(inputs);
        let mut fitting = self.alternatives.iter().filter(fits);
        let Some(alternative) = fitting.next() else {
            return Err(self.alternatives[0].wrong_rank(inputs));
        };
        let is_ranked = inputs.iter().all(|input| input.shape.is_some());
        if !is_ranked && fitting.next().is_some() {
            return Ok(vec![None; alternative.outputs.len()]);
        }
        let call = Call { op, attributes };
        let mut bindings = Bindings::default();
        for input in inputs {
            if let Some(items) = alternative.items_of(input.parameter) {
                bindings.bind(&call, alternative, items, input)?;
            }
        }
        for input in inputs {
            let items = alternative.items_of(input.parameter);
            bindings.compare(&call, items.unwrap_or(&[]), input)?;
        }
        let outputs = alternative.outputs.iter();
        outputs.map(|items| bindings.shape(&call, items)).collect()
    }
}

impl SizeAlternative {
    fn items_of(&self, parameter: usize) -> Option<&[SizeItem]> {
        let mut inputs = self.inputs.iter();
        let found = inputs.find(|(at, _)| *at == parameter);
        found.map(|(_, items)| &items[..])
    }

    /// Returns whether the inputs can have the ranks that this asks for.
    fn has_ranks_of(&self, inputs: &[SizedInput]) -> bool {
        inputs.iter().all(|input| {
            let items = self.items_of(input.parameter);
            let (Some(items), Some(shape)) = (items, &input.shape) else {
                return true;
            };
            let singles = items.iter().filter(|item| !is_many(item)).count();
            match singles == items.len() {
                true => shape.len() == singles,
                false => shape.len() >= singles,
            }
        })
    }

    #[cold]
    fn wrong_rank(&self, inputs: &[SizedInput]) -> Failure {
        let is_wrong = |input: &&SizedInput| !self.has_ranks_of(std::slice::from_ref(*input));
        let wrong = inputs.iter().find(is_wrong).or(inputs.first());
        let Some(input) = wrong else {
            return "expected other ranks".into();
        };
        let items = self.items_of(input.parameter).unwrap_or(&[]);
        wrong_shape(input, &format!("shape {}", written(items)))
    }
}

/// What a rule needs of a call.
struct Call<'a> {
    op: &'a Op,
    attributes: &'a [Attribute],
}

impl Call<'_> {
    fn attribute(&self, name: &str) -> &Attribute {
        let mut known = self.op.attributes.iter();
        let at = known.position(|known| known.name == name);
        &self.attributes[at.expect("a rule's attributes are the op's")]
    }
}

impl<'a> Bindings<'a> {
    /// Takes the values of names from an input.
    fn bind(
        &mut self,
        call: &Call<'_>,
        alternative: &SizeAlternative,
        items: &'a [SizeItem],
        input: &SizedInput,
    ) -> Result<(), Failure> {
        let parts = match &input.shape {
            Some(shape) => parts(call, items, shape)?,
            None => vec![None; items.len()],
        };
        for (item, part) in items.iter().zip(parts) {
            let conflict = |wanted: String| wrong_shape(input, &wanted);
            match item {
                SizeItem::Batch => {
                    self.batch = match (self.has_batch, &self.batch, part) {
                        (false, _, part) => part.map(<[_]>::to_vec),
                        (true, Some(known), Some(part)) => {
                            let joined = broadcast(known, part);
                            Some(joined.ok_or_else(|| {
                                conflict(format!("a shape that broadcasts with {}", text(known)))
                            })?)
                        }
                        _ => None,
                    };
                    self.has_batch = true;
                }
                SizeItem::Spread(name) => {
                    let part = part.map(<[_]>::to_vec);
                    let known = self.spreads.entry(name).or_insert_with(|| part.clone());
                    let joined = same_shape(known, &part);
                    *known = joined.ok_or_else(|| {
                        let known = known.as_deref().unwrap_or_default();
                        conflict(format!(
                            "shape {} with {name} = {}",
                            written(items),
                            text(known)
                        ))
                    })?;
                }
                SizeItem::Axis { size: name, .. } | SizeItem::Size(SizeExpression::Name(name)) => {
                    let size = part.and_then(|part| part[0]);
                    let sum = self.sums.entry(name).or_insert(Some(0));
                    *sum = sum.zip(size).and_then(|(a, b)| a.checked_add(b));
                    let known = self.sizes.entry(name).or_insert(size);
                    match (*known, size) {
                        (Some(known), Some(size)) if known != size && !alternative.sums(name) => {
                            let wanted = written(items);
                            return Err(conflict(format!("shape {wanted} with {name} = {known}")));
                        }
                        (None, Some(_)) => *known = size,
                        _ => {}
                    }
                }
                SizeItem::Size(_) | SizeItem::Reduced { .. } => {}
            }
        }
        Ok(())
    }

    /// Compares the sizes that are calculated with those of an input.
    fn compare(
        &self,
        call: &Call<'_>,
        items: &[SizeItem],
        input: &SizedInput,
    ) -> Result<(), Failure> {
        let is_calculated = |item: &SizeItem| matches!(item, SizeItem::Size(size) if !matches!(size, SizeExpression::Name(_)));
        if let [SizeItem::Reduced { .. }] = items {
            let wanted = self.shape(call, items)?;
            if same_shape(&wanted, &input.shape).is_none() {
                let wanted = format!("shape {}", text(wanted.as_deref().unwrap_or_default()));
                return Err(wrong_shape(input, &wanted));
            }
        }
        let Some(shape) = &input.shape else {
            return Ok(());
        };
        if !items.iter().any(is_calculated) {
            return Ok(());
        }
        for (item, part) in items.iter().zip(parts(call, items, shape)?) {
            let SizeItem::Size(size) = item else { continue };
            let (wanted, found) = (self.size(call, size)?, part.and_then(|part| part[0]));
            if let Some((wanted, _)) = wanted.zip(found).filter(|(a, b)| a != b) {
                let sentence = format!("shape {} with {size} = {wanted}", written(items));
                return Err(wrong_shape(input, &sentence));
            }
        }
        Ok(())
    }
}

impl SizeAlternative {
    /// Returns whether outputs have the sum of the sizes of this name, which then may differ.
    fn sums(&self, name: &str) -> bool {
        let mut is_summed = false;
        for item in self.outputs.iter().flatten() {
            if let SizeItem::Size(size) = item {
                size.for_each_name(&mut |found, is_sum| is_summed |= is_sum && found == name);
            }
        }
        is_summed
    }
}

/// Returns the dimensions of each item.
fn parts<'s>(
    call: &Call<'_>,
    items: &[SizeItem],
    shape: &'s [Option<usize>],
) -> Result<Vec<Option<&'s [Option<usize>]>>, Failure> {
    let at = items
        .iter()
        .position(|item| matches!(item, SizeItem::Axis { .. }));
    let Some(at) = at else {
        return Ok(around(items, shape));
    };
    let SizeItem::Axis { attribute, .. } = &items[at] else {
        unreachable!("the item is an axis");
    };
    let Attribute::Int(axis) = call.attribute(attribute) else {
        unreachable!("axes are of kind Int");
    };
    let axis = axis_in(shape.len(), *axis)?;
    let mut parts = around(&items[..at], &shape[..axis]);
    parts.push(Some(&shape[axis..=axis]));
    parts.extend(around(&items[at + 1..], &shape[axis + 1..]));
    Ok(parts)
}

/// Returns the dimensions of each item, of which at most one has several.
fn around<'s>(items: &[SizeItem], shape: &'s [Option<usize>]) -> Vec<Option<&'s [Option<usize>]>> {
    let several = (shape.len() + 1).saturating_sub(items.len());
    let mut rest = shape;
    let part = |item| {
        let count = if is_many(item) { several } else { 1 };
        let (part, after) = rest.split_at_checked(count)?;
        rest = after;
        Some(part)
    };
    items.iter().map(part).collect()
}

fn is_many(item: &SizeItem) -> bool {
    matches!(
        item,
        SizeItem::Batch | SizeItem::Spread(_) | SizeItem::Reduced { .. }
    )
}

/// Returns the shape that both can be broadcast to. A size that is unknown is taken for the other
/// one, unless that is 1.
fn broadcast(a: &[Option<usize>], b: &[Option<usize>]) -> Option<Vec<Option<usize>>> {
    let rank = a.len().max(b.len());
    let size = |shape: &[Option<usize>], at: usize| match (at + shape.len()).checked_sub(rank) {
        Some(at) => shape[at],
        None => Some(1),
    };
    let joined = (0..rank).map(|at| match (size(a, at), size(b, at)) {
        (Some(1), other) | (other, Some(1)) => Some(other),
        (None, other) | (other, None) => Some(other),
        (Some(a), Some(b)) => (a == b).then_some(Some(a)),
    });
    joined.collect()
}

/// Returns what is known of a shape from two descriptions of it.
fn same_shape(a: &PartialShape, b: &PartialShape) -> Option<PartialShape> {
    let (Some(a), Some(b)) = (a, b) else {
        return Some(a.clone().or_else(|| b.clone()));
    };
    let joined = |(a, b): (&Option<usize>, &Option<usize>)| match (a, b) {
        (Some(a), Some(b)) => (a == b).then_some(Some(*a)),
        (a, b) => Some(a.or(*b)),
    };
    let is_same_rank = a.len() == b.len();
    let shape: Option<Vec<_>> = a.iter().zip(b).map(joined).collect();
    shape.filter(|_| is_same_rank).map(Some)
}

#[cold]
fn wrong_shape(input: &SizedInput, wanted: &str) -> Failure {
    let found = text(input.shape.as_deref().unwrap_or_default());
    let name = &input.name;
    let reason = format!("expected {wanted} for {name}, got {found}");
    let shape: Vec<_> = input
        .shape
        .iter()
        .flatten()
        .map(|size| size.unwrap_or(0))
        .collect();
    let error = ArgumentError::shape(name, &shape, wanted);
    error.with_reason(reason).into()
}

fn text(shape: &[Option<usize>]) -> String {
    let size = |size: &Option<usize>| size.map_or("?".to_owned(), |size| size.to_string());
    format!(
        "[{}]",
        shape.iter().map(size).collect::<Vec<_>>().join(", ")
    )
}

fn written(items: &[SizeItem]) -> String {
    let items: Vec<_> = items.iter().map(ToString::to_string).collect();
    format!("[{}]", items.join(", "))
}
