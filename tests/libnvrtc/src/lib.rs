//! A `libnvrtc.so.13` that compiles nothing: see the README.

mod program;

use program::Program;
use std::env;
use std::ffi::{CStr, c_char, c_int};
use std::fs::OpenOptions;
use std::io::Write;

const OUT_OF_MEMORY: c_int = 1;
const INVALID_INPUT: c_int = 3;
const INVALID_PROGRAM: c_int = 4;
const INVALID_OPTION: c_int = 5;
const COMPILATION: c_int = 6;
const NO_NAMES_AFTER_COMPILATION: c_int = 8;
const NO_LOWERED_NAMES_BEFORE_COMPILATION: c_int = 9;
const NAME_NOT_VALID: c_int = 10;
const INTERNAL_ERROR: c_int = 11;

fn setting(name: &str, default: &str) -> String {
    env::var(name).unwrap_or_else(|_| default.to_owned())
}

/// Writes a call down, and says how it fails if it is to.
fn enter(function: &str, words: &str) -> Result<(), c_int> {
    if let Ok(journal) = env::var("LIBNVRTC_DOUBLE_JOURNAL") {
        let line = format!("{function} {words}").replace('\n', "\\n");
        // In one piece, as other processes may write to it too.
        let line = format!("{}\n", line.trim_end());
        let opened = OpenOptions::new().create(true).append(true).open(journal);
        let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
        written.map_err(|_| INTERNAL_ERROR)?;
    }
    let failing = setting("LIBNVRTC_DOUBLE_FAIL", "");
    match failing.split_once('=') {
        Some((name, code)) if name == function => Err(code.parse().unwrap_or(INTERNAL_ERROR)),
        _ => Ok(()),
    }
}

fn code(outcome: Result<(), c_int>) -> c_int {
    outcome.err().unwrap_or(0)
}

/// # Safety
///
/// NULL, or a string of C.
unsafe fn text(text: *const c_char) -> Result<String, c_int> {
    if text.is_null() {
        return Err(INVALID_INPUT);
    }
    // SAFETY: `text` is a C string, by this function's contract.
    let text = unsafe { CStr::from_ptr(text) }.to_str();
    text.map(str::to_owned).map_err(|_| INVALID_INPUT)
}

/// # Safety
///
/// As many strings of C as it says.
unsafe fn texts(texts: *const *const c_char, count: c_int) -> Result<Vec<String>, c_int> {
    let count = usize::try_from(count).map_err(|_| INVALID_INPUT)?;
    // SAFETY: `texts` has `count` C strings, by this function's contract.
    (0..count)
        .map(|place| unsafe { text(texts.add(place).read()) })
        .collect()
}

/// # Safety
///
/// NULL, or a place for the answer.
unsafe fn give<T>(to: *mut T, value: T) -> Result<(), c_int> {
    if to.is_null() {
        return Err(INVALID_INPUT);
    }
    // SAFETY: `to` is writable, by this function's contract.
    unsafe { to.write(value) };
    Ok(())
}

/// # Safety
///
/// NULL, or a program that wasn't destroyed, and that no other code uses.
unsafe fn known<'a>(program: *mut Program) -> Result<&'a mut Program, c_int> {
    // SAFETY: `program` is NULL or live and not used by other code, by this function's contract.
    unsafe { program.as_mut() }.ok_or(INVALID_PROGRAM)
}

fn architectures() -> Vec<c_int> {
    let all = setting("LIBNVRTC_DOUBLE_ARCHITECTURES", "75,80,90,100");
    all.split(',')
        .filter_map(|number| number.parse().ok())
        .collect()
}

/// Defines functions of NVRTC's, with the names and arguments that its header gives them. `said` is
/// what the journal says of the arguments.
macro_rules! api {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(said $words:expr)?; $body:block)*) => {$(
        #[doc = concat!("NVIDIA's `", stringify!($name), "`.")]
        ///
        /// # Safety
        ///
        /// What NVIDIA's documentation of the function asks for.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            let call = || {
                let words: &[String] = &[
                    // SAFETY: the arguments are as NVIDIA's documentation of the function requires.
                    $(unsafe { $words }?)?
                ];
                enter(stringify!($name), &words.join(" "))?;
                // SAFETY: the arguments are as NVIDIA's documentation of the function requires.
                unsafe { $body }
            };
            code(call())
        }
    )*};
}

api! {
    fn nvrtcVersion(major: *mut c_int, minor: *mut c_int);
    {
        let version = setting("LIBNVRTC_DOUBLE_VERSION", "13.2");
        let (first, second) = version.split_once('.').ok_or(INTERNAL_ERROR)?;
        let number = |text: &str| text.parse().map_err(|_| INTERNAL_ERROR);
        give(major, number(first)?)?;
        give(minor, number(second)?)
    }

    fn nvrtcGetNumSupportedArchs(count: *mut c_int);
    {
        give(count, architectures().len() as c_int)
    }

    fn nvrtcGetSupportedArchs(to: *mut c_int);
    {
        let mut all = architectures().into_iter().enumerate();
        all.try_for_each(|(place, number)| give(to.add(place), number))
    }

    fn nvrtcCreateProgram(
        program: *mut *mut Program,
        source: *const c_char,
        name: *const c_char,
        count: c_int,
        headers: *const *const c_char,
        names: *const *const c_char,
    ) said text(name);
    {
        let headers = texts(headers, count)?.into_iter().zip(texts(names, count)?).collect();
        let new = Program::new(text(source)?, text(name)?, headers);
        give(program, Box::into_raw(Box::new(new)))
    }

    fn nvrtcDestroyProgram(program: *mut *mut Program);
    {
        if program.is_null() || (*program).is_null() {
            return Err(INVALID_PROGRAM);
        }
        drop(Box::from_raw(*program));
        give(program, std::ptr::null_mut())
    }

    fn nvrtcAddNameExpression(program: *mut Program, name: *const c_char) said text(name);
    {
        known(program)?.add_name(text(name)?)
    }

    fn nvrtcCompileProgram(program: *mut Program, count: c_int, options: *const *const c_char) said texts(options, count).map(|all| all.join(" "));
    {
        known(program)?.compile(texts(options, count)?)
    }

    fn nvrtcGetProgramLogSize(program: *mut Program, size: *mut usize);
    {
        give(size, known(program)?.log.len() + 1)
    }

    fn nvrtcGetProgramLog(program: *mut Program, to: *mut u8);
    {
        let log = &known(program)?.log;
        std::ptr::copy(log.as_ptr(), to, log.len());
        give(to.add(log.len()), 0)
    }

    fn nvrtcGetLoweredName(program: *mut Program, name: *const c_char, lowered: *mut *const c_char)
        said text(name);
    {
        give(lowered, known(program)?.lowered(&text(name)?)?.as_ptr())
    }

    fn nvrtcGetCUBINSize(program: *mut Program, size: *mut usize);
    {
        give(size, known(program)?.cubin.len())
    }

    fn nvrtcGetCUBIN(program: *mut Program, to: *mut u8);
    {
        let cubin = &known(program)?.cubin;
        std::ptr::copy(cubin.as_ptr(), to, cubin.len());
        Ok(())
    }

    fn nvrtcGetPTXSize(program: *mut Program, size: *mut usize);
    {
        give(size, known(program)?.ptx.len())
    }

    fn nvrtcGetPTX(program: *mut Program, to: *mut u8);
    {
        let ptx = &known(program)?.ptx;
        std::ptr::copy(ptx.as_ptr(), to, ptx.len());
        Ok(())
    }
}

/// NVIDIA's `nvrtcGetErrorString`.
#[unsafe(no_mangle)]
pub extern "C" fn nvrtcGetErrorString(code: c_int) -> *const c_char {
    let name = match code {
        0 => c"NVRTC_SUCCESS",
        OUT_OF_MEMORY => c"NVRTC_ERROR_OUT_OF_MEMORY",
        INVALID_INPUT => c"NVRTC_ERROR_INVALID_INPUT",
        INVALID_PROGRAM => c"NVRTC_ERROR_INVALID_PROGRAM",
        INVALID_OPTION => c"NVRTC_ERROR_INVALID_OPTION",
        COMPILATION => c"NVRTC_ERROR_COMPILATION",
        NO_NAMES_AFTER_COMPILATION => c"NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION",
        NO_LOWERED_NAMES_BEFORE_COMPILATION => c"NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION",
        NAME_NOT_VALID => c"NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID",
        INTERNAL_ERROR => c"NVRTC_ERROR_INTERNAL_ERROR",
        _ => c"NVRTC_ERROR unknown",
    };
    name.as_ptr()
}
