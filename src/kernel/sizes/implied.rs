//! Rules of ops that state none.

use super::{SizeAlternative, SizeItem, SizeRule};
use crate::kernel::op::Op;

impl SizeRule {
    /// Returns the rule of an op that states none in any form: the outputs have the shape that all
    /// inputs are broadcast to, or that of the first input.
    pub(in crate::kernel) fn implied(op: &Op) -> Self {
        let outputs = op.parameters.len() - op.given();
        let item = |name: &str| match op.broadcasts {
            true => SizeItem::Batch,
            false => SizeItem::Spread(name.to_owned()),
        };
        let is_listed = |at: &usize| op.broadcasts || *at == 0;
        let inputs = (0..op.given()).filter(is_listed);
        let alternative = SizeAlternative {
            inputs: inputs.map(|at| (at, vec![item("shape")])).collect(),
            outputs: vec![vec![item("shape")]; outputs],
        };
        SizeRule {
            alternatives: vec![alternative],
        }
    }
}
