//! [`Allocated`]: results of a call in memory of a host's allocator.

use crate::device::Device;
use crate::dtype::DType;
use crate::kernel::{CallHost, Failure, Operand};
use crate::layout::{Layout, LayoutRef};
use crate::storage::Contents;
use smallvec::SmallVec;
use std::ptr;

/// A host's allocator, for the results of one call, in order.
///
/// # Safety
///
/// At the address that it returns are elements of the layout and the dtype, with any bits, until
/// the allocator is dropped. No other code uses them.
pub(super) unsafe trait Allocator {
    /// Allocates a result on the CPU. The layout is row-major.
    fn allocate(&mut self, layout: LayoutRef<'_>, dtype: DType) -> Result<*mut u8, Failure>;

    /// Allocates a result as [`allocate`](Self::allocate) does, or returns the memory of one of
    /// these inputs, a bit for each, if nothing else uses it.
    fn allocate_or_replace(
        &mut self,
        _inputs: u32,
        layout: LayoutRef<'_>,
        dtype: DType,
    ) -> Result<*mut u8, Failure> {
        self.allocate(layout, dtype)
    }
}

/// The results of a call, which it keeps.
pub(super) struct Allocated<A> {
    allocator: A,
    /// Layouts of results, by addresses that stay.
    layouts: SmallVec<[Box<Layout>; 1]>,
}

impl<A> Allocated<A> {
    #[inline]
    pub(super) fn new(allocator: A) -> Self {
        Self {
            allocator,
            layouts: SmallVec::new(),
        }
    }

    /// Returns the allocator, with what it has allocated.
    #[inline]
    pub(super) fn into_allocator(self) -> A {
        self.allocator
    }
}

// SAFETY: what the allocator returns is there until it is dropped, and no other code uses it.
// Layouts are kept as long, at addresses that stay.
unsafe impl<A: Allocator> CallHost for Allocated<A> {
    fn make<'a>(
        &mut self,
        shape: &[usize],
        dtype: DType,
        device: Device,
        contents: Contents,
    ) -> Result<Operand<'a>, Failure> {
        if device != Device::CPU {
            return Err(format!("expected a result on the CPU, got {device}").into());
        }
        let layout = Box::new(Layout::contiguous(shape)?);
        let first = self.allocate(Layout::as_ref(&layout), dtype, contents, 0)?;
        // SAFETY: the layout is kept until the host is dropped, at the same address.
        let kept: &'a Layout = unsafe { &*ptr::from_ref(&*layout) };
        self.layouts.push(layout);
        // SAFETY: the elements are zeros or, if any bits are valid ones, those that the allocator
        // left; they are kept until the host is dropped, and no other code uses them.
        Ok(unsafe { Operand::from_raw(first, kept.as_ref(), dtype, device, false, true) })
    }

    #[inline]
    fn allocate(
        &mut self,
        layout: LayoutRef<'_>,
        dtype: DType,
        contents: Contents,
        replaceable: u32,
    ) -> Result<*mut u8, Failure> {
        let allocator = &mut self.allocator;
        let first = match replaceable {
            0 => allocator.allocate(layout, dtype),
            inputs => allocator.allocate_or_replace(inputs, layout, dtype),
        }?;
        if contents == Contents::Zeros && !layout.is_empty() {
            // Elements below a byte are packed.
            let nbytes = dtype.packed_bytes(layout.len());
            let nbytes = nbytes.ok_or("the result has more bytes than there are addresses")?;
            // SAFETY: the result is new, row-major, and has as many bytes.
            unsafe { first.write_bytes(0, nbytes) };
        }
        Ok(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bytes that are all ones, of which results take what they need from the first on.
    struct Ones(Vec<u8>);

    // SAFETY: the bytes are enough for the results of the tests, stay where they are, and are read
    // after the host is done.
    unsafe impl Allocator for Ones {
        fn allocate(&mut self, layout: LayoutRef<'_>, dtype: DType) -> Result<*mut u8, Failure> {
            assert!(layout.is_contiguous());
            assert!(dtype.packed_bytes(layout.len()).unwrap() <= self.0.len());
            Ok(self.0.as_mut_ptr())
        }
    }

    fn made(shape: &[usize], dtype: DType, contents: Contents) -> Vec<u8> {
        let mut host = Allocated::new(Ones(vec![0xff; 16]));
        let operand = host.make(shape, dtype, Device::CPU, contents).unwrap();
        assert_eq!(operand.shape(), shape);
        assert_eq!(operand.dtype(), dtype);
        host.into_allocator().0
    }

    fn zeros(shape: &[usize], dtype: DType) -> usize {
        let bytes = made(shape, dtype, Contents::Zeros);
        let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
        assert!(bytes[zeros..].iter().all(|byte| *byte == 0xff));
        zeros
    }

    #[test]
    fn bytes_of_the_result_alone_are_cleared() {
        assert_eq!(zeros(&[3], DType::F32), 12);
        assert_eq!(zeros(&[2, 3], DType::I4), 3);
        assert_eq!(zeros(&[3], DType::I4), 2);
        assert_eq!(zeros(&[5], DType::U1), 1);
        assert_eq!(zeros(&[], DType::BOOL), 1);
        assert_eq!(zeros(&[0, 7], DType::F64), 0);
    }

    #[test]
    fn arbitrary_contents_stay() {
        assert_eq!(made(&[2], DType::F64, Contents::Arbitrary), [0xff; 16]);
    }

    #[test]
    fn result_on_another_device_is_refused() {
        let mut host = Allocated::new(Ones(Vec::new()));
        let gpu = Device::new(crate::device::DeviceKind::Cuda, 1);
        let made = host.make(&[1], DType::F32, gpu, Contents::Zeros);
        let error = made.expect_err("there is no such memory");
        assert_eq!(
            error.to_string(),
            "expected a result on the CPU, got cuda:1"
        );
    }
}
