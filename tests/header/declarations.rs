//! The names that a header declares, read from its text.
//!
//! The C program can only report what it knows of. This reader knows nothing of DLPack, finds what
//! there is, and fails on what it does not understand, so that nothing new goes unseen.

use std::collections::BTreeSet;

/// Macros that say nothing of the ABI.
const MACROS_WITHOUT_FACTS: [&str; 3] = ["DLPACK_DLPACK_H_", "DLPACK_EXTERN_C", "DLPACK_DLL"];

/// The facts that there have to be for a header: one for each constant, enumeration member, field
/// and function type that it declares for C.
pub(crate) fn expected_facts(header: &str) -> Result<BTreeSet<String>, String> {
    let mut facts = BTreeSet::new();
    let text = without_comments(header)?.replace("\\\n", " ");
    let mut rest = preprocess(&text, &mut facts)?;
    while !rest.trim().is_empty() {
        let end = end_of_declaration(&rest)
            .ok_or_else(|| format!("a declaration without an end: {}", rest.trim()))?;
        let declaration = rest[..end].split_whitespace().collect::<Vec<_>>().join(" ");
        declared(&declaration, &mut facts)
            .ok_or_else(|| format!("a declaration that is not understood: {declaration}"))?;
        rest = rest[end + 1..].to_owned();
    }
    Ok(facts)
}

fn without_comments(text: &str) -> Result<String, String> {
    let mut kept = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('/') {
        let (before, comment) = rest.split_at(start);
        kept.push_str(before);
        rest = if let Some(line) = comment.strip_prefix("//") {
            // The line's end stays.
            line.find('\n').map_or("", |end| &line[end..])
        } else if let Some(block) = comment.strip_prefix("/*") {
            let end = block.find("*/").ok_or("a comment without an end")?;
            kept.push(' ');
            &block[end + 2..]
        } else {
            kept.push('/');
            &comment[1..]
        };
    }
    Ok(kept + rest)
}

/// The lines that a C compiler reads, without directives; macros are added to the facts.
fn preprocess(text: &str, facts: &mut BTreeSet<String>) -> Result<String, String> {
    let mut kept = String::new();
    let mut defined = BTreeSet::new();
    // For each conditional that is open: whether its current branch is read.
    let mut branches: Vec<bool> = Vec::new();
    for line in text.lines() {
        let read = branches.iter().all(|&branch| branch);
        let Some(directive) = line.trim().strip_prefix('#') else {
            if read {
                kept.push_str(line);
                kept.push('\n');
            }
            continue;
        };
        let directive = directive.trim_start();
        let (keyword, argument) = directive.split_once(' ').unwrap_or((directive, ""));
        let name = leading_identifier(argument);
        let unknown = || format!("a directive that is not understood: {line}");
        match keyword {
            "ifdef" => branches.push(defined.contains(name)),
            "ifndef" => branches.push(!defined.contains(name)),
            "else" => {
                let branch = branches.last_mut().ok_or_else(unknown)?;
                *branch = !*branch;
            }
            "endif" => drop(branches.pop().ok_or_else(unknown)?),
            "include" => {}
            "define" if read => {
                defined.insert(name.to_owned());
                if !MACROS_WITHOUT_FACTS.contains(&name) {
                    let flag = name.starts_with("DLPACK_FLAG_");
                    let group = if flag { "flags" } else { "version" };
                    facts.insert(format!("{group}.{name}"));
                }
            }
            _ if !read => {}
            _ => return Err(unknown()),
        }
    }
    Ok(kept)
}

/// Where the first semicolon outside of braces is.
fn end_of_declaration(text: &str) -> Option<usize> {
    let mut depth = 0;
    text.char_indices().find_map(|(at, character)| {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        (character == ';' && depth == 0).then_some(at)
    })
}

/// Adds what a declaration calls for; `None` if it is of a kind that is not known.
fn declared(declaration: &str, facts: &mut BTreeSet<String>) -> Option<()> {
    let definition = declaration.strip_prefix("typedef ")?;
    let Some((kind, rest)) = definition.split_once('{') else {
        facts.insert(format!("function_types.{}", pointer_name(definition)?));
        return Some(());
    };
    let (body, name) = rest.rsplit_once('}')?;
    let name = identifier(name)?;
    if body.contains('{') {
        return None;
    }
    match kind.split_whitespace().next()? {
        "struct" => {
            for field in body.split(';').filter(|field| !field.trim().is_empty()) {
                facts.insert(format!("{name}.{}.offset", field_name(field)?));
            }
        }
        "enum" => {
            for member in body.split(',').filter(|member| !member.trim().is_empty()) {
                let member = identifier(member.split('=').next()?)?;
                facts.insert(format!("{name}.{member}"));
            }
        }
        _ => return None,
    }
    Some(())
}

fn field_name(field: &str) -> Option<&str> {
    if field.contains('(') {
        return pointer_name(field);
    }
    if field.contains([',', ':', '[']) {
        return None;
    }
    let name = field.trim_end();
    identifier(&name[name.rfind([' ', '*'])? + 1..])
}

/// The name in `result (*name)(arguments)`.
fn pointer_name(declarator: &str) -> Option<&str> {
    let (_, rest) = declarator.split_once("(*")?;
    let (name, arguments) = rest.split_once(')')?;
    arguments.trim_start().starts_with('(').then_some(())?;
    identifier(name)
}

fn identifier(text: &str) -> Option<&str> {
    let text = text.trim();
    (!text.is_empty() && leading_identifier(text) == text).then_some(text)
}

fn leading_identifier(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.find(|character: char| !character.is_ascii_alphanumeric() && character != '_');
    &text[..end.unwrap_or(text.len())]
}
