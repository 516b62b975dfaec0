//! Devices: the double's are alike, and have the numbers of a large GPU of compute capability 9.0.

use crate::abi::structures::Uuid;
use crate::abi::{Context, Device, Handle, Out, Pool};
use crate::call::api;
use crate::codes::Code;
use crate::driver::Locked;
use crate::objects::setting;
use std::ffi::{c_char, c_int};

/// The attributes that are not 0.
const ATTRIBUTES: &[(c_int, c_int)] = &[
    (1, 1024),           // MAX_THREADS_PER_BLOCK
    (2, 1024),           // MAX_BLOCK_DIM_X
    (3, 1024),           // MAX_BLOCK_DIM_Y
    (4, 64),             // MAX_BLOCK_DIM_Z
    (5, 2_147_483_647),  // MAX_GRID_DIM_X
    (6, 65_535),         // MAX_GRID_DIM_Y
    (7, 65_535),         // MAX_GRID_DIM_Z
    (8, 49_152),         // MAX_SHARED_MEMORY_PER_BLOCK
    (9, 65_536),         // TOTAL_CONSTANT_MEMORY
    (10, 32),            // WARP_SIZE
    (11, 2_147_483_647), // MAX_PITCH
    (12, 65_536),        // MAX_REGISTERS_PER_BLOCK
    (13, 1_980_000),     // CLOCK_RATE
    (14, 512),           // TEXTURE_ALIGNMENT
    (15, 1),             // GPU_OVERLAP
    (16, 132),           // MULTIPROCESSOR_COUNT
    (19, 1),             // CAN_MAP_HOST_MEMORY
    (31, 1),             // CONCURRENT_KERNELS
    (36, 2_619_000),     // MEMORY_CLOCK_RATE
    (37, 5120),          // GLOBAL_MEMORY_BUS_WIDTH
    (38, 52_428_800),    // L2_CACHE_SIZE
    (39, 2048),          // MAX_THREADS_PER_MULTIPROCESSOR
    (40, 3),             // ASYNC_ENGINE_COUNT
    (41, 1),             // UNIFIED_ADDRESSING
    (75, 9),             // COMPUTE_CAPABILITY_MAJOR
    (78, 1),             // STREAM_PRIORITIES_SUPPORTED
    (79, 1),             // GLOBAL_L1_CACHE_SUPPORTED
    (80, 1),             // LOCAL_L1_CACHE_SUPPORTED
    (81, 233_472),       // MAX_SHARED_MEMORY_PER_MULTIPROCESSOR
    (82, 65_536),        // MAX_REGISTERS_PER_MULTIPROCESSOR
    (83, 1),             // MANAGED_MEMORY
    (89, 1),             // CONCURRENT_MANAGED_ACCESS
    (90, 1),             // COMPUTE_PREEMPTION_SUPPORTED
    (91, 1),             // CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM
    (95, 1),             // COOPERATIVE_LAUNCH
    (97, 232_448),       // MAX_SHARED_MEMORY_PER_BLOCK_OPTIN
    (99, 1),             // HOST_REGISTER_SUPPORTED
    (106, 32),           // MAX_BLOCKS_PER_MULTIPROCESSOR
    (111, 1024),         // RESERVED_SHARED_MEMORY_PER_BLOCK
    (115, 1),            // MEMORY_POOLS_SUPPORTED
];

pub(crate) fn attribute(number: c_int) -> c_int {
    ATTRIBUTES
        .iter()
        .find(|attribute| attribute.0 == number)
        .map_or(0, |attribute| attribute.1)
}

api! {
    fn cuDeviceGetCount(driver, count: Out<c_int>) {
        count.give(driver.devices.len() as c_int)
    }

    fn cuDeviceGet(driver, device: Out<Device>, ordinal: c_int) {
        driver.device(ordinal)?;
        device.give(ordinal)
    }

    fn cuDeviceGetName(driver, name: *mut c_char, length: c_int, device: Device) {
        let device = driver.device(device)?;
        put_text(name, length, &format!("Test double {device}"))
    }

    fn cuDeviceGetPCIBusId(driver, name: *mut c_char, length: c_int, device: Device) {
        let device = driver.device(device)?;
        put_text(name, length, &format!("0000:{:02x}:00.0", device + 1))
    }

    fn cuDeviceGetUuid(driver, uuid: Out<Uuid>, device: Device) {
        give_uuid(driver, &uuid, device)
    }

    fn cuDeviceGetUuid_v2(driver, uuid: Out<Uuid>, device: Device) {
        give_uuid(driver, &uuid, device)
    }

    fn cuDeviceTotalMem_v2(driver, bytes: Out<usize>, device: Device) {
        let device = driver.device(device)?;
        bytes.give(driver.devices[device].total as usize)
    }

    fn cuDeviceGetAttribute(driver, value: Out<c_int>, number: c_int, device: Device) {
        let device = driver.device(device)?;
        match number {
            ..=0 | 200.. => Err(Code::ERROR_INVALID_VALUE),
            // MEMORY_POOLS_SUPPORTED
            115 => value.give(setting("LIBCUDA_DOUBLE_POOLS").map_or(1, |pools| pools as c_int)),
            // PCI_BUS_ID
            33 => value.give(device as c_int + 1),
            _ => value.give(attribute(number)),
        }
    }

    fn cuDeviceComputeCapability(driver, major: Out<c_int>, minor: Out<c_int>, device: Device) {
        driver.device(device)?;
        major.give(attribute(75))?;
        minor.give(attribute(76))
    }

    fn cuDeviceCanAccessPeer(driver, can: Out<c_int>, device: Device, peer: Device) {
        let (device, peer) = (driver.device(device)?, driver.device(peer)?);
        can.give(c_int::from(device != peer))
    }

    fn cuDeviceGetDefaultMemPool(driver, pool: Out<Pool>, device: Device) {
        let device = driver.device(device)?;
        pool.give(Pool::of(driver.devices[device].default_pool))
    }

    fn cuDeviceGetMemPool(driver, pool: Out<Pool>, device: Device) {
        let device = driver.device(device)?;
        pool.give(Pool::of(driver.devices[device].pool))
    }

    fn cuDeviceSetMemPool(driver, device: Device, pool: Pool) {
        let (device, pool) = (driver.device(device)?, driver.known(pool)?);
        if driver.pools.live[&pool].device != device {
            return Err(Code::ERROR_INVALID_DEVICE);
        }
        driver.devices[device].pool = pool;
        Ok(())
    }

    fn cuDevicePrimaryCtxRetain(driver, context: Out<Context>, device: Device) {
        context.check()?;
        let device = driver.device(device)?;
        let id = driver.devices[device].primary;
        if let Some(state) = driver.contexts.live.get_mut(&id) {
            state.holds += 1;
        }
        context.give(Context::of(id))
    }

    fn cuDevicePrimaryCtxRelease_v2(driver, device: Device) {
        let device = driver.device(device)?;
        let id = driver.devices[device].primary;
        if driver.context(id).is_err() {
            let mistake = format!("the primary context of device {device} is released more often than retained");
            driver.record.mistake(mistake);
            return Err(Code::ERROR_INVALID_CONTEXT);
        }
        if driver.context(id)?.holds > 1 {
            driver.context(id)?.holds -= 1;
            return Ok(());
        }
        end(driver, id);
        Ok(())
    }

    fn cuDevicePrimaryCtxReset_v2(driver, device: Device) {
        let device = driver.device(device)?;
        let id = driver.devices[device].primary;
        end(driver, id);
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(driver, device: Device, flags: Out<u32>, active: Out<c_int>) {
        let device = driver.device(device)?;
        let state = &driver.contexts.live[&driver.devices[device].primary];
        flags.give_if_wanted(state.flags);
        active.give(c_int::from(state.holds > 0))
    }

    fn cuDevicePrimaryCtxSetFlags_v2(driver, device: Device, flags: u32) {
        let device = driver.device(device)?;
        let id = driver.devices[device].primary;
        if let Some(state) = driver.contexts.live.get_mut(&id) {
            state.flags = flags;
        }
        Ok(())
    }
}

/// Ends a context when its work is done.
pub(crate) fn end(driver: &mut Locked, context: u32) {
    // The context's own failure doesn't keep it alive.
    let _ = driver.synchronize_context(context);
    driver.end_context(context);
    if let Some(state) = driver.contexts.live.get_mut(&context) {
        state.holds = 0;
    }
}

fn give_uuid(driver: &Locked, uuid: &Out<Uuid>, device: Device) -> crate::codes::Outcome {
    let device = driver.device(device)?;
    let mut bytes = [0; 16];
    for (place, byte) in bytes.iter_mut().zip(b"libcuda double ") {
        *place = *byte as c_char;
    }
    bytes[15] = device as c_char;
    uuid.give(Uuid { bytes })
}

fn put_text(to: *mut c_char, length: c_int, text: &str) -> crate::codes::Outcome {
    let room = usize::try_from(length)
        .ok()
        .filter(|&room| room > 0 && !to.is_null());
    let room = room.ok_or(Code::ERROR_INVALID_VALUE)?;
    for (place, byte) in text.bytes().take(room - 1).chain([0]).enumerate() {
        // SAFETY: the caller promises `length` writable bytes, and at most `length` are written.
        unsafe { to.add(place).write(byte as c_char) };
    }
    Ok(())
}
