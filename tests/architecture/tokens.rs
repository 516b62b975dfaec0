//! Tokens of Rust source: identifiers, `::`, and single characters; no comments, strings or
//! lifetimes.

/// Returns the tokens of a source text.
pub(crate) fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let next = chars.get(at + 1).copied().unwrap_or(' ');
        if c == '/' && next == '/' {
            at = find(&chars, at, '\n');
        } else if c == '/' && next == '*' {
            at = end_of_block_comment(&chars, at);
        } else if is_name(c) {
            let start = at;
            while chars.get(at).is_some_and(|c| is_name(*c)) {
                at += 1;
            }
            let name: String = chars[start..at].iter().collect();
            match raw_string_end(&chars, &name, at) {
                Some(end) => at = end,
                None => tokens.push(name),
            }
        } else if c == '"' {
            at = end_of_literal(&chars, at, '"');
        } else if c == '\'' {
            at = match (next, chars.get(at + 2)) {
                ('\\', _) | (_, Some('\'')) => end_of_literal(&chars, at, '\''),
                _ => at + 1 + chars[at + 1..].iter().take_while(|c| is_name(**c)).count(),
            };
        } else if c == ':' && next == ':' {
            tokens.push("::".into());
            at += 2;
        } else {
            if !c.is_whitespace() {
                tokens.push(c.into());
            }
            at += 1;
        }
    }
    tokens
}

/// Whether a character can be part of an identifier or a number.
pub(crate) fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the position of the next such character, or the end.
fn find(chars: &[char], from: usize, wanted: char) -> usize {
    let found = chars[from..].iter().position(|c| *c == wanted);
    found.map_or(chars.len(), |steps| from + steps)
}

/// Returns the position after a block comment, which may hold others.
fn end_of_block_comment(chars: &[char], from: usize) -> usize {
    let (mut at, mut depth) = (from, 0);
    while at + 1 < chars.len() {
        match (chars[at], chars[at + 1]) {
            ('/', '*') => (at, depth) = (at + 2, depth + 1),
            ('*', '/') => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    chars.len()
}

/// Returns the position after a string or character literal that begins at `from`.
fn end_of_literal(chars: &[char], from: usize, quote: char) -> usize {
    let mut at = from + 1;
    while let Some(&c) = chars.get(at) {
        match c {
            '\\' => at += 2,
            c if c == quote => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// Returns the position after a raw string whose prefix is `name`, which ends at `at`.
fn raw_string_end(chars: &[char], name: &str, at: usize) -> Option<usize> {
    if !["r", "br", "cr"].contains(&name) {
        return None;
    }
    let hashes = chars[at..].iter().take_while(|c| **c == '#').count();
    if chars.get(at + hashes) != Some(&'"') {
        return None;
    }
    let mut end = at + hashes + 1;
    loop {
        end = find(chars, end, '"') + 1;
        if end >= chars.len() || chars[end..].iter().take(hashes).all(|c| *c == '#') {
            return Some((end + hashes).min(chars.len()));
        }
    }
}
