//! Pools of stream-ordered memory.

use crate::abi::structures::{AccessDescription, Location, PoolProps};
use crate::abi::{Handle, In, Out, Pool};
use crate::call::api;
use crate::codes::{Code, Outcome};
use crate::objects::PoolState;
use std::ffi::{c_int, c_void};

/// The attributes up to this one are C's `int`, the others `cuuint64_t`.
const LAST_INT: c_int = 3;
const USED_CURRENT: c_int = 7;
const USED_HIGH: c_int = 8;
const READ_WRITE: c_int = 3;

api! {
    fn cuMemPoolCreate(driver, pool: Out<Pool>, properties: In<PoolProps>) {
        pool.check()?;
        driver.not_while_capturing()?;
        let device = driver.device(properties.read()?.location.id)?;
        pool.give(Pool::of(driver.pools.add(PoolState::new(device))))
    }

    fn cuMemPoolDestroy(driver, pool: Pool) {
        let id = driver.known(pool)?;
        if driver.devices.iter().any(|device| device.default_pool == id) {
            driver.record.mistake(format!("pool {id} is a device's own, and can't be destroyed"));
            return Err(Code::ERROR_INVALID_VALUE);
        }
        let used = driver.pools.live[&id].used;
        if used > 0 {
            driver.record.mistake(format!("pool {id} is destroyed while {used} bytes of it are used"));
        }
        let device = driver.take(pool)?.device;
        let state = &mut driver.devices[device];
        if state.pool == id {
            state.pool = state.default_pool;
        }
        Ok(())
    }

    fn cuMemPoolGetAttribute(driver, pool: Pool, attribute: c_int, value: *mut c_void) {
        let state = driver.get(pool)?;
        let number = match attribute {
            // What is reserved is what is used: the double keeps nothing back.
            5 | USED_CURRENT => state.used,
            6 | USED_HIGH => state.used_high,
            _ => *state.attributes.get(&attribute).ok_or(Code::ERROR_INVALID_VALUE)?,
        };
        if attribute <= LAST_INT {
            Out(value.cast::<c_int>()).give(number as c_int)
        } else {
            Out(value.cast::<u64>()).give(number)
        }
    }

    fn cuMemPoolSetAttribute(driver, pool: Pool, attribute: c_int, value: *mut c_void) {
        driver.not_while_capturing()?;
        let state = driver.get(pool)?;
        let number = read_attribute(attribute, value)?;
        match attribute {
            1..=4 => drop(state.attributes.insert(attribute, number)),
            // The high marks can be set back.
            6 | USED_HIGH if number == 0 => state.used_high = state.used,
            _ => return Err(Code::ERROR_INVALID_VALUE),
        }
        Ok(())
    }

    fn cuMemPoolTrimTo(driver, pool: Pool, keep: usize) {
        driver.not_while_capturing()?;
        driver.known(pool).map(|_| ())
    }

    fn cuMemPoolSetAccess(driver, pool: Pool, descriptions: In<AccessDescription>, count: usize) {
        for place in 0..count {
            let description = In(descriptions.0.wrapping_add(place)).read()?;
            let device = driver.device(description.location.id)?;
            let state = driver.get(pool)?;
            if description.flags == READ_WRITE {
                state.shared_with.insert(device);
            } else {
                state.shared_with.remove(&device);
            }
        }
        Ok(())
    }

    fn cuMemPoolGetAccess(driver, flags: Out<c_int>, pool: Pool, location: In<Location>) {
        let device = driver.device(location.read()?.id)?;
        let state = driver.get(pool)?;
        let may = state.device == device || state.shared_with.contains(&device);
        flags.give(if may { READ_WRITE } else { 0 })
    }
}

fn read_attribute(attribute: c_int, value: *mut c_void) -> Outcome<u64> {
    if attribute <= LAST_INT {
        In(value.cast::<c_int>().cast_const())
            .read()
            .map(|number| number as u64)
    } else {
        In(value.cast::<u64>().cast_const()).read()
    }
}
