//! [`LaunchError`]: the reason why a launch was refused.

use crate::device::Device;

/// Why a kernel can't be launched like that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// More blocks than a grid can have.
    #[error("a grid has at most {most} blocks along {axis}, got {found}")]
    Grid {
        /// `x`, `y` or `z`.
        axis: char,
        /// The requested number.
        found: u32,
        /// The limit.
        most: u32,
    },
    /// More threads along an axis than a block can have, or none.
    #[error("a block has 1 to {most} threads along {axis}, got {found}")]
    Block {
        /// `x`, `y` or `z`.
        axis: char,
        /// The requested number.
        found: u32,
        /// The limit.
        most: u32,
    },
    /// More threads than a block of this kernel can have, given the registers that each needs.
    #[error("a block of it has at most {most} threads, got {found}")]
    Threads {
        /// The requested number.
        found: u64,
        /// The limit.
        most: u32,
    },
    /// More dynamic shared memory than a block of this kernel was allowed.
    #[error(
        "a block of it has at most {most} bytes of dynamic shared memory, got {found}; `Function::allow_dynamic_shared` allows more"
    )]
    Shared {
        /// The requested amount.
        found: u32,
        /// The limit.
        most: u32,
    },
    /// More shared memory than the GPU has for a block.
    #[error(
        "a block of it has at most {most} bytes of dynamic shared memory on this GPU, got {found}"
    )]
    SharedOfGpu {
        /// The requested amount.
        found: u32,
        /// The limit.
        most: u32,
    },
    /// Too many arguments, or too few.
    #[error("takes {wanted} arguments but {found} were given")]
    Count {
        /// How many were given.
        found: usize,
        /// How many it takes.
        wanted: usize,
    },
    /// An argument of another size.
    #[error("expected {wanted} bytes for argument {index}, got {found}")]
    Size {
        /// The argument's index, from 0.
        index: usize,
        /// The size of what was given.
        found: usize,
        /// The size of what it takes.
        wanted: usize,
    },
    /// A stream of another GPU.
    #[error(
        "expected a stream of cuda:{kernel}, where the kernel is loaded, got one of cuda:{stream}"
    )]
    Stream {
        /// The stream's GPU.
        stream: i32,
        /// The kernel's GPU.
        kernel: i32,
    },
    /// A tensor in memory that the GPU doesn't reach.
    #[error(
        "argument {index} is on {device}, which cuda:{gpu} doesn't reach; send the tensor there first"
    )]
    Unreachable {
        /// The argument's index, from 0.
        index: usize,
        /// The tensor's device.
        device: Device,
        /// The kernel's GPU.
        gpu: i32,
    },
    /// A tensor that is to be written, and mustn't be.
    #[error("argument {index} is written by the kernel, but the tensor is read-only; pass a copy")]
    ReadOnly {
        /// The argument's index, from 0.
        index: usize,
    },
}
