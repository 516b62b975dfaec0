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
        check_owner(driver, "cuMemcpyPeer", to, to_context)?;
        check_owner(driver, "cuMemcpyPeer", from, from_context)?;
        plain(driver, "cuMemcpyPeer", Side::Device(to.0), Side::Device(from.0), bytes, None)
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
        check_owner(driver, "cuMemcpyPeerAsync", to, to_context)?;
        check_owner(driver, "cuMemcpyPeerAsync", from, from_context)?;
        plain(driver, "cuMemcpyPeerAsync", Side::Device(to.0), Side::Device(from.0), bytes, Some(stream))
    }
}

/// One side of a copy: the driver's memory, or anyone's.
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
    let mut check = |side| {
        let (address, device) = match side {
            Side::Device(address) => (address, true),
            Side::Any(address) => (address, false),
        };
        let rows = Rows::flat(address, bytes as u64);
        driver.check_range(function, rows, device).map(|()| rows)
    };
    let (to, from) = (check(to)?, check(from)?);
    copy(driver, function, to, from, stream)
}

/// Queues a copy, and waits where the driver waits: always without a stream, unless the copy is within devices; with a
/// stream when the target is the host's pageable memory.
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
    // The driver takes what pageable memory holds before it returns, so the program may change it then.
    let staged = (from_pageable && !captured).then(|| stage(from));
    driver.submit(stream, Action::Copy { from, to, staged }, function)?;
    if !captured && (to_pageable || (waits_for_host && !within)) {
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

fn check_owner(driver: &mut Locked, function: &str, address: Address, context: Context) -> Outcome {
    let context = driver.named_context(context)?;
    let owner = driver.memory.find(address.0).map(|found| found.context);
    if owner.is_some_and(|owner| driver.device_of(owner) != driver.device_of(context)) {
        let words = driver.memory.words(address.0);
        driver.record.mistake(format!(
            "{function} is told that {words} is of context {context}, and it isn't"
        ));
        return Err(Code::ERROR_INVALID_VALUE);
    }
    Ok(())
}
