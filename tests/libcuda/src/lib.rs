//! A test double of NVIDIA's driver library, `libcuda.so.1`, for machines without a GPU.
//!
//! Device memory is the host's, but closed to the host: code that follows a device pointer outside
//! of an operation of the double crashes. Work on streams is queued, and runs in the streams' order
//! when something needs it, and no sooner (unless [`cudaDoubleSetLate`](control::cudaDoubleSetLate)
//! says otherwise), so what isn't ordered shows as stale data; it is reported as well: as a race,
//! or as a use after a release. Fresh memory holds `0xA5`, released memory `0xDB`. No address is
//! given out twice.
//!
//! Tests control the double by the functions in [`control`], which begin with `cudaDouble`, and by
//! variables of the environment: `LIBCUDA_DOUBLE_DEVICES` (2 if it isn't set, 0 for a driver
//! without a GPU), `LIBCUDA_DOUBLE_MEMORY` (bytes of each device, 4 GiB if it isn't set),
//! `LIBCUDA_DOUBLE_LATE` (0 lets work run as soon as it may), `LIBCUDA_DOUBLE_POOLS` (0 for devices
//! without memory pools) and `LIBCUDA_DOUBLE_VERSION` (12080 if it isn't set).
#![allow(non_snake_case, reason = "the names are those of the driver")]

pub mod abi;
mod access;
mod allocation;
pub mod api;
mod arena;
mod call;
mod capture;
mod clock;
pub mod codes;
pub mod control;
mod driver;
pub mod kernels;
mod memory;
mod objects;
mod ptx;
mod record;
mod run;
mod work;
