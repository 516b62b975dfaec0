//! An import points down the floors, never up, and no files import each other in a circle: see
//! ARCHITECTURE.md.
//!
//! A file imports another when a path in its code leads to an item that the other file defines: in
//! a `use` with nested braces or spelled out, from `crate`, `super`, `self`, a child module or an
//! imported name. A path through a module that only re-exports the item leads on to the file that
//! defines it, so a parent that only declares and re-exports its children (`mod`, `pub use`)
//! imports none of them, unless its own code mentions the re-exported name. A circle is a group of
//! files each of which reaches all others by imports; methods, which are not imported, tests in a
//! module `tests`, and files of modules that are declared under `#[cfg(test)]` don't count.

#[path = "architecture/circles.rs"]
mod circles;
#[path = "architecture/modules.rs"]
mod modules;
#[path = "architecture/tokens.rs"]
mod tokens;

/// Calls of the CUDA driver.
#[path = "architecture/driver.rs"]
mod driver;

/// The parts of `src/python`.
#[path = "architecture/python_parts.rs"]
mod python_parts;

/// Names of frameworks.
#[path = "architecture/frameworks.rs"]
mod frameworks;

/// Made-up trees, in which the test finds what it must find.
#[path = "architecture/examples.rs"]
mod examples;

use circles::{circles, imports};
use modules::Modules;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The root crate's modules, and on which floor each is. The ground floor is the crate
/// `dlbridge-dlpack`, which everything here may use.
const FLOORS: [(&str, u8); 20] = [
    ("compute", 3),
    ("crates", 4),
    ("device", 2),
    ("dtype", 2),
    ("number", 2),
    ("error", 3),
    ("files", 6),
    ("layout", 2),
    ("storage", 3),
    ("tensor", 3),
    ("view", 3),
    ("interchange", 4),
    ("kernel", 5),
    ("cuda", 6),
    ("hosts", 6),
    ("ops", 6),
    ("tensorflow", 6),
    ("tensorflow_types", 3),
    ("testing", 6),
    ("python", 7),
];

fn floor(module: &str) -> u8 {
    FLOORS
        .iter()
        .find(|(name, _)| *name == module)
        .unwrap_or_else(|| panic!("{module} has no floor: add it to FLOORS and ARCHITECTURE.md"))
        .1
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The code of a file: without comments, documentation, and tests at its end.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The top module that a file belongs to: `src/tensor/copy.rs` to `tensor`.
fn module_of(path: &Path) -> String {
    let inside = path.strip_prefix(root().join("src")).unwrap();
    let first = inside.components().next().unwrap();
    let name = Path::new(first.as_os_str()).file_stem().unwrap();
    name.to_str().unwrap().to_owned()
}

/// Reads the modules of a crate from its source folder.
fn read_crate(folder: &str) -> Modules {
    let folder = root().join(folder);
    let read = |path: PathBuf| {
        let name = path.strip_prefix(&folder).unwrap().to_str().unwrap();
        (name.to_owned(), fs::read_to_string(&path).unwrap())
    };
    let files: Vec<_> = rust_files(&folder).into_iter().map(read).collect();
    Modules::read(
        files
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str())),
    )
}

/// The top module of a file, by its path from the source folder: `tensor/copy.rs` to `tensor`.
fn top(file: &str) -> &str {
    file.split(['/', '.']).next().unwrap()
}

/// Macros that call themselves, which are exported at the top.
const MACROS: [&str; 1] = ["dispatch"];

/// Names that follow `crate::` in paths, but for the protocol crate.
fn named_at_top(modules: &Modules) -> Vec<(&str, &str)> {
    let mut names = Vec::new();
    for module in modules.0.values() {
        let imports = module.imports.iter().map(|import| &import.path);
        for path in imports.chain(&module.paths) {
            if path[0] == "crate"
                && path.len() > 1
                && path[1] != "dlpack"
                && !MACROS.contains(&path[1].as_str())
            {
                names.push((module.file.as_str(), path[1].as_str()));
            }
        }
    }
    names
}

#[test]
fn imports_point_down() {
    let modules = read_crate("src");
    for (file, name) in named_at_top(&modules) {
        assert!(
            file == "lib.rs" || FLOORS.iter().any(|(module, _)| *module == name),
            "{file}: expected a module, got crate::{name}; name where it is from"
        );
    }
    for (file, imported) in imports(&modules) {
        if file == "lib.rs" {
            continue;
        }
        // Where macros are exported.
        for other in imported.into_iter().filter(|other| other != "lib.rs") {
            assert!(
                floor(top(&other)) <= floor(top(&file)),
                "{file} is on floor {} and imports {other} from floor {}",
                floor(top(&file)),
                floor(top(&other))
            );
        }
    }
}

#[test]
fn files_have_no_circular_imports() {
    let mut found = Vec::new();
    for (folder, least) in [("src", 500), ("dlpack/src", 20)] {
        let imports = imports(&read_crate(folder));
        let count: usize = imports.values().map(BTreeSet::len).sum();
        assert!(
            count >= least,
            "only {count} imports were found in {folder}"
        );
        for circle in circles(&imports) {
            let files = circle.iter().map(|file| format!("{folder}/{file}"));
            found.push(files.collect::<Vec<_>>());
        }
    }
    assert!(found.is_empty(), "circles of imports: {found:#?}");
}

#[test]
fn no_floor_below_cuda_uses_its_feature() {
    let below = floor("cuda");
    for path in rust_files(&root().join("src")) {
        let module = module_of(&path);
        if module != "lib" && floor(&module) < below {
            assert!(
                !code(&path).contains("feature = \"cuda\""),
                "{} asks for the feature of a floor above",
                path.display()
            );
        }
    }
}

#[test]
fn every_module_has_a_floor_and_is_documented() {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    for path in rust_files(&root().join("src")) {
        let module = module_of(&path);
        if module != "lib" {
            floor(&module);
            assert!(
                page.contains(&format!("`{module}.rs`")),
                "ARCHITECTURE.md lacks {module}.rs"
            );
        }
    }
}

#[test]
fn only_the_ground_floor_names_the_crate_of_the_abi() {
    for path in rust_files(&root().join("src")) {
        assert!(
            !code(&path).contains("dlpark"),
            "{} names dlpark",
            path.display()
        );
    }
    let users: Vec<_> = rust_files(&root().join("dlpack/src"))
        .into_iter()
        .filter(|path| code(path).contains("dlpark"))
        .map(|path| path.file_name().unwrap().to_owned())
        .collect();
    assert!(
        users
            .iter()
            .all(|name| name == "abi.rs" || name == "managed.rs"),
        "{users:?}"
    );
}

#[test]
fn the_ground_floor_imports_no_other_floor() {
    let manifest = fs::read_to_string(root().join("dlpack/Cargo.toml")).unwrap();
    let dependencies = manifest.split("[dependencies]").nth(1).unwrap();
    assert!(!dependencies.contains("dlbridge"), "{dependencies}");
}
