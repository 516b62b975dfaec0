//! Memory of pools of one device, and copies that another device makes.

#[macro_use]
mod support;

use cuda::abi::structures::{AccessDescription, Copy2d, Copy3d, Location, Side3d};
use cuda::abi::{Address, Context, Out, Pool, Stream};
use cuda::api::{allocate::*, context::*, copy::*, copy_strided::*, device::*, pool::*, stream::*};
use support::{Double, INVALID_VALUE, double, pointer};

/// A device's context, a stream of it, and memory of its pool that holds a number.
struct Peer {
    context: Context,
    stream: Stream,
    memory: Address,
}

fn peer(double: &Double, device: i32, holds: u8) -> Peer {
    let context = double.use_device(device);
    let stream = double.stream();
    let memory = double.allocate_on(16, stream);
    double.fill(memory, holds, 16, stream);
    ok!(cuStreamSynchronize(stream));
    Peer {
        context,
        stream,
        memory,
    }
}

/// Two devices, of which the first one is current.
fn peers(double: &Double) -> [Peer; 2] {
    let [there, here] = [(1, 11), (0, 10)].map(|(device, holds)| peer(double, device, holds));
    [here, there]
}

fn rows(to: Address, from: Address, pitch: usize) -> Copy2d {
    Copy2d {
        src_x: 0,
        src_y: 0,
        src_type: 4,
        src_host: std::ptr::null(),
        src_device: from,
        src_array: 0,
        src_pitch: pitch,
        dst_x: 0,
        dst_y: 0,
        dst_type: 4,
        dst_host: std::ptr::null_mut(),
        dst_device: to,
        dst_array: 0,
        dst_pitch: pitch,
        width: 2,
        height: 2,
    }
}

fn slices(to: &Peer, from: &Peer) -> Copy3d {
    let side = |of: &Peer| Side3d {
        x: 0,
        y: 0,
        z: 0,
        lod: 0,
        memory_type: 2,
        host: std::ptr::null_mut(),
        device: of.memory,
        array: 0,
        context: of.context,
        pitch: 4,
        height: 2,
    };
    Copy3d {
        src: side(from),
        dst: side(to),
        width: 2,
        height: 2,
        depth: 1,
    }
}

#[test]
fn another_devices_pool_is_out_of_reach() {
    let double = double();
    let [here, there] = peers(&double);
    for [to, from] in [[&here, &there], [&there, &here]] {
        let refused = code!(cuMemcpyAsync(to.memory, from.memory, 16, here.stream));
        assert_eq!(refused, INVALID_VALUE);
        double.mistake("of device 1, whose pool gives device 0 no access");
        let copy = rows(to.memory, from.memory, 4);
        let refused = code!(cuMemcpy2DAsync_v2(pointer(&copy), here.stream));
        assert_eq!(refused, INVALID_VALUE);
        double.mistake("cuMemcpy2DAsync_v2 on device 0 is given allocation 1, which is");
    }
    // Nor is it reached by a context or a stream alone, which must be the memory's both.
    let pinned = Address(double.pinned(16).as_ptr() as u64);
    let refused = code!(cuMemcpyAsync(pinned, there.memory, 16, there.stream));
    assert_eq!(refused, INVALID_VALUE);
    double.mistake("no access");
    ok!(cuCtxSetCurrent(there.context));
    let refused = code!(cuMemcpyAsync(pinned, there.memory, 16, here.stream));
    assert_eq!(refused, INVALID_VALUE);
    double.mistake("no access");
    ok!(cuMemcpyAsync(pinned, there.memory, 16, there.stream));
    ok!(cuStreamSynchronize(there.stream));
    assert_eq!(double.peek(pinned, 16), [11; 16]);
    double.no_mistakes();
}

#[test]
fn a_pool_lets_devices_in() {
    let double = double();
    let [here, there] = peers(&double);
    let access = AccessDescription {
        location: Location { kind: 1, id: 0 },
        flags: 3,
    };
    let pool = given!(Pool, cuDeviceGetDefaultMemPool(1));
    ok!(cuMemPoolSetAccess(pool, pointer(&access), 1));
    ok!(cuMemcpyAsync(here.memory, there.memory, 16, here.stream));
    assert_eq!(double.read(here.memory, 16, here.stream), [11; 16]);
    double.no_mistakes();
}

#[test]
fn plain_memory_of_any_device_is_copied() {
    let double = double();
    let [here, there] = peers(&double);
    ok!(cuCtxSetCurrent(there.context));
    let plain = double.allocate(16);
    double.fill(plain, 12, 16, there.stream);
    ok!(cuStreamSynchronize(there.stream));
    ok!(cuCtxSetCurrent(here.context));
    ok!(cuMemcpyAsync(here.memory, plain, 16, here.stream));
    assert_eq!(double.read(here.memory, 16, here.stream), [12; 16]);
    double.no_mistakes();
}

#[test]
fn copies_between_contexts_reach_both() {
    let double = double();
    let [here, there] = peers(&double);
    ok!(cuMemcpyPeerAsync(
        here.memory,
        here.context,
        there.memory,
        there.context,
        16,
        here.stream
    ));
    assert_eq!(double.read(here.memory, 16, here.stream), [11; 16]);
    ok!(cuCtxSetCurrent(there.context));
    double.fill(there.memory, 12, 16, there.stream);
    double.order(there.stream, here.stream);
    let copy = slices(&here, &there);
    ok!(cuMemcpy3DPeerAsync(pointer(&copy), here.stream));
    ok!(cuStreamSynchronize(here.stream));
    let [rows, rest] = [[12, 12, 11, 11, 12, 12, 11, 11], [11; 8]];
    assert_eq!(double.peek(here.memory, 16), [rows, rest].concat());
    double.no_mistakes();
}

#[test]
fn copies_between_contexts_are_told_the_right_ones() {
    let double = double();
    let [here, there] = peers(&double);
    let refused = code!(cuMemcpyPeerAsync(
        here.memory,
        here.context,
        there.memory,
        here.context,
        16,
        here.stream
    ));
    assert_eq!(refused, INVALID_VALUE);
    double.mistake("cuMemcpyPeerAsync is told that allocation 1 is of context 1, and it isn't");
    let mut copy = slices(&here, &there);
    copy.dst.context = there.context;
    let refused = code!(cuMemcpy3DPeerAsync(pointer(&copy), here.stream));
    assert_eq!(refused, INVALID_VALUE);
    double.mistake("cuMemcpy3DPeerAsync is told that allocation 2 is of context 2, and it isn't");
}

#[test]
fn memory_is_of_its_pools_device_whatever_the_stream() {
    let double = double();
    let [here, there] = peers(&double);
    let pool = given!(Pool, cuDeviceGetDefaultMemPool(1));
    let memory = given!(Address, cuMemAllocFromPoolAsync(16, pool, here.stream));
    ok!(cuMemcpyPeerAsync(
        memory,
        there.context,
        here.memory,
        here.context,
        16,
        here.stream
    ));
    ok!(cuStreamSynchronize(here.stream));
    assert_eq!(double.peek(memory, 16), [10; 16]);
    double.no_mistakes();
}

#[test]
fn rows_too_far_apart_are_refused() {
    let double = double();
    let memory = double.allocate((1 << 31) + 16);
    let most = i32::MAX as usize;
    let mut copy = rows(Address(memory.0 + 4), memory, most);
    ok!(cuMemcpy2D_v2(pointer(&copy)));
    copy.dst_pitch += 1;
    assert_eq!(code!(cuMemcpy2D_v2(pointer(&copy))), INVALID_VALUE);
    double.mistake("a pitch of 2147483648 bytes, and the largest is 2147483647");
}
