//! Parser of size rules.

mod check;

use super::{SizeAlternative, SizeExpression, SizeItem, SizeRule, names_axes};
use crate::kernel::attribute::AttributeKind;
use crate::kernel::op::Op;
use crate::kernel::text::{Token, Tokens};

impl SizeRule {
    /// Parses a rule of this op.
    pub(in crate::kernel) fn parse(op: &Op, text: &str) -> Result<Self, String> {
        let in_rule = |problem: String| format!("sizes {text:?}: {problem}");
        let tokens = Tokens::of(text).map_err(in_rule)?;
        let mut parser = Parser { op, tokens };
        let mut alternatives = Vec::new();
        loop {
            alternatives.push(parser.alternative().map_err(in_rule)?);
            if !parser.tokens.skip("|") {
                break;
            }
        }
        parser.tokens.expect_end().map_err(in_rule)?;
        for alternative in &alternatives {
            check::check(op, alternative).map_err(in_rule)?;
        }
        Ok(SizeRule { alternatives })
    }
}

struct Parser<'a> {
    op: &'a Op,
    tokens: Tokens<'a>,
}

impl Parser<'_> {
    fn alternative(&mut self) -> Result<SizeAlternative, String> {
        let given = self.op.given();
        let mut inputs = Vec::new();
        if !self.tokens.is_next("->") {
            for (name, items) in self.tensors()? {
                let at = self.op.position(&name).filter(|at| *at < given);
                let at = at.ok_or_else(|| format!("there is no input {name:?}"))?;
                if inputs.iter().any(|(other, _)| *other == at) {
                    return Err(format!("{name:?} comes twice"));
                }
                inputs.push((at, items));
            }
        }
        let mut named = Vec::new();
        if self.tokens.skip("->") && !self.tokens.is_end() && !self.tokens.is_next("|") {
            named = self.tensors()?;
        }
        let mut outputs = Vec::new();
        for output in &self.op.parameters[given..] {
            let at = named.iter().position(|(name, _)| *name == output.name);
            let at = at.ok_or_else(|| format!("it says nothing of output {:?}", output.name))?;
            outputs.push(named.remove(at).1);
        }
        match named.first() {
            Some((name, _)) => Err(format!("there is no output {name:?}, or it comes twice")),
            None => Ok(SizeAlternative { inputs, outputs }),
        }
    }

    fn tensors(&mut self) -> Result<Vec<(String, Vec<SizeItem>)>, String> {
        let mut tensors = Vec::new();
        loop {
            let name = self.tokens.name("a tensor's name")?;
            self.tokens.expect("[")?;
            let mut items = Vec::new();
            if !self.tokens.skip("]") {
                loop {
                    items.push(self.item()?);
                    if !self.tokens.skip(",") {
                        break;
                    }
                }
                self.tokens.expect("]")?;
            }
            tensors.push((name, items));
            if !self.tokens.skip(",") {
                return Ok(tensors);
            }
        }
    }

    fn item(&mut self) -> Result<SizeItem, String> {
        if self.tokens.skip("...") {
            return Ok(SizeItem::Batch);
        }
        if let Some(name) = self.tokens.peek_name() {
            let name = name.to_owned();
            match self.tokens.peek_at(1) {
                Some(Token::Mark("...")) => {
                    self.tokens.advance(2);
                    return Ok(SizeItem::Spread(name));
                }
                Some(Token::Mark("@")) => {
                    self.tokens.advance(2);
                    let attribute = self.attribute(|kind| kind == AttributeKind::Int, "Int")?;
                    return Ok(SizeItem::Axis {
                        size: name,
                        attribute,
                    });
                }
                Some(Token::Mark("(")) if name == "reduce" => {
                    self.tokens.advance(2);
                    return self.reduced();
                }
                _ => {}
            }
        }
        self.sum().map(SizeItem::Size)
    }

    fn reduced(&mut self) -> Result<SizeItem, String> {
        let spread = self.tokens.name("the name of a spread")?;
        self.tokens.expect(",")?;
        let axis = self.attribute(names_axes, "Int, Ints or their optional kinds")?;
        let keepdims = match self.tokens.skip(",") {
            true => Some(self.attribute(|kind| kind == AttributeKind::Bool, "Bool")?),
            false => None,
        };
        self.tokens.expect(")")?;
        Ok(SizeItem::Reduced {
            spread,
            axis,
            keepdims,
        })
    }

    fn attribute(
        &mut self,
        fits: impl Fn(AttributeKind) -> bool,
        wanted: &str,
    ) -> Result<String, String> {
        let name = self.tokens.name("an attribute's name")?;
        match self.op.attributes().find(|(known, ..)| *known == name) {
            Some((_, kind, _)) if fits(kind) => Ok(name),
            Some((_, kind, _)) => Err(format!(
                "attribute {name:?} is of kind {kind}, and not {wanted}"
            )),
            None => Err(format!("there is no attribute {name:?}")),
        }
    }

    fn sum(&mut self) -> Result<SizeExpression, String> {
        let mut left = self.product()?;
        while let Some(mark) = self.tokens.skip_any(["+", "-"]) {
            left = SizeExpression::Joined(mark, left.into(), self.product()?.into());
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<SizeExpression, String> {
        let mut left = self.factor()?;
        while let Some(mark) = self.tokens.skip_any(["*", "/"]) {
            left = SizeExpression::Joined(mark, left.into(), self.factor()?.into());
        }
        Ok(left)
    }

    fn factor(&mut self) -> Result<SizeExpression, String> {
        if self.tokens.skip("(") {
            let inner = self.sum()?;
            self.tokens.expect(")")?;
            return Ok(inner);
        }
        if let Some(number) = self.tokens.skip_number() {
            let number = number.parse();
            let number = number.map_err(|_| "expected a whole number as a size".to_owned())?;
            return Ok(SizeExpression::Number(number));
        }
        let name = self.tokens.name("a size")?;
        if name == "sum" && self.tokens.skip("(") {
            let inner = self.tokens.name("the name of a size")?;
            self.tokens.expect(")")?;
            return Ok(SizeExpression::Sum(inner));
        }
        let mut attributes = self.op.attributes();
        Ok(match attributes.find(|(known, ..)| *known == name) {
            Some((_, AttributeKind::Int, _)) => SizeExpression::Attribute(name),
            Some((_, kind, _)) => {
                return Err(format!(
                    "attribute {name:?} is of kind {kind}, which is no size"
                ));
            }
            None => SizeExpression::Name(name),
        })
    }
}
