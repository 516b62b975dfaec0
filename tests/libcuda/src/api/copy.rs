//! Copies of one piece.

use crate::abi::{Address, Context, Host, Stream};
use crate::access::Rows;
use crate::call::api;
use crate::codes::{Code, Outcome};
use crate::driver::Locked;
use crate::work::Action;

api! {
    fn cuMemcpy(driver, to: Address, from: Address, bytes: usize) {
        plain(driver, "cuMemcpy", Side::Any(to.0), Side::Any(from.0), bytes, None)
    }

    fn cuMemcpyAsync(driver, to: Address, from: Address, bytes: usize, stream: Stream) {
        plain(driver, "cuMemcpyAsync", Side::Any(to.0), Side::Any(from.0), bytes, Some(stream))
    }

    fn cuMemcpyHtoD_v2(driver, to: Address, from: Host, bytes: usize) {
        plain(driver, "cuMemcpyHtoD_v2", Side::Device(to.0), Side::Any(from.0 as u64), bytes, None)
    }

    fn cuMemcpyHtoDAsync_v2(driver, to: Address, from: Host, bytes: usize, stream: Stream) {
        plain(driver, "cuMemcpyHtoDAsync_v2", Side::Device(to.0), Side::Any(from.0 as u64), bytes, Some(stream))
    }

    fn cuMemcpyDtoH_v2(driver, to: Host, from: Address, bytes: usize) {
        plain(driver, "cuMemcpyDtoH_v2", Side::Any(to.0 as u64), Side::Device(from.0), bytes, None)
    }

    fn cuMemcpyDtoHAsync_v2(driver, to: Host, from: Address, bytes: usize, stream: Stream) {
        plain(driver, "cuMemcpyDtoHAsync_v2", Side::Any(to.0 as u64), Side::Device(from.0), bytes, Some(stream))
    }

    fn cuMemcpyDtoD_v2(driver, to: Address, from: Address, bytes: usize) {
        plain(driver, "cuMemcpyDtoD_v2", Side::Device(to.0), Side::Device(from.0), bytes, None)
    }

    fn cuMemcpyDtoDAsync_v2(driver, to: Address, from: Address, bytes: usize, stream: Stream) {
        plain(driver, "cuMemcpyDtoDAsync_v2", Side::Device(to.0), Side::Device(from.0), bytes, Some(stream))
    }

    fn cuMemcpyPeer(driver, to: Address, to_context: Context, from: Address, from_context: Context, bytes: usize) {
        peer(driver, "cuMemcpyPeer", (to, to_context), (from, from_context), bytes, None)
    }

    fn cuMemcpyPeerAsync(
        driver,
        to: Address,
        to_context: Context,
        from: Address,
        from_context: Context,
        bytes: usize,
        stream: Stream,
    ) {
        peer(driver, "cuMemcpyPeerAsync", (to, to_context), (from, from_context), bytes, Some(stream))
    }
}

/// One side of a copy: the driver's memory, or other memory.
#[derive(Clone, Copy)]
enum Side {
    Device(u64),
    Any(u64),
}

fn plain(
    driver: &mut Locked,
    function: &str,
    to: Side,
    from: Side,
    bytes: usize,
    stream: Option<Stream>,
) -> Outcome {
    let (to, from) = (
        piece(driver, function, to, bytes)?,
        piece(driver, function, from, bytes)?,
    );
    copy_within_reach(driver, function, to, from, stream)
}

/// A copy between two contexts, which reaches the memory of both.
fn peer(
    driver: &mut Locked,
    function: &str,
    (to, to_context): (Address, Context),
    (from, from_context): (Address, Context),
    bytes: usize,
    stream: Option<Stream>,
) -> Outcome {
    check_owner(driver, function, to, to_context)?;
    check_owner(driver, function, from, from_context)?;
    let (to, from) = (
        piece(driver, function, Side::Device(to.0), bytes)?,
        piece(driver, function, Side::Device(from.0), bytes)?,
    );
    copy(driver, function, to, from, stream)
}

/// The bytes of one side.
fn piece(driver: &mut Locked, function: &str, side: Side, bytes: usize) -> Outcome<Rows> {
    let (address, device) = match side {
        Side::Device(address) => (address, true),
        Side::Any(address) => (address, false),
    };
    let rows = Rows::flat(address, bytes as u64);
    driver.check_range(function, rows, device).map(|()| rows)
}

/// [`copy`] in one context, of memory that this one's device reaches.
pub(crate) fn copy_within_reach(
    driver: &mut Locked,
    function: &str,
    to: Rows,
    from: Rows,
    stream: Option<Stream>,
) -> Outcome {
    check_reach(driver, function, to, stream)?;
    check_reach(driver, function, from, stream)?;
    copy(driver, function, to, from, stream)
}

/// Refuses memory of another device's pool, which this device was not given access to. Both the
/// current context and the stream's say which device this is.
fn check_reach(driver: &mut Locked, function: &str, rows: Rows, stream: Option<Stream>) -> Outcome {
    let context = driver.current_context()?;
    let stream = driver.stream(stream.unwrap_or_default())?;
    let contexts = [context, driver.streams.live[&stream].context];
    let devices = contexts.map(|context| driver.device_of(context));
    let found = driver.memory.find(rows.start);
    let Some(found) = found.filter(|found| found.kind.pooled()) else {
        return Ok(());
    };
    let (home, kind) = (found.device, found.kind.word());
    let pool = found.pool.and_then(|pool| driver.pools.live.get(&pool));
    let is_let_in =
        |device| device == home || pool.is_some_and(|pool| pool.shared_with.contains(&device));
    let Some(device) = devices.into_iter().find(|device| !is_let_in(*device)) else {
        return Ok(());
    };
    let words = driver.memory.words(rows.start);
    driver.record.mistake(format!(
        "{function} on device {device} is given {words}, which is {kind} of device {home}, \
        whose pool gives device {device} no access"
    ));
    Err(Code::ERROR_INVALID_VALUE)
}

/// Queues a copy, and waits where the driver waits: always without a stream, unless the copy is
/// within devices; with a stream when the target is the host's pageable memory, unless it was told
/// to be late with that.
pub(crate) fn copy(
    driver: &mut Locked,
    function: &str,
    to: Rows,
    from: Rows,
    stream: Option<Stream>,
) -> Outcome {
    driver.current_context()?;
    let waits_for_host = stream.is_none();
    let stream = driver.stream(stream.unwrap_or_default())?;
    if to.is_empty() {
        return Ok(());
    }
    let pageable = |rows: Rows| driver.memory.find(rows.start).is_none();
    let on_device = |rows: Rows| {
        driver
            .memory
            .find(rows.start)
            .is_some_and(|found| found.kind.closed())
    };
    let (to_pageable, from_pageable) = (pageable(to), pageable(from));
    if [to, from]
        .iter()
        .any(|rows| pageable(*rows) && rows.start < 4096)
    {
        return Err(Code::ERROR_INVALID_VALUE);
    }
    let within = on_device(to) && on_device(from);
    let captured = driver.place_of(stream)?.is_some();
    // The driver takes what pageable memory holds before it returns, so the program may change it
    // then.
    let late = driver.work.pageable_late && !waits_for_host;
    let staged = (from_pageable && !captured && !late).then(|| stage(from));
    driver.submit(stream, Action::Copy { from, to, staged }, function)?;
    if !captured && ((to_pageable && !late) || (waits_for_host && !within)) {
        driver.synchronize(stream)?;
    }
    Ok(())
}

fn stage(from: Rows) -> Vec<u8> {
    let mut bytes = Vec::new();
    for start in from.starts() {
        // SAFETY: the host's own memory, which the caller says to be readable.
        bytes.extend_from_slice(unsafe {
            std::slice::from_raw_parts(start as *const u8, from.width as usize)
        });
    }
    bytes
}

/// Refuses memory of another device than a context's.
pub(crate) fn check_owner(
    driver: &mut Locked,
    function: &str,
    address: Address,
    context: Context,
) -> Outcome {
    let context = driver.named_context(context)?;
    let home = driver.memory.find(address.0).map(|found| found.device);
    if home.is_some_and(|home| home != driver.device_of(context)) {
        let words = driver.memory.words(address.0);
        driver.record.mistake(format!(
            "{function} is told that {words} is of context {context}, and it isn't"
        ));
        return Err(Code::ERROR_INVALID_VALUE);
    }
    Ok(())
}
