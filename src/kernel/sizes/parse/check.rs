//! Checks of a parsed size rule: every name has a value in every call.

use super::super::{SizeAlternative, SizeExpression, SizeItem};
use crate::kernel::op::{Op, Presence};
use std::collections::BTreeSet;

/// The names to which inputs give values.
#[derive(Default)]
struct Bound<'a> {
    sizes: BTreeSet<&'a str>,
    spreads: BTreeSet<&'a str>,
    has_batch: bool,
    /// The sizes in a variadic input.
    of_many: BTreeSet<&'a str>,
}

/// Checks that inputs can be matched, and that they give a value to each name in the outputs.
pub(super) fn check(op: &Op, alternative: &SizeAlternative) -> Result<(), String> {
    let mut always = Bound::default();
    let mut ever = Bound::default();
    for (at, items) in &alternative.inputs {
        let parameter = &op.parameters[*at];
        matchable(&parameter.name, items)?;
        bind(&mut ever, items, parameter.presence);
        if parameter.presence != Presence::Optional {
            bind(&mut always, items, parameter.presence);
        }
    }
    for (at, items) in &alternative.inputs {
        let known = match op.parameters[*at].presence {
            Presence::Optional => &ever,
            _ => &always,
        };
        items.iter().try_for_each(|item| is_known(item, known))?;
    }
    for item in alternative.outputs.iter().flatten() {
        if let SizeItem::Axis { size, .. } = item {
            return Err(format!(
                "{size}@ is for inputs; an output has {size} in its place"
            ));
        }
        is_known(item, &always)?;
    }
    Ok(())
}

/// Checks that there is one way to match a shape with the items of an input.
fn matchable(name: &str, items: &[SizeItem]) -> Result<(), String> {
    let is_axis = |item: &SizeItem| matches!(item, SizeItem::Axis { .. });
    let is_many = |item: &&SizeItem| matches!(item, SizeItem::Batch | SizeItem::Spread(_));
    let parts: Vec<_> = items.split(is_axis).collect();
    if parts.len() > 2 {
        return Err(format!("{name:?} has two axes that attributes name"));
    }
    for part in &parts {
        if part.iter().filter(is_many).count() > 1 {
            return Err(format!("{name:?} has two spreads side by side"));
        }
        if parts.len() == 2 && !part.iter().any(|item| is_many(&item)) {
            return Err(format!("{name:?} has no spread on one side of its axis"));
        }
    }
    let is_reduced = |item: &SizeItem| matches!(item, SizeItem::Reduced { .. });
    match items.len() > 1 && items.iter().any(is_reduced) {
        true => Err(format!(
            "reduce() is all of an input's shape, and part of {name:?}"
        )),
        false => Ok(()),
    }
}

fn bind<'a>(bound: &mut Bound<'a>, items: &'a [SizeItem], presence: Presence) {
    for item in items {
        match item {
            SizeItem::Batch => bound.has_batch = true,
            SizeItem::Spread(name) => {
                bound.spreads.insert(name);
            }
            SizeItem::Axis { size: name, .. } | SizeItem::Size(SizeExpression::Name(name)) => {
                bound.sizes.insert(name);
                if presence == Presence::Variadic {
                    bound.of_many.insert(name);
                }
            }
            SizeItem::Size(_) | SizeItem::Reduced { .. } => {}
        }
    }
}

fn is_known(item: &SizeItem, bound: &Bound<'_>) -> Result<(), String> {
    let known = |is_known: bool, name: &str| match is_known {
        true => Ok(()),
        false => Err(format!("no required input says what {name} is")),
    };
    match item {
        SizeItem::Batch => known(bound.has_batch, "..."),
        SizeItem::Spread(name) | SizeItem::Reduced { spread: name, .. } => {
            known(bound.spreads.contains(name.as_str()), &format!("{name}..."))
        }
        SizeItem::Axis { size, .. } => known(bound.sizes.contains(size.as_str()), size),
        SizeItem::Size(size) => {
            let mut outcome = Ok(());
            size.for_each_name(&mut |name, is_sum| {
                if outcome.is_ok() {
                    outcome = known(bound.sizes.contains(name), name);
                }
                if outcome.is_ok() && is_sum && !bound.of_many.contains(name) {
                    outcome = Err(format!("sum({name}) is for sizes of a variadic input"));
                }
            });
            outcome
        }
    }
}
