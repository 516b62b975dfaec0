//! The modules of a crate: which names each imports, re-exports and mentions.

use crate::tokens::{is_name, tokens};
use std::collections::{BTreeMap, BTreeSet};

/// A module's path from the crate's root, which is empty.
pub(crate) type ModulePath = Vec<String>;

/// A name that a `use` declaration brings into a module; `*` for all names.
pub(crate) struct Import {
    pub(crate) name: String,
    pub(crate) path: Vec<String>,
    /// Whether the declaration begins with `pub`, in whatever scope.
    pub(crate) is_public: bool,
}

/// What a module holds, inline or in a file of its own.
#[derive(Default)]
pub(crate) struct Module {
    /// The file, by its path from the crate's source folder.
    pub(crate) file: String,
    pub(crate) imports: Vec<Import>,
    /// Paths of two names and more outside of `use` declarations.
    pub(crate) paths: Vec<Vec<String>>,
    /// All names outside of `use` declarations.
    pub(crate) names: BTreeSet<String>,
    /// Names of its own items.
    pub(crate) items: BTreeSet<String>,
}

/// All modules of a crate.
#[derive(Default)]
pub(crate) struct Modules(pub(crate) BTreeMap<ModulePath, Module>);

impl Modules {
    /// Reads files, each with its path from the source folder. Tests are left out: inline modules
    /// `tests`, and the files of modules that are declared under `#[cfg(test)]`, with all below
    /// them.
    pub(crate) fn read<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let read = |(file, text): (&'a str, &'a str)| {
            let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
            (file, module_path(file), tokens(code))
        };
        let files: Vec<_> = files.into_iter().map(read).collect();
        let only_in_tests: Vec<ModulePath> = files
            .iter()
            .flat_map(|(_, path, tokens)| {
                let children = test_modules(tokens).into_iter();
                children.map(|child| [&path[..], &[child.to_owned()]].concat())
            })
            .collect();
        let mut modules = Self::default();
        for (file, path, tokens) in &files {
            if only_in_tests.iter().any(|tests| path.starts_with(tests)) {
                continue;
            }
            Reader {
                tokens,
                at: 0,
                file,
                modules: &mut modules,
            }
            .read_module(path.clone());
        }
        modules
    }

    /// Returns the module in which a path ends, and whether the path names that module itself
    /// rather than an item of it. `None` for paths of other crates.
    pub(crate) fn resolve<'a>(
        &'a self,
        from: &[String],
        path: &[String],
    ) -> Option<(&'a Module, bool)> {
        self.resolve_within(from, path, 0)
    }

    /// Whether a path that begins with this name in a module can lead to this crate.
    fn is_of_crate(&self, module: &[String], first: &str) -> bool {
        ["crate", "self", "super"].contains(&first)
            || self.0.contains_key(&[module, &[first.to_owned()]].concat())
    }

    fn resolve_within<'a>(
        &'a self,
        from: &[String],
        path: &[String],
        depth: usize,
    ) -> Option<(&'a Module, bool)> {
        assert!(depth < 32, "the re-exports of {path:?} lead in a circle");
        let mut place = from.to_vec();
        let mut rest = path;
        let mut is_relative = true;
        while let Some((first, others)) = rest.split_first() {
            match first.as_str() {
                "crate" => place.clear(),
                "self" => {}
                "super" => drop(place.pop()?),
                _ => break,
            }
            (rest, is_relative) = (others, false);
        }
        while let Some((name, others)) = rest.split_first() {
            let mut child = place.clone();
            child.push(name.clone());
            if self.0.contains_key(&child) {
                (place, rest, is_relative) = (child, others, false);
                continue;
            }
            let module = self.0.get(&place)?;
            if let Some(import) = module
                .imports
                .iter()
                .find(|import| import.name == *name && import.path != path)
            {
                let whole = [&import.path[..], others].concat();
                return self.resolve_within(&place, &whole, depth + 1);
            }
            if module.items.contains(name) {
                return Some((module, false));
            }
            let globs = module.imports.iter().filter(|import| import.name == "*");
            for glob in globs.filter(|glob| self.is_of_crate(&place, &glob.path[0])) {
                let found =
                    self.resolve_within(&place, &[&glob.path[..], rest].concat(), depth + 1);
                if found.is_some_and(|(module, _)| module.items.contains(name)) {
                    return found;
                }
            }
            // A first name that isn't of this module is another crate's, a local's or the
            // prelude's.
            return (!is_relative).then_some((module, false));
        }
        self.0.get(&place).map(|module| (module, true))
    }
}

/// Returns the path of a file's module.
fn module_path(file: &str) -> ModulePath {
    let names = file.strip_suffix(".rs").unwrap_or(file).split('/');
    let mut path: ModulePath = names.map(Into::into).collect();
    if ["lib", "mod"].contains(&path[path.len() - 1].as_str()) {
        path.pop();
    }
    path
}

/// Returns the modules that a file declares under `#[cfg(test)]`, with whatever visibility and
/// further attributes, and that have files of their own.
fn test_modules(tokens: &[String]) -> Vec<&str> {
    let mut found = Vec::new();
    let cfg = ["#", "[", "cfg", "(", "test", ")", "]"];
    for (at, window) in tokens.windows(cfg.len()).enumerate() {
        if window != cfg {
            continue;
        }
        let item = &tokens[at + cfg.len()..];
        let end = item
            .iter()
            .position(|token| [";", "{", "}"].contains(&token.as_str()));
        if let Some([.., keyword, name]) = end.map(|end| &item[..end])
            && end.is_some_and(|end| item[end] == ";")
            && keyword == "mod"
        {
            found.push(name.as_str());
        }
    }
    found
}

/// Reads one file's tokens.
struct Reader<'a> {
    tokens: &'a [String],
    at: usize,
    file: &'a str,
    modules: &'a mut Modules,
}

impl Reader<'_> {
    fn token(&self, steps: usize) -> &str {
        self.tokens.get(self.at + steps).map_or("", String::as_str)
    }

    /// Reads a module up to the brace that closes it, or the end of the file.
    fn read_module(&mut self, path: ModulePath) {
        let mut module = Module {
            file: self.file.into(),
            ..Module::default()
        };
        let mut depth = 0;
        let mut is_public = false;
        while self.at < self.tokens.len() {
            let token = self.token(0).to_owned();
            match token.as_str() {
                "{" => depth += 1,
                "}" if depth == 0 => break,
                "}" => depth -= 1,
                "pub" => {
                    is_public = true;
                    self.at += 1;
                    if self.token(0) == "(" {
                        self.at += self.tokens[self.at..]
                            .iter()
                            .take_while(|t| *t != ")")
                            .count()
                            + 1;
                    }
                    continue;
                }
                "mod" if self.token(2) == "{" => {
                    let child = [&path[..], &[self.token(1).to_owned()]].concat();
                    self.at += 3;
                    self.read_module(child);
                }
                "use" if self.token(1) != "<" => {
                    self.at += 1;
                    self.read_use(&mut Vec::new(), is_public, &mut module.imports);
                }
                _ if is_first_of_name(&token) => self.read_path(&mut module),
                _ => {}
            }
            is_public = false;
            self.at += 1;
        }
        self.modules.0.insert(path, module);
    }

    /// Reads a tree of a `use` declaration, and stands on what ends it.
    fn read_use(&mut self, prefix: &mut Vec<String>, is_public: bool, imports: &mut Vec<Import>) {
        let before = prefix.len();
        let mut name = None;
        loop {
            match self.token(0) {
                "{" => {
                    while self.token(0) != "}" && self.at < self.tokens.len() {
                        self.at += 1;
                        if self.token(0) != "}" {
                            self.read_use(prefix, is_public, imports);
                        }
                    }
                    self.at += 1;
                    prefix.truncate(before);
                    return;
                }
                "as" => {
                    name = Some(self.token(1).to_owned());
                    self.at += 1;
                }
                "::" => {}
                "*" => name = Some("*".into()),
                "self" if prefix.len() > before || before > 0 => {}
                part if is_first_of_name(part) => prefix.push(part.to_owned()),
                _ => break,
            }
            self.at += 1;
        }
        if let Some(last) = prefix.last() {
            let name = name.unwrap_or_else(|| last.clone());
            imports.push(Import {
                name,
                path: prefix.clone(),
                is_public,
            });
        }
        prefix.truncate(before);
    }

    /// Reads a path outside of `use` declarations, and stands on its last token.
    fn read_path(&mut self, module: &mut Module) {
        let is_definition = |before: &str| {
            [
                "struct", "enum", "trait", "fn", "type", "const", "static", "union", "mod", "!",
            ]
            .contains(&before)
        };
        let before = self.at.checked_sub(1).map_or("", |at| &self.tokens[at]);
        let mut path = vec![self.token(0).to_owned()];
        let of_macro = self.at >= 2 && self.tokens[self.at - 2] == "macro_rules";
        if is_definition(before) && (before != "!" || of_macro) {
            if before != "mod" {
                module.items.insert(path.remove(0));
            }
            return;
        }
        let is_member = [".", "::", "$"].contains(&before) && path[0] != "crate";
        while self.token(1) == "::" && is_first_of_name(self.token(2)) {
            path.push(self.token(2).to_owned());
            self.at += 2;
        }
        if is_member {
            return;
        }
        module.names.insert(path[0].clone());
        if path.len() > 1 {
            module.paths.push(path);
        }
    }
}

/// Whether a token is an identifier.
fn is_first_of_name(token: &str) -> bool {
    token.starts_with(|c: char| is_name(c) && !c.is_numeric())
}
