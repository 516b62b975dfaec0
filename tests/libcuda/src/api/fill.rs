//! Fills with a number of 1, 2 or 4 bytes.

use crate::abi::{Address, Stream};
use crate::access::Rows;
use crate::call::api;
use crate::codes::{Code, Outcome};
use crate::driver::Locked;
use crate::work::Action;

api! {
    fn cuMemsetD8_v2(driver, to: Address, value: u8, count: usize) {
        fill(driver, "cuMemsetD8_v2", row(to, &value.to_ne_bytes(), count), &value.to_ne_bytes(), None)
    }

    fn cuMemsetD16_v2(driver, to: Address, value: u16, count: usize) {
        fill(driver, "cuMemsetD16_v2", row(to, &value.to_ne_bytes(), count), &value.to_ne_bytes(), None)
    }

    fn cuMemsetD32_v2(driver, to: Address, value: u32, count: usize) {
        fill(driver, "cuMemsetD32_v2", row(to, &value.to_ne_bytes(), count), &value.to_ne_bytes(), None)
    }

    fn cuMemsetD8Async(driver, to: Address, value: u8, count: usize, stream: Stream) {
        fill(driver, "cuMemsetD8Async", row(to, &value.to_ne_bytes(), count), &value.to_ne_bytes(), Some(stream))
    }

    fn cuMemsetD16Async(driver, to: Address, value: u16, count: usize, stream: Stream) {
        fill(driver, "cuMemsetD16Async", row(to, &value.to_ne_bytes(), count), &value.to_ne_bytes(), Some(stream))
    }

    fn cuMemsetD32Async(driver, to: Address, value: u32, count: usize, stream: Stream) {
        fill(driver, "cuMemsetD32Async", row(to, &value.to_ne_bytes(), count), &value.to_ne_bytes(), Some(stream))
    }

    fn cuMemsetD2D8_v2(driver, to: Address, pitch: usize, value: u8, width: usize, height: usize) {
        let pattern = value.to_ne_bytes();
        fill(driver, "cuMemsetD2D8_v2", rows(to, pitch, &pattern, width, height), &pattern, None)
    }

    fn cuMemsetD2D16_v2(driver, to: Address, pitch: usize, value: u16, width: usize, height: usize) {
        let pattern = value.to_ne_bytes();
        fill(driver, "cuMemsetD2D16_v2", rows(to, pitch, &pattern, width, height), &pattern, None)
    }

    fn cuMemsetD2D32_v2(driver, to: Address, pitch: usize, value: u32, width: usize, height: usize) {
        let pattern = value.to_ne_bytes();
        fill(driver, "cuMemsetD2D32_v2", rows(to, pitch, &pattern, width, height), &pattern, None)
    }

    fn cuMemsetD2D8Async(
        driver,
        to: Address,
        pitch: usize,
        value: u8,
        width: usize,
        height: usize,
        stream: Stream,
    ) {
        let pattern = value.to_ne_bytes();
        fill(driver, "cuMemsetD2D8Async", rows(to, pitch, &pattern, width, height), &pattern, Some(stream))
    }

    fn cuMemsetD2D16Async(
        driver,
        to: Address,
        pitch: usize,
        value: u16,
        width: usize,
        height: usize,
        stream: Stream,
    ) {
        let pattern = value.to_ne_bytes();
        fill(driver, "cuMemsetD2D16Async", rows(to, pitch, &pattern, width, height), &pattern, Some(stream))
    }

    fn cuMemsetD2D32Async(
        driver,
        to: Address,
        pitch: usize,
        value: u32,
        width: usize,
        height: usize,
        stream: Stream,
    ) {
        let pattern = value.to_ne_bytes();
        fill(driver, "cuMemsetD2D32Async", rows(to, pitch, &pattern, width, height), &pattern, Some(stream))
    }
}

fn row(to: Address, pattern: &[u8], count: usize) -> Rows {
    Rows::flat(to.0, (pattern.len() * count) as u64)
}

fn rows(to: Address, pitch: usize, pattern: &[u8], width: usize, height: usize) -> Rows {
    let (width, height) = ((pattern.len() * width) as u64, height as u64);
    Rows {
        start: to.0,
        width,
        pitch: pitch as u64,
        height,
        slice: pitch as u64 * height,
        depth: 1,
    }
}

fn fill(
    driver: &mut Locked,
    function: &str,
    to: Rows,
    pattern: &[u8],
    stream: Option<Stream>,
) -> Outcome {
    driver.current_context()?;
    driver.check_range(function, to, true)?;
    let waits = stream.is_none()
        && driver
            .memory
            .find(to.start)
            .is_some_and(|found| !found.kind.closed());
    let stream = driver.stream(stream.unwrap_or_default())?;
    if !to.start.is_multiple_of(pattern.len() as u64) || (to.height > 1 && to.pitch < to.width) {
        return Err(Code::ERROR_INVALID_VALUE);
    }
    if to.is_empty() {
        return Ok(());
    }
    driver.submit(
        stream,
        Action::Fill {
            to,
            pattern: pattern.to_vec(),
        },
        function,
    )?;
    // The driver waits where the host can see the memory.
    if waits {
        driver.synchronize(stream)
    } else {
        Ok(())
    }
}
