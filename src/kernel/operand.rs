//! [`Operand`]: a tensor as an argument of a call.

use crate::device::Device;
use crate::dtype::{DType, Element};
use crate::error::Error;
use crate::layout::{LayoutRef, Region};
use crate::storage::Storage;
use crate::tensor::Tensor;
use crate::view::{View, ViewMut};
use std::ops::Range;

/// A tensor as an argument of a kernel call: address, layout, dtype, device, and access.
///
/// It borrows the tensor. It can't be cloned, because a writable operand is an exclusive borrow.
#[derive(Debug)]
pub struct Operand<'a> {
    pub(super) first: *mut u8,
    pub(super) layout: LayoutRef<'a>,
    pub(super) dtype: DType,
    pub(super) device: Device,
    pub(super) padded: bool,
    pub(super) writable: bool,
    /// The addresses of the bytes that the elements touch; all there are where that isn't known.
    pub(super) bytes: Range<usize>,
    /// Keeper of the memory, if it is a tensor.
    pub(super) storage: Option<&'a Storage>,
}

impl<'a> Operand<'a> {
    /// The placeholder of a result that the call allocates, and of an input that was left out.
    pub(crate) const ABSENT: Self = Self {
        first: std::ptr::null_mut(),
        layout: LayoutRef::SCALAR,
        dtype: DType::from_number(0),
        device: Device::CPU,
        padded: false,
        writable: false,
        bytes: 0..0,
        storage: None,
    };

    /// Returns whether this stands for an optional input that the call left out.
    #[inline]
    pub fn is_absent(&self) -> bool {
        // No dtype has this number.
        self.dtype.number() == 0
    }

    /// Borrows a tensor for reading.
    #[inline]
    pub fn read(tensor: &'a Tensor) -> Self {
        let (first, layout) = (tensor.data_mut(), tensor.layout());
        let (dtype, device, padded) = (tensor.dtype(), tensor.device(), tensor.is_padded());
        // SAFETY: the tensor is borrowed, which keeps its memory alive and unwritten.
        let mut operand = unsafe { Self::from_raw(first, layout, dtype, device, padded, false) };
        operand.keep_by(tensor.storage());
        operand
    }

    /// Borrows a tensor for writing and reading.
    ///
    /// # Errors
    ///
    /// When it is read-only, or other code may be using it.
    pub fn write(tensor: &'a mut Tensor) -> Result<Self, Error> {
        tensor.check_exclusive()?;
        Ok(Self {
            writable: true,
            ..Self::read(tensor)
        })
    }

    /// Borrows a tensor that was just made, for writing.
    ///
    /// # Safety
    ///
    /// No other code uses the tensor, and it is kept for as long as the operand is in use. The
    /// handle may be moved meanwhile.
    #[inline]
    pub(crate) unsafe fn of_new(tensor: &Tensor) -> Self {
        // SAFETY: the tensor is kept for as long as the operand is in use, and all that is borrowed
        // of it lies behind the handle.
        let tensor: &'a Tensor = unsafe { &*std::ptr::from_ref(tensor) };
        Self {
            writable: true,
            ..Self::read(tensor)
        }
    }

    /// Creates an operand over memory that the caller keeps alive.
    ///
    /// # Safety
    ///
    /// While `'a` lasts, every element that the layout leads to is there, and a value of its type,
    /// if that has values that aren't; no code writes it, and where `writable` is true no other
    /// code reads it either, but for other operands of the same call.
    #[inline]
    pub unsafe fn from_raw(
        first: *mut u8,
        layout: LayoutRef<'a>,
        dtype: DType,
        device: Device,
        padded: bool,
        writable: bool,
    ) -> Self {
        let bytes = bytes_touched(first, layout, dtype, device, padded);
        // SAFETY: elements, writing and aliases are as `from_known` requires, which is what this
        // function requires; the bytes were just computed from the same layout.
        unsafe { Self::from_known(first, layout, (dtype, device, padded), writable, bytes) }
    }

    /// Creates an operand like [`from_raw`](Self::from_raw), with the bytes that the elements
    /// touch.
    ///
    /// # Safety
    ///
    /// The same as for [`from_raw`](Self::from_raw), and that is true.
    #[inline(always)]
    pub(crate) unsafe fn from_known(
        first: *mut u8,
        layout: LayoutRef<'a>,
        (dtype, device, padded): (DType, Device, bool),
        writable: bool,
        bytes: Range<usize>,
    ) -> Self {
        Self {
            first,
            layout,
            dtype,
            device,
            padded,
            writable,
            bytes,
            storage: None,
        }
    }

    /// Adds the storage that keeps the memory.
    #[inline]
    pub(crate) fn keep_by(&mut self, storage: &'a Storage) {
        self.storage = Some(storage);
    }

    /// Returns the address of the element of index 0; on devices without addresses, the handle.
    #[inline]
    pub fn data_ptr(&self) -> *const u8 {
        self.first
    }

    /// Returns shape and strides.
    #[inline]
    pub fn layout(&self) -> LayoutRef<'a> {
        self.layout
    }

    /// Returns the shape.
    #[inline]
    pub fn shape(&self) -> &'a [usize] {
        self.layout.shape()
    }

    /// Returns the dtype.
    #[inline]
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns the device.
    #[inline]
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns whether sub-byte elements are each padded to whole bytes.
    pub fn is_padded(&self) -> bool {
        self.padded
    }

    /// Returns how many bytes the elements take in contiguous memory.
    pub fn nbytes(&self) -> usize {
        let bits = self.layout.len() as u128 * self.dtype.step_bits(self.padded) as u128;
        usize::try_from(bits.div_ceil(8)).unwrap_or(usize::MAX)
    }

    /// Returns the same elements, kept by the caller, with another layout, which stays within them.
    #[inline]
    pub(super) fn with_layout<'b>(&self, layout: LayoutRef<'b>) -> Operand<'b> {
        Operand {
            layout,
            first: self.first,
            dtype: self.dtype,
            device: self.device,
            padded: self.padded,
            writable: self.writable,
            bytes: self.bytes.clone(),
            storage: None,
        }
    }

    /// Returns a copy of the operand, for a frame that holds the original.
    #[inline]
    pub(super) fn duplicate(&self) -> Self {
        relaid(self, self.layout)
    }

    /// Moves the operand to another address.
    pub(super) fn move_to(&mut self, first: *mut u8) {
        self.first = first;
        self.bytes = first.addr()..first.addr() + self.bytes.len();
    }

    pub(super) fn region(&self) -> Region<'a> {
        Region {
            address: self.first.addr(),
            layout: self.layout,
            dtype: self.dtype,
            padded: self.padded,
        }
    }
}

/// Returns the addresses of the bytes that elements touch.
#[inline]
fn bytes_touched(
    first: *mut u8,
    layout: LayoutRef<'_>,
    dtype: DType,
    device: Device,
    padded: bool,
) -> Range<usize> {
    let first = first.addr();
    if !device.has_addresses() {
        return 0..usize::MAX;
    }
    let bits = dtype.step_bits(padded);
    if layout.is_contiguous() && bits.is_multiple_of(8) {
        return first..first.wrapping_add(layout.len() * (bits / 8));
    }
    match layout.check_memory(dtype, padded, first, 0, true) {
        Ok(span) => first.wrapping_add_signed(span.start)..first.wrapping_add_signed(span.end),
        Err(_) => 0..usize::MAX,
    }
}

/// Types that a call can read.
pub trait IntoOperand<'a> {
    /// Returns the tensor as an operand.
    fn into_operand(self) -> Operand<'a>;
}

/// Types that a call can write.
pub trait IntoOperandMut<'a> {
    /// Returns the tensor as an operand.
    ///
    /// # Errors
    ///
    /// The same as for [`Operand::write`].
    fn into_operand_mut(self) -> Result<Operand<'a>, Error>;
}

impl<'a> IntoOperand<'a> for &'a Tensor {
    fn into_operand(self) -> Operand<'a> {
        Operand::read(self)
    }
}

impl<'a> IntoOperand<'a> for Operand<'a> {
    fn into_operand(self) -> Operand<'a> {
        self
    }
}

/// `None` leaves an optional input out.
impl<'a, T: IntoOperand<'a>> IntoOperand<'a> for Option<T> {
    fn into_operand(self) -> Operand<'a> {
        self.map_or(Operand::ABSENT, T::into_operand)
    }
}

impl<'a, T: Element> IntoOperand<'a> for View<'a, T> {
    fn into_operand(self) -> Operand<'a> {
        let first = self.as_ptr().cast_mut().cast();
        // SAFETY: the view is a borrow of elements to be read, on the host.
        unsafe { Operand::from_raw(first, self.layout(), T::DTYPE, Device::CPU, false, false) }
    }
}

impl<'a> IntoOperandMut<'a> for &'a mut Tensor {
    fn into_operand_mut(self) -> Result<Operand<'a>, Error> {
        Operand::write(self)
    }
}

impl<'a, T: Element> IntoOperandMut<'a> for ViewMut<'a, T> {
    fn into_operand_mut(self) -> Result<Operand<'a>, Error> {
        let first = self.as_ptr().cast_mut().cast();
        // SAFETY: the view is a borrow of elements to be written, on the host, and given up here.
        Ok(unsafe { Operand::from_raw(first, self.layout(), T::DTYPE, Device::CPU, false, true) })
    }
}

/// Returns the same elements with another layout, which stays within them.
#[inline]
pub(super) fn relaid<'a>(operand: &Operand<'a>, layout: LayoutRef<'a>) -> Operand<'a> {
    Operand {
        storage: operand.storage,
        ..operand.with_layout(layout)
    }
}
