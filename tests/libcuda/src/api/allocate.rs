//! Device memory: allocated and released at once, or in the order of a stream.

use crate::abi::{Address, Handle, Out, Pool, Stream};
use crate::allocation::{Kind, Release};
use crate::call::api;
use crate::codes::{Code, Outcome};
use crate::driver::{Driver, Locked};
use crate::work::Action;

/// Rows of pitched memory begin at multiples of this.
const PITCH: usize = 512;

api! {
    fn cuMemAlloc_v2(driver, address: Out<Address>, bytes: usize) {
        allocate(driver, &address, bytes)
    }

    fn cuMemAllocPitch_v2(
        driver,
        address: Out<Address>,
        pitch: Out<usize>,
        width: usize,
        height: usize,
        element: u32,
    ) {
        if !matches!(element, 4 | 8 | 16) {
            return Err(Code::ERROR_INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(PITCH).ok_or(Code::ERROR_INVALID_VALUE)?;
        pitch.give(row)?;
        allocate(driver, &address, row.checked_mul(height).ok_or(Code::ERROR_INVALID_VALUE)?)
    }

    fn cuMemFree_v2(driver, address: Address) {
        let context = driver.current_context()?;
        if address.0 == 0 {
            return Ok(());
        }
        let kinds = [Kind::Device, Kind::StreamOrdered, Kind::OfGraph, Kind::Managed];
        driver.check_release("cuMemFree_v2", address.0, &kinds)?;
        driver.not_while_capturing()?;
        let (owner, kind) = driver.owner(address.0);
        if owner != context {
            let words = driver.memory.words(address.0);
            driver.record.mistake(format!("{words} of context {owner} is freed while context {context} is current"));
        }
        if !kind.pooled() {
            // An error of the work is told by the next call; the memory is freed all the same.
            let _ = driver.synchronize_context(owner);
        }
        // For memory of pools the driver waits for nothing: who frees it at once says that all its
        // uses are done. Nor does it wait for other contexts.
        report_unfinished(driver, "cuMemFree_v2", address.0);
        release_now(driver, address.0, "cuMemFree_v2");
        Ok(())
    }

    fn cuMemAllocAsync(driver, address: Out<Address>, bytes: usize, stream: Stream) {
        let stream = driver.stream(stream)?;
        let device = driver.device_of(driver.streams.live[&stream].context);
        let pool = driver.devices[device].pool;
        allocate_ordered(driver, &address, bytes, pool, stream, "cuMemAllocAsync")
    }

    fn cuMemAllocFromPoolAsync(driver, address: Out<Address>, bytes: usize, pool: Pool, stream: Stream) {
        let (pool, stream) = (driver.known(pool)?, driver.stream(stream)?);
        allocate_ordered(driver, &address, bytes, pool, stream, "cuMemAllocFromPoolAsync")
    }

    fn cuMemFreeAsync(driver, address: Address, stream: Stream) {
        let stream = driver.stream(stream)?;
        if address.0 == 0 {
            return Ok(());
        }
        driver.check_release("cuMemFreeAsync", address.0, &[Kind::StreamOrdered, Kind::OfGraph])?;
        let (owner, of_stream) = (driver.owner(address.0).0, driver.streams.live[&stream].context);
        if driver.device_of(owner) != driver.device_of(of_stream) {
            let words = driver.memory.words(address.0);
            driver.record.mistake(format!("{words} is freed on stream {stream}, which is of another device"));
        }
        driver.submit(stream, Action::Release(address.0), "cuMemFreeAsync")
    }

    fn cuMemGetInfo_v2(driver, free: Out<usize>, total: Out<usize>) {
        let context = driver.current_context()?;
        let device = driver.device_of(context);
        let all = driver.devices[device].total;
        free.give((all - driver.memory.used(device)) as usize)?;
        total.give(all as usize)
    }

    fn cuMemGetAddressRange_v2(driver, base: Out<Address>, size: Out<usize>, address: Address) {
        driver.current_context()?;
        let found = driver.memory.find(address.0).filter(|found| found.released.is_none());
        let (start, bytes) = found.map(|found| (found.start, found.size)).ok_or(Code::ERROR_NOT_FOUND)?;
        base.give_if_wanted(Address(start));
        size.give_if_wanted(bytes as usize);
        Ok(())
    }
}

fn allocate(driver: &mut Locked, address: &Out<Address>, bytes: usize) -> Outcome {
    address.check()?;
    let context = driver.current_context()?;
    driver.not_while_capturing()?;
    let start = driver.new_memory(Kind::Device, bytes, context)?;
    address.give(Address(start))
}

fn allocate_ordered(
    driver: &mut Locked,
    address: &Out<Address>,
    bytes: usize,
    pool: u32,
    stream: u32,
    words: &str,
) -> Outcome {
    address.check()?;
    let captured = driver.place_of(stream)?.is_some();
    let kind = if captured {
        Kind::OfGraph
    } else {
        Kind::StreamOrdered
    };
    let context = driver.streams.live[&stream].context;
    let device = driver.pools.live[&pool].device;
    let start = driver.new_memory_on(device, kind, bytes, context)?;
    if let Some(found) = driver.memory.find_mut(start) {
        found.pool = Some(pool);
    }
    if let Some(pool) = driver.pools.live.get_mut(&pool) {
        pool.used += bytes as u64;
        pool.used_high = pool.used_high.max(pool.used);
    }
    if let Err(code) = driver.submit(stream, Action::Allocate(start), words) {
        release_now(driver, start, words);
        return Err(code);
    }
    address.give(Address(start))
}

/// Releases memory without waiting for any stream.
pub(crate) fn release_now(driver: &mut Locked, address: u64, words: &str) {
    driver.give_back_to_pool(address);
    driver.memory.end(
        address,
        Release {
            when: None,
            words: words.to_owned(),
        },
    );
    driver.finish_release(address);
}

/// Work that still uses memory when it is released at once.
pub(crate) fn report_unfinished(driver: &mut Locked, function: &str, address: u64) {
    if let Some(user) = driver.unfinished_use(address) {
        let words = driver.memory.words(address);
        driver.record.mistake(format!(
            "{function} releases {words}, and nothing waited for {user}"
        ));
    }
}

impl Driver {
    pub(crate) fn new_memory(&mut self, kind: Kind, bytes: usize, context: u32) -> Outcome<u64> {
        self.new_memory_on(self.device_of(context), kind, bytes, context)
    }

    fn new_memory_on(
        &mut self,
        device: usize,
        kind: Kind,
        bytes: usize,
        context: u32,
    ) -> Outcome<u64> {
        let size = bytes as u64;
        if size == 0 {
            return Err(Code::ERROR_INVALID_VALUE);
        }
        if size > self.devices[device].total - self.memory.used(device) {
            return Err(Code::ERROR_OUT_OF_MEMORY);
        }
        self.memory
            .add(kind, size, None, context, device)
            .ok_or(Code::ERROR_OUT_OF_MEMORY)
    }

    pub(crate) fn owner(&self, address: u64) -> (u32, Kind) {
        self.memory
            .find(address)
            .map_or((0, Kind::Device), |found| (found.context, found.kind))
    }

    /// Refuses to release what isn't the start of live memory of one of the kinds.
    pub(crate) fn check_release(
        &mut self,
        function: &str,
        address: u64,
        kinds: &[Kind],
    ) -> Outcome {
        let words = self.memory.words(address);
        let mistake = match self.memory.find(address) {
            None => format!(
                "{function} is given {words}, which the driver didn't allocate ({address:#x})"
            ),
            Some(found) => match &found.released {
                Some(release) => format!(
                    "{function} frees {words} again, which was freed by {}",
                    release.words
                ),
                None if found.start != address => {
                    format!("{function} is given {words}, which isn't its start")
                }
                None if !kinds.contains(&found.kind) => {
                    format!(
                        "{function} is given {words}, which is {}, and isn't freed by it",
                        found.kind.word()
                    )
                }
                None => return Ok(()),
            },
        };
        self.record.mistake(mistake);
        Err(Code::ERROR_INVALID_VALUE)
    }

    pub(crate) fn give_back_to_pool(&mut self, address: u64) {
        let Some(found) = self.memory.find(address) else {
            return;
        };
        let size = found.size;
        if let Some(pool) = found.pool.and_then(|pool| self.pools.live.get_mut(&pool)) {
            pool.used = pool.used.saturating_sub(size);
        }
    }

    /// The handle of the pool that an allocation is of.
    pub(crate) fn pool_of(&self, address: u64) -> Pool {
        self.memory
            .find(address)
            .and_then(|found| found.pool)
            .map_or(Pool(0), Pool::of)
    }
}
