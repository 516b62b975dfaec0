//! [`Algorithm`]: what was chosen, and what for.

use crate::objects::Preference;
use crate::status;
use std::ffi::{c_int, c_void};

/// An algorithm, in the room that the library has for one.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Algorithm {
    known_by: u64,
    workspace: u64,
    alignments: [u32; 4],
    unused: [u64; 4],
}

const KNOWN_BY: u64 = 0x00a1_6011;

/// `cublasLtMatmulHeuristicResult_t`
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Proposal {
    algorithm: Algorithm,
    workspace: usize,
    state: c_int,
    waves: f32,
    reserved: [c_int; 4],
}

impl Proposal {
    /// The fastest one needs so much workspace, and there is one that needs none.
    pub(crate) fn choose(preference: &Preference, fastest_needs: u64, is_bad: bool) -> Self {
        let workspace = match fastest_needs <= preference.workspace {
            true => fastest_needs,
            false => 0,
        };
        let algorithm = Algorithm {
            known_by: if is_bad { 0 } else { KNOWN_BY },
            workspace,
            alignments: preference.alignments,
            unused: [0; 4],
        };
        Self {
            algorithm,
            workspace: workspace as usize,
            state: if is_bad { status::NOT_SUPPORTED } else { 0 },
            waves: 1.0,
            reserved: [0; 4],
        }
    }
}

impl Algorithm {
    /// Whether it is for these addresses and this workspace.
    pub(crate) fn check(
        &self,
        addresses: [*const c_void; 4],
        workspace: *const c_void,
        bytes: usize,
    ) -> Result<(), String> {
        if self.known_by != KNOWN_BY {
            return Err("an algorithm was never chosen".to_owned());
        }
        if bytes < self.workspace as usize || (bytes > 0 && workspace.is_null()) {
            return Err(format!(
                "a workspace has {bytes} bytes at {workspace:?}, and {} are needed",
                self.workspace
            ));
        }
        for (address, alignment) in addresses.into_iter().zip(self.alignments) {
            if address.is_null() || !address.addr().is_multiple_of(alignment as usize) {
                return Err(format!("{address:?} isn't a multiple of {alignment}"));
            }
        }
        Ok(())
    }
}
