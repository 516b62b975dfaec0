//! Why a kernel can't be launched as asked: an [`Incompatibility`] for each reason.

use crate::device::Device;
use crate::error::{Incompatibility, IncompatibilityKind as Kind};

fn at_most(found: u64, most: u32, reason: String) -> Incompatibility {
    Incompatibility::new(Kind::Value, found.to_string(), format!("at most {most}"))
        .with_reason(reason)
}

fn exactly(found: usize, wanted: usize, reason: String) -> Incompatibility {
    Incompatibility::new(Kind::Value, found.to_string(), wanted.to_string()).with_reason(reason)
}

/// More blocks along an axis than a grid can have.
#[cold]
pub(super) fn grid(axis: char, found: u32, most: u32) -> Incompatibility {
    let reason = format!("a grid has at most {most} blocks along {axis}, got {found}");
    at_most(found.into(), most, reason)
}

/// More threads along an axis than a block can have, or none.
#[cold]
pub(super) fn block(axis: char, found: u32, most: u32) -> Incompatibility {
    let reason = format!("a block has 1 to {most} threads along {axis}, got {found}");
    Incompatibility::new(Kind::Value, found.to_string(), format!("1 to {most}")).with_reason(reason)
}

/// More threads than a block of this kernel can have, given the registers that each needs.
#[cold]
pub(super) fn threads(found: u64, most: u32) -> Incompatibility {
    let reason = format!("a block of it has at most {most} threads, got {found}");
    at_most(found, most, reason)
}

/// More dynamic shared memory than a block of this kernel was allowed.
#[cold]
pub(super) fn shared(found: u32, most: u32) -> Incompatibility {
    let reason =
        format!("a block of it has at most {most} bytes of dynamic shared memory, got {found}");
    at_most(found.into(), most, reason).with_remedy("`Function::allow_dynamic_shared` allows more")
}

/// More shared memory than the GPU has for a block.
#[cold]
pub(super) fn shared_of_gpu(found: u32, most: u32) -> Incompatibility {
    let reason = format!(
        "a block of it has at most {most} bytes of dynamic shared memory on this GPU, got {found}"
    );
    at_most(found.into(), most, reason)
}

/// Too many arguments, or too few.
#[cold]
pub(super) fn count(found: usize, wanted: usize) -> Incompatibility {
    let reason = format!("takes {wanted} arguments but {found} were given");
    exactly(found, wanted, reason)
}

/// An argument of another size.
#[cold]
pub(super) fn size(index: usize, found: usize, wanted: usize) -> Incompatibility {
    let reason = format!("expected {wanted} bytes for argument {index}, got {found}");
    exactly(found, wanted, reason)
}

/// A stream of another GPU than the kernel's.
#[cold]
pub(super) fn stream(stream: i32, kernel: i32) -> Incompatibility {
    let (found, wanted) = (
        format!("a stream of cuda:{stream}"),
        format!("a stream of cuda:{kernel}"),
    );
    let reason = format!("expected {wanted}, where the kernel is loaded, got one of cuda:{stream}");
    Incompatibility::new(Kind::Device, found, wanted).with_reason(reason)
}

/// A tensor in memory that the GPU doesn't reach.
#[cold]
pub(super) fn unreachable(index: usize, device: Device, gpu: i32) -> Incompatibility {
    let reason = format!("argument {index} is on {device}, which cuda:{gpu} doesn't reach");
    let wanted = format!("memory that cuda:{gpu} reaches");
    Incompatibility::new(Kind::Device, device.to_string(), wanted)
        .with_reason(reason)
        .with_remedy("send the tensor there first")
}

/// A tensor that the kernel writes, and that mustn't be written.
#[cold]
pub(super) fn read_only(index: usize) -> Incompatibility {
    let reason = format!("argument {index} is written by the kernel, but the tensor is read-only");
    Incompatibility::new(Kind::ReadOnly, "read-only", "writable")
        .with_reason(reason)
        .with_remedy("pass a copy")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_says_what_was_found_what_is_wanted_and_how_to_fix_it() {
        let shared = "a block of it has at most 1 bytes of dynamic shared memory";
        let cases = [
            (
                grid('y', 2, 1),
                "value: 2, at most 1",
                "a grid has at most 1 blocks along y, got 2",
            ),
            (
                block('z', 0, 64),
                "value: 0, 1 to 64",
                "a block has 1 to 64 threads along z, got 0",
            ),
            (
                threads(2, 1),
                "value: 2, at most 1",
                "a block of it has at most 1 threads, got 2",
            ),
            (
                self::shared(2, 1),
                "value: 2, at most 1",
                &format!("{shared}, got 2; `Function::allow_dynamic_shared` allows more"),
            ),
            (
                shared_of_gpu(2, 1),
                "value: 2, at most 1",
                &format!("{shared} on this GPU, got 2"),
            ),
            (
                count(2, 1),
                "value: 2, 1",
                "takes 1 arguments but 2 were given",
            ),
            (
                size(0, 8, 4),
                "value: 8, 4",
                "expected 4 bytes for argument 0, got 8",
            ),
            (
                stream(1, 0),
                "device: a stream of cuda:1, a stream of cuda:0",
                "expected a stream of cuda:0, where the kernel is loaded, got one of cuda:1",
            ),
            (
                unreachable(2, Device::CPU, 0),
                "device: cpu, memory that cuda:0 reaches",
                "argument 2 is on cpu, which cuda:0 doesn't reach; send the tensor there first",
            ),
            (
                read_only(3),
                "readonly: read-only, writable",
                "argument 3 is written by the kernel, but the tensor is read-only; pass a copy",
            ),
        ];
        for (error, fields, text) in cases {
            assert_eq!(error.to_string(), text);
            let [found, wanted] =
                [&error.found, &error.wanted].map(|field| field.as_deref().unwrap());
            assert_eq!(format!("{}: {found}, {wanted}", error.kind), fields);
            assert_eq!(error.remedy.is_some(), text.contains("; "), "{text}");
        }
    }
}
