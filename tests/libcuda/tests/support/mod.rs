//! Helpers of the double's tests: one test at a time, and short forms of the driver's functions.
#![allow(dead_code, reason = "no test file needs all of it")]

use cuda::abi::{
    Address, Context, Event, Function, Graph, GraphExec, Host, In, Module, Out, Stream, Text,
};
use cuda::api::{allocate::*, context::*, copy::*, device::*, event::*, fill::*, general::*};
use cuda::api::{graph::*, host_memory::*, launch::*, module::*, stream::*};
use cuda::control::*;
use cuda::kernels::{CudaDoubleKernel, CudaDoubleLaunch};
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) const INVALID_VALUE: i32 = 1;
pub(crate) const OUT_OF_MEMORY: i32 = 2;
pub(crate) const INVALID_CONTEXT: i32 = 201;
pub(crate) const INVALID_PTX: i32 = 218;
pub(crate) const INVALID_HANDLE: i32 = 400;
pub(crate) const NOT_READY: i32 = 600;
pub(crate) const ILLEGAL_ADDRESS: i32 = 700;
pub(crate) const LAUNCH_FAILED: i32 = 719;
pub(crate) const CAPTURE_UNSUPPORTED: i32 = 900;
pub(crate) const CAPTURE_INVALIDATED: i32 = 901;
pub(crate) const CAPTURE_UNJOINED: i32 = 904;
pub(crate) const CAPTURE_IMPLICIT: i32 = 906;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// The double, fresh, with device 0's primary context current; other tests of the process wait.
pub(crate) struct Double(MutexGuard<'static, ()>);

pub(crate) fn double() -> Double {
    let guard = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    cudaDoubleReset();
    // SAFETY: no arguments.
    assert_eq!(unsafe { cuInit(0) }, 0);
    let double = Double(guard);
    double.use_device(0);
    double
}

/// Calls a function of the driver, which must succeed.
macro_rules! ok {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the tests pass valid pointers, or the function checks them.
        assert_eq!(unsafe { $function($($argument),*) }, 0, stringify!($function))
    };
}

/// Calls a function of the driver, and is its code.
macro_rules! code {
    ($function:ident($($argument:expr),* $(,)?)) => {
        // SAFETY: the tests pass valid arguments, or ones that the double rejects.
        unsafe { $function($($argument),*) }
    };
}

/// Something that a function gives through its first argument.
macro_rules! given {
    ($type:ident, $function:ident($($argument:expr),* $(,)?)) => {{
        let mut value = $type::default();
        ok!($function(Out(&mut value), $($argument),*));
        value
    }};
}

pub(crate) fn taken(text: *mut c_char) -> String {
    // SAFETY: the double returns strings of C, and this one is freed once.
    unsafe {
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        cudaDoubleFreeText(text);
        copy
    }
}

impl Double {
    pub(crate) fn use_device(&self, device: i32) -> Context {
        let context = given!(Context, cuDevicePrimaryCtxRetain(device));
        ok!(cuCtxSetCurrent(context));
        context
    }

    pub(crate) fn stream(&self) -> Stream {
        given!(Stream, cuStreamCreate(1))
    }

    pub(crate) fn blocking_stream(&self) -> Stream {
        given!(Stream, cuStreamCreate(0))
    }

    pub(crate) fn event(&self) -> Event {
        given!(Event, cuEventCreate(0))
    }

    /// `to` waits for what `from` has been given so far.
    pub(crate) fn order(&self, from: Stream, to: Stream) {
        let event = self.event();
        ok!(cuEventRecord(event, from));
        ok!(cuStreamWaitEvent(to, event, 0));
        ok!(cuEventDestroy_v2(event));
    }

    pub(crate) fn allocate(&self, bytes: usize) -> Address {
        given!(Address, cuMemAlloc_v2(bytes))
    }

    pub(crate) fn allocate_on(&self, bytes: usize, stream: Stream) -> Address {
        given!(Address, cuMemAllocAsync(bytes, stream))
    }

    pub(crate) fn fill(&self, to: Address, value: u8, bytes: usize, stream: Stream) {
        ok!(cuMemsetD8Async(to, value, bytes, stream));
    }

    pub(crate) fn pinned(&self, bytes: usize) -> &'static mut [u8] {
        let mut start = Host(std::ptr::null_mut());
        ok!(cuMemHostAlloc(Out(&mut start), bytes, 0));
        // SAFETY: that many bytes were allocated, and are the test's until it frees them.
        unsafe { std::slice::from_raw_parts_mut(start.0.cast(), bytes) }
    }

    /// What is in memory now, without any work being run.
    pub(crate) fn peek(&self, from: Address, bytes: usize) -> Vec<u8> {
        let mut to = vec![0; bytes];
        ok!(cudaDoublePeek(
            to.as_mut_ptr().cast(),
            host(from.0 as *const u8),
            bytes
        ));
        to
    }

    /// Copies to the host's memory, after all work of the stream.
    pub(crate) fn read(&self, from: Address, bytes: usize, stream: Stream) -> Vec<u8> {
        let mut to = vec![0; bytes];
        ok!(cuMemcpyDtoHAsync_v2(
            host(to.as_mut_ptr()),
            from,
            bytes,
            stream
        ));
        to
    }

    pub(crate) fn mistakes(&self) -> Vec<String> {
        taken(cudaDoubleMistakes())
            .lines()
            .map(str::to_owned)
            .collect()
    }

    /// The one mistake that was found, which must hold the words.
    pub(crate) fn mistake(&self, words: &str) {
        let mistakes = self.mistakes();
        assert!(
            mistakes.len() == 1 && mistakes[0].contains(words),
            "{mistakes:#?}"
        );
        cudaDoubleForgetMistakes();
    }

    pub(crate) fn no_mistakes(&self) {
        assert_eq!(self.mistakes(), [""; 0]);
    }

    pub(crate) fn journal(&self) -> String {
        taken(cudaDoubleJournal())
    }

    pub(crate) fn live(&self, what: &str) -> i64 {
        let what = CString::new(what).unwrap();
        code!(cudaDoubleLive(what.as_ptr()))
    }

    pub(crate) fn fail(&self, function: &str, nth: u64, code: i32) {
        let function = CString::new(function).unwrap();
        code!(cudaDoubleFail(function.as_ptr(), nth, code));
    }

    pub(crate) fn register(
        &self,
        name: &CStr,
        signature: &CStr,
        function: CudaDoubleKernel,
        data: *mut c_void,
    ) {
        ok!(cudaDoubleRegisterKernel(
            name.as_ptr(),
            signature.as_ptr(),
            function,
            data
        ));
    }

    pub(crate) fn function(&self, image: &CStr, name: &CStr) -> Function {
        let module = given!(Module, cuModuleLoadData(image.as_ptr().cast()));
        given!(Function, cuModuleGetFunction(module, Text(name.as_ptr())))
    }

    /// Launches one thread with arguments of 8 bytes.
    pub(crate) fn launch(&self, function: Function, stream: Stream, arguments: &mut [u64]) -> i32 {
        let mut pointers: Vec<*mut c_void> = arguments
            .iter_mut()
            .map(|value| (value as *mut u64).cast())
            .collect();
        let none = std::ptr::null_mut();
        code!(cuLaunchKernel(
            function,
            1,
            1,
            1,
            1,
            1,
            1,
            0,
            stream,
            pointers.as_mut_ptr(),
            none
        ))
    }

    pub(crate) fn end_capture(&self, stream: Stream) -> GraphExec {
        let mut graph = Graph(0);
        ok!(cuStreamEndCapture(stream, Out(&mut graph)));
        let executable = given!(GraphExec, cuGraphInstantiateWithFlags(graph, 0));
        ok!(cuGraphDestroy(graph));
        executable
    }
}

pub(crate) fn host<T>(at: *const T) -> Host {
    Host(at.cast_mut().cast())
}

/// The value of an argument of a launch.
///
/// # Safety
///
/// The launch must have more arguments than `index`, and this one must be a `T`.
pub(crate) unsafe fn argument<T: Copy>(launch: *const CudaDoubleLaunch, place: usize) -> T {
    // SAFETY: the launch has more than `place` arguments, and this one is a `T`, by this function's
    // contract.
    unsafe {
        (*launch)
            .arguments
            .add(place)
            .read()
            .cast::<T>()
            .read_unaligned()
    }
}

/// For functions whose arguments are structures.
pub(crate) fn pointer<T>(to: &T) -> In<T> {
    In(to)
}
