//! Releases of memory: in order, once, by the right function, and not while work uses it.

#[macro_use]
mod support;

use cuda::abi::Address;
use cuda::api::{allocate::*, copy::*, host_memory::*, stream::*};
use support::{INVALID_VALUE, double, host};

#[test]
fn released_memory_is_poisoned_when_its_turn_comes() {
    let double = double();
    let stream = double.stream();
    let memory = double.allocate_on(16, stream);
    double.fill(memory, 1, 16, stream);
    ok!(cuMemFreeAsync(memory, stream));
    assert_eq!(double.live("memory"), 0, "it isn't the program's any more");
    assert_eq!(double.peek(memory, 1), [0xA5], "nothing has run");
    ok!(cuStreamSynchronize(stream));
    assert_eq!(double.peek(memory, 16), [0xDB; 16]);
    double.no_mistakes();
}

#[test]
fn a_use_after_the_release_is_a_mistake() {
    let double = double();
    let stream = double.stream();
    let memory = double.allocate_on(16, stream);
    ok!(cuMemFreeAsync(memory, stream));
    assert_eq!(double.read(memory, 16, stream), [0xDB; 16]);
    double.mistake("uses allocation 1 after its release by cuMemFreeAsync on stream");
}

#[test]
fn a_release_that_does_not_wait_for_another_stream_is_a_mistake() {
    let double = double();
    let (owner, user) = (double.stream(), double.stream());
    let memory = double.allocate_on(16, owner);
    double.order(owner, user);
    double.fill(memory, 1, 16, user);
    ok!(cuMemFreeAsync(memory, owner));
    double.mistake("releases allocation 1, which cuMemsetD8Async on stream");
    let memory = double.allocate_on(16, owner);
    double.order(owner, user);
    double.fill(memory, 1, 16, user);
    double.order(user, owner);
    ok!(cuMemFreeAsync(memory, owner));
    double.no_mistakes();
}

#[test]
fn a_use_before_the_allocation_is_a_mistake() {
    let double = double();
    let (owner, user) = (double.stream(), double.stream());
    let memory = double.allocate_on(16, owner);
    double.fill(memory, 1, 16, user);
    double.mistake("writes allocation 1, which cuMemAllocAsync on stream");
}

#[test]
fn memory_is_freed_once_and_by_its_own_function() {
    let double = double();
    let stream = double.stream();
    let memory = double.allocate(16);
    assert_eq!(code!(cuMemFreeAsync(memory, stream)), INVALID_VALUE);
    double.mistake("isn't freed by it");
    assert_eq!(code!(cuMemFree_v2(Address(memory.0 + 4))), INVALID_VALUE);
    double.mistake("isn't its start");
    assert_eq!(
        code!(cuMemFreeHost(host(memory.0 as *const u8))),
        INVALID_VALUE
    );
    double.mistake("isn't freed by it");
    ok!(cuMemFree_v2(memory));
    assert_eq!(code!(cuMemFree_v2(memory)), INVALID_VALUE);
    double.mistake("cuMemFree_v2 frees allocation 1 again");
    assert_eq!(code!(cuMemFree_v2(Address(0x1000))), INVALID_VALUE);
    double.mistake("which the driver didn't allocate");
    ok!(cuMemFree_v2(Address(0)));
}

#[test]
fn memory_freed_in_another_context_is_a_mistake() {
    let double = double();
    let memory = double.allocate(16);
    double.use_device(1);
    ok!(cuMemFree_v2(memory));
    double.mistake("is freed while context");
}

#[test]
fn pinned_memory_freed_while_work_uses_it_is_a_mistake() {
    let double = double();
    let (memory, stream, pinned) = (double.allocate(16), double.stream(), double.pinned(16));
    ok!(cuMemcpyHtoDAsync_v2(
        memory,
        host(pinned.as_ptr()),
        16,
        stream
    ));
    ok!(cuMemFreeHost(host(pinned.as_ptr())));
    double.mistake(
        "cuMemFreeHost releases allocation 2, and nothing waited for cuMemcpyHtoDAsync_v2",
    );
}

#[test]
fn released_pinned_memory_is_poisoned_for_copies_too() {
    let double = double();
    let (memory, pinned) = (double.allocate(16), double.pinned(16));
    ok!(cuMemFreeHost(host(pinned.as_ptr())));
    ok!(cuMemcpyHtoD_v2(memory, host(pinned.as_ptr()), 16));
    double.mistake("uses allocation 2 after its release by cuMemFreeHost");
    assert_eq!(double.peek(memory, 16), [0xDB; 16]);
}

#[test]
fn memory_that_was_released_long_ago_is_refused() {
    let double = double();
    let (large, small) = (double.allocate(48 << 20), double.allocate(16));
    ok!(cuMemFree_v2(large));
    let next = double.allocate(48 << 20);
    ok!(cuMemFree_v2(next));
    assert_eq!(code!(cuMemcpy(small, large, 16)), INVALID_VALUE);
    double.mistake("is no memory of the driver");
}

#[test]
fn pool_memory_freed_at_once_must_not_be_in_use() {
    let double = double();
    let stream = double.stream();
    let memory = double.allocate_on(16, stream);
    double.fill(memory, 1, 16, stream);
    ok!(cuMemFree_v2(memory));
    double.mistake("cuMemFree_v2 releases allocation 1, and nothing waited for");
    let memory = double.allocate_on(16, stream);
    ok!(cuStreamSynchronize(stream));
    ok!(cuMemFree_v2(memory));
    double.no_mistakes();
}

#[test]
fn ten_thousand_round_trips_leave_nothing() {
    let double = double();
    let stream = double.stream();
    for _ in 0..10_000 {
        let memory = double.allocate_on(64, stream);
        double.fill(memory, 1, 64, stream);
        ok!(cuMemFreeAsync(memory, stream));
    }
    ok!(cuStreamSynchronize(stream));
    assert_eq!((double.live("memory"), double.live("pending")), (0, 0));
    double.no_mistakes();
}
