//! Pools of stream-ordered memory.

#[macro_use]
mod support;

use cuda::abi::structures::{AccessDescription, Location, PoolProps};
use cuda::abi::{Address, Out, Pool};
use cuda::api::{allocate::*, device::*, pool::*, stream::*};
use support::{INVALID_VALUE, double, pointer};

const RELEASE_THRESHOLD: i32 = 4;
const USED: i32 = 7;
const USED_HIGH: i32 = 8;

fn attribute(pool: Pool, attribute: i32) -> u64 {
    let mut value = 0_u64;
    ok!(cuMemPoolGetAttribute(
        pool,
        attribute,
        (&raw mut value).cast()
    ));
    value
}

fn location(id: i32) -> Location {
    Location { kind: 1, id }
}

fn new_pool(device: i32) -> Pool {
    let properties = PoolProps {
        alloc_type: 1,
        handle_types: 0,
        location: location(device),
        security: std::ptr::null_mut(),
        reserved: [0; 64],
    };
    given!(Pool, cuMemPoolCreate(pointer(&properties)))
}

#[test]
fn a_pool_counts_what_is_used() {
    let double = double();
    let (stream, pool) = (double.stream(), given!(Pool, cuDeviceGetDefaultMemPool(0)));
    let memory = double.allocate_on(100, stream);
    assert_eq!(
        (attribute(pool, USED), attribute(pool, USED_HIGH)),
        (100, 100)
    );
    ok!(cuMemFreeAsync(memory, stream));
    assert_eq!(
        (attribute(pool, USED), attribute(pool, USED_HIGH)),
        (0, 100)
    );
    let (mut keep, mut zero) = (u64::MAX, 0_u64);
    ok!(cuMemPoolSetAttribute(
        pool,
        RELEASE_THRESHOLD,
        (&raw mut keep).cast()
    ));
    assert_eq!(attribute(pool, RELEASE_THRESHOLD), u64::MAX);
    ok!(cuMemPoolSetAttribute(
        pool,
        USED_HIGH,
        (&raw mut zero).cast()
    ));
    assert_eq!(attribute(pool, USED_HIGH), 0);
    assert_eq!(code!(cuMemPoolDestroy(pool)), INVALID_VALUE);
    double.mistake("is a device's own");
}

#[test]
fn a_devices_pool_can_be_replaced() {
    let double = double();
    let (stream, pool) = (double.stream(), new_pool(0));
    ok!(cuDeviceSetMemPool(0, pool));
    let memory = double.allocate_on(8, stream);
    let other = given!(Address, cuMemAllocFromPoolAsync(16, pool, stream));
    assert_eq!((attribute(pool, USED), double.live("pools")), (24, 1));
    ok!(cuMemFreeAsync(other, stream));
    ok!(cuMemPoolDestroy(pool));
    double.mistake("is destroyed while 8 bytes of it are used");
    assert_ne!(given!(Pool, cuDeviceGetMemPool(0)), pool);
    ok!(cuMemFreeAsync(memory, stream));
    ok!(cuStreamSynchronize(stream));
}

#[test]
fn a_pool_is_shared_with_other_devices_when_that_is_said() {
    let double = double();
    let (pool, mut flags) = (new_pool(1), -1);
    ok!(cuMemPoolGetAccess(
        Out(&mut flags),
        pool,
        pointer(&location(0))
    ));
    assert_eq!(flags, 0);
    ok!(cuMemPoolSetAccess(
        pool,
        pointer(&AccessDescription {
            location: location(0),
            flags: 3
        }),
        1
    ));
    ok!(cuMemPoolGetAccess(
        Out(&mut flags),
        pool,
        pointer(&location(0))
    ));
    assert_eq!(flags, 3);
    ok!(cuMemPoolDestroy(pool));
    double.no_mistakes();
}
