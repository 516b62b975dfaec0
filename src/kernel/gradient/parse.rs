//! Parser of gradients.

use super::{Gradient, GradientAttribute, GradientValue};
use crate::kernel::attribute::Attribute;
use crate::kernel::op::{Op, Role};
use crate::kernel::text::{Token, Tokens};

impl Gradient {
    /// Parses the gradient of an op's input.
    pub(in crate::kernel) fn parse(op: &Op, input: &str, text: &str) -> Result<Self, String> {
        let in_gradient = |problem: String| format!("gradient of {input:?}, {text:?}: {problem}");
        let at = op.position(input).filter(|at| *at < op.given());
        let at = at.ok_or_else(|| in_gradient(format!("there is no input {input:?}")))?;
        let tokens = Tokens::of(text).map_err(in_gradient)?;
        let mut parser = Parser { op, tokens };
        let mut values = Vec::new();
        loop {
            values.push(parser.value().map_err(in_gradient)?);
            if !parser.tokens.skip("|") {
                break;
            }
        }
        parser.tokens.expect_end().map_err(in_gradient)?;
        let alternatives = op.size_rule().map_or(1, |rule| rule.alternatives.len());
        if values.len() != 1 && values.len() != alternatives {
            let count = values.len();
            return Err(in_gradient(format!(
                "expected 1 or {alternatives} alternatives, as sizes has, got {count}"
            )));
        }
        Ok(Gradient { input: at, values })
    }
}

struct Parser<'a> {
    op: &'a Op,
    tokens: Tokens<'a>,
}

impl Parser<'_> {
    fn value(&mut self) -> Result<GradientValue, String> {
        let given = self.one()?;
        if !self.skip_word("if") {
            return Ok(given);
        }
        let name = self.tokens.name("an optional input")?;
        let input = self.op.position(&name);
        let input = input.filter(|at| self.op.is_optional(*at));
        let input = input.ok_or_else(|| format!("there is no optional input {name:?}"))?;
        if !self.skip_word("else") {
            return Err(self.tokens.unexpected("else"));
        }
        Ok(GradientValue::Choice {
            input,
            given: Box::new(given),
            otherwise: Box::new(self.value()?),
        })
    }

    /// Reads the next token if it is this name.
    fn skip_word(&mut self, word: &str) -> bool {
        let is_next = self.tokens.peek_name() == Some(word);
        self.tokens.advance(usize::from(is_next));
        is_next
    }

    fn one(&mut self) -> Result<GradientValue, String> {
        if self.tokens.peek_at(0) == Some(Token::Number("0")) {
            self.tokens.advance(1);
            return Ok(GradientValue::Zero);
        }
        let mut name = self.tokens.name("a tensor, a call, or 0")?;
        while self.tokens.skip(".") {
            name = format!("{name}.{}", self.tokens.name("a part of an op's name")?);
        }
        match self.tokens.skip("(") {
            true => self.call(name),
            false => self.tensor(&name),
        }
    }

    fn tensor(&self, name: &str) -> Result<GradientValue, String> {
        if let Some(at) = self.op.position(name) {
            return Ok(GradientValue::Argument(at));
        }
        let output = name
            .strip_prefix('d')
            .and_then(|name| self.op.position(name));
        match output {
            Some(at) if self.op.parameters[at].role != Role::Input => {
                Ok(GradientValue::OutputGradient(at))
            }
            _ => Err(format!(
                "there is no input or output {name:?}, and no output's gradient"
            )),
        }
    }

    fn call(&mut self, op: String) -> Result<GradientValue, String> {
        let (mut inputs, mut attributes) = (Vec::new(), Vec::new());
        while !self.tokens.skip(")") {
            if !inputs.is_empty() || !attributes.is_empty() {
                self.tokens.expect(",")?;
            }
            let keyword = self.tokens.peek_name();
            let keyword = keyword.filter(|_| self.tokens.peek_at(1) == Some(Token::Mark("=")));
            if let Some(keyword) = keyword.map(str::to_owned) {
                self.tokens.advance(2);
                attributes.push((keyword, self.attribute()?));
            } else if attributes.is_empty() {
                inputs.push(self.value()?);
            } else {
                return Err(self
                    .tokens
                    .unexpected("an attribute, as after other attributes"));
            }
        }
        Ok(GradientValue::Call {
            op,
            inputs,
            attributes,
        })
    }

    fn attribute(&mut self) -> Result<GradientAttribute, String> {
        if let Some(text) = self.tokens.skip_quoted() {
            return Ok(GradientAttribute::Is(text.into()));
        }
        let is_negative = self.tokens.skip("-");
        if let Some(number) = self.tokens.skip_number() {
            let sign = if is_negative { "-" } else { "" };
            let text = format!("{sign}{number}");
            let number = text.parse().map(Attribute::Int).or_else(|_| {
                text.parse()
                    .map(Attribute::Float)
                    .map_err(|_| format!("{text} is no number"))
            });
            return number.map(GradientAttribute::Is);
        }
        let name = self.tokens.name("an attribute's value")?;
        Ok(match name.as_str() {
            _ if is_negative => return Err(format!("expected a number after -, got {name:?}")),
            "True" => GradientAttribute::Is(true.into()),
            "False" => GradientAttribute::Is(false.into()),
            "None" => GradientAttribute::Is(Attribute::OptionalInts(None)),
            "dtype" if self.tokens.skip("(") => {
                let tensor = self.tokens.name("an input or output")?;
                let at = self.op.position(&tensor);
                let at = at.ok_or_else(|| format!("there is no input or output {tensor:?}"))?;
                self.tokens.expect(")")?;
                GradientAttribute::DTypeOf(at)
            }
            _ if self.op.attributes.iter().any(|known| known.name == name) => {
                GradientAttribute::Same(name)
            }
            _ => return Err(format!("there is no attribute {name:?}")),
        })
    }
}
