//! The loops of conversions: each number on its own, without branches.

#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::bf16_vectors::{f32_to_bf16_vectors, f64_to_bf16_vectors};
#[cfg(all(target_arch = "x86_64", not(miri)))]
use super::half_float_vectors::{f16_to_f32_vectors, f32_to_f16_vectors};
use super::shorten::shorten;
use crate::compute::simd::{Routine, Simd, dispatch};
use crate::dtype::{
    Codec, bf16_to_f32, e8m0_to_f32, f16_to_f32, f32_to_bf16, f32_to_e8m0, f32_to_f16,
    integer_to_odd, round_to_odd,
};
use std::mem::MaybeUninit;

/// Arguments of a loop that aren't known when it is compiled.
#[derive(Debug, Clone, Copy)]
pub(super) struct Arguments {
    /// The small float that is read or written.
    pub(super) codec: Option<Codec>,
    /// Whether numbers that are too large for a scale become the largest one.
    pub(super) saturates: bool,
    /// The ends of an integer type.
    pub(super) ends: [i32; 2],
    /// How many bits of a byte aren't used.
    pub(super) unused: u32,
}

impl Arguments {
    pub(super) const NONE: Self = Self {
        codec: None,
        saturates: false,
        ends: [0; 2],
        unused: 0,
    };
}

/// A conversion of one number.
pub(super) trait Convert: Copy {
    type From: Copy;
    type To: Copy;

    fn new(arguments: &Arguments) -> Self;
    fn convert(self, value: Self::From) -> Self::To;

    /// Converts the first elements with the instructions of a level, and returns how many it was.
    ///
    /// # Safety
    ///
    /// The same as for [`run`], on a CPU with the level.
    #[inline(always)]
    unsafe fn convert_vectors<S: Simd>(
        _from: *const Self::From,
        _to: *mut Self::To,
        _count: usize,
    ) -> usize {
        0
    }
}

/// Converts `count` elements.
///
/// # Safety
///
/// `from` is valid for reads of that many elements, and `to` for writes of as many, neither need be
/// aligned; they don't overlap.
pub(super) unsafe fn run<C: Convert>(
    arguments: &Arguments,
    from: *const u8,
    to: *mut u8,
    count: usize,
) {
    struct Loop<C: Convert> {
        convert: C,
        from: *const C::From,
        to: *mut C::To,
        count: usize,
    }
    impl<C: Convert> Routine for Loop<C> {
        type Output = ();

        #[inline(always)]
        fn run<S: Simd>(self, _: S) {
            let Self {
                convert,
                from,
                to,
                count,
            } = self;
            // SAFETY: elements below `count`, for which `run` requires it; the CPU has the level,
            // as the loop runs on it.
            unsafe {
                let first = C::convert_vectors::<S>(from, to, count);
                for i in first..count {
                    let value = convert.convert(from.add(i).read_unaligned());
                    to.add(i).write_unaligned(value);
                }
            }
        }
    }
    dispatch(Loop {
        convert: C::new(arguments),
        from: from.cast(),
        to: to.cast(),
        count,
    });
}

/// Converts the elements of an array, compiled for the level of the function that calls it.
#[inline(always)]
pub(super) fn run_array<C: Convert, S: Simd, const N: usize>(from: &[C::From; N]) -> [C::To; N] {
    let convert = C::new(&Arguments::NONE);
    let mut to = MaybeUninit::<[C::To; N]>::uninit();
    let first = to.as_mut_ptr().cast::<C::To>();
    // SAFETY: both arrays have `N` elements, and the CPU has the level, as the caller's code is
    // compiled for it. All elements are written before they are read.
    unsafe {
        let done = C::convert_vectors::<S>(from.as_ptr(), first, N);
        for at in done..N {
            let value = from.as_ptr().add(at).read();
            first.add(at).write(convert.convert(value));
        }
        to.assume_init()
    }
}

/// Conversions of one number; of some also the function that converts vectors on x86-64.
macro_rules! conversions {
    ($($Name:ident: $From:ty => $To:ty, |$value:ident| $result:expr $(, by $vectors:ident)?;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $Name;

        impl Convert for $Name {
            type From = $From;
            type To = $To;

            #[inline(always)]
            fn new(_: &Arguments) -> Self {
                Self
            }

            #[inline(always)]
            fn convert(self, $value: $From) -> $To {
                $result
            }

            $(
                #[cfg(all(target_arch = "x86_64", not(miri)))]
                #[inline(always)]
                unsafe fn convert_vectors<S: Simd>(
                    from: *const $From,
                    to: *mut $To,
                    count: usize,
                ) -> usize {
                    // SAFETY: it requires the same.
                    unsafe { $vectors::<S>(from, to, count) }
                }
            )?
        }
    )*};
}

conversions! {
    I8ToI32: i8 => i32, |x| x.into();
    I16ToI32: i16 => i32, |x| x.into();
    I32ToI64: i32 => i64, |x| x.into();
    U8ToI32: u8 => i32, |x| x.into();
    U16ToI32: u16 => i32, |x| x.into();
    U32ToU64: u32 => u64, |x| x.into();

    U16ToU8: u16 => u8, |x| x as u8;
    U32ToU8: u32 => u8, |x| x as u8;
    U32ToU16: u32 => u16, |x| x as u16;
    U64ToU8: u64 => u8, |x| x as u8;
    U64ToU16: u64 => u16, |x| x as u16;
    U64ToU32: u64 => u32, |x| x as u32;

    U8ToBool: u8 => u8, |x| (x != 0).into();
    U16ToBool: u16 => u8, |x| (x != 0).into();
    U32ToBool: u32 => u8, |x| (x != 0).into();
    U64ToBool: u64 => u8, |x| (x != 0).into();
    F32ToBool: f32 => u8, |x| (x != 0.0).into();
    F64ToBool: f64 => u8, |x| (x != 0.0).into();

    I8ToF32: i8 => f32, |x| x.into();
    U8ToF32: u8 => f32, |x| x.into();
    I32ToF32: i32 => f32, |x| x as f32;
    I32ToF64: i32 => f64, |x| x.into();
    U32ToF32: u32 => f32, |x| x as f32;
    U32ToF64: u32 => f64, |x| x.into();
    I64ToF32: i64 => f32, |x| x as f32;
    I64ToF64: i64 => f64, |x| x as f64;
    U64ToF32: u64 => f32, |x| x as f32;
    U64ToF64: u64 => f64, |x| x as f64;
    U64ToOdd: u64 => f64, |x| integer_to_odd(x);
    I64ToOdd: i64 => f64, |x| {
        integer_to_odd(x.unsigned_abs()).copysign(if x < 0 { -1.0 } else { 1.0 })
    };

    F32ToF64: f32 => f64, |x| x.into();
    F64ToF32: f64 => f32, |x| x as f32;
    F64ToOdd: f64 => f32, |x| round_to_odd(x);
    F64ToBf16: f64 => u16, |x| f32_to_bf16(shorten(x) as f32), by f64_to_bf16_vectors;
    Bf16ToF32: u16 => f32, |x| bf16_to_f32(x);
    F32ToBf16: f32 => u16, |x| f32_to_bf16(x), by f32_to_bf16_vectors;
    F16ToF32: u16 => f32, |x| f16_to_f32(x), by f16_to_f32_vectors;
    F32ToF16: f32 => u16, |x| f32_to_f16(x), by f32_to_f16_vectors;
    E8m0ToF32: u8 => f32, |x| e8m0_to_f32(x);

    // Real numbers of 2, 4 and 8 bytes as complex ones, and a truth value from those of both parts.
    Complex32: u16 => [u16; 2], |x| [x, 0];
    Complex64: u32 => [u32; 2], |x| [x, 0];
    Complex128: u64 => [u64; 2], |x| [x, 0];
    AnyOfTwo: [u8; 2] => u8, |x| x[0] | x[1];
}

/// The number of a small float's pattern.
#[derive(Clone, Copy)]
pub(super) struct Decode(Codec);

impl Convert for Decode {
    type From = u8;
    type To = f32;

    #[inline(always)]
    fn new(arguments: &Arguments) -> Self {
        Self(arguments.codec.expect("the argument of this loop"))
    }

    #[inline(always)]
    fn convert(self, value: u8) -> f32 {
        self.0.decode(value.into())
    }
}

/// The pattern of a number as a small float.
#[derive(Clone, Copy)]
pub(super) struct Encode(Codec);

impl Convert for Encode {
    type From = f32;
    type To = u8;

    #[inline(always)]
    fn new(arguments: &Arguments) -> Self {
        Self(arguments.codec.expect("the argument of this loop"))
    }

    #[inline(always)]
    fn convert(self, value: f32) -> u8 {
        self.0.encode(value) as u8
    }
}

/// The nearest power of two as a scale.
#[derive(Clone, Copy)]
pub(super) struct F32ToE8m0 {
    saturates: bool,
}

impl Convert for F32ToE8m0 {
    type From = f32;
    type To = u8;

    #[inline(always)]
    fn new(arguments: &Arguments) -> Self {
        let saturates = arguments.saturates;
        Self { saturates }
    }

    #[inline(always)]
    fn convert(self, value: f32) -> u8 {
        f32_to_e8m0(value, self.saturates)
    }
}

/// The integer that the lowest bits of a byte are, with a sign.
#[derive(Clone, Copy)]
pub(super) struct SignExtend {
    unused: u32,
}

impl Convert for SignExtend {
    type From = u8;
    type To = i8;

    #[inline(always)]
    fn new(arguments: &Arguments) -> Self {
        let unused = arguments.unused;
        Self { unused }
    }

    #[inline(always)]
    fn convert(self, value: u8) -> i8 {
        // In 32 bits, as there are no shifts of bytes.
        ((u32::from(value) << (24 + self.unused)).cast_signed() >> (24 + self.unused)) as i8
    }
}

/// The lowest bits of a byte.
#[derive(Clone, Copy)]
pub(super) struct Mask(u8);

impl Convert for Mask {
    type From = u8;
    type To = u8;

    #[inline(always)]
    fn new(arguments: &Arguments) -> Self {
        Self(0xff >> arguments.unused)
    }

    #[inline(always)]
    fn convert(self, value: u8) -> u8 {
        value & self.0
    }
}

/// Floats as integers of less than 32 bits, of which the least and the largest stand for those
/// beyond.
macro_rules! short_integers {
    ($($Name:ident: $Float:ty;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $Name {
            least: $Float,
            largest: $Float,
        }

        impl Convert for $Name {
            type From = $Float;
            type To = i32;

            #[inline(always)]
            fn new(arguments: &Arguments) -> Self {
                let [least, largest] = arguments.ends.map(|end| end as $Float);
                Self { least, largest }
            }

            #[inline(always)]
            fn convert(self, value: $Float) -> i32 {
                let value = if value < self.least { self.least } else { value };
                let value = if value > self.largest { self.largest } else { value };
                let value = if value.is_nan() { 0.0 } else { value };
                // SAFETY: it lies between two integers of at most 16 bits.
                unsafe { value.to_int_unchecked() }
            }
        }
    )*};
}

short_integers! {
    F32ToShort: f32;
    F64ToShort: f64;
}

/// Floats as integers, of which the least and the largest stand for those beyond: what `as` does,
/// but LLVM makes vector instructions of it.
macro_rules! long_integers {
    ($($Name:ident: $Float:ty => $Integer:ident;)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $Name;

        impl Convert for $Name {
            type From = $Float;
            type To = $Integer;

            #[inline(always)]
            fn new(_: &Arguments) -> Self {
                Self
            }

            #[inline(always)]
            fn convert(self, value: $Float) -> $Integer {
                const LEAST: $Float = $Integer::MIN as $Float;
                // The largest integer has more digits than some floats, but one more has not.
                const BEYOND: $Float = ($Integer::MAX / 2 + 1) as $Float * 2.0;
                let is_beyond = value >= BEYOND;
                let inside = if value < LEAST { LEAST } else { value };
                let inside = if is_beyond | value.is_nan() { 0.0 } else { inside };
                // SAFETY: it isn't less than the least integer, and less than the largest one and
                // 1.
                let integer = unsafe { inside.to_int_unchecked() };
                if is_beyond { $Integer::MAX } else { integer }
            }
        }
    )*};
}

long_integers! {
    F32ToI32: f32 => i32;
    F32ToU32: f32 => u32;
    F32ToI64: f32 => i64;
    F32ToU64: f32 => u64;
    F64ToI32: f64 => i32;
    F64ToU32: f64 => u32;
    F64ToI64: f64 => i64;
    F64ToU64: f64 => u64;
}
