//! Functions that can be looked up, and that the double's devices don't support.

use crate::abi::{Address, Graph, GraphExec, In, Out};
use crate::call::api;
use crate::codes::Code;
use std::ffi::c_void;

/// `CUipcMemHandle`
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct IpcHandle {
    /// Known to the driver alone.
    pub bytes: [u8; 64],
}

api! {
    fn cuImportExternalMemory(_driver, memory: Out<usize>, description: *const c_void) {
        Err(Code::ERROR_NOT_SUPPORTED)
    }

    fn cuDestroyExternalMemory(_driver, memory: usize) {
        Err(Code::ERROR_NOT_SUPPORTED)
    }

    fn cuExternalMemoryGetMappedBuffer(_driver, address: Out<Address>, memory: usize, description: *const c_void) {
        Err(Code::ERROR_NOT_SUPPORTED)
    }

    fn cuIpcGetMemHandle(_driver, handle: Out<IpcHandle>, address: Address) {
        Err(Code::ERROR_NOT_SUPPORTED)
    }

    fn cuIpcOpenMemHandle_v2(_driver, address: Out<Address>, handle: IpcHandle, flags: u32) {
        Err(Code::ERROR_NOT_SUPPORTED)
    }

    fn cuIpcCloseMemHandle(_driver, address: Address) {
        Err(Code::ERROR_NOT_SUPPORTED)
    }

    fn cuGraphExecUpdate_v2(_driver, executable: GraphExec, graph: Graph, result: *mut c_void) {
        Err(Code::ERROR_NOT_SUPPORTED)
    }

    fn cuGetExportTable(_driver, table: Out<*const c_void>, id: In<[u8; 16]>) {
        table.give_if_wanted(std::ptr::null());
        Err(Code::ERROR_NOT_FOUND)
    }
}
