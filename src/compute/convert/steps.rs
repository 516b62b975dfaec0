//! The steps of a conversion: which loops lead from one dtype to another.

use super::loops::*;
use crate::dtype::{Codec, DType, TypeCode};
use smallvec::SmallVec;
use std::fmt;

/// One loop of a conversion.
#[derive(Clone, Copy)]
pub(super) struct Step {
    function: Function,
    arguments: Arguments,
    /// How many numbers an element is to this loop: two if it converts the parts of complex ones.
    numbers: usize,
}

/// A loop: how it is called, source, target and the count.
type Function = unsafe fn(&Arguments, *const u8, *mut u8, usize);

impl Step {
    /// Executes the loop for `count` elements.
    ///
    /// # Safety
    ///
    /// `from` is valid for reads of that many elements of the step's source, and `to` for writes of
    /// as many of its target, neither need be aligned; they don't overlap.
    #[inline]
    pub(super) unsafe fn run(&self, from: *const u8, to: *mut u8, count: usize) {
        // SAFETY: both are valid for that many numbers of the loop's types, as the caller
        // promises.
        unsafe { (self.function)(&self.arguments, from, to, count * self.numbers) }
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Step").finish_non_exhaustive()
    }
}

/// Loops that follow each other: mostly one, so that few bytes are moved for a small tensor.
pub(super) type Steps = SmallVec<[Step; 1]>;

/// Returns the loops from one dtype to another, none if the elements stay as they are; `None` where
/// there is no such conversion.
pub(super) fn between(from: DType, to: DType, saturates: bool) -> Option<Steps> {
    let twice = |mut step: Step| {
        step.numbers = 2;
        step
    };
    match (part_of(from), part_of(to)) {
        (Some(from), Some(to)) => {
            let parts = between_reals(from, to, saturates)?;
            Some(parts.into_iter().map(twice).collect())
        }
        (Some(from), None) if to == DType::BOOL => {
            let mut steps: Steps = between_reals(from, to, saturates)?
                .into_iter()
                .map(twice)
                .collect();
            steps.push(plain::<AnyOfTwo>());
            Some(steps)
        }
        (Some(_), None) => None,
        (None, Some(part)) => {
            let mut steps = between_reals(from, part, saturates)?;
            steps.push(match part {
                DType::F16 => plain::<Complex32>(),
                DType::F32 => plain::<Complex64>(),
                _ => plain::<Complex128>(),
            });
            Some(steps)
        }
        (None, None) => between_reals(from, to, saturates),
    }
}

/// Returns the dtype of a complex number's parts.
fn part_of(dtype: DType) -> Option<DType> {
    match dtype {
        DType::C32 => Some(DType::F16),
        DType::C64 => Some(DType::F32),
        DType::C128 => Some(DType::F64),
        _ => None,
    }
}

fn between_reals(from: DType, to: DType, saturates: bool) -> Option<Steps> {
    let is_number = |dtype: DType| dtype.lanes() == 1 && dtype.code() != TypeCode::Handle;
    if !is_number(from) || !is_number(to) {
        return None;
    }
    let mut steps = Steps::new();
    let mut push = |function: Option<Function>, at: DType, next: DType| {
        steps.extend(function.map(|function| Step {
            function,
            arguments: arguments(at, next, to, saturates),
            numbers: 1,
        }));
    };
    if from == to && from.is_sub_byte() {
        push(function::<Mask>(), from, to);
    }
    let mut at = from;
    while at != to {
        let (function, next) = match at.code() {
            TypeCode::Bool => (None, DType::U8),
            TypeCode::Int if at.bits() < 8 => hop::<SignExtend>(DType::I8),
            TypeCode::UInt if at.bits() < 8 => hop::<Mask>(DType::U8),
            TypeCode::Int | TypeCode::UInt => from_integer(at, to, from.bits() <= 16),
            TypeCode::Float if at.bits() == 64 => from_f64(to),
            TypeCode::Float if at.bits() == 32 => from_f32(to),
            TypeCode::Float => hop::<F16ToF32>(DType::F32),
            TypeCode::BFloat => hop::<Bf16ToF32>(DType::F32),
            TypeCode::Float8E8M0Fnu => hop::<E8m0ToF32>(DType::F32),
            _ => hop::<Decode>(DType::F32),
        };
        push(function, at, next);
        at = next;
    }
    Some(steps)
}

/// Returns the arguments of the step from `at` to `next`, on the way to `to`.
fn arguments(at: DType, next: DType, to: DType, saturates: bool) -> Arguments {
    // Bytes of this type, or bits if it is packed, are read or written.
    let small = if at.is_sub_byte() { at } else { next };
    let ends = match to.code() {
        TypeCode::Int if to.bits() <= 16 => [-1 << (to.bits() - 1), (1 << (to.bits() - 1)) - 1],
        TypeCode::UInt if to.bits() <= 16 => [0, (1 << to.bits()) - 1],
        _ => [0; 2],
    };
    Arguments {
        codec: Codec::new(at.code(), false).or_else(|| Codec::new(next.code(), saturates)),
        saturates,
        ends,
        unused: 8_u32.saturating_sub(small.bits().into()),
    }
}

/// A loop and the dtype that it leads to; none if the bits stay as they are.
type Hop = (Option<Function>, DType);

fn hop<C: Convert>(to: DType) -> Hop {
    (function::<C>(), to)
}

fn function<C: Convert>() -> Option<Function> {
    // `Converter` has no more room for an element.
    const { assert!(size_of::<C::From>() <= 8 && size_of::<C::To>() <= 16) }
    Some(run::<C>)
}

/// Returns a step without arguments.
fn plain<C: Convert>() -> Step {
    Step {
        function: run::<C>,
        arguments: Arguments::NONE,
        numbers: 1,
    }
}

/// Returns the next step from an integer of 8 bits or more, whose value any `f32` holds if
/// `is_short`.
fn from_integer(at: DType, to: DType, is_short: bool) -> Hop {
    use DType as D;
    match (to.code(), to.bits()) {
        (TypeCode::Bool, _) => match at.bits() {
            8 => hop::<U8ToBool>(to),
            16 => hop::<U16ToBool>(to),
            32 => hop::<U32ToBool>(to),
            _ => hop::<U64ToBool>(to),
        },
        (TypeCode::Int | TypeCode::UInt, bits) => match (at.bits(), bits) {
            (8, 1 | 2 | 4) => hop::<Mask>(to),
            (16, 1 | 2 | 4) => hop::<U16ToU8>(D::U8),
            (32, 1 | 2 | 4) => hop::<U32ToU8>(D::U8),
            (64, 1 | 2 | 4) => hop::<U64ToU8>(D::U8),
            (16, 8) => hop::<U16ToU8>(to),
            (32, 8) => hop::<U32ToU8>(to),
            (32, 16) => hop::<U32ToU16>(to),
            (64, 8) => hop::<U64ToU8>(to),
            (64, 16) => hop::<U64ToU16>(to),
            (64, 32) => hop::<U64ToU32>(to),
            (from, to_bits) if from == to_bits => (None, to),
            (32, _) if at == D::U32 => hop::<U32ToU64>(to),
            (32, _) => hop::<I32ToI64>(to),
            _ => widen(at),
        },
        (TypeCode::Float, 32) => match at {
            D::I8 => hop::<I8ToF32>(to),
            D::U8 => hop::<U8ToF32>(to),
            D::I32 => hop::<I32ToF32>(to),
            D::U32 => hop::<U32ToF32>(to),
            D::I64 => hop::<I64ToF32>(to),
            D::U64 => hop::<U64ToF32>(to),
            _ => widen(at),
        },
        (TypeCode::Float, 64) => match at {
            D::I32 => hop::<I32ToF64>(to),
            D::U32 => hop::<U32ToF64>(to),
            D::I64 => hop::<I64ToF64>(to),
            D::U64 => hop::<U64ToF64>(to),
            _ => widen(at),
        },
        // Small floats, of which several digits less are kept.
        _ => match at {
            D::I8 => hop::<I8ToF32>(D::F32),
            D::U8 => hop::<U8ToF32>(D::F32),
            D::I32 if is_short => hop::<I32ToF32>(D::F32),
            D::I32 => hop::<I32ToF64>(D::F64),
            D::U32 => hop::<U32ToF64>(D::F64),
            D::I64 => hop::<I64ToOdd>(D::F64),
            D::U64 => hop::<U64ToOdd>(D::F64),
            _ => widen(at),
        },
    }
}

/// Returns the step from an integer of 8 or 16 bits to `int32`.
fn widen(at: DType) -> Hop {
    match at {
        DType::I8 => hop::<I8ToI32>(DType::I32),
        DType::U8 => hop::<U8ToI32>(DType::I32),
        DType::I16 => hop::<I16ToI32>(DType::I32),
        _ => hop::<U16ToI32>(DType::I32),
    }
}

fn from_f32(to: DType) -> Hop {
    match (to.code(), to.bits()) {
        (TypeCode::Bool, _) => hop::<F32ToBool>(to),
        (TypeCode::Int, 32) => hop::<F32ToI32>(to),
        (TypeCode::UInt, 32) => hop::<F32ToU32>(to),
        (TypeCode::Int, 64) => hop::<F32ToI64>(to),
        (TypeCode::UInt, 64) => hop::<F32ToU64>(to),
        (TypeCode::Int | TypeCode::UInt, _) => hop::<F32ToShort>(DType::I32),
        (TypeCode::Float, 64) => hop::<F32ToF64>(to),
        (TypeCode::Float, _) => hop::<F32ToF16>(to),
        (TypeCode::BFloat, _) => hop::<F32ToBf16>(to),
        (TypeCode::Float8E8M0Fnu, _) => hop::<F32ToE8m0>(to),
        _ => hop::<Encode>(to),
    }
}

fn from_f64(to: DType) -> Hop {
    match (to.code(), to.bits()) {
        (TypeCode::Bool, _) => hop::<F64ToBool>(to),
        (TypeCode::Int, 32) => hop::<F64ToI32>(to),
        (TypeCode::UInt, 32) => hop::<F64ToU32>(to),
        (TypeCode::Int, 64) => hop::<F64ToI64>(to),
        (TypeCode::UInt, 64) => hop::<F64ToU64>(to),
        (TypeCode::Int | TypeCode::UInt, _) => hop::<F64ToShort>(DType::I32),
        (TypeCode::Float, 32) => hop::<F64ToF32>(to),
        (TypeCode::BFloat, _) => hop::<F64ToBf16>(to),
        _ => hop::<F64ToOdd>(DType::F32),
    }
}
