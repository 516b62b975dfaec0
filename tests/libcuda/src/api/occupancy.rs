//! Occupancy: the number of resident blocks, by threads and by shared memory.

use crate::abi::structures::LaunchConfig;
use crate::abi::{Function, In, Out, SharedMemoryOfBlock};
use crate::api::device::attribute;
use crate::call::api;
use crate::codes::{Code, Outcome};
use crate::driver::Locked;
use std::ffi::c_int;

api! {
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        driver,
        blocks: Out<c_int>,
        function: Function,
        threads: c_int,
        shared: usize,
    ) {
        driver.known(function)?;
        blocks.give(fitting(threads, shared)?)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        driver,
        blocks: Out<c_int>,
        function: Function,
        threads: c_int,
        shared: usize,
        flags: u32,
    ) {
        driver.known(function)?;
        blocks.give(fitting(threads, shared)?)
    }

    fn cuOccupancyAvailableDynamicSMemPerBlock(
        driver,
        bytes: Out<usize>,
        function: Function,
        blocks: c_int,
        threads: c_int,
    ) {
        driver.known(function)?;
        if blocks <= 0 || blocks > fitting(threads, 0)? {
            return Err(Code::ERROR_INVALID_VALUE);
        }
        let share = attribute(81) / blocks - attribute(111);
        bytes.give(share.clamp(0, attribute(8)) as usize)
    }

    fn cuOccupancyMaxPotentialBlockSize(
        driver,
        grid: Out<c_int>,
        block: Out<c_int>,
        function: Function,
        of_block: Option<SharedMemoryOfBlock>,
        shared: usize,
        limit: c_int,
    ) {
        best(driver, &grid, &block, function, of_block, shared, limit)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        driver,
        grid: Out<c_int>,
        block: Out<c_int>,
        function: Function,
        of_block: Option<SharedMemoryOfBlock>,
        shared: usize,
        limit: c_int,
        flags: u32,
    ) {
        best(driver, &grid, &block, function, of_block, shared, limit)
    }

    fn cuOccupancyMaxActiveClusters(driver, clusters: Out<c_int>, function: Function, config: In<LaunchConfig>) {
        driver.known(function)?;
        let config = config.read()?;
        let threads: u32 = config.block.iter().product();
        clusters.give(fitting(threads as c_int, config.shared as usize)? * attribute(16))
    }

    fn cuOccupancyMaxPotentialClusterSize(driver, size: Out<c_int>, function: Function, config: In<LaunchConfig>) {
        driver.known(function)?;
        config.read()?;
        // The largest that every device has.
        size.give(8)
    }
}

fn fitting(threads: c_int, shared: usize) -> Outcome<c_int> {
    if threads <= 0 {
        return Err(Code::ERROR_INVALID_VALUE);
    }
    if threads > attribute(1) {
        return Ok(0);
    }
    let by_threads = attribute(39) / threads;
    let by_memory = attribute(81) as usize / (shared + attribute(111) as usize);
    Ok(by_threads.min(attribute(106)).min(by_memory as c_int))
}

/// The largest block that keeps a multiprocessor busiest.
fn best(
    driver: &mut Locked,
    grid: &Out<c_int>,
    block: &Out<c_int>,
    function: Function,
    of_block: Option<SharedMemoryOfBlock>,
    shared: usize,
    limit: c_int,
) -> Outcome {
    driver.known(function)?;
    let most = if limit <= 0 {
        attribute(1)
    } else {
        limit.min(attribute(1))
    };
    let (mut best, mut busiest) = (0, 0);
    for threads in (1..=most / 32).rev().map(|warps| warps * 32) {
        let shared = match of_block {
            // SAFETY: the caller's function takes any size of a block.
            Some(of_block) => driver.unlocked(|| unsafe { of_block(threads) }),
            None => shared,
        };
        let blocks = fitting(threads, shared)?;
        if blocks * threads > busiest {
            (best, busiest) = (threads, blocks * threads);
        }
    }
    grid.give(if best == 0 {
        0
    } else {
        busiest / best * attribute(16)
    })?;
    block.give(best)
}
