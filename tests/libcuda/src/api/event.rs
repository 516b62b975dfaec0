//! Events: recorded on a stream, waited for by others and by the host.

use crate::abi::{Event, Handle, Out, Stream};
use crate::call::api;
use crate::codes::{Code, Outcome};
use crate::driver::Locked;
use crate::objects::{EventState, Recorded};
use crate::work::Action;

const DISABLE_TIMING: u32 = 2;

api! {
    fn cuEventCreate(driver, event: Out<Event>, flags: u32) {
        event.check()?;
        let context = driver.current_context()?;
        let timed = flags & DISABLE_TIMING == 0;
        event.give(Event::of(driver.events.add(EventState { context, timed, recorded: Recorded::Never, ran: None })))
    }

    fn cuEventDestroy_v2(driver, event: Event) {
        driver.take(event).map(|_| ())
    }

    fn cuEventRecord(driver, event: Event, stream: Stream) {
        record(driver, event, stream)
    }

    fn cuEventRecordWithFlags(driver, event: Event, stream: Stream, flags: u32) {
        record(driver, event, stream)
    }

    fn cuEventQuery(driver, event: Event) {
        driver.get(event)?;
        driver.not_while_capturing()?;
        match driver.get(event)?.recorded.clone() {
            Recorded::Never => Ok(()),
            Recorded::Captured(_) => Err(Code::ERROR_CAPTURED_EVENT),
            Recorded::Queued(id, clock) if driver.work.is_done(id) => {
                driver.host.join(&clock);
                Ok(())
            }
            Recorded::Queued(id, _) => {
                driver.run_a_step(&[id]);
                Err(Code::ERROR_NOT_READY)
            }
        }
    }

    fn cuEventSynchronize(driver, event: Event) {
        let state = driver.get(event)?;
        let (context, recorded) = (state.context, state.recorded.clone());
        match recorded {
            Recorded::Never => Ok(()),
            Recorded::Captured(place) => {
                driver.invalidate(place.capture);
                Err(Code::ERROR_CAPTURED_EVENT)
            }
            Recorded::Queued(id, clock) => {
                driver.run(&[id]);
                driver.host.join(&clock);
                driver.context(context)?.failed.map_or(Ok(()), Err)
            }
        }
    }

    fn cuEventElapsedTime(driver, milliseconds: Out<f32>, start: Event, end: Event) {
        elapsed(driver, &milliseconds, start, end)
    }

    fn cuEventElapsedTime_v2(driver, milliseconds: Out<f32>, start: Event, end: Event) {
        elapsed(driver, &milliseconds, start, end)
    }
}

fn record(driver: &mut Locked, event: Event, stream: Stream) -> Outcome {
    let id = driver.known(event)?;
    let stream = driver.stream(stream)?;
    let (of_event, of_stream) = (
        driver.events.live[&id].context,
        driver.streams.live[&stream].context,
    );
    if of_event != of_stream {
        let mistake = format!(
            "event {id} is of context {of_event}, and recorded on stream {stream} of {of_stream}"
        );
        driver.record.mistake(mistake);
        return Err(Code::ERROR_INVALID_HANDLE);
    }
    let recorded = match driver.place_of(stream)? {
        Some(place) => Recorded::Captured(place),
        None => {
            let Some(operation) = driver.queue(stream, Action::Record(id), "cuEventRecord")? else {
                return Ok(());
            };
            let clock = driver.streams.live[&stream].clock.clone();
            // Before it may run, as that writes down the time of it.
            driver.get(event)?.ran = None;
            driver.run_if_eager(stream, Some(operation));
            Recorded::Queued(operation, clock)
        }
    };
    driver.get(event)?.recorded = recorded;
    Ok(())
}

fn elapsed(driver: &mut Locked, milliseconds: &Out<f32>, start: Event, end: Event) -> Outcome {
    let mut times = [0; 2];
    for (time, event) in times.iter_mut().zip([start, end]) {
        let state = driver.get(event)?;
        let Recorded::Queued(recorded, _) = &state.recorded else {
            return Err(Code::ERROR_INVALID_HANDLE);
        };
        if !state.timed {
            return Err(Code::ERROR_INVALID_HANDLE);
        }
        let ran = state.ran.filter(|ran| ran.0 == *recorded);
        *time = ran.ok_or(Code::ERROR_NOT_READY)?.1;
    }
    // Each operation takes a microsecond.
    milliseconds.give((times[1] as f32 - times[0] as f32) / 1000.0)
}
