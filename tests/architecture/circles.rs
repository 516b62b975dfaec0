//! Imports between files, and the circles among them.

use crate::modules::Modules;
use std::collections::{BTreeMap, BTreeSet};

/// The files that each file imports from.
pub(crate) type Imports = BTreeMap<String, BTreeSet<String>>;

/// Returns which file imports from which others.
///
/// A file imports another when a path in its code, of a `use` or not, leads to an item that the
/// other file defines. A path through a module that only re-exports the item leads on to the file
/// that defines it, so declaring children and re-exporting what they have (`mod`, `pub use`) is no
/// import, unless the same file also mentions the re-exported name. Methods are not seen, as they
/// are not imported.
pub(crate) fn imports(modules: &Modules) -> Imports {
    let mut all = Imports::new();
    for (path, module) in &modules.0 {
        let of_file = all.entry(module.file.clone()).or_default();
        let mut add = |to: &[String], names_module: bool| {
            if let Some((target, is_module)) = modules.resolve(path, to)
                && (!is_module || names_module)
                && target.file != module.file
            {
                of_file.insert(target.file.clone());
            }
        };
        for import in &module.imports {
            let is_of_child = modules
                .resolve(path, &import.path)
                .is_some_and(|(target, _)| {
                    let folder = module.file.trim_end_matches(".rs");
                    module.file == "lib.rs"
                        || target
                            .file
                            .strip_prefix(folder)
                            .is_some_and(|rest| rest.starts_with('/'))
                });
            if !(import.is_public && is_of_child) || module.names.contains(&import.name) {
                add(&import.path, import.name == "*");
            }
        }
        for path in &module.paths {
            add(path, false);
        }
    }
    all
}

/// Returns the circles: groups of files each of which is reached from all others of the group.
pub(crate) fn circles(imports: &Imports) -> BTreeSet<Vec<String>> {
    let reached: BTreeMap<_, _> = imports
        .keys()
        .map(|file| (file, reached_from(imports, file)))
        .collect();
    let is_mutual = |a: &String, b: &String| {
        reached[a].contains(b) && reached.get(b).is_some_and(|from| from.contains(a))
    };
    let groups = imports.keys().map(|file| {
        let group = imports.keys().filter(|other| is_mutual(file, other));
        group.cloned().collect::<Vec<_>>()
    });
    groups.filter(|group| group.len() > 1).collect()
}

/// Returns all files that a file imports from, directly or through others.
fn reached_from(imports: &Imports, file: &str) -> BTreeSet<String> {
    let mut reached = BTreeSet::new();
    let mut pending = vec![file.to_owned()];
    while let Some(file) = pending.pop() {
        for next in imports.get(&file).into_iter().flatten() {
            if reached.insert(next.clone()) {
                pending.push(next.clone());
            }
        }
    }
    reached
}
