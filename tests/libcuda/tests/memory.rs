//! Allocations: whose they are, when they end, and what is wrong with their use.

#[macro_use]
mod support;

use cuda::abi::structures::{Copy2d, Copy3d, Side3d};
use cuda::abi::{Address, Context, Out, Stream};
use cuda::api::{
    allocate::*, context::*, copy::*, copy_strided::*, fill::*, host_memory::*, pointer::*,
    stream::*,
};
use cuda::kernels::CudaDoubleLaunch;
use std::ffi::{c_int, c_void};
use std::process::Command;
use support::{INVALID_VALUE, OUT_OF_MEMORY, argument, double, host, pointer};

const LEGACY: Stream = Stream(0);

#[test]
fn the_host_cannot_follow_a_device_pointer() {
    if std::env::var_os("FOLLOW_THE_POINTER").is_some() {
        let double = double();
        let memory = double.allocate(16);
        // SAFETY: none: this is what must crash.
        let byte = unsafe { (memory.0 as *const u8).read_volatile() };
        panic!("the host read {byte}");
    }
    let this = std::env::current_exe().unwrap();
    let mut child = Command::new(this);
    child
        .args(["--exact", "the_host_cannot_follow_a_device_pointer"])
        .env("FOLLOW_THE_POINTER", "1");
    let status = child.output().unwrap().status;
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(libc::SIGSEGV)
    );
}

#[test]
fn managed_and_pinned_memory_is_the_hosts_too() {
    let double = double();
    let managed = given!(Address, cuMemAllocManaged(8, 1));
    double.fill(managed, 9, 8, LEGACY);
    ok!(cuCtxSynchronize());
    // SAFETY: eight bytes of managed memory.
    assert_eq!(unsafe { (managed.0 as *const [u8; 8]).read() }, [9; 8]);
    let pinned = double.pinned(8);
    ok!(cuMemcpyDtoH_v2(host(pinned.as_ptr()), managed, 8));
    assert_eq!(pinned, [9; 8]);
    ok!(cuMemFreeHost(host(pinned.as_ptr())));
    ok!(cuMemFree_v2(managed));
    double.no_mistakes();
}

#[test]
fn addresses_are_not_given_twice() {
    let double = double();
    let mut seen = std::collections::HashSet::new();
    for _ in 0..1000 {
        let memory = double.allocate(4096);
        assert!(seen.insert(memory.0));
        ok!(cuMemFree_v2(memory));
    }
    drop(double);
    let double = support::double();
    assert!(
        seen.insert(double.allocate(4096).0),
        "a reset doesn't change that"
    );
}

#[test]
fn leaks_are_counted() {
    let double = double();
    let (stream, _pinned) = (double.stream(), double.pinned(3));
    let (one, _other) = (double.allocate(16), double.allocate_on(24, stream));
    assert_eq!(
        (
            double.live("memory"),
            double.live("device memory"),
            double.live("bytes")
        ),
        (3, 2, 43)
    );
    ok!(cuMemFree_v2(one));
    assert_eq!(
        (
            double.live("memory"),
            double.live("pinned memory"),
            double.live("streams")
        ),
        (2, 1, 1)
    );
    ok!(cuStreamDestroy_v2(stream));
    assert_eq!(
        (double.live("streams"), double.live("anything else")),
        (0, -1)
    );
}

#[test]
fn memory_comes_to_an_end() {
    let double = double();
    let (mut free, mut total) = (0, 0);
    ok!(cuMemGetInfo_v2(Out(&mut free), Out(&mut total)));
    let mut memory = Address(0);
    assert_eq!(
        code!(cuMemAlloc_v2(Out(&mut memory), total + 1)),
        OUT_OF_MEMORY
    );
    let most = double.allocate(total);
    assert_eq!(code!(cuMemAlloc_v2(Out(&mut memory), 1)), OUT_OF_MEMORY);
    ok!(cuMemGetInfo_v2(Out(&mut free), Out(&mut total)));
    assert_eq!(free, 0);
    ok!(cuMemFree_v2(most));
    ok!(cuMemAlloc_v2(Out(&mut memory), 1));
    assert_eq!(code!(cuMemAlloc_v2(Out(&mut memory), 0)), INVALID_VALUE);
}

#[test]
fn copies_past_the_end_are_refused() {
    let double = double();
    let memory = double.allocate(16);
    let bytes = [0_u8; 32];
    assert_eq!(
        code!(cuMemcpyHtoD_v2(memory, host(bytes.as_ptr()), 17)),
        INVALID_VALUE
    );
    double.mistake("goes past its end");
    assert_eq!(
        code!(cuMemsetD8_v2(Address(memory.0 + 8), 0, 9)),
        INVALID_VALUE
    );
    double.mistake("goes past its end");
    assert_eq!(
        code!(cuMemcpyHtoD_v2(Address(0x1000), host(bytes.as_ptr()), 1)),
        INVALID_VALUE
    );
    double.mistake("is no memory of the driver");
}

extern "C" fn writes_too_far(launch: *const CudaDoubleLaunch, _: *mut c_void) -> c_int {
    // SAFETY: the test passes a pointer to 16 bytes, and the double's page has more.
    unsafe { argument::<*mut u8>(launch, 0).add(16).write(1) };
    0
}

#[test]
fn a_kernel_that_writes_past_the_end_is_found() {
    let double = double();
    double.register(c"far", c"w", writes_too_far, std::ptr::null_mut());
    let (memory, far) = (double.allocate(16), double.function(c"any", c"far"));
    assert_eq!(double.launch(far, LEGACY, &mut [memory.0]), 0);
    ok!(cuCtxSynchronize());
    double.mistake("the kernel far wrote behind the end of allocation 1");
}

#[test]
fn rows_are_copied_and_filled() {
    let double = double();
    let (memory, source) = (double.allocate(32), [1_u8, 2, 3, 4, 5, 6]);
    ok!(cuMemsetD2D8_v2(memory, 8, 0, 8, 4));
    let copy = Copy2d {
        src_x: 1,
        src_y: 0,
        src_type: 1,
        src_host: source.as_ptr().cast(),
        src_device: Address(0),
        src_array: 0,
        src_pitch: 3,
        dst_x: 2,
        dst_y: 1,
        dst_type: 2,
        dst_host: std::ptr::null_mut(),
        dst_device: memory,
        dst_array: 0,
        dst_pitch: 8,
        width: 2,
        height: 2,
    };
    ok!(cuMemcpy2D_v2(pointer(&copy)));
    let mut expected = [0; 32];
    expected[10..12].copy_from_slice(&[2, 3]);
    expected[18..20].copy_from_slice(&[5, 6]);
    assert_eq!(double.read(memory, 32, LEGACY), expected);
    ok!(cuMemsetD2D16_v2(memory, 8, 0x0101, 2, 2));
    assert_eq!(
        double.read(memory, 12, LEGACY),
        [1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 1]
    );
    double.no_mistakes();
}

#[test]
fn slices_are_copied() {
    let double = double();
    let (memory, source): (_, Vec<u8>) = (double.allocate(8), (0..27).collect());
    let side = |memory_type, host: *const u8, device, pitch, height| Side3d {
        x: 0,
        y: 0,
        z: 0,
        lod: 0,
        memory_type,
        host: host.cast_mut().cast(),
        device,
        array: 0,
        context: Context(0),
        pitch,
        height,
    };
    let mut copy = Copy3d {
        src: side(1, source.as_ptr(), Address(0), 3, 3),
        dst: side(2, std::ptr::null(), memory, 2, 2),
        width: 2,
        height: 2,
        depth: 2,
    };
    (copy.src.x, copy.src.y, copy.src.z) = (1, 1, 1);
    ok!(cuMemcpy3D_v2(pointer(&copy)));
    assert_eq!(
        double.read(memory, 8, LEGACY),
        [13, 14, 16, 17, 22, 23, 25, 26]
    );
    copy.width = 4;
    assert_eq!(code!(cuMemcpy3D_v2(pointer(&copy))), INVALID_VALUE);
}

#[test]
fn pointers_are_known() {
    let double = double();
    double.use_device(1);
    let memory = double.allocate(16);
    let ask = |attribute, at: u64| {
        let mut value = 0_u64;
        (
            code!(cuPointerGetAttribute(
                (&raw mut value).cast(),
                attribute,
                Address(at)
            )),
            value,
        )
    };
    assert_eq!(ask(9, memory.0 + 15), (0, 1), "the device");
    assert_eq!(ask(11, memory.0 + 15), (0, memory.0), "the start");
    assert_eq!(ask(12, memory.0), (0, 16), "the size");
    assert_eq!(ask(2, memory.0), (0, 2), "the type");
    assert_eq!(ask(9, memory.0 + 16).0, INVALID_VALUE);
    let mut device = 0;
    let data = (&raw mut device).cast::<c_void>();
    ok!(cuPointerGetAttributes(
        1,
        pointer(&9),
        pointer(&data),
        Address(0x1000)
    ));
    assert_eq!(device, -2);
    double.no_mistakes();
    ok!(cuMemFree_v2(memory));
    assert_eq!(ask(9, memory.0).0, INVALID_VALUE);
    double.mistake("which was freed by cuMemFree_v2");
}

#[test]
fn registered_memory_is_known_until_it_is_forgotten() {
    let double = double();
    let bytes = vec![3_u8; 64];
    let (memory, stream) = (double.allocate(64), double.stream());
    ok!(cuMemHostRegister_v2(host(bytes.as_ptr()), 64, 0));
    assert_eq!(
        code!(cuMemHostRegister_v2(host(bytes.as_ptr()), 64, 0)),
        712
    );
    ok!(cuMemcpyHtoDAsync_v2(
        memory,
        host(bytes.as_ptr()),
        64,
        stream
    ));
    assert_eq!(double.peek(memory, 1), [0xA5], "it isn't staged");
    ok!(cuStreamSynchronize(stream));
    ok!(cuMemHostUnregister(host(bytes.as_ptr())));
    assert_eq!(code!(cuMemHostUnregister(host(bytes.as_ptr()))), 713);
    assert_eq!(double.peek(memory, 64), bytes);
    double.no_mistakes();
}
