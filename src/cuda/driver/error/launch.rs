//! [`LaunchError`]: the reason why a launch was refused.

use crate::device::Device;

/// Why a kernel can't be launched like that.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// More blocks than a grid can have.
    #[error("a grid has at most {most} blocks along {axis}, and {found} were asked for")]
    Grid {
        /// `x`, `y` or `z`.
        axis: char,
        /// How many were asked for.
        found: u32,
        /// How many there can be.
        most: u32,
    },
    /// More threads along an axis than a block can have, or none.
    #[error("a block has 1 to {most} threads along {axis}, and {found} were asked for")]
    Block {
        /// `x`, `y` or `z`.
        axis: char,
        /// How many were asked for.
        found: u32,
        /// How many there can be.
        most: u32,
    },
    /// More threads than a block of this kernel can have, as each needs so many registers.
    #[error("a block of it has at most {most} threads, and {found} were asked for")]
    Threads {
        /// How many were asked for.
        found: u64,
        /// How many there can be.
        most: u32,
    },
    /// More dynamic shared memory than a block of this kernel was allowed.
    #[error(
        "a block of it has at most {most} bytes of dynamic shared memory, and {found} were asked for; `Function::allow_dynamic_shared` allows more"
    )]
    Shared {
        /// How much was asked for.
        found: u32,
        /// How much is allowed.
        most: u32,
    },
    /// More shared memory than the GPU has for a block.
    #[error(
        "a block of it has at most {most} bytes of dynamic shared memory on this GPU, and {found} were asked for"
    )]
    SharedOfGpu {
        /// How much was asked for.
        found: u32,
        /// How much there can be.
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
        /// Which argument, counted from 0.
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
        /// Which argument, counted from 0.
        index: usize,
        /// Where the tensor is.
        device: Device,
        /// The kernel's GPU.
        gpu: i32,
    },
    /// A tensor that is to be written, and mustn't be.
    #[error("argument {index} is written by the kernel, but the tensor is read-only; pass a copy")]
    ReadOnly {
        /// Which argument, counted from 0.
        index: usize,
    },
}
