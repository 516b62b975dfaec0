//! Start, versions, the names of codes, and addresses of functions.

use crate::abi::{Out, Text};
use crate::call::api;
use crate::codes::Code;
use crate::objects::setting;
use std::ffi::c_char;

api! {
    fn cuInit(driver, flags: u32) {
        driver.start();
        match (flags, driver.devices.len()) {
            (0, 0) => Err(Code::ERROR_NO_DEVICE),
            (0, _) => Ok(()),
            _ => Err(Code::ERROR_INVALID_VALUE),
        }
    }

    fn cuDriverGetVersion(_driver, version: Out<i32>) {
        version.give(setting("LIBCUDA_DOUBLE_VERSION").map_or(12_080, |version| version as i32))
    }

    fn cuGetErrorName(_driver, error: i32, text: Out<*const c_char>) {
        text.give(Code(error).name().map_or(std::ptr::null(), |name| name.as_ptr()))?;
        Code(error).name().map(|_| ()).ok_or(Code::ERROR_INVALID_VALUE)
    }

    fn cuGetErrorString(_driver, error: i32, text: Out<*const c_char>) {
        text.give(Code(error).text().map_or(std::ptr::null(), |text| text.as_ptr()))?;
        Code(error).text().map(|_| ()).ok_or(Code::ERROR_INVALID_VALUE)
    }

    fn cuGetProcAddress_v2(_driver, symbol: Text, function: Out<usize>, version: i32, flags: u64, status: Out<i32>) {
        let found = find(&symbol.read()?);
        function.give(found.unwrap_or(0))?;
        // CU_GET_PROC_ADDRESS_SUCCESS or _SYMBOL_NOT_FOUND; a call with a status returns no
        // error besides.
        status.give_if_wanted(i32::from(found.is_none()));
        let known = found.is_some() || !status.0.is_null();
        if known { Ok(()) } else { Err(Code::ERROR_NOT_FOUND) }
    }

    fn cuGetProcAddress(_driver, symbol: Text, function: Out<usize>, version: i32, flags: u64) {
        let found = find(&symbol.read()?);
        function.give(found.unwrap_or(0))?;
        found.map(|_| ()).ok_or(Code::ERROR_NOT_FOUND)
    }

    fn cuProfilerStart(_driver) {
        Ok(())
    }

    fn cuProfilerStop(_driver) {
        Ok(())
    }
}

/// The newest form of a function, which programs ask for by the name without its version.
fn find(name: &str) -> Option<usize> {
    let functions = crate::api::functions();
    let address = |name: &str| {
        functions
            .iter()
            .find(|function| function.0 == name)
            .map(|function| function.1)
    };
    let versions = [format!("{name}_v3"), format!("{name}_v2"), name.to_owned()];
    versions.iter().find_map(|version| address(version))
}
