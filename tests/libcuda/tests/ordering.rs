//! Work runs in the order of streams and events, as late as it may.

#[macro_use]
mod support;

use cuda::abi::{Address, Event, Out, Stream};
use cuda::api::{copy::*, event::*, host_memory::*, stream::*};
use cuda::control::*;
use std::ffi::c_void;
use support::{NOT_READY, double, host};

const LEGACY: Stream = Stream(0);
const PER_THREAD: Stream = Stream(2);

#[test]
fn work_waits_until_something_needs_it() {
    let double = double();
    let (memory, stream) = (double.allocate(16), double.stream());
    double.fill(memory, 7, 16, stream);
    assert_eq!(double.peek(memory, 16), [0xA5; 16]);
    ok!(cuStreamSynchronize(stream));
    assert_eq!(double.peek(memory, 16), [7; 16]);
    double.no_mistakes();
}

#[test]
fn a_stream_that_does_not_wait_reads_stale_data() {
    let double = double();
    let (memory, copy) = (double.allocate(16), double.allocate(16));
    let (producer, consumer) = (double.stream(), double.stream());
    double.fill(memory, 7, 16, producer);
    ok!(cuMemcpyDtoDAsync_v2(copy, memory, 16, consumer));
    assert_eq!(double.read(copy, 16, consumer), [0xA5; 16]);
    double.mistake("race: cuMemcpyDtoDAsync_v2 on stream");
}

#[test]
fn an_event_orders_two_streams() {
    let double = double();
    let (memory, copy) = (double.allocate(16), double.allocate(16));
    let (producer, consumer) = (double.stream(), double.stream());
    double.fill(memory, 7, 16, producer);
    double.order(producer, consumer);
    ok!(cuMemcpyDtoDAsync_v2(copy, memory, 16, consumer));
    assert_eq!(double.read(copy, 16, consumer), [7; 16]);
    double.no_mistakes();
}

#[test]
fn an_event_covers_only_what_was_queued_before_it() {
    let double = double();
    let memory = double.allocate(16);
    let (producer, consumer) = (double.stream(), double.stream());
    double.fill(memory, 1, 16, producer);
    double.order(producer, consumer);
    double.fill(memory, 2, 16, producer);
    assert_eq!(double.read(memory, 16, consumer), [1; 16]);
    double.mistake("race: cuMemcpyDtoHAsync_v2");
}

#[test]
fn order_is_passed_on_from_stream_to_stream() {
    let double = double();
    let memory = double.allocate(16);
    let (first, second, third) = (double.stream(), double.stream(), double.stream());
    double.fill(memory, 3, 16, first);
    double.order(first, second);
    double.order(second, third);
    assert_eq!(double.read(memory, 16, third), [3; 16]);
    double.no_mistakes();
}

#[test]
fn the_default_stream_waits_for_blocking_streams_and_they_for_it() {
    let double = double();
    let memory = double.allocate(16);
    let (first, second) = (double.blocking_stream(), double.blocking_stream());
    double.fill(memory, 1, 16, first);
    double.fill(memory, 2, 8, LEGACY);
    assert_eq!(double.read(memory, 16, second), [[2; 8], [1; 8]].concat());
    double.fill(memory, 3, 16, PER_THREAD);
    assert_eq!(double.read(memory, 16, LEGACY), [3; 16]);
    double.no_mistakes();
}

#[test]
fn the_default_stream_does_not_wait_for_other_streams() {
    let double = double();
    let (memory, stream) = (double.allocate(16), double.stream());
    double.fill(memory, 1, 16, stream);
    assert_eq!(double.read(memory, 16, LEGACY), [0xA5; 16]);
    double.mistake("race");
}

#[test]
fn a_slow_stream_stays_behind_among_fast_ones() {
    let double = double();
    cudaDoubleSetLate(0);
    let (slow, fast) = (double.stream(), double.stream());
    assert_eq!(cudaDoubleSetStreamLate(slow, 1), 0);
    let (one, other) = (double.allocate(8), double.allocate(8));
    double.fill(one, 1, 8, slow);
    double.fill(other, 2, 8, fast);
    assert_eq!(
        (double.peek(one, 1), double.peek(other, 1)),
        (vec![0xA5], vec![2])
    );
    double.order(slow, fast);
    double.fill(other, 3, 8, fast);
    assert_eq!(double.peek(other, 1), [2], "it waits for the slow stream");
    assert_eq!(double.read(other, 8, fast), [3; 8]);
    assert_eq!(double.peek(one, 1), [1]);
}

#[test]
fn asking_again_and_again_comes_to_an_end() {
    let double = double();
    let (memory, stream, event) = (double.allocate(8), double.stream(), double.event());
    double.fill(memory, 1, 8, stream);
    ok!(cuEventRecord(event, stream));
    double.fill(memory, 2, 8, stream);
    assert_eq!(code!(cuEventQuery(event)), NOT_READY);
    let turns = (0..10)
        .take_while(|_| code!(cuEventQuery(event)) == NOT_READY)
        .count();
    assert!(turns < 3);
    assert_eq!(double.peek(memory, 1), [1]);
    assert_eq!(code!(cuStreamQuery(stream)), NOT_READY);
    ok!(cuStreamQuery(stream));
    assert_eq!(double.peek(memory, 1), [2]);
}

#[test]
fn pageable_memory_is_read_at_once_and_pinned_memory_when_its_turn_comes() {
    let double = double();
    let (one, other, stream) = (double.allocate(4), double.allocate(4), double.stream());
    let mut pageable = [1_u8; 4];
    let pinned = double.pinned(4);
    pinned.fill(1);
    ok!(cuMemcpyHtoDAsync_v2(
        one,
        host(pageable.as_ptr()),
        4,
        stream
    ));
    ok!(cuMemcpyHtoDAsync_v2(
        other,
        host(pinned.as_ptr()),
        4,
        stream
    ));
    pageable.fill(2);
    pinned.fill(2);
    ok!(cuStreamSynchronize(stream));
    assert_eq!(
        (double.peek(one, 4), double.peek(other, 4)),
        (vec![1; 4], vec![2; 4])
    );
    assert_eq!(pageable, [2; 4]);
    ok!(cuMemFreeHost(host(pinned.as_ptr())));
    double.no_mistakes();
}

extern "C" fn note(data: *mut c_void) {
    // SAFETY: the test passes a number that outlives the stream's work.
    unsafe { *data.cast::<u32>() += 1 };
}

extern "C" fn calls_the_driver(_: *mut c_void) {
    assert_eq!(code!(cuStreamSynchronize(LEGACY)), 800);
}

#[test]
fn functions_of_the_host_run_in_their_stream() {
    let double = double();
    let (stream, mut count) = (double.stream(), 0_u32);
    ok!(cuLaunchHostFunc(
        stream,
        Some(note),
        (&raw mut count).cast()
    ));
    // SAFETY: the number is on this stack.
    assert_eq!(unsafe { (&raw const count).read_volatile() }, 0);
    ok!(cuStreamSynchronize(stream));
    assert_eq!(count, 1);
    double.no_mistakes();
    ok!(cuLaunchHostFunc(
        stream,
        Some(calls_the_driver),
        std::ptr::null_mut()
    ));
    ok!(cuStreamSynchronize(stream));
    double.mistake("cuStreamSynchronize was called in a callback");
}

#[test]
fn time_passes_between_events() {
    let double = double();
    let (memory, stream) = (double.allocate(8), double.stream());
    let (start, end): (Event, Event) = (double.event(), double.event());
    let mut milliseconds = 0.0_f32;
    ok!(cuEventRecord(start, stream));
    double.fill(memory, 1, 8, stream);
    ok!(cuEventRecord(end, stream));
    assert_eq!(
        code!(cuEventElapsedTime(Out(&mut milliseconds), start, end)),
        NOT_READY
    );
    ok!(cuEventSynchronize(end));
    ok!(cuEventElapsedTime(Out(&mut milliseconds), start, end));
    assert!(milliseconds > 0.0);
}

#[test]
fn threads_share_streams() {
    let double = double();
    let (memory, stream): (Address, Stream) = (double.allocate(64), double.stream());
    std::thread::scope(|scope| {
        for part in 0..8 {
            let double = &double;
            scope.spawn(move || {
                double.use_device(0);
                double.fill(Address(memory.0 + part * 8), part as u8, 8, stream);
                ok!(cuStreamSynchronize(stream));
            });
        }
    });
    let expected: Vec<u8> = (0..64).map(|place| place / 8).collect();
    assert_eq!(double.read(memory, 64, stream), expected);
    double.no_mistakes();
}
