//! [`Nvrtc`]: NVRTC's function table; [`Program`]: one compilation.

use crate::cuda::driver::error::CudaError;
use crate::cuda::driver::library::{functions, load, problem};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::Path;
use std::ptr;

/// The oldest version that will do.
const OLDEST: (i32, i32) = (12, 0);

/// `nvrtcProgram`
type Handle = *mut c_void;
type Text = *const c_char;

functions! {
    nvrtcVersion(*mut c_int, *mut c_int) -> c_int;
    nvrtcGetErrorString(c_int) -> Text;
    nvrtcGetNumSupportedArchs(*mut c_int) -> c_int;
    nvrtcGetSupportedArchs(*mut c_int) -> c_int;
    nvrtcCreateProgram(*mut Handle, Text, Text, c_int, *const Text, *const Text) -> c_int;
    nvrtcDestroyProgram(*mut Handle) -> c_int;
    nvrtcAddNameExpression(Handle, Text) -> c_int;
    nvrtcCompileProgram(Handle, c_int, *const Text) -> c_int;
    nvrtcGetProgramLogSize(Handle, *mut usize) -> c_int;
    nvrtcGetProgramLog(Handle, *mut c_char) -> c_int;
    nvrtcGetLoweredName(Handle, Text, *mut Text) -> c_int;
    nvrtcGetCUBINSize(Handle, *mut usize) -> c_int;
    nvrtcGetCUBIN(Handle, *mut c_char) -> c_int;
    nvrtcGetPTXSize(Handle, *mut usize) -> c_int;
    nvrtcGetPTX(Handle, *mut c_char) -> c_int;
}

/// The library, loaded for good.
pub(super) struct Nvrtc(Functions);

/// Calls a function of the library's, and makes an error of its answer that says which function it
/// was.
macro_rules! call {
    ($nvrtc:expr, $function:ident($($argument:expr),* $(,)?)) => {
        $nvrtc.checked(stringify!($function), ($nvrtc.0.$function)($($argument),*))
    };
}

impl Nvrtc {
    /// Loads the library at a path, or of a name that the loader finds.
    pub(super) fn load(path: &Path) -> Result<Self, CudaError> {
        let refused = |error: libloading::Error| CudaError::BadCompiler {
            path: path.to_owned(),
            problem: problem(&error),
        };
        // SAFETY: the path is one at which NVRTC is, or was said to be; its beginning asks for
        // nothing.
        let library = unsafe { load(path) }.map_err(refused)?;
        // SAFETY: it is NVRTC, whose header gives these types, and stays loaded.
        let functions = unsafe { Functions::look_up(library) }.map_err(refused)?;
        let nvrtc = Self(functions);
        let found = nvrtc.version()?;
        match found < OLDEST {
            true => Err(CudaError::OldCompiler {
                path: path.to_owned(),
                found,
            }),
            false => Ok(nvrtc),
        }
    }

    fn version(&self) -> Result<(i32, i32), CudaError> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: it writes two numbers.
        unsafe { call!(self, nvrtcVersion(&mut major, &mut minor)) }?;
        Ok((major, minor))
    }

    /// Returns the architectures that it compiles for.
    pub(super) fn architectures(&self) -> Result<Vec<i32>, CudaError> {
        let mut count = 0;
        // SAFETY: it writes a number.
        unsafe { call!(self, nvrtcGetNumSupportedArchs(&mut count)) }?;
        let mut all = vec![0; usize::try_from(count).unwrap_or(0)];
        // SAFETY: it writes as many numbers as it just said.
        unsafe { call!(self, nvrtcGetSupportedArchs(all.as_mut_ptr())) }?;
        Ok(all)
    }

    fn checked(&self, function: &'static str, code: c_int) -> Result<(), CudaError> {
        match code {
            0 => Ok(()),
            code => Err(self.failed(function, code)),
        }
    }

    #[cold]
    fn failed(&self, function: &'static str, code: c_int) -> CudaError {
        // SAFETY: it takes any number, and its texts stay.
        let text = unsafe { (self.0.nvrtcGetErrorString)(code) };
        let name = match text.is_null() {
            true => format!("code {code}"),
            // SAFETY: a string of C.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into(),
        };
        CudaError::Compiler {
            function,
            code,
            name,
        }
    }
}

/// A text that is compiled.
pub(super) struct Program<'a> {
    nvrtc: &'a Nvrtc,
    handle: Handle,
}

fn c_string(text: &str, what: &'static str) -> Result<CString, CudaError> {
    CString::new(text).map_err(|_| CudaError::Nul { what })
}

/// Returns C strings, and the array of pointers to them.
fn c_strings<'a>(
    texts: impl Iterator<Item = &'a str>,
    what: &'static str,
) -> Result<(Vec<CString>, Vec<Text>), CudaError> {
    let texts: Vec<_> = texts
        .map(|text| c_string(text, what))
        .collect::<Result<_, _>>()?;
    let pointers = texts.iter().map(|text| text.as_ptr()).collect();
    Ok((texts, pointers))
}

impl<'a> Program<'a> {
    pub(super) fn new(
        nvrtc: &'a Nvrtc,
        text: &str,
        name: &str,
        headers: &[(String, String)],
    ) -> Result<Self, CudaError> {
        let text = c_string(text, "source")?;
        let name = c_string(name, "name")?;
        let (_names, names) = c_strings(headers.iter().map(|(name, _)| name.as_str()), "header")?;
        let (_texts, texts) = c_strings(headers.iter().map(|(_, text)| text.as_str()), "header")?;
        let mut handle = ptr::null_mut();
        // SAFETY: strings of C, and as many of both as it is told. It copies them.
        unsafe {
            call!(
                nvrtc,
                nvrtcCreateProgram(
                    &mut handle,
                    text.as_ptr(),
                    name.as_ptr(),
                    headers.len() as c_int,
                    texts.as_ptr(),
                    names.as_ptr()
                )
            )
        }?;
        Ok(Self { nvrtc, handle })
    }

    /// Asks for a kernel by its name in C++, before it is compiled.
    pub(super) fn add_name(&self, name: &str) -> Result<(), CudaError> {
        let name = c_string(name, "kernel's name")?;
        // SAFETY: the program is there, and the name a string of C, which is copied.
        unsafe {
            call!(
                self.nvrtc,
                nvrtcAddNameExpression(self.handle, name.as_ptr())
            )
        }
    }

    pub(super) fn compile(&self, options: &[String]) -> Result<(), CudaError> {
        let (_options, options) = c_strings(options.iter().map(String::as_str), "option")?;
        let count = options.len() as c_int;
        // SAFETY: the program is there, and as many strings of C as it is told.
        unsafe {
            call!(
                self.nvrtc,
                nvrtcCompileProgram(self.handle, count, options.as_ptr())
            )
        }
    }

    /// Returns the name that a kernel has in the machine code.
    pub(super) fn lowered_name(&self, name: &str) -> Result<CString, CudaError> {
        let name = c_string(name, "kernel's name")?;
        let mut lowered = ptr::null();
        // SAFETY: the program was compiled; the answer is there as long as it is, and copied.
        unsafe {
            call!(
                self.nvrtc,
                nvrtcGetLoweredName(self.handle, name.as_ptr(), &mut lowered)
            )?;
            Ok(CStr::from_ptr(lowered).to_owned())
        }
    }

    /// Returns what was said on the way.
    pub(super) fn log(&self) -> Result<String, CudaError> {
        let functions = &self.nvrtc.0;
        let log = self.bytes(
            ("nvrtcGetProgramLogSize", functions.nvrtcGetProgramLogSize),
            ("nvrtcGetProgramLog", functions.nvrtcGetProgramLog),
        )?;
        let log = log.split(|byte| *byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(log).trim().to_owned())
    }

    /// Returns the machine code, if there is any.
    pub(super) fn cubin(&self) -> Result<Vec<u8>, CudaError> {
        let functions = &self.nvrtc.0;
        self.bytes(
            ("nvrtcGetCUBINSize", functions.nvrtcGetCUBINSize),
            ("nvrtcGetCUBIN", functions.nvrtcGetCUBIN),
        )
    }

    pub(super) fn ptx(&self) -> Result<Vec<u8>, CudaError> {
        let functions = &self.nvrtc.0;
        self.bytes(
            ("nvrtcGetPTXSize", functions.nvrtcGetPTXSize),
            ("nvrtcGetPTX", functions.nvrtcGetPTX),
        )
    }

    fn bytes(
        &self,
        size: (
            &'static str,
            unsafe extern "C" fn(Handle, *mut usize) -> c_int,
        ),
        read: (
            &'static str,
            unsafe extern "C" fn(Handle, *mut c_char) -> c_int,
        ),
    ) -> Result<Vec<u8>, CudaError> {
        let mut count = 0;
        // SAFETY: the program is there; it writes a number.
        let answer = unsafe { size.1(self.handle, &mut count) };
        self.nvrtc.checked(size.0, answer)?;
        let mut bytes = vec![0_u8; count];
        if count > 0 {
            // SAFETY: it writes as many bytes as it just said.
            let answer = unsafe { read.1(self.handle, bytes.as_mut_ptr().cast()) };
            self.nvrtc.checked(read.0, answer)?;
        }
        Ok(bytes)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: it was created, and this is its end. A failure can't be reported from here.
        let _ = unsafe { (self.nvrtc.0.nvrtcDestroyProgram)(&mut self.handle) };
    }
}
