//! Contexts, and the stack of current ones that each thread has.

use crate::abi::{Context, Device, Handle, Out};
use crate::api::device::end;
use crate::call::api;
use crate::codes::{Code, Outcome};
use crate::driver::{Locked, thread};
use std::ffi::{c_int, c_void};

api! {
    fn cuCtxCreate_v2(driver, context: Out<Context>, flags: u32, device: Device) {
        create(driver, &context, flags, device)
    }

    fn cuCtxCreate_v3(driver, context: Out<Context>, affinity: *mut c_void, count: c_int, flags: u32, device: Device) {
        create(driver, &context, flags, device)
    }

    fn cuCtxCreate_v4(driver, context: Out<Context>, parameters: *mut c_void, flags: u32, device: Device) {
        create(driver, &context, flags, device)
    }

    fn cuCtxDestroy_v2(driver, context: Context) {
        let id = driver.named_context(context)?;
        if driver.context(id)?.primary {
            driver.record.mistake(format!("context {id} is a primary one, and is destroyed instead of released"));
            return Err(Code::ERROR_INVALID_CONTEXT);
        }
        end(driver, id);
        if let Some(stack) = driver.current.get_mut(&thread())
            && stack.last() == Some(&id)
        {
            stack.pop();
        }
        Ok(())
    }

    fn cuCtxGetCurrent(driver, context: Out<Context>) {
        let current = driver.current.get(&thread()).and_then(|stack| stack.last().copied());
        context.give(current.map_or(Context(0), Context::of))
    }

    fn cuCtxSetCurrent(driver, context: Context) {
        let new = if context.value() == 0 { None } else { Some(driver.named_context(context)?) };
        let stack = driver.current.entry(thread()).or_default();
        stack.pop();
        stack.extend(new);
        Ok(())
    }

    fn cuCtxPushCurrent_v2(driver, context: Context) {
        let id = driver.named_context(context)?;
        driver.current.entry(thread()).or_default().push(id);
        Ok(())
    }

    fn cuCtxPopCurrent_v2(driver, context: Out<Context>) {
        let popped = driver.current.entry(thread()).or_default().pop().ok_or(Code::ERROR_INVALID_CONTEXT)?;
        context.give_if_wanted(Context::of(popped));
        Ok(())
    }

    fn cuCtxGetDevice(driver, device: Out<Device>) {
        let context = driver.current_context()?;
        device.give(driver.device_of(context) as Device)
    }

    fn cuCtxGetFlags(driver, flags: Out<u32>) {
        let context = driver.current_context()?;
        flags.give(driver.context(context)?.flags)
    }

    fn cuCtxSetFlags(driver, flags: u32) {
        let context = driver.current_context()?;
        driver.context(context)?.flags = flags;
        Ok(())
    }

    fn cuCtxGetId(driver, context: Context, id: Out<u64>) {
        let context = if context.value() == 0 { driver.current_context()? } else { driver.named_context(context)? };
        id.give(u64::from(context))
    }

    fn cuCtxGetApiVersion(driver, context: Context, version: Out<u32>) {
        if context.value() != 0 {
            driver.named_context(context)?;
        }
        version.give(3020)
    }

    fn cuCtxSynchronize(driver) {
        let context = driver.current_context()?;
        driver.not_while_capturing()?;
        driver.synchronize_context(context)
    }

    fn cuCtxGetLimit(driver, value: Out<usize>, limit: u32) {
        let context = driver.current_context()?;
        let known = driver.context(context)?.limits.get(&limit).copied();
        value.give(known.ok_or(Code::ERROR_UNSUPPORTED_LIMIT)?)
    }

    fn cuCtxSetLimit(driver, limit: u32, value: usize) {
        let context = driver.current_context()?;
        let known = driver.context(context)?.limits.get_mut(&limit).ok_or(Code::ERROR_UNSUPPORTED_LIMIT)?;
        *known = value;
        Ok(())
    }

    fn cuCtxGetCacheConfig(driver, config: Out<c_int>) {
        let context = driver.current_context()?;
        config.give(driver.context(context)?.cache_config)
    }

    fn cuCtxSetCacheConfig(driver, config: c_int) {
        let context = driver.current_context()?;
        driver.context(context)?.cache_config = config;
        Ok(())
    }

    fn cuCtxGetStreamPriorityRange(driver, least: Out<c_int>, greatest: Out<c_int>) {
        driver.current_context()?;
        least.give_if_wanted(0);
        greatest.give_if_wanted(GREATEST_PRIORITY);
        Ok(())
    }

    fn cuCtxEnablePeerAccess(driver, peer: Context, flags: u32) {
        let pair = peers(driver, peer)?;
        if driver.peers.insert(pair) { Ok(()) } else { Err(Code::ERROR_PEER_ACCESS_ALREADY_ENABLED) }
    }

    fn cuCtxDisablePeerAccess(driver, peer: Context) {
        let pair = peers(driver, peer)?;
        if driver.peers.remove(&pair) { Ok(()) } else { Err(Code::ERROR_PEER_ACCESS_NOT_ENABLED) }
    }
}

/// Smaller numbers are greater priorities.
pub(crate) const GREATEST_PRIORITY: c_int = -5;

fn create(driver: &mut Locked, context: &Out<Context>, flags: u32, device: Device) -> Outcome {
    context.check()?;
    let device = driver.device(device)?;
    let id = driver.add_context(device, false);
    driver.context(id)?.flags = flags;
    driver.current.entry(thread()).or_default().push(id);
    context.give(Context::of(id))
}

/// The current device, and that of another context.
fn peers(driver: &mut Locked, peer: Context) -> Outcome<(usize, usize)> {
    let (context, peer) = (driver.current_context()?, driver.named_context(peer)?);
    let pair = (driver.device_of(context), driver.device_of(peer));
    if pair.0 == pair.1 {
        Err(Code::ERROR_PEER_ACCESS_UNSUPPORTED)
    } else {
        Ok(pair)
    }
}
