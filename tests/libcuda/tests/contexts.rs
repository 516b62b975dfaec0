//! Contexts, handles that were destroyed, and errors that tests ask for.

#[macro_use]
mod support;

use cuda::abi::{Address, Context, Event, Out, Stream};
use cuda::api::{allocate::*, context::*, device::*, event::*, fill::*, general::*, stream::*};
use cuda::control::*;
use std::ffi::CStr;
use support::{INVALID_CONTEXT, INVALID_HANDLE, OUT_OF_MEMORY, double};

fn current() -> Context {
    given!(Context, cuCtxGetCurrent())
}

#[test]
fn each_thread_has_its_own_current_contexts() {
    let double = double();
    let (first, second) = (current(), double.use_device(1));
    ok!(cuCtxPushCurrent_v2(first));
    assert_eq!(current(), first);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            assert_eq!(current(), Context(0));
            let mut memory = Address(0);
            assert_eq!(code!(cuMemAlloc_v2(Out(&mut memory), 8)), INVALID_CONTEXT);
        });
    });
    let popped = given!(Context, cuCtxPopCurrent_v2());
    assert_eq!((popped, current()), (first, second));
    ok!(cuCtxSetCurrent(Context(0)));
    assert_eq!(current(), Context(0));
}

#[test]
fn a_primary_context_ends_with_its_last_release() {
    let double = double();
    double.use_device(0);
    double.allocate(8);
    ok!(cuDevicePrimaryCtxRelease_v2(0));
    double.no_mistakes();
    assert_eq!(double.live("contexts"), 1);
    ok!(cuDevicePrimaryCtxRelease_v2(0));
    double.mistake("context 1 ends while allocation 1 (device memory) is live");
    assert_eq!(double.live("contexts"), 0);
    assert_eq!(code!(cuDevicePrimaryCtxRelease_v2(0)), INVALID_CONTEXT);
    double.mistake("released more often than retained");
    assert_eq!(code!(cuCtxSynchronize()), 709);
    double.mistake("context 1 is current, and was released");
}

#[test]
fn a_context_that_was_made_is_destroyed() {
    let double = double();
    let primary = current();
    let made = given!(Context, cuCtxCreate_v2(0, 0));
    assert_eq!(current(), made);
    assert_eq!(code!(cuCtxDestroy_v2(primary)), INVALID_CONTEXT);
    double.mistake("is destroyed instead of released");
    ok!(cuCtxDestroy_v2(made));
    assert_eq!(current(), primary);
}

#[test]
fn destroyed_things_are_known_as_such() {
    let double = double();
    let (stream, event, memory) = (double.stream(), double.event(), double.allocate(8));
    double.fill(memory, 1, 8, stream);
    ok!(cuEventRecord(event, stream));
    ok!(cuStreamDestroy_v2(stream));
    ok!(cuEventSynchronize(event));
    assert_eq!(double.peek(memory, 1), [1], "its work was still done");
    assert_eq!(code!(cuMemsetD8Async(memory, 2, 8, stream)), INVALID_HANDLE);
    double.mistake("is used after it was destroyed");
    ok!(cuEventDestroy_v2(event));
    assert_eq!(code!(cuEventDestroy_v2(event)), INVALID_HANDLE);
    double.mistake("event 1 is used after it was destroyed");
    assert_eq!(code!(cuStreamSynchronize(Stream(event.0))), INVALID_HANDLE);
    double.mistake("is no stream");
}

#[test]
fn events_stay_in_their_context() {
    let double = double();
    let event: Event = double.event();
    double.use_device(1);
    assert_eq!(code!(cuEventRecord(event, double.stream())), INVALID_HANDLE);
    double.mistake("event 1 is of context 1, and recorded on stream");
}

#[test]
fn the_call_that_was_asked_for_fails_and_does_nothing() {
    let double = double();
    double.fail("cuMemAlloc_v2", 2, OUT_OF_MEMORY);
    let mut memory = Address(0);
    ok!(cuMemAlloc_v2(Out(&mut memory), 8));
    assert_eq!(code!(cuMemAlloc_v2(Out(&mut memory), 8)), OUT_OF_MEMORY);
    assert_eq!(double.live("memory"), 1);
    ok!(cuMemAlloc_v2(Out(&mut memory), 8));
    double.fail("", 3, 999);
    ok!(cuCtxSynchronize());
    ok!(cuCtxSynchronize());
    assert_eq!(code!(cuMemFree_v2(memory)), 999);
    ok!(cuMemFree_v2(memory));
    assert_eq!(code!(cudaDoubleCalls(c"cuMemAlloc_v2".as_ptr())), 3);
    assert!(
        double
            .journal()
            .contains("cuMemAlloc_v2(bytes: 8) in thread")
    );
    assert!(double.journal().contains(" = CUDA_ERROR_OUT_OF_MEMORY"));
    double.no_mistakes();
}

#[test]
fn nothing_works_before_the_start() {
    let double = double();
    cudaDoubleReset();
    let mut count = -1;
    assert_eq!(code!(cuDeviceGetCount(Out(&mut count))), 3);
    ok!(cuInit(0));
    ok!(cuDeviceGetCount(Out(&mut count)));
    assert_eq!(count, 2);
    let mut device = -1;
    assert_eq!(code!(cuDeviceGet(Out(&mut device), 2)), 101);
    drop(double);
}

#[test]
fn codes_have_names() {
    let _double = double();
    let mut text = std::ptr::null();
    ok!(cuGetErrorName(2, Out(&mut text)));
    // SAFETY: the driver gives constant strings.
    assert_eq!(unsafe { CStr::from_ptr(text) }, c"CUDA_ERROR_OUT_OF_MEMORY");
    ok!(cuGetErrorString(0, Out(&mut text)));
    // SAFETY: the driver returns constant strings.
    assert_eq!(unsafe { CStr::from_ptr(text) }, c"no error");
    assert_eq!(code!(cuGetErrorName(12345, Out(&mut text))), 1);
    assert!(text.is_null());
}

#[test]
fn functions_are_found_by_their_names_without_versions() {
    let _double = double();
    let (mut function, mut status) = (0, -1);
    ok!(cuGetProcAddress_v2(
        cuda::abi::Text(c"cuMemAlloc".as_ptr()),
        Out(&mut function),
        12000,
        0,
        Out(&mut status)
    ));
    assert_eq!((function, status), (cuMemAlloc_v2 as *const () as usize, 0));
    ok!(cuGetProcAddress_v2(
        cuda::abi::Text(c"cuNothing".as_ptr()),
        Out(&mut function),
        12000,
        0,
        Out(&mut status)
    ));
    assert_eq!((function, status), (0, 1));
}
