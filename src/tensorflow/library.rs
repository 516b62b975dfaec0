//! [`TensorFlow`]: the loaded library, its version and its functions.

use super::error::TensorFlowError;
use super::find;
use super::functions::{DLPack, Functions};
use libloading::os::unix;
use std::ffi::{CStr, c_char};
use std::fmt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

/// A version of TensorFlow: major and minor number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The first number.
    pub major: u32,
    /// The second number.
    pub minor: u32,
}

impl Version {
    /// The oldest version that is supported.
    const OLDEST: Self = Self {
        major: 2,
        minor: 12,
    };

    /// Reads `2.21.0` or `2.22.0-rc1`.
    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split('.');
        let mut next = || numbers.next()?.parse().ok();
        Some(Self {
            major: next()?,
            minor: next()?,
        })
    }

    fn is_supported(self) -> bool {
        self >= Self::OLDEST && self.major == Self::OLDEST.major
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// TensorFlow's library: loaded once for the process, and never unloaded.
///
/// # Examples
///
/// ```
/// use dlbridge::tensorflow::TensorFlow;
///
/// match TensorFlow::load() {
///     Ok(tensorflow) => println!("{} in {}", tensorflow.version(), tensorflow.path().display()),
///     Err(error) => println!("{error}"), // what was looked for, and where
/// }
/// ```
#[derive(Clone, Copy)]
pub struct TensorFlow(&'static Loaded);

struct Loaded {
    path: PathBuf,
    version: Version,
    text: String,
    functions: Functions,
}

static LOADED: OnceLock<Loaded> = OnceLock::new();
/// Held while a library is loaded, so that there is never a second.
static LOADING: Mutex<()> = Mutex::new(());

impl TensorFlow {
    /// Finds and loads TensorFlow: what the process has already, what `DLBRIDGE_TENSORFLOW` names,
    /// or the package of a Python, which reports its place.
    ///
    /// # Errors
    ///
    /// When it isn't found, or can't be used: which library, and why.
    pub fn load() -> Result<Self, TensorFlowError> {
        Self::load_unless_there(find::anywhere)
    }

    /// Loads TensorFlow from a folder: that of the Python package, or of an unpacked release for C;
    /// or its file.
    ///
    /// # Errors
    ///
    /// When it isn't there, can't be used, or the process has another one.
    pub fn from_path(path: impl AsRef<Path>) -> Result<Self, TensorFlowError> {
        let file = find::in_folder(path.as_ref()).map_err(|place| find::not_found(vec![place]))?;
        let tensorflow = Self::load_unless_there(|| Ok(file.clone()))?;
        if is_same_file(&file, tensorflow.path()) {
            Ok(tensorflow)
        } else {
            let loaded = tensorflow.path().to_owned();
            Err(TensorFlowError::OtherLoaded {
                asked: file,
                loaded,
            })
        }
    }

    /// Loads TensorFlow from the package of a Python, which reports its place.
    ///
    /// # Errors
    ///
    /// When it isn't there, can't be used, or the process has another one.
    pub fn from_python(interpreter: impl AsRef<Path>) -> Result<Self, TensorFlowError> {
        let found = find::by_python(interpreter.as_ref());
        Self::from_path(found.map_err(|place| find::not_found(vec![place]))?)
    }

    /// Returns the TensorFlow that the process has loaded already, as by `import tensorflow`.
    ///
    /// # Errors
    ///
    /// When there is none, or it can't be used.
    pub fn from_process() -> Result<Self, TensorFlowError> {
        let place = || {
            Err(find::not_found(vec![
                "this process (not loaded)".to_owned(),
            ]))
        };
        Self::load_unless_there(place)
    }

    fn load_unless_there(
        find: impl FnOnce() -> Result<PathBuf, TensorFlowError>,
    ) -> Result<Self, TensorFlowError> {
        if let Some(loaded) = LOADED.get() {
            return Ok(Self(loaded));
        }
        let _guard = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = LOADED.get() {
            return Ok(Self(loaded));
        }
        let (library, path) = match find::in_process() {
            Some((library, name)) => (library, name.into()),
            None => {
                let path = find()?;
                (open(&path)?, path)
            }
        };
        let loaded = examine(library, path)?;
        Ok(Self(LOADED.get_or_init(|| loaded)))
    }

    /// Returns the version.
    pub fn version(self) -> Version {
        self.0.version
    }

    /// Returns the version as the library says it, such as `2.21.0`.
    pub fn version_text(self) -> &'static str {
        &self.0.text
    }

    /// Returns the library's file.
    pub fn path(self) -> &'static Path {
        &self.0.path
    }

    pub(super) fn functions(self) -> &'static Functions {
        &self.0.functions
    }

    /// Returns the functions of DLPack, which releases for C lack.
    pub(super) fn dlpack(self) -> Result<&'static DLPack, TensorFlowError> {
        let missing = || TensorFlowError::MissingSymbol {
            path: self.0.path.clone(),
            symbol: DLPack::FROM_HANDLE,
            version: self.0.text.clone(),
        };
        self.0.functions.dlpack.as_ref().ok_or_else(missing)
    }
}

impl fmt::Debug for TensorFlow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TensorFlow")
            .field("version", &self.0.text)
            .field("path", &self.0.path)
            .finish()
    }
}

fn is_same_file(a: &Path, b: &Path) -> bool {
    let identity = |path: &Path| path.metadata().ok().map(|data| (data.dev(), data.ino()));
    a == b || identity(a).is_some_and(|a| identity(b) == Some(a))
}

fn open(path: &Path) -> Result<unix::Library, TensorFlowError> {
    // SAFETY: the user names a TensorFlow, whose initialisers may run on any thread.
    unsafe { unix::Library::open(Some(path), libc::RTLD_NOW | libc::RTLD_LOCAL) }.map_err(|error| {
        let problem = match std::error::Error::source(&error) {
            Some(cause) => cause.to_string(),
            None => error.to_string(),
        };
        TensorFlowError::Load {
            path: path.to_owned(),
            problem,
        }
    })
}

/// Checks version and functions of a loaded library, which stays loaded whatever is wrong with it.
fn examine(library: unix::Library, path: PathBuf) -> Result<Loaded, TensorFlowError> {
    let library = Box::leak(Box::new(libloading::Library::from(library)));
    type VersionFunction = unsafe extern "C" fn() -> *const c_char;
    // SAFETY: the function of this name has this type in every TensorFlow.
    let version = unsafe { library.get::<VersionFunction>("TF_Version") };
    let Ok(version) = version.map(|symbol| *symbol) else {
        let (symbol, version) = ("TF_Version", "of an unknown version".to_owned());
        return Err(TensorFlowError::MissingSymbol {
            path,
            symbol,
            version,
        });
    };
    let path = find::file_of(version as *const ()).unwrap_or(path);
    // SAFETY: it takes nothing, and returns a string that lives as long as the library.
    let text = unsafe { CStr::from_ptr(version()) };
    let text = text.to_string_lossy().into_owned();
    let version = match Version::parse(&text).filter(|version| version.is_supported()) {
        Some(version) => version,
        None => return Err(TensorFlowError::UnsupportedVersion { path, found: text }),
    };
    // SAFETY: the version is one whose functions have these types, and the library is leaked.
    match unsafe { Functions::look_up(library) } {
        Ok(functions) => Ok(Loaded {
            path,
            version,
            text,
            functions,
        }),
        Err(symbol) => Err(TensorFlowError::MissingSymbol {
            path,
            symbol,
            version: text,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_supports_2_12_and_newer_below_3() {
        for (text, supported) in [
            ("2.12.0", true),
            ("2.21.0", true),
            ("2.30.1-rc1", true),
            ("2.11.1", false),
            ("1.15.5", false),
            ("3.0.0", false),
        ] {
            let version = Version::parse(text).unwrap();
            assert_eq!(version.is_supported(), supported, "{text}");
        }
        assert_eq!(Version::parse("nightly"), None);
    }
}
