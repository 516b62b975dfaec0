//! Runs tests with the double of cuBLASLt (`tests/libcublaslt`) in its place, and talks to it.

use super::kernels::on_doubles;
use crate::double::{library_folder, live, mistakes};
use dlbridge::cuda::{self, Gpu, Stream};
use dlbridge::{Element, Tensor, ops};
use libloading::Library;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::PathBuf;
use std::sync::OnceLock;

/// A folder with the double under the library's name.
pub(super) fn blas_folder() -> PathBuf {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let names = ["libcublasLt.so.13"];
    library_folder(&BUILT, "tests/libcublaslt", "libcublasLt.so", &names)
}

/// Runs the body in a child process with all doubles, and checks that it made no mistake and left
/// no memory.
pub(super) fn with_blas(test: &str, environment: &[(&str, &str)], body: fn()) {
    on_doubles(test, &[blas_folder()], environment, || {
        body();
        for id in 0..2 {
            Gpu::new(id).unwrap().synchronize().unwrap();
        }
        assert_eq!(
            (blas_mistakes(), mistakes()),
            (String::new(), String::new())
        );
        assert_eq!((live("memory"), live("pending")), (0, 0));
    });
}

fn control<F: Copy>(name: &str) -> F {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    // SAFETY: the double runs nothing when it is loaded.
    let library = LIBRARY.get_or_init(|| unsafe { Library::new("libcublasLt.so.13") }.unwrap());
    // SAFETY: the callers name a type that fits, and the library is never closed.
    unsafe { *library.get::<F>(name.as_bytes()).unwrap() }
}

fn text(function: &str) -> String {
    let text = control::<extern "C" fn() -> *mut c_char>(function)();
    // SAFETY: the double returns a string of C, to be freed by it.
    unsafe {
        let owned = CStr::from_ptr(text).to_str().unwrap().to_owned();
        control::<unsafe extern "C" fn(*mut c_char)>("cublasLtDoubleFreeText")(text);
        owned
    }
}

/// Each choice of an algorithm and each product that begins so, without that beginning.
pub(super) fn lines(beginning: &str) -> Vec<String> {
    let journal = text("cublasLtDoubleJournal");
    let lines = journal.lines();
    let lines = lines.filter_map(|line| line.strip_prefix(beginning));
    lines.map(str::to_owned).collect()
}

/// The last product, as the library was told of it.
pub(super) fn last() -> String {
    lines("multiplied: ").pop().unwrap_or_default()
}

pub(super) fn blas_mistakes() -> String {
    text("cublasLtDoubleMistakes")
}

/// How many descriptors there are.
pub(super) fn descriptors() -> i64 {
    control::<extern "C" fn() -> i64>("cublasLtDoubleLive")()
}

/// Has the next call of a function fail.
pub(super) fn fail(function: &str, code: c_int) {
    let function = CString::new(function).unwrap();
    let fail: unsafe extern "C" fn(*const c_char, c_int) = control("cublasLtDoubleFail");
    // SAFETY: a string of C.
    unsafe { fail(function.as_ptr(), code) }
}

/// Makes the fastest algorithm need a number of bytes.
pub(super) fn need_workspace(bytes: u64) {
    control::<extern "C" fn(u64)>("cublasLtDoubleWorkspace")(bytes);
}

/// Has no algorithm be found, in one of four ways; or all be found, if it is 0.
pub(super) fn refuse(way: c_int) {
    control::<extern "C" fn(c_int)>("cublasLtDoubleRefuse")(way);
}

/// On the first GPU, on the current stream.
pub(super) fn sent(tensor: &Tensor) -> Tensor {
    cuda::to_device(tensor, &Stream::current(Gpu::new(0).unwrap())).unwrap()
}

/// Numbers that every type has, and of which products have, too.
pub(super) fn numbers(rows: usize, columns: usize) -> Tensor {
    let all = (0..rows * columns).map(|number| (number * 7 % 11) as f32 - 5.0);
    Tensor::from_vec(all.collect(), &[rows, columns]).unwrap()
}

pub(super) fn values<T: Element>(tensor: &Tensor) -> Vec<T> {
    cuda::to_host(tensor).unwrap().to_vec().unwrap()
}

/// What the CPU's kernel makes of these, which may be on a GPU.
pub(super) fn expected<T: Element>(a: &Tensor, b: &Tensor) -> Vec<T> {
    let [a, b] = [a, b].map(|tensor| cuda::to_host(tensor).unwrap());
    ops::matmul(&a, &b).unwrap().to_vec().unwrap()
}
