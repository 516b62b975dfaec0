//! Memory that the host may touch too: pinned, registered and managed.

use crate::abi::structures::Location;
use crate::abi::{Address, Device, Host, Out, Stream};
use crate::allocation::Kind;
use crate::api::allocate::{release_now, report_unfinished};
use crate::call::api;
use crate::codes::{Code, Outcome};
use crate::driver::Locked;
use crate::work::Action;
use std::ffi::c_int;

api! {
    fn cuMemHostAlloc(driver, address: Out<Host>, bytes: usize, flags: u32) {
        pinned(driver, &address, bytes, flags)
    }

    fn cuMemAllocHost_v2(driver, address: Out<Host>, bytes: usize) {
        pinned(driver, &address, bytes, 0)
    }

    fn cuMemFreeHost(driver, address: Host) {
        driver.current_context()?;
        driver.check_release("cuMemFreeHost", address.0 as u64, &[Kind::Pinned])?;
        driver.not_while_capturing()?;
        report_unfinished(driver, "cuMemFreeHost", address.0 as u64);
        let owner = driver.owner(address.0 as u64).0;
        // An error of the work is told by the next call; the memory is freed all the same.
        let _ = driver.synchronize_context(owner);
        release_now(driver, address.0 as u64, "cuMemFreeHost");
        Ok(())
    }

    fn cuMemHostGetDevicePointer_v2(driver, address: Out<Address>, host: Host, flags: u32) {
        driver.current_context()?;
        let known = driver.memory.find(host.0 as u64).is_some_and(|found| !found.kind.closed());
        if known { address.give(Address(host.0 as u64)) } else { Err(Code::ERROR_INVALID_VALUE) }
    }

    fn cuMemHostGetFlags(driver, flags: Out<u32>, host: Host) {
        let found = driver.memory.find(host.0 as u64).filter(|found| found.kind == Kind::Pinned);
        flags.give(found.ok_or(Code::ERROR_INVALID_VALUE)?.flags)
    }

    fn cuMemHostRegister_v2(driver, host: Host, bytes: usize, flags: u32) {
        let context = driver.current_context()?;
        let (start, size) = (host.0 as u64, bytes as u64);
        if start == 0 || size == 0 {
            return Err(Code::ERROR_INVALID_VALUE);
        }
        if driver.memory.find(start).is_some() || driver.memory.find(start + size - 1).is_some() {
            return Err(Code::ERROR_HOST_MEMORY_ALREADY_REGISTERED);
        }
        let device = driver.device_of(context);
        driver.memory.add(Kind::Registered, size, Some(start), context, device);
        Ok(())
    }

    fn cuMemHostUnregister(driver, host: Host) {
        driver.current_context()?;
        let start = host.0 as u64;
        let registered = driver.memory.find(start).is_some_and(|found| found.kind == Kind::Registered);
        if !registered {
            return Err(Code::ERROR_HOST_MEMORY_NOT_REGISTERED);
        }
        report_unfinished(driver, "cuMemHostUnregister", start);
        release_now(driver, start, "cuMemHostUnregister");
        Ok(())
    }

    fn cuMemAllocManaged(driver, address: Out<Address>, bytes: usize, flags: u32) {
        address.check()?;
        let context = driver.current_context()?;
        driver.not_while_capturing()?;
        // CU_MEM_ATTACH_GLOBAL or CU_MEM_ATTACH_HOST
        if !matches!(flags, 1 | 2) {
            return Err(Code::ERROR_INVALID_VALUE);
        }
        address.give(Address(driver.new_memory(Kind::Managed, bytes, context)?))
    }

    fn cuStreamAttachMemAsync(driver, stream: Stream, address: Address, bytes: usize, flags: u32) {
        managed(driver, address)?;
        let stream = driver.stream(stream)?;
        driver.submit(stream, Action::Nothing, "cuStreamAttachMemAsync")
    }

    fn cuMemAdvise(driver, address: Address, bytes: usize, advice: c_int, device: Device) {
        managed(driver, address)
    }

    fn cuMemAdvise_v2(driver, address: Address, bytes: usize, advice: c_int, location: Location) {
        managed(driver, address)
    }

    fn cuMemPrefetchAsync(driver, address: Address, bytes: usize, device: Device, stream: Stream) {
        managed(driver, address)?;
        let stream = driver.stream(stream)?;
        driver.submit(stream, Action::Nothing, "cuMemPrefetchAsync")
    }

    fn cuMemPrefetchAsync_v2(driver, address: Address, bytes: usize, location: Location, flags: u32, stream: Stream) {
        managed(driver, address)?;
        let stream = driver.stream(stream)?;
        driver.submit(stream, Action::Nothing, "cuMemPrefetchAsync")
    }
}

fn pinned(driver: &mut Locked, address: &Out<Host>, bytes: usize, flags: u32) -> Outcome {
    address.check()?;
    let context = driver.current_context()?;
    driver.not_while_capturing()?;
    let start = driver.new_memory(Kind::Pinned, bytes, context)?;
    if let Some(found) = driver.memory.find_mut(start) {
        found.flags = flags;
    }
    address.give(Host(start as *mut _))
}

/// The function is for managed memory alone.
fn managed(driver: &mut Locked, address: Address) -> Outcome {
    driver.current_context()?;
    let known = driver
        .memory
        .find(address.0)
        .is_some_and(|found| found.kind == Kind::Managed);
    if known {
        Ok(())
    } else {
        Err(Code::ERROR_INVALID_VALUE)
    }
}
