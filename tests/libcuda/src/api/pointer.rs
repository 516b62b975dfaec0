//! Attributes of pointers.

use crate::abi::{Address, Context, Handle, Host, In, Out};
use crate::allocation::Kind;
use crate::call::api;
use crate::codes::{Code, Outcome};
use crate::driver::Locked;
use std::ffi::{c_int, c_void};

const DEVICE_ORDINAL: c_int = 9;

api! {
    fn cuPointerGetAttribute(driver, data: *mut c_void, attribute: c_int, address: Address) {
        attribute_of(driver, data, attribute, address)
    }

    fn cuPointerGetAttributes(
        driver,
        count: u32,
        attributes: In<c_int>,
        data: In<*mut c_void>,
        address: Address,
    ) {
        for place in 0..count as usize {
            let attribute = In(attributes.0.wrapping_add(place)).read()?;
            let data = In(data.0.wrapping_add(place)).read()?;
            // What isn't known is left 0, except for the device, which is then -2.
            if attribute_of(driver, data, attribute, address).is_err() {
                give_nothing(attribute, data)?;
            }
        }
        Ok(())
    }

    fn cuPointerSetAttribute(driver, value: In<c_int>, attribute: c_int, address: Address) {
        let known = driver.memory.find(address.0).is_some();
        // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
        if known && attribute == 6 { value.read().map(|_| ()) } else { Err(Code::ERROR_INVALID_VALUE) }
    }
}

fn attribute_of(
    driver: &mut Locked,
    data: *mut c_void,
    attribute: c_int,
    address: Address,
) -> Outcome {
    let words = driver.memory.words(address.0);
    let found = driver
        .memory
        .find(address.0)
        .ok_or(Code::ERROR_INVALID_VALUE)?;
    if let Some(release) = &found.released {
        let mistake = format!(
            "cuPointerGetAttribute asks for {words}, which was freed by {}",
            release.words
        );
        driver.record.mistake(mistake);
        return Err(Code::ERROR_INVALID_VALUE);
    }
    let (kind, number) = (found.kind, |number: usize| {
        Out(data.cast::<usize>()).give(number)
    });
    let flag = |flag: bool| Out(data.cast::<u8>()).give(u8::from(flag));
    match attribute {
        // CONTEXT: memory of pools belongs to none.
        1 => Out(data.cast::<Context>()).give(if kind.pooled() {
            Context(0)
        } else {
            Context::of(found.context)
        }),
        // MEMORY_TYPE: host or device
        2 => {
            let found = if matches!(kind, Kind::Pinned | Kind::Registered) {
                1
            } else {
                2
            };
            let found = driver.record.written("cuPointerGetAttributes", found);
            Out(data.cast::<c_int>()).give(found)
        }
        // DEVICE_POINTER
        3 => Out(data.cast::<Address>()).give(address),
        // HOST_POINTER
        4 if kind.closed() => Err(Code::ERROR_INVALID_VALUE),
        4 => Out(data.cast::<Host>()).give(Host(address.0 as *mut c_void)),
        // SYNC_MEMOPS
        6 => flag(false),
        // BUFFER_ID
        7 => Out(data.cast::<u64>()).give(found.id),
        // IS_MANAGED
        8 => flag(kind == Kind::Managed),
        DEVICE_ORDINAL => Out(data.cast::<c_int>()).give(found.device as c_int),
        // IS_LEGACY_CUDA_IPC_CAPABLE
        10 => flag(kind == Kind::Device),
        // RANGE_START_ADDR
        11 => number(found.start as usize),
        // RANGE_SIZE
        12 => number(found.size as usize),
        // MAPPED
        13 => flag(true),
        // ALLOWED_HANDLE_TYPES
        14 => Out(data.cast::<u64>()).give(0),
        // ACCESS_FLAGS: read and write
        16 => Out(data.cast::<u32>()).give(3),
        // MEMPOOL_HANDLE
        17 => number(driver.pool_of(address.0).value()),
        _ => Err(Code::ERROR_INVALID_VALUE),
    }
}

fn give_nothing(attribute: c_int, data: *mut c_void) -> Outcome {
    match attribute {
        DEVICE_ORDINAL => Out(data.cast::<c_int>()).give(-2),
        2 | 16 => Out(data.cast::<u32>()).give(0),
        6 | 8 | 10 | 13 => Out(data.cast::<u8>()).give(0),
        _ => Out(data.cast::<u64>()).give(0),
    }
}
