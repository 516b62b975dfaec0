//! Kernels that tests register run in their turn, with the arguments that the launch had.

#[macro_use]
mod support;

use cuda::abi::{Function, Module, Out, Stream, Text};
use cuda::api::{
    allocate::*, context::*, device::*, launch::*, module::*, occupancy::*, stream::*,
};
use cuda::kernels::CudaDoubleLaunch;
use std::ffi::{c_int, c_void};
use support::{
    ILLEGAL_ADDRESS, INVALID_HANDLE, INVALID_PTX, INVALID_VALUE, LAUNCH_FAILED, argument, double,
};

const PTX: &std::ffi::CStr = c"
    .version 8.0
    .target sm_80
    .visible .entry scale(
        .param .u64 scale_param_0,
        .param .u64 scale_param_1,
        .param .u64 scale_param_2
    ) { ret; }
    .visible .entry nothing() { ret; }";

/// out[i] = 2 * in[i] for as many bytes as the last argument says.
extern "C" fn scale(launch: *const CudaDoubleLaunch, calls: *mut c_void) -> c_int {
    // SAFETY: the tests pass two pointers to that many bytes, and a counter.
    unsafe {
        let (from, to): (*const u8, *mut u8) = (argument(launch, 0), argument(launch, 1));
        for place in 0..argument::<usize>(launch, 2) {
            to.add(place).write(from.add(place).read().wrapping_mul(2));
        }
        *calls.cast::<u32>() += (*launch).grid[0];
    }
    0
}

extern "C" fn fails(_: *const CudaDoubleLaunch, _: *mut c_void) -> c_int {
    LAUNCH_FAILED
}

#[test]
fn a_registered_kernel_computes_in_its_turn() {
    let double = double();
    let mut calls = 0_u32;
    double.register(c"scale", c"r w v8", scale, (&raw mut calls).cast());
    let (function, stream) = (double.function(PTX, c"scale"), double.stream());
    let (from, to) = (double.allocate(8), double.allocate(8));
    double.fill(from, 21, 8, stream);
    let mut arguments = [from.0, to.0, 8];
    assert_eq!(double.launch(function, stream, &mut arguments), 0);
    arguments.fill(0);
    assert_eq!(double.peek(to, 1), [0xA5]);
    assert_eq!(double.read(to, 8, stream), [42; 8]);
    assert_eq!(calls, 1);
    assert!(
        double
            .journal()
            .contains("scale<<<[1, 1, 1], [1, 1, 1], 0>>>(allocation 1, allocation 2, 8)")
    );
    double.no_mistakes();
}

#[test]
fn kernels_take_part_in_races() {
    let double = double();
    let mut calls = 0_u32;
    double.register(c"scale", c"r w v8", scale, (&raw mut calls).cast());
    let function = double.function(PTX, c"scale");
    let (from, to) = (double.allocate(8), double.allocate(8));
    let (one, other) = (double.stream(), double.stream());
    assert_eq!(double.launch(function, one, &mut [from.0, to.0, 8]), 0);
    let second = double.allocate(8);
    assert_eq!(
        double.launch(function, other, &mut [from.0, second.0, 8]),
        0
    );
    double.no_mistakes();
    assert_eq!(double.launch(function, other, &mut [from.0, to.0, 8]), 0);
    double.mistake("writes allocation 2, which scale<<<");
}

#[test]
fn an_unregistered_kernel_is_recorded_and_its_pointers_are_looked_at() {
    let double = double();
    let (function, stream) = (double.function(PTX, c"scale"), double.stream());
    let memory = double.allocate_on(8, stream);
    ok!(cuMemFreeAsync(memory, stream));
    assert_eq!(double.launch(function, stream, &mut [memory.0, 0, 0]), 0);
    double.mistake("scale<<<[1, 1, 1], [1, 1, 1], 0>>>(allocation 1, 0, 0) on stream");
}

#[test]
fn the_names_in_ptx_count() {
    let double = double();
    let module = given!(Module, cuModuleLoadData(PTX.as_ptr().cast()));
    let mut function = Function(0);
    assert_eq!(
        code!(cuModuleGetFunction(
            Out(&mut function),
            module,
            Text(c"other".as_ptr())
        )),
        500
    );
    ok!(cuModuleGetFunction(
        Out(&mut function),
        module,
        Text(c"nothing".as_ptr())
    ));
    let (mut offset, mut size) = (0, 0);
    assert_eq!(
        code!(cuFuncGetParamInfo(
            function,
            0,
            Out(&mut offset),
            Out(&mut size)
        )),
        INVALID_VALUE
    );
    assert_eq!(double.launch(function, Stream(0), &mut []), 0);
    let scale = given!(
        Function,
        cuModuleGetFunction(module, Text(c"scale".as_ptr()))
    );
    ok!(cuFuncGetParamInfo(
        scale,
        2,
        Out(&mut offset),
        Out(&mut size)
    ));
    assert_eq!((offset, size), (16, 8));
    ok!(cuModuleUnload(module));
    assert_eq!(double.launch(function, Stream(0), &mut []), INVALID_HANDLE);
    double.mistake("function 1 is used after it was destroyed");
}

#[test]
fn sizes_are_bounded() {
    let double = double();
    let function = double.function(PTX, c"nothing");
    let none = std::ptr::null_mut();
    let launch = |grid: u32, block: u32, shared: u32| {
        code!(cuLaunchKernel(
            function,
            1,
            grid,
            1,
            block,
            1,
            1,
            shared,
            Stream(0),
            none,
            none.cast()
        ))
    };
    assert_eq!(launch(1, 1024, 48 << 10), 0);
    assert_eq!(launch(0, 1, 0), INVALID_VALUE);
    assert_eq!(launch(65_536, 1, 0), INVALID_VALUE);
    assert_eq!(launch(1, 1025, 0), INVALID_VALUE);
    assert_eq!(launch(1, 1, 100 << 10), INVALID_VALUE);
    ok!(cuFuncSetAttribute(function, 8, 100 << 10));
    assert_eq!(launch(1, 1, 100 << 10), 0);
    assert_eq!(
        code!(cuFuncSetAttribute(function, 8, 300 << 10)),
        INVALID_VALUE
    );
    let (mut grid, mut block) = (0, 0);
    ok!(cuOccupancyMaxPotentialBlockSize(
        Out(&mut grid),
        Out(&mut block),
        function,
        None,
        0,
        0
    ));
    assert_eq!((grid, block), (264, 1024));
}

#[test]
fn a_failed_kernel_fails_all_that_follows() {
    let double = double();
    double.register(c"fails", c"", fails, std::ptr::null_mut());
    let (function, stream) = (double.function(c"any", c"fails"), double.stream());
    assert_eq!(double.launch(function, stream, &mut []), 0);
    assert_eq!(code!(cuStreamSynchronize(stream)), LAUNCH_FAILED);
    assert_eq!(code!(cuStreamSynchronize(stream)), LAUNCH_FAILED);
    assert_eq!(code!(cuCtxSynchronize()), LAUNCH_FAILED);
    double.use_device(1);
    ok!(cuCtxSynchronize());
    ok!(cuDevicePrimaryCtxReset_v2(0));
    double.use_device(0);
    ok!(cuCtxSynchronize());
}

#[test]
fn a_kernel_stays_on_its_device() {
    let double = double();
    let mut calls = 0_u32;
    double.register(c"scale", c"r w v8", scale, (&raw mut calls).cast());
    let function = double.function(PTX, c"scale");
    let (stream, here) = (double.stream(), double.allocate(8));
    let other = double.use_device(1);
    let there = double.allocate(8);
    assert_eq!(
        double.launch(function, stream, &mut [here.0, here.0, 8]),
        INVALID_HANDLE
    );
    double.mistake("is of context 1, and context 2 is current");
    double.use_device(0);
    assert_eq!(
        double.launch(function, stream, &mut [there.0, here.0, 8]),
        0
    );
    double.mistake("scale runs on device 0 and uses allocation 2 of device 1");
    ok!(cuCtxEnablePeerAccess(other, 0));
    assert_eq!(
        double.launch(function, stream, &mut [there.0, here.0, 8]),
        0
    );
    double.no_mistakes();
}

#[test]
fn a_kernel_needs_its_module_when_it_runs() {
    let double = double();
    let stream = double.stream();
    let module = given!(Module, cuModuleLoadData(PTX.as_ptr().cast()));
    let function = given!(
        Function,
        cuModuleGetFunction(module, Text(c"nothing".as_ptr()))
    );
    assert_eq!(double.launch(function, stream, &mut []), 0);
    ok!(cuStreamSynchronize(stream));
    double.no_mistakes();
    assert_eq!(double.launch(function, stream, &mut []), 0);
    ok!(cuModuleUnload(module));
    assert_eq!(code!(cuStreamSynchronize(stream)), ILLEGAL_ADDRESS);
    double.mistake("the kernel nothing runs after module 1 was unloaded");
}

#[test]
fn source_in_the_place_of_ptx_is_refused_with_a_log() {
    let double = double();
    let mut module = Module(0);
    let text = c"__global__ void f() {}".as_ptr().cast();
    assert_eq!(code!(cuModuleLoadData(Out(&mut module), text)), INVALID_PTX);
    let mut log = [0_u8; 24];
    // Where the compiler may say what is wrong, and how much.
    let mut options = [5, 6];
    let mut values: [*mut c_void; 2] = [
        log.as_mut_ptr().cast(),
        std::ptr::without_provenance_mut(log.len() - 1),
    ];
    let (options, values) = (options.as_mut_ptr().cast(), values.as_mut_ptr());
    let loaded = code!(cuModuleLoadDataEx(
        Out(&mut module),
        text,
        2,
        options,
        values
    ));
    assert_eq!(loaded, INVALID_PTX);
    assert_eq!(log[..], *b"ptxas application ptx i\0");
    assert_eq!(double.live("modules"), 0);
    double.no_mistakes();
}
