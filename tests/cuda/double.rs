//! Runs tests on the double, each in a process of its own that finds it in the place of the driver.

use libloading::Library;
use std::ffi::{CStr, CString, OsString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Runs the body in a child process on the double, and checks that it made no mistake and left
/// nothing.
pub(crate) fn on_double(test: &str, body: fn()) {
    in_child(test, &driver_folder(), &[], || {
        body();
        for id in 0..2 {
            dlbridge::cuda::Gpu::new(id).unwrap().synchronize().unwrap();
        }
        assert_eq!(mistakes(), "");
        assert_eq!(
            (live("memory"), live("pending"), live("modules")),
            (0, 0, 0),
            "{}",
            text("cudaDoubleAllocations")
        );
    });
}

/// Runs the body in a child process in which there may be no driver, or another number of GPUs.
pub(crate) fn in_child(
    test: &str,
    libraries: &Path,
    environment: &[(&str, &str)],
    body: impl FnOnce(),
) {
    if is_child() {
        return body();
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "--nocapture", test])
        .env(INSIDE, "1")
        .env("LD_LIBRARY_PATH", libraries)
        .envs(environment.iter().copied());
    let told = child
        .get_envs()
        .find(|(name, _)| *name == "LD_LIBRARY_PATH");
    let first = told
        .and_then(|(_, value)| value)
        .unwrap_or_default()
        .to_owned();
    child.env("LD_LIBRARY_PATH", before_others(first));
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 passed"), "there is no test {test}: {said}");
}

/// A folder in front of those in which the loader looks anyway: with all features a test needs
/// Python's library.
pub(crate) fn before_others(first: OsString) -> OsString {
    let others = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let others: Vec<_> = std::env::split_paths(&others).collect();
    let folders = std::env::split_paths(&first).chain(others);
    std::env::join_paths(folders.filter(|folder| !folder.as_os_str().is_empty())).unwrap()
}

/// Set in child processes.
const INSIDE: &str = "DLBRIDGE_TEST_IN_CHILD";

/// Whether this is such a child process.
pub(crate) fn is_child() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// A folder with the double under the driver's names.
pub(crate) fn driver_folder() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let names = ["libcuda.so", "libcuda.so.1"];
    library_folder(&BUILT, "tests/libcuda", "libcuda.so", &names)
}

/// A folder with the library that a crate of the tests builds, under some names. In a child process
/// there is none.
pub(crate) fn library_folder(
    built: &OnceLock<PathBuf>,
    source: &str,
    library: &str,
    names: &[&str],
) -> PathBuf {
    let build = || {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        // Apart from all else, which would find the libraries there and take them for NVIDIA's.
        let target = root.join("target/doubles");
        let status = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--lib", "--manifest-path"])
            .arg(root.join(source).join("Cargo.toml"))
            .env("CARGO_TARGET_DIR", &target)
            .env_remove("RUSTC_WORKSPACE_WRAPPER") // Libraries that are in use stay as they are.
            .status();
        assert!(status.unwrap().success(), "{source} can't be built");
        let folder = tempfile::tempdir_in(&target).unwrap().keep();
        for name in names {
            let built = target.join("debug").join(library);
            std::os::unix::fs::symlink(built, folder.join(name)).unwrap();
        }
        folder
    };
    if is_child() {
        return PathBuf::new();
    }
    built.get_or_init(build).clone()
}

fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    // SAFETY: the double runs nothing when it is loaded.
    LIBRARY.get_or_init(|| unsafe { Library::new("libcuda.so.1") }.unwrap())
}

/// One of the double's own functions.
fn control<F: Copy>(name: &str) -> F {
    // SAFETY: the callers name a type that fits, and the library is never closed.
    unsafe { *library().get::<F>(name.as_bytes()).unwrap() }
}

fn text(function: &str) -> String {
    let text = control::<extern "C" fn() -> *mut c_char>(function)();
    // SAFETY: the double returns a string of C, to be freed by it.
    unsafe {
        let owned = CStr::from_ptr(text).to_str().unwrap().to_owned();
        control::<unsafe extern "C" fn(*mut c_char)>("cudaDoubleFreeText")(text);
        owned
    }
}

/// What was wrong, a mistake a line.
pub(crate) fn mistakes() -> String {
    text("cudaDoubleMistakes")
}

/// What was called, and what ran.
pub(crate) fn journal() -> String {
    text("cudaDoubleJournal")
}

/// How many there are of something.
pub(crate) fn live(what: &str) -> i64 {
    let what = CString::new(what).unwrap();
    control::<unsafe extern "C" fn(*const c_char) -> i64>("cudaDoubleLive").call(&what)
}

/// How often a function was called; any function, without a name.
pub(crate) fn calls(function: &str) -> u64 {
    let function = CString::new(function).unwrap();
    control::<unsafe extern "C" fn(*const c_char) -> u64>("cudaDoubleCalls").call(&function)
}

/// Has the n-th call from now on of a function, or of any, fail.
pub(crate) fn fail(function: &str, nth: u64, code: c_int) {
    let function = CString::new(function).unwrap();
    let fail: unsafe extern "C" fn(*const c_char, u64, c_int) = control("cudaDoubleFail");
    // SAFETY: a string of C.
    unsafe { fail(function.as_ptr(), nth, code) }
}

/// Has the n-th copy, fill or launch that runs from now on fail, as a kernel that crashes does.
pub(crate) fn fail_work(nth: u64, code: c_int) {
    control::<extern "C" fn(u64, c_int)>("cudaDoubleFailWork")(nth, code);
}

/// Has the next call of a function write a number where it writes an enum.
pub(crate) fn write(function: &str, value: c_int) {
    let function = CString::new(function).unwrap();
    let write: unsafe extern "C" fn(*const c_char, c_int) = control("cudaDoubleWrite");
    // SAFETY: a string of C.
    unsafe { write(function.as_ptr(), value) }
}

/// Has the GPU whose context is current do its work, as if time went by: no code of ours runs.
pub(crate) fn finish_work() {
    assert_eq!(control::<extern "C" fn() -> c_int>("cuCtxSynchronize")(), 0);
}

/// Has copies be late with pageable memory of the host, too.
pub(crate) fn be_late_with_pageable_memory() {
    control::<extern "C" fn(c_int)>("cudaDoubleSetPageableLate")(1);
}

/// Lets calls succeed again that were to fail.
pub(crate) fn forget_failures() {
    control::<extern "C" fn()>("cudaDoubleForgetFailures")();
}

/// Forgets mistakes that were made on purpose.
pub(crate) fn forget_mistakes() {
    control::<extern "C" fn()>("cudaDoubleForgetMistakes")();
}

/// A launch, as the double shows it to what stands for the kernel.
#[repr(C)]
pub(crate) struct Launched {
    name: *const c_char,
    pub(crate) grid: [u32; 3],
    pub(crate) block: [u32; 3],
    pub(crate) shared: u32,
    arguments: *const *const c_void,
    count: usize,
    stream: *mut c_void,
}

impl Launched {
    /// An argument's value.
    ///
    /// # Safety
    ///
    /// It is of this type, which has no values that some bits are not.
    pub(crate) unsafe fn argument<T: Copy>(&self, place: usize) -> T {
        assert!(place < self.count);
        // SAFETY: there is an address for each argument, at which there is a value of the caller's
        // type.
        unsafe {
            self.arguments
                .add(place)
                .read()
                .cast::<T>()
                .read_unaligned()
        }
    }
}

/// Has the double run something in the place of kernels of this name; the signature says which
/// arguments they read (`r`) and write (`w`) through, and which are values (`v`), and how many
/// bytes each takes.
pub(crate) fn register(
    name: &str,
    signature: &str,
    kernel: extern "C" fn(*const Launched, *mut c_void) -> c_int,
) {
    type Register = unsafe extern "C" fn(
        *const c_char,
        *const c_char,
        extern "C" fn(*const Launched, *mut c_void) -> c_int,
        *mut c_void,
    ) -> c_int;
    let (name, signature) = (
        CString::new(name).unwrap(),
        CString::new(signature).unwrap(),
    );
    let register: Register = control("cudaDoubleRegisterKernel");
    // SAFETY: strings of C, and a function that needs no data.
    let answer = unsafe {
        register(
            name.as_ptr(),
            signature.as_ptr(),
            kernel,
            std::ptr::null_mut(),
        )
    };
    assert_eq!(answer, 0, "{signature:?} is no signature");
}

/// What device memory holds now, without anything being run.
pub(crate) fn peek(address: *const u8, bytes: usize) -> Vec<u8> {
    let mut found = vec![0; bytes];
    let peek: unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> c_int =
        control("cudaDoublePeek");
    // SAFETY: the buffer has room for the bytes.
    let answer = unsafe { peek(found.as_mut_ptr().cast(), address.cast(), bytes) };
    assert_eq!(answer, 0, "{address:p} is in no live memory");
    found
}

trait CallByName<R> {
    fn call(self, name: &CStr) -> R;
}

impl<R> CallByName<R> for unsafe extern "C" fn(*const c_char) -> R {
    fn call(self, name: &CStr) -> R {
        // SAFETY: a string of C.
        unsafe { self(name.as_ptr()) }
    }
}
