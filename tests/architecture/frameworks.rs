//! Tests that facts of a framework stand in its file under `src/python/frameworks` alone.

use crate::{root, rust_files};
use std::collections::BTreeSet;
use std::fs;

/// Returns the string literals of Rust code, of each the line and the text, without comments,
/// attributes and tests at the end of the file.
fn literals(text: &str) -> Vec<(usize, String)> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let mut found = Vec::new();
    let mut line = 1;
    let mut rest = text.chars().peekable();
    let mut before = ' ';
    while let Some(c) = rest.next() {
        match c {
            '\n' => line += 1,
            '/' if rest.peek() == Some(&'/') => {
                while rest.peek().is_some_and(|c| *c != '\n') {
                    rest.next();
                }
            }
            // A character; lifetimes have no quote at their end.
            '\'' => {
                let ahead: Vec<_> = rest.clone().take(3).collect();
                match ahead[..] {
                    ['\\', _, '\''] => drop(rest.nth(2)),
                    [_, '\'', ..] => drop(rest.nth(1)),
                    _ => {}
                }
            }
            '"' => {
                let (start, is_raw) = (line, before == 'r' || before == '#');
                let mut literal = String::new();
                while let Some(c) = rest.next() {
                    match c {
                        '"' => break,
                        '\\' if !is_raw => literal.extend(rest.next()),
                        _ => literal.push(c),
                    }
                    line += usize::from(literal.ends_with('\n') && c == '\n');
                }
                found.push((start, literal));
            }
            _ => {}
        }
        before = c;
    }
    found
}

/// Returns the packages that the rows name.
fn packages() -> BTreeSet<String> {
    let mut packages = BTreeSet::new();
    for path in rust_files(&root().join("src/python/frameworks")) {
        let text = fs::read_to_string(&path).unwrap();
        for after in text.split("Framework::new(").skip(1) {
            // The name, the title, and the packages, before the constraints.
            let row = after.split("ANYTHING").next().unwrap();
            let (_, after) = row.split_once("&[").expect("a row has packages");
            let list = after.split(']').next().unwrap();
            packages.extend(literals(list).into_iter().map(|(_, name)| name));
        }
    }
    packages
}

/// Whether a literal is a package's name, or that of a module in it.
fn names<'a>(literal: &str, packages: impl IntoIterator<Item = &'a String>) -> bool {
    let root = literal.split('.').next().unwrap();
    let is_path = literal
        .split('.')
        .all(|part| !part.is_empty() && part.chars().all(|c| c.is_alphanumeric() || c == '_'));
    is_path && packages.into_iter().any(|package| package == root)
}

/// Not frameworks with a row of their own, but known of in the same place.
const OTHERS: [&str; 3] = ["ml_dtypes", "numba", "cupyx"];

#[test]
fn framework_names_are_literals_only_in_their_files() {
    let mut packages = packages();
    assert!(packages.len() >= 14, "{packages:?}");
    packages.extend(OTHERS.map(str::to_owned));
    // Our own name is the name of our modules, too.
    packages.remove("dlbridge");
    let mut misplaced = Vec::new();
    let mut placed = 0;
    for path in ["src", "dlpack/src"]
        .iter()
        .flat_map(|folder| rust_files(&root().join(folder)))
    {
        // The package whose C library is loaded is named where that is done.
        let is_in_place = path.starts_with(root().join("src/python/frameworks"))
            || path.starts_with(root().join("src/tensorflow"));
        // A feature may have the name of a package.
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replace("feature = \"tensorflow\"", "");
        for (line, literal) in literals(&text) {
            match (names(&literal, &packages), is_in_place) {
                (true, true) => placed += 1,
                (true, false) => misplaced.push(format!("{}:{line}: {literal:?}", path.display())),
                (false, _) => {}
            }
        }
    }
    assert!(
        misplaced.is_empty(),
        "ask the framework's row: {misplaced:#?}"
    );
    assert!(placed > 40, "{placed}");
}

/// That its tests pass shows that these are enough: see `src/python/frameworks/made_up.rs`.
#[test]
fn framework_is_one_file_and_one_row() {
    let table = root().join("src/python/frameworks.rs");
    let text = fs::read_to_string(&table).unwrap();
    let lines = |what: &str| text.lines().filter(|line| line.contains(what)).count();
    assert_eq!(lines("made_up"), 2);
    assert_eq!((lines("mod made_up;"), lines("&made_up::ROW")), (1, 1));
    let own = root().join("src/python/frameworks/made_up.rs");
    for path in rust_files(&root().join("src")) {
        if path != table && path != own {
            let text = fs::read_to_string(&path).unwrap();
            assert!(!text.contains("made_up"), "{}", path.display());
        }
    }
}

#[test]
fn literals_are_parsed_as_in_rust() {
    let code = "let a = \"x\\\"y\"; // \"no\"\nlet b = ['\"', 'c']; f::<'a>(r\"\\d\", \"z\")";
    let found: Vec<_> = literals(code);
    let expected = [(1, "x\"y"), (2, "\\d"), (2, "z")];
    assert_eq!(found, expected.map(|(line, text)| (line, text.to_owned())));
}

#[test]
fn names_are_packages_and_their_modules() {
    let packages = ["torch".to_owned()];
    for literal in ["torch", "torch._C", "torch.cuda"] {
        assert!(names(literal, &packages), "{literal}");
    }
    for literal in [
        "torch tensor",
        "torchvision",
        "pytorch",
        "a.torch",
        "pass torch.Tensor",
        "torch.",
    ] {
        assert!(!names(literal, &packages), "{literal}");
    }
}
