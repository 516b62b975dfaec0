//! Streams: made, destroyed, waited for, captured.

use crate::abi::{Context, Event, Graph, Handle, Host, HostFunction, Out, Stream, StreamCallback};
use crate::api::context::GREATEST_PRIORITY;
use crate::call::api;
use crate::capture::{Mode, THREAD_MODE};
use crate::codes::{Code, Outcome};
use crate::driver::Locked;
use crate::objects::{Recorded, StreamKind, StreamState};
use crate::work::Action;
use std::ffi::{c_int, c_void};

api! {
    fn cuStreamCreate(driver, stream: Out<Stream>, flags: u32) {
        create(driver, &stream, flags, 0)
    }

    fn cuStreamCreateWithPriority(driver, stream: Out<Stream>, flags: u32, priority: c_int) {
        create(driver, &stream, flags, priority.clamp(GREATEST_PRIORITY, 0))
    }

    fn cuStreamDestroy_v2(driver, stream: Stream) {
        if stream.value() <= 2 {
            return Err(Code::ERROR_INVALID_HANDLE);
        }
        // The work that is queued still runs: other work waits for it by number, not by stream.
        let id = driver.known(stream)?;
        let state = driver.take(stream)?;
        if let Some(place) = &state.capture {
            driver.record.mistake(format!("stream {id} is destroyed while it is captured"));
            driver.invalidate(place.capture);
        }
        let driver = &mut **driver;
        let awaited = state.last.filter(|&id| state.kind == StreamKind::Blocking && !driver.work.is_done(id));
        if let Some(context) = driver.contexts.live.get_mut(&state.context) {
            context.retired.1.join(&state.clock);
            context.retired.0.retain(|&id| !driver.work.is_done(id));
            context.retired.0.extend(awaited);
        }
        Ok(())
    }

    fn cuStreamSynchronize(driver, stream: Stream) {
        let stream = driver.stream(stream)?;
        not_captured(driver, stream)?;
        driver.synchronize(stream)
    }

    fn cuStreamQuery(driver, stream: Stream) {
        let stream = driver.stream(stream)?;
        not_captured(driver, stream)?;
        let (targets, clock) = driver.work_of(stream);
        if targets.iter().all(|&id| driver.work.is_done(id)) {
            driver.host.join(&clock);
            return Ok(());
        }
        driver.run_a_step(&targets);
        Err(Code::ERROR_NOT_READY)
    }

    fn cuStreamWaitEvent(driver, stream: Stream, event: Event, flags: u32) {
        let stream = driver.stream(stream)?;
        match driver.get(event)?.recorded.clone() {
            Recorded::Captured(place) => driver.wait_in_capture(stream, &place),
            Recorded::Never => Ok(()),
            Recorded::Queued(..) if driver.place_of(stream)?.is_some() => {
                // The graph would depend on work outside of it.
                if let Some(place) = driver.place_of(stream)? {
                    driver.invalidate(place.capture);
                }
                Err(Code::ERROR_STREAM_CAPTURE_ISOLATION)
            }
            Recorded::Queued(operation, clock) => {
                let before = Some((operation, clock));
                let id = driver.queue_after(stream, Action::Nothing, "cuStreamWaitEvent", before)?;
                driver.run_if_eager(stream, id);
                Ok(())
            }
        }
    }

    fn cuStreamGetCtx(driver, stream: Stream, context: Out<Context>) {
        let stream = driver.stream(stream)?;
        context.give(Context::of(driver.streams.live[&stream].context))
    }

    fn cuStreamGetFlags(driver, stream: Stream, flags: Out<u32>) {
        let stream = driver.stream(stream)?;
        flags.give(u32::from(driver.streams.live[&stream].kind == StreamKind::NonBlocking))
    }

    fn cuStreamGetPriority(driver, stream: Stream, priority: Out<c_int>) {
        let stream = driver.stream(stream)?;
        priority.give(driver.streams.live[&stream].priority)
    }

    fn cuStreamGetId(driver, stream: Stream, id: Out<u64>) {
        let stream = driver.stream(stream)?;
        id.give(u64::from(stream))
    }

    fn cuLaunchHostFunc(driver, stream: Stream, function: Option<HostFunction>, data: *mut c_void) {
        let stream = driver.stream(stream)?;
        let function = function.ok_or(Code::ERROR_INVALID_VALUE)?;
        driver.submit(stream, Action::Host(function, Host(data)), "cuLaunchHostFunc")
    }

    fn cuStreamAddCallback(driver, stream: Stream, function: Option<StreamCallback>, data: *mut c_void, flags: u32) {
        let stream = driver.stream(stream)?;
        let function = function.ok_or(Code::ERROR_INVALID_VALUE)?;
        not_captured(driver, stream)?;
        driver.submit(stream, Action::Callback(function, Host(data)), "cuStreamAddCallback")
    }

    fn cuStreamBeginCapture_v2(driver, stream: Stream, mode: c_int) {
        let stream = driver.stream(stream)?;
        driver.begin_capture(stream, Mode::of(mode)?)
    }

    fn cuStreamEndCapture(driver, stream: Stream, graph: Out<Graph>) {
        graph.give(Graph(0))?;
        let stream = driver.stream(stream)?;
        let captured = driver.end_capture(stream)?;
        graph.give(Graph::of(driver.graphs.add(captured)))
    }

    fn cuStreamIsCapturing(driver, stream: Stream, status: Out<c_int>) {
        let stream = driver.stream(stream)?;
        not_legacy_beside_captures(driver, stream)?;
        let found = capture_status(driver, stream);
        status.give(driver.record.written("cuStreamIsCapturing", found))
    }

    fn cuStreamGetCaptureInfo_v2(
        driver,
        stream: Stream,
        status: Out<c_int>,
        id: Out<u64>,
        graph: Out<Graph>,
        nodes: Out<*const c_void>,
        count: Out<usize>,
    ) {
        let stream = driver.stream(stream)?;
        not_legacy_beside_captures(driver, stream)?;
        status.give(capture_status(driver, stream))?;
        if let Some(place) = &driver.streams.live[&stream].capture {
            id.give_if_wanted(u64::from(place.capture));
            // The graph and its nodes get handles when the capture ends.
            graph.give_if_wanted(Graph(0));
            nodes.give_if_wanted(std::ptr::null());
            count.give_if_wanted(0);
        }
        Ok(())
    }

    fn cuThreadExchangeStreamCaptureMode(driver, mode: Out<c_int>) {
        let new = crate::abi::In(mode.0).read()?;
        Mode::of(new)?;
        let before = THREAD_MODE.replace(new);
        mode.give(driver.record.written("cuThreadExchangeStreamCaptureMode", before))
    }
}

fn create(driver: &mut Locked, stream: &Out<Stream>, flags: u32, priority: c_int) -> Outcome {
    stream.check()?;
    let context = driver.current_context()?;
    let kind = match flags {
        0 => StreamKind::Blocking,
        1 => StreamKind::NonBlocking,
        _ => return Err(Code::ERROR_INVALID_VALUE),
    };
    stream.give(Stream::of(
        driver
            .streams
            .add(StreamState::new(context, kind, priority)),
    ))
}

/// Waiting for a stream that is captured can't be, and spoils the capture.
pub(crate) fn not_captured(driver: &mut Locked, stream: u32) -> Outcome {
    let Some(place) = driver.streams.live[&stream].capture.clone() else {
        return Ok(());
    };
    driver.invalidate(place.capture);
    Err(Code::ERROR_STREAM_CAPTURE_UNSUPPORTED)
}

/// The legacy stream isn't to be asked while one is captured that waits for it. Asking spoils
/// nothing.
fn not_legacy_beside_captures(driver: &Locked, stream: u32) -> Outcome {
    match driver.captured_beside(stream).is_empty() {
        true => Ok(()),
        false => Err(Code::ERROR_STREAM_CAPTURE_IMPLICIT),
    }
}

/// 0: not captured; 1: captured; 2: captured, and spoiled.
fn capture_status(driver: &Locked, stream: u32) -> c_int {
    match driver.place_of(stream) {
        Ok(None) => 0,
        Ok(Some(_)) => 1,
        Err(_) => 2,
    }
}
