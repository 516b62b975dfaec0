//! Conversion of contiguous elements from one dtype to another, in loops that are compiled for each
//! SIMD level.
//!
//! A [`Converter`] is one loop, or several over blocks that stay in the first-level cache: from
//! `int64` to `bfloat16` by way of `float64` and `float32`. The types in between hold all numbers
//! exactly, or are rounded to odd, so that only the last step rounds.

#[cfg(all(target_arch = "x86_64", not(miri)))]
mod bf16_vectors;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod half_float_vectors;
mod loops;
#[cfg(feature = "ops")]
mod packed;
mod shorten;
mod steps;

#[cfg(feature = "ops")]
pub(crate) use packed::{pack, unpack};

use crate::compute::simd::Simd;
use crate::dtype::DType;
use loops::{Arguments, Bf16ToF32, F16ToF32, F32ToBf16, F32ToF16};
use std::mem::MaybeUninit;
use steps::{Step, Steps};

/// Conversion of contiguous elements from one dtype to another.
///
/// Elements of less than a byte take one byte each, in its lowest bits; of a written one the other
/// bits are 0.
#[derive(Debug, Clone)]
pub struct Converter {
    steps: Steps,
    nbytes: [usize; 2],
}

/// How many elements pass through all steps at once.
const BLOCK: usize = 512;

/// Room for the elements between two steps, of 16 bytes at most.
type Block = [MaybeUninit<u128>; BLOCK];

impl Converter {
    /// Returns the conversion from one dtype to another.
    ///
    /// Floats are rounded to the nearest number, of two that are as near to the even one, and
    /// towards zero to an integer, of which the least and the largest stand for those beyond; NaN
    /// becomes 0. Integers wrap around. What isn't 0 is true. The number of a small float that
    /// stands for larger ones, if there is no infinity, is NaN where there is one; if `saturates`,
    /// the largest number stands for them in all types of up to 8 bits.
    ///
    /// `None` for complex to real numbers, for handles, and for vector types.
    ///
    /// # Examples
    ///
    /// ```
    /// use dlbridge::{DType, compute::Converter};
    ///
    /// let converter = Converter::new(DType::F32, DType::F8_E5M2, false).unwrap();
    /// let (floats, mut small) = ([1.0_f32, -2.5, 1e9], [0_u8; 3]);
    /// // SAFETY: both have three elements.
    /// unsafe { converter.run(floats.as_ptr().cast(), small.as_mut_ptr(), 3) };
    /// assert_eq!(small, [0x3c, 0xc1, 0x7c]); // 1, -2.5, infinity
    /// ```
    pub fn new(from: DType, to: DType, saturates: bool) -> Option<Self> {
        Some(Self {
            steps: steps::between(from, to, saturates)?,
            nbytes: [from, to].map(|dtype| dtype.step_bits(true) / 8),
        })
    }

    /// Returns how many bytes an element takes before the conversion and after it.
    pub fn nbytes(&self) -> [usize; 2] {
        self.nbytes
    }

    /// Converts `count` elements.
    ///
    /// # Safety
    ///
    /// `from` is valid for reads of that many elements, and `to` for writes of as many, neither
    /// need be aligned; they don't overlap. A `bool` that is read is 0 or 1.
    pub unsafe fn run(&self, from: *const u8, to: *mut u8, count: usize) {
        let [from_size, to_size] = self.nbytes;
        match &self.steps[..] {
            // SAFETY: as the caller promises, both are valid for the elements, which have one size.
            [] => unsafe { std::ptr::copy_nonoverlapping(from, to, count * from_size) },
            // SAFETY: as the caller promises, both are valid for the elements of the two dtypes.
            [step] => unsafe { step.run(from, to, count) },
            steps => {
                let mut at = 0;
                while at < count {
                    let len = BLOCK.min(count - at);
                    // SAFETY: elements `at..at + len` of those the caller promises.
                    unsafe {
                        run_block(steps, from.add(at * from_size), to.add(at * to_size), len);
                    }
                    at += len;
                }
            }
        }
    }
}

/// Executes several steps on a block of elements.
///
/// # Safety
///
/// `from` is valid for reads of `len` elements, at most [`BLOCK`], and `to` for writes of as many;
/// they don't overlap.
unsafe fn run_block(steps: &[Step], from: *const u8, to: *mut u8, len: usize) {
    let mut blocks = [const { MaybeUninit::<Block>::uninit() }; 2];
    let [mut next, mut other] = blocks.each_mut().map(|block| block.as_mut_ptr().cast());
    let mut current = from;
    for (at, step) in steps.iter().enumerate() {
        let target = if at + 1 == steps.len() { to } else { next };
        // SAFETY: `current` is the caller's elements, or those that the step before this one wrote;
        // the target is the caller's, or a block that isn't being read, with room for elements of
        // 16 bytes. The steps follow each other, as `Steps` was made.
        unsafe { step.run(current, target, len) };
        current = target;
        std::mem::swap(&mut next, &mut other);
    }
}

macro_rules! between_types {
    ($($function:ident: $Convert:ty, $From:ty => $To:ty;)*) => {$(
        /// Converts `len` elements.
        ///
        /// # Safety
        ///
        /// `from` is valid for reads of as many elements, and `to` for writes of as many; they
        /// don't overlap.
        pub(super) unsafe fn $function(from: *const $From, to: *mut $To, len: usize) {
            // SAFETY: the caller promises what it requires.
            unsafe { loops::run::<$Convert>(&Arguments::NONE, from.cast(), to.cast(), len) };
        }
    )*};
}

between_types! {
    f16_to_f32: F16ToF32, u16 => f32;
    bf16_to_f32: Bf16ToF32, u16 => f32;
}

macro_rules! between_arrays {
    ($($widen:ident $narrow:ident: $ty:ty, $Widen:ty, $Narrow:ty;)*) => {$(
        /// Converts the elements of an array, compiled for the level of the function that calls it.
        #[inline(always)]
        pub(super) fn $widen<S: Simd, const N: usize>(from: &[$ty; N]) -> [f32; N] {
            // SAFETY: the float is its bits.
            let bits = unsafe { &*std::ptr::from_ref(from).cast::<[u16; N]>() };
            loops::run_array::<$Widen, S, N>(bits)
        }

        /// Converts the elements of an array, compiled for the level of the function that calls it.
        #[inline(always)]
        pub(super) fn $narrow<S: Simd, const N: usize>(from: &[f32; N]) -> [$ty; N] {
            let bits = loops::run_array::<$Narrow, S, N>(from);
            // SAFETY: any bits are a float, of the same size and alignment.
            unsafe { std::ptr::from_ref(&bits).cast::<[$ty; N]>().read() }
        }
    )*};
}

between_arrays! {
    f16s_to_f32 f16s_from_f32: half::f16, F16ToF32, F32ToF16;
    bf16s_to_f32 bf16s_from_f32: half::bf16, Bf16ToF32, F32ToBf16;
}
