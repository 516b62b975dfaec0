//! [`Program`]: a source, and what it becomes.

use crate::{
    COMPILATION, INVALID_OPTION, NAME_NOT_VALID, NO_LOWERED_NAMES_BEFORE_COMPILATION,
    NO_NAMES_AFTER_COMPILATION,
};
use std::ffi::{CString, c_int};

/// `nvrtcProgram`
#[derive(Debug, Default)]
pub struct Program {
    text: String,
    name: String,
    headers: Vec<(String, String)>,
    names: Vec<(String, CString)>,
    is_compiled: bool,
    pub(crate) log: String,
    pub(crate) cubin: Vec<u8>,
    pub(crate) ptx: Vec<u8>,
}

impl Program {
    /// Headers are texts, and their names.
    pub(crate) fn new(text: String, name: String, headers: Vec<(String, String)>) -> Self {
        Self {
            text,
            name,
            headers,
            ..Self::default()
        }
    }

    pub(crate) fn add_name(&mut self, name: String) -> Result<(), c_int> {
        if self.is_compiled {
            return Err(NO_NAMES_AFTER_COMPILATION);
        }
        let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        let lowered = CString::new(format!("_Z{letters}")).map_err(|_| NAME_NOT_VALID)?;
        self.names.push((name, lowered));
        Ok(())
    }

    pub(crate) fn lowered(&self, name: &str) -> Result<&CString, c_int> {
        if !self.is_compiled {
            return Err(NO_LOWERED_NAMES_BEFORE_COMPILATION);
        }
        let known = self.names.iter().find(|(known, _)| known == name);
        known.map(|(_, lowered)| lowered).ok_or(NAME_NOT_VALID)
    }

    pub(crate) fn compile(&mut self, options: Vec<String>) -> Result<(), c_int> {
        if options.iter().any(|option| option == "--bogus") {
            self.log = "nvrtc: error: unrecognized option --bogus found".to_owned();
            return Err(INVALID_OPTION);
        }
        let sources = self.headers.iter().map(|(text, name)| (name, text));
        let sources: Vec<_> = [(&self.name, &self.text)]
            .into_iter()
            .chain(sources)
            .collect();
        for (name, text) in &sources {
            for (number, line) in (1..).zip(text.lines()) {
                if let Some(message) = line.trim_start().strip_prefix("#error ") {
                    self.log = format!("{name}({number}): error: #error directive: {message}\n");
                    return Err(COMPILATION);
                }
                if let Some(message) = line.trim_start().strip_prefix("#warning ") {
                    self.log =
                        format!("{name}({number}): warning: #warning directive: {message}\n");
                }
            }
        }
        let texts: Vec<&str> = sources.iter().map(|(_, text)| text.as_str()).collect();
        let body = format!("// {}\n{}\n", options.join(" "), texts.join("\n"));
        let is_virtual = options.iter().any(|option| option.contains("=compute_"));
        self.ptx = [b".version 8.0\n", body.as_bytes(), b"\0"].concat();
        if !is_virtual {
            let header = [&b"\x7fELF\x02\x01\x01"[..], &[0; 57]].concat();
            self.cubin = [&header, body.as_bytes()].concat();
        }
        self.is_compiled = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(text: &str) -> Program {
        Program::new(text.to_owned(), "a.cu".to_owned(), Vec::new())
    }

    #[test]
    fn a_source_becomes_what_was_asked_for() {
        let mut own = program("int x;");
        own.add_name("f<int>".to_owned()).unwrap();
        assert_eq!(
            own.lowered("f<int>"),
            Err(NO_LOWERED_NAMES_BEFORE_COMPILATION)
        );
        assert_eq!(
            own.compile(vec!["--gpu-architecture=sm_90".to_owned()]),
            Ok(())
        );
        assert!(own.cubin.starts_with(b"\x7fELF") && own.cubin.ends_with(b"sm_90\nint x;\n"));
        assert_eq!(own.lowered("f<int>"), Ok(&c"_Zfint".to_owned()));
        assert_eq!(own.lowered("g"), Err(NAME_NOT_VALID));
        assert_eq!(
            own.add_name("g".to_owned()),
            Err(NO_NAMES_AFTER_COMPILATION)
        );
        let mut any = program("int x;");
        assert_eq!(any.compile(vec!["-arch=compute_80".to_owned()]), Ok(()));
        assert!(any.cubin.is_empty() && any.ptx.starts_with(b".version"));
    }

    #[test]
    fn mistakes_are_in_the_log() {
        let mut wrong = program("int x;\n  #error so it is");
        assert_eq!(wrong.compile(Vec::new()), Err(COMPILATION));
        assert_eq!(wrong.log, "a.cu(2): error: #error directive: so it is\n");
        assert_eq!(
            program("").compile(vec!["--bogus".to_owned()]),
            Err(INVALID_OPTION)
        );
    }
}
