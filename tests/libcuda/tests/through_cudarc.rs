//! The shared library takes the place of NVIDIA's for `cudarc`, which looks it up by name in a
//! process of its own.

use cudarc::driver::{CudaContext, LaunchConfig, PushKernelArg, sys};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs the body of a test in a child process that finds the double under the name of the driver's
/// library.
fn in_child(test: &str, environment: &[(&str, &str)], body: fn()) {
    if std::env::var_os("WITH_DOUBLE").is_some() {
        return body();
    }
    let folder = std::env::temp_dir().join(format!("libcuda-double-{}-{test}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for name in ["libcuda.so", "libcuda.so.1"] {
        std::os::unix::fs::symlink(built_library(), folder.join(name)).unwrap();
    }
    let mut child = Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "--nocapture", test])
        .env("WITH_DOUBLE", "1")
        .env("LD_LIBRARY_PATH", &folder);
    let output = child.envs(environment.iter().copied()).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat())
    );
}

/// Cargo puts the shared library beside the tests.
fn built_library() -> PathBuf {
    let library = std::env::current_exe()
        .unwrap()
        .parent()
        .map(|folder| folder.join("libcuda.so"))
        .unwrap();
    assert!(Path::exists(&library), "{} isn't built", library.display());
    library
}

/// One of the double's own functions, in the library that cudarc loaded.
fn control<F: Copy>(name: &str) -> F {
    // SAFETY: the callers name a type that fits, and the library is never closed.
    unsafe { *sys::culib().get::<F>(name.as_bytes()).unwrap() }
}

fn mistakes() -> String {
    let text = control::<extern "C" fn() -> *mut c_char>("cudaDoubleMistakes")();
    // SAFETY: the double returns a string of C, which the test keeps.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned()
}

fn live(what: &CStr) -> i64 {
    control::<extern "C" fn(*const c_char) -> i64>("cudaDoubleLive")(what.as_ptr())
}

fn fail(function: &CStr, code: c_int) {
    control::<extern "C" fn(*const c_char, u64, c_int)>("cudaDoubleFail")(
        function.as_ptr(),
        1,
        code,
    );
}

#[test]
fn memory_goes_there_and_back() {
    in_child("memory_goes_there_and_back", &[], || {
        assert_eq!(CudaContext::device_count().unwrap(), 2);
        let context = CudaContext::new(1).unwrap();
        assert_eq!(context.name().unwrap(), "Test double 1");
        assert_eq!(context.compute_capability().unwrap(), (9, 0));
        let (one, other) = (context.new_stream().unwrap(), context.new_stream().unwrap());
        let sent = one.clone_htod(&[1_f32, 2.0, 3.0]).unwrap();
        let copied = other.clone_dtod(&sent).unwrap();
        drop(sent);
        assert_eq!(other.clone_dtoh(&copied).unwrap(), [1.0, 2.0, 3.0]);
        assert_eq!(
            other
                .clone_dtoh(&one.alloc_zeros::<u8>(3).unwrap())
                .unwrap(),
            [0; 3]
        );
        // SAFETY: it is written before it is read.
        let mut pinned = unsafe { context.alloc_pinned::<f32>(3) }.unwrap();
        one.memcpy_dtoh(&copied, &mut pinned).unwrap();
        assert_eq!(pinned.as_slice().unwrap(), [1.0, 2.0, 3.0]);
        // SAFETY: the memory is written before it is read.
        let mut managed = unsafe { context.alloc_unified::<u32>(2, true) }.unwrap();
        one.memset_zeros(&mut managed).unwrap();
        assert_eq!(managed.as_slice().unwrap(), [0, 0]);
        drop((copied, pinned, managed));
        context.synchronize().unwrap();
        assert_eq!((live(c"memory"), live(c"pending")), (0, 0));
        drop((one, other, context));
        assert_eq!(
            (live(c"streams"), live(c"events"), live(c"contexts")),
            (0, 0, 0)
        );
        assert_eq!(mistakes(), "");
    });
}

/// What a kernel sees of its launch, as the double's documentation lays it out.
#[repr(C)]
struct Launch {
    name: *const c_char,
    grid: [u32; 3],
    block: [u32; 3],
    shared: u32,
    arguments: *const *const c_void,
    count: usize,
    stream: *mut c_void,
}

extern "C" fn add_one(launch: *const Launch, _: *mut c_void) -> c_int {
    // SAFETY: the test launches it with a pointer and how many numbers are there.
    unsafe {
        let arguments = (*launch).arguments;
        let (numbers, count) = (
            arguments.read().cast::<*mut f32>().read(),
            arguments.add(1).read().cast::<u32>().read(),
        );
        (0..count as usize).for_each(|place| *numbers.add(place) += 1.0);
    }
    0
}

#[test]
fn kernels_and_graphs_run() {
    in_child("kernels_and_graphs_run", &[], || {
        let context = CudaContext::new(0).unwrap();
        // SAFETY: there is one stream. Waits for events of before a capture are refused in it, as
        // by the real driver.
        unsafe { context.disable_event_tracking() };
        type Register = extern "C" fn(
            *const c_char,
            *const c_char,
            extern "C" fn(*const Launch, *mut c_void) -> c_int,
            *mut c_void,
        ) -> c_int;
        let register = control::<Register>("cudaDoubleRegisterKernel");
        assert_eq!(
            register(
                c"add_one".as_ptr(),
                c"rw v4".as_ptr(),
                add_one,
                std::ptr::null_mut()
            ),
            0
        );
        let stream = context.new_stream().unwrap();
        let ptx = ".entry add_one(.param .u64 a, .param .u32 b) { ret; }";
        let module = context
            .load_module(cudarc::nvrtc::Ptx::from_src(ptx))
            .unwrap();
        let function = module.load_function("add_one").unwrap();
        let mut numbers = stream.clone_htod(&[1_f32, 2.0]).unwrap();
        let launch = |numbers: &mut cudarc::driver::CudaSlice<f32>| {
            let mut builder = stream.launch_builder(&function);
            builder.arg(numbers).arg(&2_u32);
            // SAFETY: the arguments are those of the kernel.
            unsafe { builder.launch(LaunchConfig::for_num_elems(2)) }.unwrap();
        };
        launch(&mut numbers);
        stream
            .begin_capture(sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)
            .unwrap();
        launch(&mut numbers);
        let flags = sys::CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
        let graph = stream.end_capture(flags).unwrap().unwrap();
        graph.launch().unwrap();
        graph.launch().unwrap();
        assert_eq!(stream.clone_dtoh(&numbers).unwrap(), [4.0, 5.0]);
        assert_eq!(mistakes(), "");
    });
}

#[test]
fn errors_come_out_and_nothing_is_lost() {
    in_child("errors_come_out_and_nothing_is_lost", &[], || {
        let context = CudaContext::new(0).unwrap();
        let stream = context.default_stream();
        fail(c"cuMemAllocAsync", 2);
        let error = stream.clone_htod(&[0_u8; 4]).unwrap_err();
        assert_eq!(error.error_name().unwrap(), c"CUDA_ERROR_OUT_OF_MEMORY");
        fail(c"cuMemcpyHtoDAsync_v2", 719);
        assert!(stream.clone_htod(&[0_u8; 4]).is_err());
        stream.synchronize().unwrap();
        assert_eq!((live(c"memory"), mistakes()), (0, String::new()));
    });
}

#[test]
fn a_machine_may_have_no_device() {
    in_child(
        "a_machine_may_have_no_device",
        &[("LIBCUDA_DOUBLE_DEVICES", "0")],
        || {
            assert_eq!(
                CudaContext::new(0).unwrap_err().0,
                sys::CUresult::CUDA_ERROR_NO_DEVICE
            );
        },
    );
}

/// The functions that cudarc's own layers call, which panic if one is missing.
#[test]
fn every_function_that_cudarc_calls_is_there() {
    in_child("every_function_that_cudarc_calls_is_there", &[], || {
        let names = include_str!("support/called_by_cudarc.txt").lines();
        let library = sys_library();
        let missing: Vec<&str> = names.filter(|name| !library(name)).collect();
        assert_eq!(missing, [""; 0]);
    });
}

fn sys_library() -> impl Fn(&str) -> bool {
    |name| {
        let name = CString::new(name).unwrap();
        // SAFETY: only whether the symbol is there is asked.
        unsafe {
            sys::culib()
                .get::<*const c_void>(name.as_bytes_with_nul())
                .is_ok()
        }
    }
}
