//! [`Untyped`] and [`UntypedMut`]: arguments of kernels that are for elements of several types, or
//! on devices.

use super::{Parameter, Wants, first, sealed};
use crate::compute::copy_items;
use crate::dtype::Element;
use crate::error::Error;
use crate::kernel::error::Failure;
use crate::kernel::operand::Operand;
use crate::view::{View, ViewMut};
use std::ops::Deref;

/// Any elements, anywhere, to be read.
#[derive(Debug, Clone, Copy)]
pub struct Untyped<'a>(&'a Operand<'a>);

/// Writable elements of any type on any device; access to them as a type is unsafe.
#[derive(Debug)]
pub struct UntypedMut<'a>(&'a Operand<'a>);

/// Any elements, anywhere, to be read; the op may allow that a result is in exactly their place.
#[derive(Debug, Clone, Copy)]
pub struct DeviceSource<'a>(&'a Operand<'a>);

/// Any elements, anywhere, to be written; the op may allow that an input is in exactly their place.
#[derive(Debug)]
pub struct DeviceTarget<'a>(&'a Operand<'a>);

macro_rules! untyped {
    ($Name:ident, $writes:literal, $may_coincide:literal) => {
        impl<'a> Deref for $Name<'a> {
            type Target = Operand<'a>;

            fn deref(&self) -> &Operand<'a> {
                self.0
            }
        }

        impl sealed::Sealed for $Name<'_> {}
        impl Parameter for $Name<'_> {
            type Item<'a> = $Name<'a>;
            const WANTS: Wants = Wants {
                dtype: None,
                rank: None,
                row_major: false,
                writes: $writes,
                may_coincide: $may_coincide,
                on_host: false,
                alignment: 1,
                any_bits: true,
                is_optional: false,
                is_variadic: false,
            };

            #[inline]
            unsafe fn take<'a>(operand: &'a Operand<'a>, _: &'a [Operand<'a>]) -> $Name<'a> {
                $Name(operand)
            }
        }
    };
}

untyped!(Untyped, false, false);
untyped!(UntypedMut, true, false);
untyped!(DeviceSource, false, true);
untyped!(DeviceTarget, true, true);

impl<'a> Untyped<'a> {
    /// Returns a view of the elements as `T`s, if that is their type and the CPU can access them.
    pub fn view<T: Element>(&self) -> Option<View<'a, T>> {
        let fits = can_view::<T>(self.0);
        // SAFETY: the frame checked that the operand may be read; type, device and alignment were
        // just checked.
        fits.then(|| unsafe { View::from_raw(first(self.0), self.0.layout) })
    }
}

impl UntypedMut<'_> {
    /// Returns a writable view of the elements as `T`s, if that is their type and the CPU can
    /// access them.
    pub fn view_mut<T: Element>(&mut self) -> Option<ViewMut<'_, T>> {
        let fits = can_view::<T>(self.0);
        // SAFETY: the elements are `T`s that the CPU reaches, aligned; the frame gave this argument
        // alone the right to write them, and it is borrowed.
        fits.then(|| unsafe { ViewMut::from_raw(first(self.0), self.0.layout) })
    }

    /// Copies the elements of a tensor of the same shape and dtype, of any dtype and alignment.
    ///
    /// # Errors
    ///
    /// When shapes or types differ, the elements aren't whole bytes, or the CPU doesn't reach them.
    pub fn copy_from(&mut self, from: &Untyped<'_>) -> Result<(), Failure> {
        let (from, to) = (from.0, self.0);
        if from.shape() != to.shape() {
            let (found, wanted) = (from.shape(), to.shape());
            return Err(format!("elements of shape {found:?} have no places in {wanted:?}").into());
        }
        if from.dtype != to.dtype {
            let (found, wanted) = (from.dtype, to.dtype);
            return Err(Error::DTypeMismatch { found, wanted }.into());
        }
        for device in [from.device, to.device] {
            if !device.is_host_accessible() {
                return Err(Error::NotOnHost { device }.into());
            }
        }
        let Some(bytes) = to.dtype.item_bytes() else {
            return Err(format!("elements of {} aren't whole bytes", to.dtype).into());
        };
        // SAFETY: the frame's promise to both arguments: their elements are there, and what is
        // written no other code has. Those of whole bytes are never padded.
        unsafe { copy_items((from.first, from.layout), (to.first, to.layout), bytes) };
        Ok(())
    }
}

fn can_view<T: Element>(operand: &Operand<'_>) -> bool {
    operand.dtype == T::DTYPE
        && operand.device.is_host_accessible()
        && (operand.layout.is_empty() || operand.first.cast::<T>().is_aligned())
        && (T::ANY_BITS || {
            // SAFETY: the frame's promise, for elements of one byte, of which every pattern is a
            // `u8`.
            let bytes = unsafe { View::<u8>::from_raw(first(operand), operand.layout) };
            bytes.find_invalid_bool().is_none()
        })
}
