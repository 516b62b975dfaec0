//! The parts of `src/python` import in one direction: see "Inside floor 7" in ARCHITECTURE.md.

use crate::{code, root, rust_files};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// The parts, the lowest ones first. A part imports from the lines before its own, and from nothing
/// beside it.
const LEVELS: [&[&str]; 13] = [
    &["error", "argument_markers", "builtin", "hints", "items"],
    &["attach", "type_attribute", "readonly"],
    &["object", "import/buffer"],
    &["borrows"],
    &["frameworks"],
    &["refusal", "dtype_and_device", "tensor_object"],
    &["import/type_cache"],
    &["cuda"],
    &["import"],
    &["export"],
    &["argument"],
    &["class", "detach", "launch", "on_device"],
    &["ops", "fastcall", "files"],
];

/// Parts of several names: files that stand in for others, and two that are one.
const OTHER_NAMES: [(&str, &str); 3] = [
    ("no_cuda", "cuda"),
    ("releaser", "attach"),
    ("import/no_buffer", "import/buffer"),
];

fn folder() -> PathBuf {
    root().join("src/python")
}

/// Returns the part of a module, of which these are the names below `python`.
fn part(names: &[&str]) -> String {
    let part = match names {
        ["import", second, ..] if ["buffer", "no_buffer", "type_cache"].contains(second) => {
            format!("import/{second}")
        }
        [first, ..] => (*first).to_owned(),
        [] => String::new(),
    };
    let other = OTHER_NAMES.iter().find(|(name, _)| *name == part);
    other.map_or(part, |(_, name)| (*name).to_owned())
}

fn level(part: &str) -> usize {
    let found = LEVELS.iter().position(|parts| parts.contains(&part));
    found.unwrap_or_else(|| panic!("{part} is on no level: add it here and to ARCHITECTURE.md"))
}

/// Returns the parts that the code of a module names; `module`: its names below `python`.
fn imports(code: &str, module: &[&str]) -> BTreeSet<String> {
    let up = "super::".repeat(module.len());
    let mut parts = BTreeSet::new();
    for start in ["crate::python::", &up] {
        for (at, _) in code.match_indices(start) {
            let before = &code[..at];
            if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') || before.ends_with("::")
            {
                continue;
            }
            let rest = &code[at + start.len()..];
            let path = rest.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
            let path = path.take(1).next().unwrap();
            let names: Vec<_> = path.split("::").filter(|name| !name.is_empty()).collect();
            match names[..] {
                // Several of them, as in `use crate::python::{cuda, refusal};`.
                [] => {
                    let list = rest.trim_start_matches('{').split('}').next().unwrap();
                    let names = list.split(',').map(str::trim);
                    parts.extend(
                        names
                            .filter(|name| !name.is_empty())
                            .map(|name| part(&name.split("::").collect::<Vec<_>>())),
                    );
                }
                // The module above names nothing but what it exports.
                [name, ..] if name.starts_with("super") || name.starts_with(char::is_uppercase) => {
                }
                _ => drop(parts.insert(part(&names))),
            }
        }
    }
    parts
}

#[test]
fn parts_import_in_one_direction() {
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for path in rust_files(&folder()) {
        // Tests stand beside what they test, and use all.
        if path.ends_with("borrows/tests.rs") || path.ends_with("frameworks/made_up.rs") {
            continue;
        }
        let inside = path.strip_prefix(folder()).unwrap().with_extension("");
        let module: Vec<_> = inside.iter().map(|name| name.to_str().unwrap()).collect();
        let own = part(&module);
        for other in imports(&code(&path), &module) {
            if other != own && level(&other) >= level(&own) {
                wrong.push(format!("{}: {own} imports {other}", inside.display()));
            }
        }
        level(&own);
        seen.insert(own);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    let listed: BTreeSet<_> = LEVELS.concat().into_iter().map(str::to_owned).collect();
    assert_eq!(seen, listed, "a part that is listed, and not there");
}

#[test]
fn imports_are_parsed() {
    let code = "use crate::python::import::type_cache::ImportPath;\nuse super::error::Refused;\n\
        use crate::python::{cuda, import::own};\nf(super::super::x, mysuper::y, super::Like)";
    let found: Vec<_> = imports(code, &["export"]).into_iter().collect();
    assert_eq!(found, ["cuda", "error", "import", "import/type_cache"]);
    let found: Vec<_> = imports("use super::super::take::X;", &["cuda", "streams"])
        .into_iter()
        .collect();
    assert_eq!(found, ["take"]);
}
