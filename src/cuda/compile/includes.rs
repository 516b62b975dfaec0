//! What a source includes from the disk: an image that was kept is for that, too.
//!
//! NVRTC doesn't tell. So all names behind `#include` are looked for wherever NVRTC could find them, whether or not
//! it gets there: what is found too much only has something be compiled again. Files in CUDA's own folders are left out;
//! they change with CUDA.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The files that may be included, and their contents; `None` where that can't be told.
#[derive(Debug)]
pub(super) struct Included<'a> {
    folders: Vec<&'a Path>,
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl<'a> Included<'a> {
    /// Those of a source with this name, these headers, and these options of its user's.
    pub(super) fn by(
        name: &str,
        text: &str,
        headers: &[(String, String)],
        options: &'a [String],
    ) -> Option<BTreeMap<PathBuf, Vec<u8>>> {
        let (folders, first) = read_options(options)?;
        let mut included = Self {
            folders,
            files: BTreeMap::new(),
        };
        let beside = Path::new(name).parent().unwrap_or(Path::new(""));
        for name in first {
            included.add(name, beside)?;
        }
        included.scan(text.as_bytes(), beside)?;
        for (_, text) in headers {
            included.scan(text.as_bytes(), beside)?;
        }
        Some(included.files)
    }

    fn scan(&mut self, text: &[u8], beside: &Path) -> Option<()> {
        for name in names(text)? {
            self.add(&name, beside)?;
        }
        Some(())
    }

    fn add(&mut self, name: &str, beside: &Path) -> Option<()> {
        let folders = self.folders.clone();
        for folder in [beside].into_iter().chain(folders) {
            let path = folder.join(name);
            if self.files.contains_key(&path) {
                continue;
            }
            let Ok(text) = fs::read(&path) else {
                continue;
            };
            self.files.insert(path.clone(), text.clone());
            self.scan(&text, path.parent().unwrap_or(Path::new("")))?;
        }
        Some(())
    }
}

/// The folders that options name, and the headers that they put first; `None` where they lead to files of other kinds.
fn read_options(options: &[String]) -> Option<(Vec<&Path>, Vec<&str>)> {
    const FOLDERS: [&str; 2] = ["--include-path", "-I"];
    const HEADERS: [&str; 2] = ["--pre-include", "-include"];
    let (mut folders, mut headers) = (Vec::new(), Vec::new());
    let mut options = options.iter().map(String::as_str);
    while let Some(option) = options.next() {
        // Headers that were compiled before.
        if option.contains("pch") {
            return None;
        }
        if let Some(folder) = value(option, &FOLDERS, &mut options) {
            folders.push(Path::new(folder));
        } else if let Some(header) = value(option, &HEADERS, &mut options) {
            headers.push(header);
        }
    }
    Some((folders, headers))
}

/// What an option says if it is one of these: behind `=`, directly behind it, or as the next one.
fn value<'a>(
    option: &'a str,
    names: &[&str],
    next: &mut impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let rest = names.iter().find_map(|name| option.strip_prefix(name))?;
    match rest.strip_prefix('=') {
        Some(value) => Some(value.trim()),
        None if rest.trim().is_empty() => next.next(),
        None => Some(rest.trim()),
    }
}

/// The names behind `#include` and `__has_include`; `None` where one is no plain name.
fn names(text: &[u8]) -> Option<Vec<String>> {
    const WORD: &[u8] = b"include";
    let mut names = Vec::new();
    for at in 0..text.len().saturating_sub(WORD.len()) {
        if !text[at..].starts_with(WORD) {
            continue;
        }
        let before = text[..at].trim_ascii_end();
        let is_directive = before.ends_with(b"#") || text[..at].ends_with(b"__has_");
        if !is_directive {
            continue;
        }
        let rest = text[at + WORD.len()..].trim_ascii_start();
        let rest = rest
            .strip_prefix(b"_next")
            .unwrap_or(rest)
            .trim_ascii_start();
        let rest = rest.strip_prefix(b"(").unwrap_or(rest).trim_ascii_start();
        let close = match rest.first()? {
            b'<' => b'>',
            b'"' => b'"',
            _ => return None,
        };
        let name = rest[1..]
            .split(|byte| *byte == close || *byte == b'\n')
            .next()?;
        names.push(String::from_utf8(name.to_vec()).ok()?);
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_behind_include() {
        let text = b"#include <cuda_fp16.h>\n  #  include\t\"own.h\" // include\n\
            #if __has_include(<maybe.h>)\n// to include that\nint includes; #include<last.h";
        let expected = ["cuda_fp16.h", "own.h", "maybe.h", "last.h"];
        assert_eq!(names(text).unwrap(), expected);
        assert_eq!(names(b"").unwrap(), [""; 0]);
        assert_eq!(names(b"#include HEADER\n"), None);
        assert_eq!(names(b"#include \"x.h").unwrap(), ["x.h"]);
    }

    #[test]
    fn options_name_folders() {
        let options = [
            "-Ia",
            "--include-path=b",
            "-I",
            "c",
            "-DX=1",
            "--include-path",
            "d",
            "-include=h",
            "-I=e",
        ];
        let options = options.map(str::to_owned);
        let (folders, headers) = read_options(&options).unwrap();
        assert_eq!(folders, ["a", "b", "c", "d", "e"].map(Path::new));
        assert_eq!(headers, ["h"]);
        assert!(read_options(&["--use-pch=x".to_owned()]).is_none());
    }

    #[test]
    fn what_files_include_counts_too() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        fs::create_dir(root.join("sub")).unwrap();
        let put = |name: &str, text: &str| fs::write(root.join(name), text).unwrap();
        put("a.h", "#include \"sub/b.h\"\n#include \"a.h\"");
        put("sub/b.h", "#include \"c.h\"");
        put("sub/c.h", "int c;");
        put("first.h", "");
        put("unused.h", "");
        let option = |name: &str| format!("{name}={}", root.display());
        let options = [option("--include-path"), "-include=first.h".to_owned()];
        let find = |text: &str, headers: &[(String, String)]| {
            let files = Included::by("x.cu", text, headers, &options).unwrap();
            let names = files
                .into_keys()
                .map(|file| file.strip_prefix(root).unwrap().to_owned());
            names.collect::<Vec<_>>()
        };
        let all = ["a.h", "first.h", "sub/b.h", "sub/c.h"].map(PathBuf::from);
        assert_eq!(find("#include <a.h>\n#include <cuda_fp16.h>", &[]), all);
        let headers = [("v.h".to_owned(), "#include <a.h>".to_owned())];
        assert_eq!(find("#include \"v.h\"", &headers), all);
        // Beside the source, as its name says.
        let name = root.join("sub/x.cu").display().to_string();
        let files = Included::by(&name, "#include \"c.h\"", &[], &[]).unwrap();
        assert_eq!(files.into_values().collect::<Vec<_>>(), [b"int c;"]);
        assert!(Included::by("x.cu", "#include WHAT", &[], &[]).is_none());
    }
}
