//! [`Argument`]: a kernel argument, by value.

use crate::dtype::Element;
use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;

/// A value that a kernel is given: a number, an address of memory that the GPU reaches, or a struct
/// of C's.
///
/// Only its size is known here; the caller of the launch promises that it has the kernel's
/// parameter type.
///
/// ```
/// use dlbridge::cuda::Argument;
///
/// assert_eq!(Argument::from(2.5_f32).bytes(), 4);
/// assert_eq!(Argument::from(true).bytes(), 1);
/// ```
#[derive(Clone, Copy)]
pub struct Argument<'a> {
    place: Place,
    bytes: usize,
    lent: PhantomData<&'a ()>,
}

#[derive(Clone, Copy)]
enum Place {
    Here(Small),
    /// The borrowed address.
    There(*const c_void),
}

/// Room for every element type.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Small([u8; 16]);

// SAFETY: a number, or a struct that is lent and shared, of a type that can be shared.
unsafe impl Send for Argument<'_> {}
// SAFETY: shared access only reads the bytes, which are plain data, or a `T: Sync`.
unsafe impl Sync for Argument<'_> {}

impl<'a> Argument<'a> {
    /// Borrows a struct of the kernel's type, `#[repr(C)]` in Rust.
    #[inline]
    pub fn from_ref<T: Copy + Sync>(value: &'a T) -> Self {
        Self {
            place: Place::There((&raw const *value).cast()),
            bytes: size_of::<T>(),
            lent: PhantomData,
        }
    }

    /// Creates an argument of the first `count` of these bytes.
    #[cfg(feature = "python")]
    #[inline]
    pub(crate) fn from_bytes(bytes: [u8; 16], count: usize) -> Self {
        assert!(count <= bytes.len(), "a number has up to 16 bytes");
        Self {
            place: Place::Here(Small(bytes)),
            bytes: count,
            lent: PhantomData,
        }
    }

    /// Returns how many bytes the value takes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns where the value is, as long as this argument stays where it is.
    #[inline]
    pub(super) fn address(&self) -> *mut c_void {
        match &self.place {
            Place::Here(small) => (&raw const *small).cast_mut().cast(),
            Place::There(address) => address.cast_mut(),
        }
    }
}

impl<T: Element> From<T> for Argument<'_> {
    #[inline]
    fn from(value: T) -> Self {
        const { assert!(size_of::<T>() <= size_of::<Small>()) };
        let mut small = Small([0; 16]);
        // SAFETY: there is room for it, as the assertion says; elements are numbers without
        // padding.
        unsafe { small.0.as_mut_ptr().cast::<T>().write_unaligned(value) };
        Self {
            place: Place::Here(small),
            bytes: size_of::<T>(),
            lent: PhantomData,
        }
    }
}

impl<T> From<*const T> for Argument<'_> {
    #[inline]
    fn from(address: *const T) -> Self {
        Self::from(address.addr() as u64)
    }
}

impl<T> From<*mut T> for Argument<'_> {
    #[inline]
    fn from(address: *mut T) -> Self {
        Self::from(address.addr() as u64)
    }
}

impl fmt::Debug for Argument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Argument({} bytes)", self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::{bf16, f16};
    use num_complex::Complex;

    /// Returns the value's bytes, as the driver reads them.
    fn read(argument: &Argument<'_>) -> Vec<u8> {
        let address = argument.address().cast::<u8>();
        // SAFETY: the argument has this many bytes, none of them padding.
        unsafe { std::slice::from_raw_parts(address, argument.bytes()) }.to_vec()
    }

    #[test]
    fn numbers_have_their_c_representation() {
        assert_eq!(read(&Argument::from(-2_i8)), [0xFE]);
        assert_eq!(read(&Argument::from(true)), [1]);
        assert_eq!(read(&Argument::from(0x0102_u16)), 0x0102_u16.to_ne_bytes());
        assert_eq!(read(&Argument::from(1.5_f32)), 1.5_f32.to_ne_bytes());
        assert_eq!(read(&Argument::from(-1.5_f64)), (-1.5_f64).to_ne_bytes());
        assert_eq!(
            read(&Argument::from(f16::ONE)),
            f16::ONE.to_bits().to_ne_bytes()
        );
        assert_eq!(
            read(&Argument::from(bf16::ONE)),
            bf16::ONE.to_bits().to_ne_bytes()
        );
        let complex = Argument::from(Complex::new(1.0_f64, 2.0));
        let parts = [1.0_f64.to_ne_bytes(), 2.0_f64.to_ne_bytes()].concat();
        assert_eq!(read(&complex), parts);
        assert!(complex.address().addr().is_multiple_of(8));
    }

    #[test]
    fn addresses_have_eight_bytes() {
        let address = std::ptr::without_provenance::<f32>(0x7000_1234);
        let bytes = 0x7000_1234_u64.to_ne_bytes();
        assert_eq!(read(&Argument::from(address)), bytes);
        assert_eq!(read(&Argument::from(address.cast_mut())), bytes);
    }

    #[test]
    fn structs_keep_their_address() {
        #[derive(Clone, Copy)]
        #[repr(C)]
        struct Sizes {
            rows: u64,
            columns: u32,
            steps: [u32; 5],
        }
        let sizes = Sizes {
            rows: 3,
            columns: 4,
            steps: [1, 2, 3, 4, 5],
        };
        let argument = Argument::from_ref(&sizes);
        assert_eq!(argument.bytes(), 32);
        assert_eq!(argument.address().addr(), (&raw const sizes).addr());
        assert_eq!(read(&argument)[8..12], sizes.columns.to_ne_bytes());
        assert_eq!((sizes.rows, sizes.steps[4]), (3, 5));
        let copy = argument;
        assert_eq!(copy.address(), argument.address());
    }
}
