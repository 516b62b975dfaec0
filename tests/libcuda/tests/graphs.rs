//! Streams are captured, and graphs replayed.

#[macro_use]
mod support;

use cuda::abi::{Address, Event, Graph, GraphExec, Out, Stream};
use cuda::api::{allocate::*, context::*, copy::*, event::*, graph::*, stream::*};
use support::*;

const GLOBAL: i32 = 0;
const RELAXED: i32 = 2;

#[test]
fn a_captured_stream_runs_nothing_until_its_graph_is_launched() {
    let double = double();
    let (memory, copy, stream) = (double.allocate(8), double.allocate(8), double.stream());
    ok!(cuStreamBeginCapture_v2(stream, GLOBAL));
    double.fill(memory, 1, 8, stream);
    ok!(cuMemcpyDtoDAsync_v2(copy, memory, 8, stream));
    let graph = double.end_capture(stream);
    ok!(cuStreamSynchronize(stream));
    assert_eq!(double.peek(copy, 1), [0xA5]);
    for value in [2, 3] {
        double.fill(copy, value, 8, stream);
        ok!(cuGraphLaunch(graph, stream));
        assert_eq!(double.read(copy, 8, stream), [1; 8]);
    }
    ok!(cuGraphExecDestroy(graph));
    assert_eq!(
        (double.live("graphs"), double.live("executable graphs")),
        (0, 0)
    );
    double.no_mistakes();
}

#[test]
fn the_legacy_stream_is_not_asked_while_a_stream_is_captured_that_waits_for_it() {
    let double = double();
    let (blocking, mut status) = (double.blocking_stream(), 0);
    let (legacy, memory) = (Stream::default(), double.allocate(8));
    ok!(cuStreamBeginCapture_v2(blocking, GLOBAL));
    let answer = code!(cuStreamIsCapturing(legacy, Out(&mut status)));
    assert_eq!(answer as i32, 906, "capture implicit");
    double.fill(memory, 1, 8, blocking);
    // The capture goes on.
    double.end_capture(blocking);
    ok!(cuStreamIsCapturing(legacy, Out(&mut status)));
}

#[test]
fn the_nodes_of_a_graph_are_known() {
    let double = double();
    let (memory, stream) = (double.allocate(8), double.stream());
    ok!(cuStreamBeginCapture_v2(stream, GLOBAL));
    double.fill(memory, 1, 8, stream);
    ok!(cuMemcpyDtoDAsync_v2(memory, memory, 8, stream));
    let (mut graph, mut count, mut kind) = (Graph(0), 0, -1);
    ok!(cuStreamEndCapture(stream, Out(&mut graph)));
    ok!(cuGraphGetNodes(
        graph,
        Out(std::ptr::null_mut()),
        Out(&mut count)
    ));
    let mut nodes = vec![0; count];
    ok!(cuGraphGetNodes(
        graph,
        Out(nodes.as_mut_ptr()),
        Out(&mut count)
    ));
    let kinds: Vec<i32> = nodes
        .iter()
        .map(|&node| (code!(cuGraphNodeGetType(node, Out(&mut kind))), kind).1)
        .collect();
    assert_eq!(kinds, [2, 1]);
}

#[test]
fn a_stream_joins_a_capture_by_an_event() {
    let double = double();
    let (memory, stream, side) = (double.allocate(8), double.stream(), double.stream());
    ok!(cuStreamBeginCapture_v2(stream, GLOBAL));
    double.fill(memory, 1, 8, stream);
    double.order(stream, side);
    let mut status = -1;
    ok!(cuStreamIsCapturing(side, Out(&mut status)));
    assert_eq!(status, 1);
    double.fill(memory, 2, 4, side);
    double.order(side, stream);
    let graph = double.end_capture(stream);
    ok!(cuStreamIsCapturing(side, Out(&mut status)));
    assert_eq!(status, 0);
    ok!(cuGraphLaunch(graph, stream));
    assert_eq!(double.read(memory, 8, stream), [2, 2, 2, 2, 1, 1, 1, 1]);
    double.no_mistakes();
}

#[test]
fn a_stream_that_is_not_joined_again_is_an_error() {
    let double = double();
    let (memory, stream, side) = (double.allocate(8), double.stream(), double.stream());
    ok!(cuStreamBeginCapture_v2(stream, GLOBAL));
    double.order(stream, side);
    double.fill(memory, 1, 8, side);
    let mut graph = Graph(7);
    assert_eq!(
        code!(cuStreamEndCapture(stream, Out(&mut graph))),
        CAPTURE_UNJOINED
    );
    assert_eq!(graph, Graph(0));
    double.fill(memory, 1, 8, side);
    ok!(cuStreamSynchronize(side));
}

#[test]
fn a_race_in_a_graph_is_found() {
    let double = double();
    let (memory, stream, side) = (double.allocate(8), double.stream(), double.stream());
    ok!(cuStreamBeginCapture_v2(stream, GLOBAL));
    double.order(stream, side);
    double.fill(memory, 1, 8, stream);
    double.fill(memory, 2, 8, side);
    double.mistake("race: in a captured graph nothing orders cuMemsetD8Async");
}

#[test]
fn what_would_disturb_a_capture_is_refused() {
    let double = double();
    let (memory, stream, blocking) = (
        double.allocate(8),
        double.stream(),
        double.blocking_stream(),
    );
    let mut graph = Graph(0);
    let mut allocation = Address(0);
    for disturb in [
        &mut || code!(cuStreamSynchronize(stream)) as i32,
        &mut || code!(cuCtxSynchronize()),
        &mut || code!(cuMemAlloc_v2(Out(&mut allocation), 8)),
        &mut || code!(cuMemFree_v2(memory)),
    ] as [&mut dyn FnMut() -> i32; 4]
    {
        ok!(cuStreamBeginCapture_v2(stream, GLOBAL));
        assert_eq!(disturb(), CAPTURE_UNSUPPORTED);
        assert_eq!(
            code!(cuStreamEndCapture(stream, Out(&mut graph))),
            CAPTURE_INVALIDATED
        );
    }
    ok!(cuStreamBeginCapture_v2(blocking, RELAXED));
    assert_eq!(code!(cuMemcpyDtoD_v2(memory, memory, 8)), CAPTURE_IMPLICIT);
    assert_eq!(
        code!(cuStreamEndCapture(blocking, Out(&mut graph))),
        CAPTURE_INVALIDATED
    );
    ok!(cuStreamBeginCapture_v2(stream, RELAXED));
    ok!(cuMemAlloc_v2(Out(&mut allocation), 8));
    ok!(cuStreamEndCapture(stream, Out(&mut graph)));
}

#[test]
fn a_captured_event_is_of_the_graph_alone() {
    let double = double();
    let (stream, event): (Stream, Event) = (double.stream(), double.event());
    ok!(cuStreamBeginCapture_v2(stream, RELAXED));
    ok!(cuEventRecord(event, stream));
    assert_eq!(code!(cuEventQuery(event)), 907);
    let mut graph = Graph(0);
    ok!(cuStreamEndCapture(stream, Out(&mut graph)));
    assert_eq!(code!(cuStreamWaitEvent(double.stream(), event, 0)), 907);
    ok!(cuStreamBeginCapture_v2(stream, GLOBAL));
    let other = double.event();
    ok!(cuEventRecord(other, double.stream()));
    assert_eq!(code!(cuStreamWaitEvent(stream, other, 0)), 905);
}

#[test]
fn memory_of_a_graph_is_new_at_each_launch() {
    let double = double();
    let (copy, stream) = (double.allocate(8), double.stream());
    ok!(cuStreamBeginCapture_v2(stream, GLOBAL));
    let memory = double.allocate_on(8, stream);
    ok!(cuMemcpyDtoDAsync_v2(copy, memory, 8, stream));
    double.fill(memory, 1, 8, stream);
    ok!(cuMemFreeAsync(memory, stream));
    let graph = double.end_capture(stream);
    for _ in 0..3 {
        ok!(cuGraphLaunch(graph, stream));
        assert_eq!(double.read(copy, 8, stream), [0xA5; 8]);
        assert_eq!(double.peek(memory, 8), [0xDB; 8]);
    }
    assert_eq!(double.live("memory"), 1);
    double.no_mistakes();
}

#[test]
fn a_graph_that_outlives_its_memory_is_found() {
    let double = double();
    let (memory, stream) = (double.allocate(8), double.stream());
    ok!(cuStreamBeginCapture_v2(stream, GLOBAL));
    double.fill(memory, 1, 8, stream);
    let graph: GraphExec = double.end_capture(stream);
    ok!(cuMemFree_v2(memory));
    ok!(cuGraphLaunch(graph, stream));
    double.mistake("in a graph, cuMemsetD8Async on stream");
}

#[test]
fn launches_of_one_graph_never_overlap() {
    let double = double();
    let (memory, one, other) = (double.allocate(8), double.stream(), double.stream());
    ok!(cuStreamBeginCapture_v2(one, GLOBAL));
    double.fill(memory, 1, 8, one);
    let graph = double.end_capture(one);
    ok!(cuGraphLaunch(graph, one));
    ok!(cuGraphLaunch(graph, other));
    double.no_mistakes();
    ok!(cuStreamSynchronize(other));
    ok!(cuStreamQuery(one));
}
